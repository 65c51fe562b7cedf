"""From a command's arguments to chunks of rows, and back again when a model is asked."""

from __future__ import annotations

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
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

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
        if format is None:
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

    def facts(self) -> dict[str, Any]:
        """Return what is kept of the input beside the model, ready for JSON."""
        return {"input": {"format": self.format}}

    def save(self, model: FittedModel, path: Path, *, keep_state: bool = True) -> None:
        """Save a model that learned from this input, with what makes its features of texts."""
        transformer = self.vectorizer
        if transformer is None and self.format == "tsv":
            transformer = default_vectorizer()
        extra = self.facts()
        save_with_transform(model, transformer, path, keep_state=keep_state, extra=extra)

    def feature_names(self, text: str | None = None) -> Sequence[str] | None:
        """Return the words that the features count, if they are known; hashed ones from a text."""
        return None if self.vectorizer is None else feature_names(self.vectorizer, text)

    def chunks(self) -> Iterator[Chunk]:
        """Return the chunks, at most ``limit`` rows in all."""
        if self.format == "python":
            folder = None if self.path == "stdlib" else self.path
            order = cast("Any", self.order)
            yield from PythonSource(folder, order=order, seed=self.seed, limit=self.limit)
            return
        left = self.limit
        for chunk in open_reader(
            self.path,
            format=self.format,
            vectorizer=self.vectorizer,
            max_line_bytes=self.max_line_bytes,
        ):
            if self.scaler is not None:
                chunk = replace(chunk, rows=transformed(chunk.rows, self.scaler))
            if left is not None and chunk.n_rows >= left:
                yield chunk.head(left)
                return
            yield chunk
            left = None if left is None else left - chunk.n_rows

    def examples(self) -> Iterator[tuple[Rows, NDArray[Any], NDArray[np.float32]]]:
        """Return (rows, labels, weights) with one label per row, chunk by chunk, read ahead."""
        return read_ahead(self._examples())

    def _examples(self) -> Iterator[tuple[Rows, NDArray[Any], NDArray[np.float32]]]:
        for chunk in self.chunks():
            rows, labels, weights = chunk.examples(cast("OneLabel", self.labels), self.seed)
            if rows.n_rows:
                yield rows, labels, weights


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
