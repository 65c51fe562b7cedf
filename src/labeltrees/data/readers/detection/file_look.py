"""What a look at a file found, and the file read with it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from labeltrees.checks import choice
from labeltrees.data.readers.assembly import CHUNK_ROWS, check_chunk_rows
from labeltrees.data.readers.detection.table_layout import TableLayout
from labeltrees.data.readers.formats import FORMATS, TABLE
from labeltrees.data.readers.source import (
    MAX_LINE_BYTES,
    Source,
    check_line_limit,
    source_name,
)
from labeltrees.data.readers.table import read_table
from labeltrees.data.readers.vectorizers import check_vectorizer
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.vectorizers import Vectorizer

__all__ = ["FileLook", "Once", "layout_of", "read_as"]


@dataclass(frozen=True)
class FileLook:
    r"""What the first megabyte of a file tells about it.

    Parameters
    ----------
    name : str
        The file's name, for messages.
    format : str
        Its format, one of ``FORMATS``.
    options : dict
        How its reader is called, ready for JSON.
    is_text : bool
        Whether rows are texts; otherwise they are features.
    density : float or None
        The share of features that are not zero, among the columns that the looked-at rows use;
        None for texts.
    n_features : int or None
        How many columns the looked-at rows use; None for texts.
    several_labels, graded : bool
        Whether a row has more than one label; whether labels have a relevance other than 1.
    sorted_labels : bool
        Whether equal labels come in long runs, as in a file sorted by label.
    ratings : bool
        Whether each row rates one label for a text, or features, that other rows have too.
    distributions : bool
        Whether rows have probabilities of labels.
    several_share : float
        The share of rows with more than one label, of those that have any.
    max_relevance : float
        The largest relevance of a label; 1 where labels have none.
    header : bool
        Whether the first line has names of columns.
    columns : tuple of str
        The columns of a table.
    label_separator : str or None
        What separates labels in formats that leave it open; None: nothing does.
    n_rows, n_unlabelled, n_labels : int
        Looked-at rows, those without a label, and distinct labels.
    n_bytes : int or None
        The size of the file; None for a pipe.
    is_whole : bool
        Whether all of the file was looked at.
    assumed : tuple of str
        What was assumed, in sentences, and which option changes it.
    notes : tuple of str
        The same, and what is noteworthy of the looked-at rows: no labels, or labels in runs.
    source : Once or None
        Where `open` reads; None: the file ``name``.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import look_at
    >>> look = look_at(io.BytesIO(b"greet\tgood morning\nleave\tgood night\n"))
    >>> look.format, look.is_text, look.several_labels, look.n_rows, look.n_labels
    ('tsv', True, False, 2, 2)
    >>> [chunk.texts for chunk in look.open()]
    [['good morning', 'good night']]
    """

    name: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    density: float | None = None
    n_features: int | None = None
    several_labels: bool = False
    graded: bool = False
    sorted_labels: bool = False
    ratings: bool = False
    distributions: bool = False
    several_share: float = 0.0
    max_relevance: float = 1.0
    header: bool = False
    columns: tuple[str, ...] = ()
    label_separator: str | None = None
    n_rows: int = 0
    n_unlabelled: int = 0
    n_labels: int = 0
    n_bytes: int | None = None
    is_whole: bool = False
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: Once | None = field(default=None, repr=False, compare=False)

    @property
    def is_dense(self) -> bool:
        """Whether rows are features most of which are not zero."""
        return self.density is not None and self.density >= 0.5

    def open(
        self,
        vectorizer: Vectorizer | None = None,
        *,
        chunk_rows: int = CHUNK_ROWS,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> Iterator[Chunk]:
        """Return the chunks of the whole file, read as found.

        A file can be opened any number of times; a pipe once, and nothing that was looked at is
        lost.

        Parameters
        ----------
        vectorizer : object with a ``transform`` method, or None
            Makes features of texts, as for `read_tsv`; not used if rows are features.
        chunk_rows : int
            The largest number of rows in a chunk.
        max_line_bytes : int
            A longer line raises an error.
        """
        check_vectorizer(vectorizer)
        chunk_rows, limit = check_chunk_rows(chunk_rows), check_line_limit(max_line_bytes)
        source = self.name if self.source is None else self.source.take()
        return read_as(self.format, self.options, source, vectorizer, chunk_rows, limit)

    def facts(self) -> dict[str, Any]:
        """Return what `from_facts` needs to read another file the same way, ready for JSON."""
        return {"format": self.format, "options": dict(self.options), "is_text": self.is_text}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], path: Source) -> FileLook:
        r"""Return how to read a file in the way that a look at another one found.

        It is not looked at, so counts are 0. The columns of a table are found by their names; its
        column of labels may be missing.

        Examples
        --------
        >>> import io
        >>> from labeltrees.data.readers import look_at
        >>> look = look_at(io.BytesIO(b"label,text\ngreet,good morning all\n"))
        >>> other = FileLook.from_facts(look.facts(), io.BytesIO(b"text\ngood night\n"))
        >>> [chunk.texts for chunk in other.open()]
        [['good night']]
        """
        try:
            kind, options = choice("format", facts["format"], FORMATS), dict(facts["options"])
            if kind == "csv":
                layout_of(options)
            is_text = bool(facts.get("is_text", False))
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(f"facts of a file cannot be {facts!r:.80}: {error}") from None
        once = Once(path, again=not hasattr(path, "read") and path != "-")
        return cls(source_name(path), kind, options, is_text, source=once)


class Once:
    """A source that can be read once, or as often as one likes."""

    def __init__(self, source: Source, again: bool) -> None:
        self.source = source
        self.again = again
        self.start = source.tell() if again and hasattr(source, "tell") else None
        self.taken = False

    def take(self) -> Source:
        """Return the source, at its start; raises `DataError` if it is gone."""
        if self.taken and not self.again:
            raise DataError(f"{source_name(self.source)} is a stream, which can be read once.")
        self.taken = True
        if self.start is not None:
            self.source.seek(self.start)  # type: ignore[union-attr]
        return self.source


def layout_of(options: Mapping[str, Any]) -> TableLayout:
    """Return the layout of a table that its options describe; raises ValueError or TypeError."""
    known = {each.name for each in fields(TableLayout)}
    if not options.keys() <= known:
        raise ValueError(f"unknown options {sorted(options.keys() - known)}")
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in options.items()
    }
    return TableLayout(**given)


def read_as(
    kind: str,
    options: Mapping[str, Any],
    source: Source,
    vectorizer: Vectorizer | None,
    chunk_rows: int,
    max_line_bytes: int,
) -> Iterator[Chunk]:
    """Return the chunks of a source of a format, read with the options that a look found."""
    if kind == "csv":
        return read_table(
            source,
            layout_of(options),
            vectorizer=vectorizer,
            chunk_rows=chunk_rows,
            max_line_bytes=max_line_bytes,
        )
    return TABLE[kind].read(
        source,
        options=options,
        vectorizer=vectorizer,
        chunk_rows=chunk_rows,
        max_line_bytes=max_line_bytes,
    )
