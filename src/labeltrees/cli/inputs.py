"""From a command's arguments to chunks of rows, and back again when a model is asked."""

from __future__ import annotations

import glob
import io
import json
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import numpy as np
import typer

from labeltrees import checks
from labeltrees.data.ahead import read_ahead
from labeltrees.data.chunk import Chunk, OneLabel
from labeltrees.data.python_source import PythonSource
from labeltrees.data.readers import fit_tfidf, open_reader
from labeltrees.data.readers.formats import FORMATS, format_of
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.readers.vectorizers import default_vectorizer
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.transforms import feature_names, save_with_transform, takes_text, transform_of
from labeltrees.transforms.rows import transformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from labeltrees.data.readers.source import Source
    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel
    from labeltrees.store import StoredModel

__all__ = [
    "FormatOption",
    "Input",
    "InputArgument",
    "LabelsOption",
    "LimitOption",
    "LineOption",
    "OrderOption",
    "expanded",
    "remembered_input",
]

_ALL_FORMATS = (*FORMATS, "python")
_TEXT_FORMATS = ("tsv", "jsonl", "parquet")

InputArgument = Annotated[
    str,
    typer.Argument(
        help="Data file (gzipped or not), '-' for stdin, or with --format python a "
        "folder of Python code or 'stdlib'."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(help=f"{', '.join(_ALL_FORMATS)}; by default the file's suffix decides."),
]
LabelsOption = Annotated[
    str, typer.Option(help="Rows with several labels: learn 'each', 'draw' one, or the 'first'.")
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Read at most this many rows.")]
LineOption = Annotated[
    int, typer.Option("--max-line-bytes", min=1, help="Refuse longer lines than this.")
]
OrderOption = Annotated[
    str, typer.Option(help="With --format python: the order of examples, 'files' or 'shuffled'.")
]


@dataclass(frozen=True)
class Input:
    """Where rows come from and how they are read; `facts` travels with the model."""

    path: str
    format: str
    labels: str = "each"
    limit: int | None = None
    order: str = "files"
    seed: int = 0
    max_line_bytes: int = MAX_LINE_BYTES
    vectorizer: Vectorizer | None = field(default=None, repr=False)
    opened: Source | None = field(default=None, repr=False)
    """What to read instead of the path."""
    scaler: Any = field(default=None, repr=False)
    """A transformer of numbers in front of the model, if there is one."""

    @classmethod
    def choose(
        cls,
        path: str,
        *,
        format: str | None,  # noqa: A002
        vectorizer: str | None = None,
        **rest: Any,
    ) -> Input:
        """Return the input that a command's options describe."""
        if format is not None:
            checks.choice("--format", format, _ALL_FORMATS)
        checks.choice("--labels", rest.get("labels", "each"), get_args(OneLabel))
        chosen = cls(path, format or format_of(path), **rest)
        if vectorizer is None:
            return chosen
        if checks.choice("--vectorizer", vectorizer, ("hashing", "tfidf")) == "hashing":
            return chosen
        if chosen.format != "tsv":
            raise ArgumentError.of("--vectorizer", vectorizer, "used with --format tsv")
        fitted = fit_tfidf(path, max_line_bytes=chosen.max_line_bytes)
        return replace(chosen, vectorizer=cast("Vectorizer", fitted))

    @classmethod
    def like(cls, stored: StoredModel, path: str, *, format: str | None, **rest: Any) -> Input:  # noqa: A002
        """Return the input for a saved model, read as the model's own data was."""
        remembered = remembered_input(stored.extra)
        is_txt = path.removesuffix(".gz").endswith(".txt")
        if format is None and is_txt and remembered.get("format") in _TEXT_FORMATS:
            format = "tsv"  # noqa: A001  (a model of texts finds texts in it)
        elif format is None:
            try:
                format = format_of(path)  # noqa: A001
            except ArgumentError:
                if "format" not in remembered:
                    raise
                format = remembered["format"]  # noqa: A001
        chosen = cls.choose(path, format=format, **rest)
        transformer = transform_of(stored)
        if transformer is None and "tfidf" in remembered:  # as files had it before
            transformer = _tfidf_from(remembered["tfidf"])
        if transformer is None:
            return chosen
        if not takes_text(transformer):
            return replace(chosen, scaler=transformer)
        in_texts = chosen.format in _TEXT_FORMATS
        return replace(chosen, vectorizer=transformer) if in_texts else chosen

    @classmethod
    def of_texts(cls, stored: StoredModel, texts: Sequence[str]) -> Input:
        """Return texts that were typed as the input of a model that has learned from texts."""
        known = remembered_input(stored.extra).get("format")
        transformer = transform_of(stored)
        if known not in _TEXT_FORMATS and (transformer is None or not takes_text(transformer)):
            learned = "another kind of input" if known is None else f"the format {known}"
            raise ArgumentError(f"--text: this model has learned from {learned}, not from texts.")
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        chosen = cls.like(stored, "--text", format="jsonl")
        return replace(chosen, opened=io.BytesIO(lines.encode()))

    def facts(self) -> dict[str, Any]:
        """Return what is kept of the input beside the model, ready for JSON."""
        return {"input": {"format": self.format}}

    def save(
        self,
        model: FittedModel,
        path: Path,
        *,
        keep_state: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Save a model that learned from this input, with what makes its features."""
        transformer = self.vectorizer if self.vectorizer is not None else self.scaler
        if transformer is None and self.format == "tsv":
            transformer = default_vectorizer()
        kept = self.facts() if extra is None else extra
        save_with_transform(model, transformer, path, keep_state=keep_state, extra=kept)

    def feature_names(self, text: str | None = None) -> Sequence[str] | None:
        """Return the words that the features count, if they are known; hashed ones from a text."""
        return None if self.vectorizer is None else feature_names(self.vectorizer, text)

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Return the chunks of at most ``limit`` rows, without the first ``skip`` of them.

        What is skipped is read, as a file's first rows can tell how to read the rest, but no
        features are made of its texts.
        """
        n_before = 0
        for chunk in self._limited(skip):
            n_skipped = min(max(skip - n_before, 0), chunk.n_rows)
            n_before += chunk.n_rows
            if n_skipped == 0:
                yield chunk
            elif n_skipped < chunk.n_rows:
                yield chunk.take(np.arange(n_skipped, chunk.n_rows))

    def _limited(self, skip: int) -> Iterator[Chunk]:
        if self.format == "python":
            folder = None if self.path == "stdlib" else self.path
            order = cast("Any", self.order)
            yield from PythonSource(folder, order=order, seed=self.seed, limit=self.limit)
            return
        left = self.limit
        for chunk in open_reader(
            self.path if self.opened is None else self.opened,
            format=self.format,
            vectorizer=self._skipping(skip),
            max_line_bytes=self.max_line_bytes,
        ):
            if self.scaler is not None:
                chunk = replace(chunk, rows=transformed(chunk.rows, self.scaler))
            if left is not None and chunk.n_rows >= left:
                yield chunk.head(left)
                return
            yield chunk
            left = None if left is None else left - chunk.n_rows

    def _skipping(self, skip: int) -> Vectorizer | None:
        if skip == 0 or self.format not in _TEXT_FORMATS:
            return self.vectorizer
        return _Skipping(self.vectorizer or default_vectorizer(), skip)

    def examples(self) -> Iterator[tuple[Rows, NDArray[Any], NDArray[np.float32]]]:
        """Return (rows, labels, weights) with one label per row, chunk by chunk, read ahead."""
        return read_ahead(self._examples())

    def _examples(self) -> Iterator[tuple[Rows, NDArray[Any], NDArray[np.float32]]]:
        for chunk in self.chunks():
            rows, labels, weights = chunk.examples(cast("OneLabel", self.labels), self.seed)
            if rows.n_rows:
                yield rows, labels, weights


def expanded(paths: Sequence[str]) -> list[str]:
    """Return the files that are named, those that match a pattern such as 'part-*.tsv' in order."""
    found: list[str] = []
    for path in paths:
        if path == "-" or os.path.exists(path) or not glob.has_magic(path):
            found.append(path)
            continue
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise ArgumentError(f"no file matches {path!r}.")
        found += matches
    if found.count("-") > 1:
        raise ArgumentError("the standard input can be read only once, got '-' twice.")
    return found


class _Skipping:
    """A vectoriser that makes no features of the first ``n_left`` texts."""

    def __init__(self, vectorizer: Vectorizer, n_left: int) -> None:
        self.vectorizer, self.n_left = vectorizer, n_left
        self.width: int = vectorizer.transform([""]).shape[1]

    def transform(self, raw_documents: Iterable[str]) -> Any:
        from scipy.sparse import csr_array

        texts = list(raw_documents)
        if len(texts) > self.n_left:
            self.n_left = 0
            return self.vectorizer.transform(texts)
        self.n_left -= len(texts)
        return csr_array((len(texts), self.width), dtype=np.float32)


def remembered_input(extra: dict[str, Any]) -> dict[str, Any]:
    """Return how a model's input was read, {} if the file does not say."""
    remembered = extra.get("input", {})
    if not isinstance(remembered, dict):
        raise ModelFormatError(f"the model's input cannot be {remembered!r:.60}.")
    return remembered


def _tfidf_from(facts: Any) -> Vectorizer:
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        terms, idf = facts["terms"], [checks.number("idf", each, 0) for each in facts["idf"]]
        if len(terms) != len(idf) or not all(isinstance(term, str) for term in terms):
            raise ValueError("terms and idf do not fit together")
        vectorizer = TfidfVectorizer(vocabulary=terms)
        vectorizer.idf_ = np.array(idf)
    except (LookupError, TypeError, ValueError) as error:
        raise ModelFormatError(f"the model's TF-IDF terms cannot be used: {error}") from None
    return cast("Vectorizer", vectorizer)
