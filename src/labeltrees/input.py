"""Read rows of files and of memory in chunks, as a saved model needs them."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from labeltrees import checks
from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk, OneLabel
from labeltrees.data.python_source import PythonSource
from labeltrees.data.readers import DataProfile, FileLayout, NoFeatures, profile_file
from labeltrees.data.readers.assembly import CHUNK_ROWS
from labeltrees.data.readers.formats import FORMATS, hinted_format
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.same_rows import join_same_rows
from labeltrees.errors import ArgumentError, DataError, ModelFormatError
from labeltrees.transforms import (
    feature_names,
    hashed_text_features,
    save_with_transform,
    takes_text,
    transform_of,
)
from labeltrees.transforms._features import transformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from labeltrees.data.readers.detection.first_block import NamedBytes
    from labeltrees.data.readers.source import Source
    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.models.model import FittedModel
    from labeltrees.store import StoredModel

ALL_FORMATS = (*FORMATS, "python")
"""The formats of files, and Python code."""


@dataclass(frozen=True)
class Input:
    """The source of rows and the way to read them, which is saved with the model (`facts`)."""

    path: str
    layout: FileLayout | None = None
    """The layout of the file, or None for Python code."""
    profile: DataProfile | None = field(default=None, repr=False)
    """The profile of the first part of the file, or None if it was not read yet."""
    one_label: OneLabel = "each"
    """What a model of one label per row learns of a row with several."""
    limit: int | None = None
    order: str = "files"
    seed: int = 0
    max_line_bytes: int = MAX_LINE_BYTES
    vectorizer: Vectorizer | None = field(default=None, repr=False)
    """The transformer of texts. None stands for hashed words and pairs of words."""
    scaler: Any = field(default=None, repr=False)
    """A transformer of numbers in front of the model, if there is one."""
    join_rows: bool = False
    """Whether rows of one text, or of the same features, are one row with all their labels."""
    width: int | None = None
    """The number of features of a model. Others are left out if the format has no width."""
    held: Chunk | None = field(default=None, repr=False)
    """The rows themselves where they are in memory."""

    @classmethod
    def choose(
        cls,
        path: str | NamedBytes,
        *,
        format: str | None,  # noqa: A002
        labelled: bool = True,
        columns: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> Input:
        """Return the input that a command's options describe, with the profile of the file.

        ``columns`` are the options of `profile_file` for columns and separators, as the user typed
        them. Arguments in ``rest`` that are None were not given.
        """
        if format is not None:
            checks.choice("format", format, ALL_FORMATS)
        rest = {name: value for name, value in rest.items() if value is not None}
        checks.choice("one_label", rest.get("one_label", "each"), get_args(OneLabel))
        if format != "python" and "order" in rest:
            raise ArgumentError("is for the format python only. Remove it.", argument="order")
        given = dict(columns or {})
        if given.get("label_separator") == "none":
            given["label_separator"] = None
        if format == "python":
            if given:
                raise ArgumentError(
                    "is not an option of the format python. Remove it.", argument=next(iter(given))
                )
            return cls(str(path), **rest)
        profile = profile_file(path, format=format, labelled=labelled, **given)
        name = path if isinstance(path, str) else path.name
        return cls(name, profile.layout, profile, **rest)

    @classmethod
    def like(
        cls,
        stored: StoredModel,
        path: str | NamedBytes,
        *,
        format: str | None,  # noqa: A002
        **rest: Any,
    ) -> Input:
        """Return the input for a saved model, read as the model's own data was.

        A file in another format is read as such, if it holds texts where the model takes texts.
        """
        remembered = remembered_input(stored.extra)
        known = remembered.get("format")
        if format is None and known == "python":
            format = "python"  # noqa: A001
        if format == "python":
            return cls.choose(path, format=format, **rest).for_model(stored)
        quoted = known == "vw" and dict(remembered.get("options", {})).get("quoted_labels")
        columns = {"quoted_labels": True} if quoted else {}
        chosen = cls._detected(path, format, known, rest, columns)
        layout = chosen.layout
        assert layout is not None
        if format is None and "options" in remembered:
            layout = _like(layout, FileLayout.from_facts(remembered, path))
        return replace(chosen, layout=layout).for_model(stored)

    @classmethod
    def _detected(
        cls,
        path: str | NamedBytes,
        format: str | None,  # noqa: A002
        known: Any,
        rest: dict[str, Any],
        columns: dict[str, Any],
    ) -> Input:
        """Return the input of a file; ``columns`` are for files of the format that is known."""
        hint = hinted_format(path)
        likely = format or hint or (known if path == "-" else None)
        own = columns if likely == known else {}
        try:
            return cls.choose(path, format=format, labelled=False, columns=own, **rest)
        except DataError:
            if format is not None or known not in FORMATS or path == "-" or hint:
                raise
        return cls.choose(path, format=known, labelled=False, columns=columns, **rest)

    def for_model(self, stored: StoredModel) -> Input:
        """Return the input with what is in front of a model."""
        transformer = transform_of(stored)
        if transformer is None:
            return replace(self, width=stored.facts.get("n_features"))
        if takes_text(transformer):
            return replace(self, vectorizer=transformer)
        return replace(self, scaler=transformer)

    def joined_as_learned(self, stored: StoredModel) -> Input:
        """Return the input with rows of one text joined if the model learned from such rows."""
        joins = remembered_input(stored.extra).get("join_rows") is True
        return replace(self, join_rows=True) if joins else self

    @classmethod
    def of_texts(cls, stored: StoredModel, texts: Sequence[str]) -> Input:
        """Return texts that were typed as the input of a model that has learned from texts."""
        transformer = transform_of(stored)
        if transformer is None or not takes_text(transformer):
            raise ArgumentError(
                "--text: this model was not trained on texts. Give a data file instead."
            )
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        facts = {"format": "jsonl", "options": {}, "is_text": True}
        layout = FileLayout.from_facts(facts, io.BytesIO(lines.encode()))
        return cls("--text", layout, vectorizer=transformer)

    @property
    def format(self) -> str:
        """The format of the file."""
        return "python" if self.layout is None else self.layout.format

    @property
    def is_text(self) -> bool:
        """Whether rows are texts, of which features are made."""
        return self.layout is not None and self.layout.is_text

    @property
    def assumed(self) -> tuple[str, ...]:
        """What was assumed of the file, in sentences."""
        return () if self.layout is None else self.layout.assumed

    @property
    def column_names(self) -> Sequence[str] | None:
        """The names of a table's features."""
        if self.layout is None or self.layout.format != "csv" or self.is_text:
            return None
        options = self.layout.options
        return list(options.get("numbers", ())) if not options.get("categories") else None

    def facts(self) -> dict[str, Any]:
        """Return what is kept of the input beside the model, ready for JSON."""
        own = {"format": "python"} if self.layout is None else self.layout.facts()
        return {"input": own | ({"join_rows": True} if self.join_rows else {})}

    def save(
        self,
        model: FittedModel,
        path: Path,
        *,
        keep_state: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Save a model that learned from this input, with what makes its features."""
        transformer = self.text_features if self.is_text else self.scaler
        kept = self.facts() | (extra or {})
        save_with_transform(model, transformer, path, keep_state=keep_state, extra=kept)

    @property
    def text_features(self) -> Vectorizer:
        """The transformer that makes features of texts."""
        return hashed_text_features() if self.vectorizer is None else self.vectorizer

    def feature_names(self, text: str | None = None) -> Sequence[str] | None:
        """Return the words that the features count, if they are known; hashed ones from a text."""
        return feature_names(self.text_features, text) if self.is_text else self.column_names

    def raw(self) -> Source:
        """Return the bytes of the file from its start. A pipe can be read once."""
        assert self.layout is not None
        return self.path if self.layout.source is None else self.layout.source.take()

    def read_from(self, source: Source) -> Input:
        """Return the same way to read for other bytes."""
        assert self.layout is not None
        return replace(self, layout=FileLayout.from_facts(self.layout.facts(), source))

    def whole(self) -> Iterator[Chunk]:
        """Return the chunks, all rows as one chunk where rows of one text are joined."""
        if not self.join_rows:
            yield from self.chunks()
            return
        held = list(self.chunks())
        if held:
            yield join_same_rows(held)

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Return the chunks of at most ``limit`` rows, without the first ``skip`` of them.

        Skipped rows are read, because the first rows of a file can decide how the rest is read, but
        no features are made of their texts.
        """
        n_before = 0
        for chunk in self._limited(skip):
            n_skipped = min(max(skip - n_before, 0), chunk.n_rows)
            n_before += chunk.n_rows
            if n_skipped == 0:
                yield chunk
            elif n_skipped < chunk.n_rows:
                yield chunk.take(np.arange(n_skipped, chunk.n_rows))

    def texts_or_rows(self) -> Iterator[Chunk]:
        """Return the chunks without features where there are texts to make them of later."""
        return replace(self, vectorizer=NoFeatures()).chunks()

    def with_features(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Return chunks with the features of their texts."""
        if not self.is_text:
            yield from chunks
            return
        from labeltrees.data.rows import as_rows

        for chunk in chunks:
            yield replace(
                chunk, rows=as_rows(self.text_features.transform(list(chunk.texts or ())))
            )

    def _limited(self, skip: int) -> Iterator[Chunk]:
        if self.layout is None:
            folder = None if self.path == "stdlib" else self.path
            order = cast("Any", self.order)
            yield from PythonSource(folder, order=order, seed=self.seed, limit=self.limit)
            return
        left = self.limit
        for chunk in self._chunks_of_layout(self.layout, skip):
            if self.width is not None and chunk.rows.n_features == UNBOUNDED_WIDTH:
                chunk = replace(chunk, rows=chunk.rows.cut(self.width))
            if self.scaler is not None:
                chunk = replace(chunk, rows=transformed(chunk.rows, self.scaler))
            if left is not None and chunk.n_rows >= left:
                yield chunk.head(left)
                return
            yield chunk
            left = None if left is None else left - chunk.n_rows

    def _chunks_of_layout(self, layout: FileLayout, skip: int) -> Iterator[Chunk]:
        if self.held is None:
            return layout.open(self._skipping(skip), max_line_bytes=self.max_line_bytes)
        parts = range(0, self.held.n_rows, CHUNK_ROWS)
        n = self.held.n_rows
        pieces = (self.held.take(np.arange(i, min(i + CHUNK_ROWS, n))) for i in parts)
        if isinstance(self.vectorizer, NoFeatures):
            return pieces
        return self.with_features(pieces)

    def _skipping(self, skip: int) -> Vectorizer | None:
        if not self.is_text:
            return None
        return _Skipping(self.text_features, skip) if skip else self.text_features


def _like(layout: FileLayout, known: FileLayout) -> FileLayout:
    """Return how to read a file for a model that was trained on a file of a known layout."""
    if layout.format != known.format and layout.is_text == known.is_text:
        return layout
    if layout.is_text != known.is_text and hinted_format(layout.name):
        has, takes = (("texts" if text else "features") for text in (layout.is_text, known.is_text))
        raise DataError(
            f"{layout.name} was read as {layout.format} with {has}, but this model takes {takes}. "
            "If the format is wrong, set --format."
        )
    options = dict(known.options)
    if layout.format == known.format == "tsv":
        options["header"] = layout.options["header"]
    return replace(layout, format=known.format, options=options, is_text=known.is_text)


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
        raise ModelFormatError(
            f"the input in the model file must be a dict, got {remembered!r:.60}."
        )
    return remembered
