"""Profiles of data, with the numbers of rows and labels, their order, and texts or features."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.readers.assembly import CHUNK_ROWS
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.data.rows import is_dense
from labeltrees.data.same_rows import Ratings
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers.detection.layout import FileLayout
    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.data.rows import Rows

#: Smallest share of rows with several labels at which a file has several labels per row. Below
#: this share, rows with several labels are treated as noise.
SEVERAL_LABELS_SHARE = 0.01
#: Number of runs of equal labels, as a share of the number in shuffled rows, below which rows are
#: sorted by label. A quarter means that runs are four times as long as in shuffled rows. At one
#: half, a file of pairs of paraphrases would count as sorted although a model forgets nothing when
#: it learns them in order, and so would about 1 in 200 shuffled files of 20 rows. At a quarter,
#: none of 20,000 such files did.
SORTED_RUNS_SHARE = 0.25
#: Smallest number of rows whose order is judged.
MIN_ROWS_IN_ORDER = 20
#: Maximum number of rows of a file's first part that are profiled, and of rows in memory whose
#: density is measured.
MAX_PROFILED_ROWS = 20_000
#: Widest rows, in columns, whose used columns are counted with one flag for each column.
_MAX_FLAGS = 2**24


@dataclass(frozen=True)
class DataProfile:
    r"""A description of data, from which a method is chosen.

    A profile describes the first part of a file (`profile_file`) or rows in memory (`of`). The
    same rules apply to both, so that the same rows always have the same profile.

    Parameters
    ----------
    n_rows, n_unlabelled, n_labels : int
        The numbers of rows, of rows without a label, and of distinct labels.
    labels_per_row : float
        The mean number of labels of the rows that have any.
    several_labels : bool
        Whether at least 1 % of the rows that have labels have more than one.
    graded : bool
        Whether labels have a relevance other than 1.
    max_relevance : float
        The largest relevance of a label, which is 1 where labels have none.
    ratings : bool
        Whether each row rates one label for a text, or features, that other rows have too.
    distributions : bool
        Whether rows have probabilities of labels.
    sorted_labels : bool
        Whether rows are sorted by label. In sorted rows, runs of equal labels are at least four
        times as long as in shuffled rows.
    is_text : bool
        Whether rows are texts. If not, they are features.
    n_features : int or None
        The number of columns that are not zero in all rows, or None for texts.
    density : float or None
        The share of values that are not zero in these columns, or None for texts.
    is_whole : bool
        Whether these are all rows of their source.
    layout : FileLayout or None
        How the file is read, or None for rows in memory.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_svmlight
    >>> profile = DataProfile.of(read_svmlight(io.BytesIO(b"3,4 1:1\n3 1:2 5:1\n 5:1\n")))
    >>> profile.n_rows, profile.n_unlabelled, profile.n_labels, profile.labels_per_row
    (3, 1, 2, 1.5)
    >>> profile.several_labels, profile.n_features, profile.is_dense
    (True, 2, True)
    """

    n_rows: int = 0
    n_unlabelled: int = 0
    n_labels: int = 0
    labels_per_row: float = 1.0
    several_labels: bool = False
    graded: bool = False
    max_relevance: float = 1.0
    ratings: bool = False
    distributions: bool = False
    sorted_labels: bool = False
    is_text: bool = False
    n_features: int | None = None
    density: float | None = None
    is_whole: bool = True
    layout: FileLayout | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        chunks: Iterable[Chunk],
        *,
        is_whole: bool = True,
        n_unlabelled: int = 0,
        layout: FileLayout | None = None,
    ) -> DataProfile:
        """Return the profile of chunks of rows.

        Parameters
        ----------
        chunks : iterable of Chunk
        is_whole : bool
            Whether these are all rows of their source.
        n_unlabelled : int
            The number of rows without a label that were left out of the chunks.
        layout : FileLayout or None
            How their file is read.
        """
        counts = Counts()
        for chunk in chunks:
            counts.add(chunk)
        return counts.profile(is_whole, n_unlabelled, layout)

    def refined(self, data: Chunk, n_unlabelled: int = 0) -> DataProfile:
        """Return the profile of all labelled rows, given the profile of the first of them.

        Whatever takes long to find in very many rows stays as it was in the first ones. Rows that
        had several labels or grades keep them, because methods were chosen by that.

        Parameters
        ----------
        data : Chunk
            All rows that have a label.
        n_unlabelled : int
            The number of rows without a label.
        """
        counts = Counts(only_labels=True)
        counts.add(data)
        found = counts.profile(True, n_unlabelled, self.layout)
        return replace(
            self,
            n_rows=found.n_rows,
            n_unlabelled=n_unlabelled,
            n_labels=found.n_labels,
            labels_per_row=found.labels_per_row,
            several_labels=self.several_labels or found.several_labels,
            graded=self.graded or found.graded,
            max_relevance=max(self.max_relevance, found.max_relevance),
            is_whole=True,
        )

    @property
    def n_labelled(self) -> int:
        """The number of rows that have a label."""
        return self.n_rows - self.n_unlabelled

    @property
    def is_dense(self) -> bool:
        """Whether rows are a table of numbers rather than sparse features.

        See `labeltrees.data.rows.is_dense`, which also decides whether models standardise columns.
        """
        if self.n_features is None or self.density is None:
            return False
        return is_dense(self.n_features, self.density)

    @property
    def format(self) -> str | None:
        """The format of the file, or None for rows in memory."""
        return None if self.layout is None else self.layout.format

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was assumed and what a user should know."""
        notes = [] if self.layout is None else list(self.layout.assumed)
        if self.n_rows and self.n_unlabelled == self.n_rows:
            notes.append(f"None of the {self.n_rows:,} rows read has a label.")
        elif self.n_unlabelled:
            notes.append(f"{self.n_unlabelled:,} of the {self.n_rows:,} rows read have no label.")
        if self.sorted_labels:
            notes.append(
                "Rows are sorted by label. A model that learns in this order forgets the first "
                "labels, so rows must be shuffled."
            )
        if self.ratings:
            what = "text" if self.is_text else "row of features"
            notes.append(
                f"Several rows rate different labels for one {what}. `join_same_rows` "
                "(train --join-rows) makes one row with all its labels of them."
            )
        return tuple(notes)

    def open(
        self,
        vectorizer: Vectorizer | None = None,
        *,
        chunk_rows: int = CHUNK_ROWS,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> Iterator[Chunk]:
        """Return the chunks of the whole file, see `FileLayout.open`."""
        if self.layout is None:
            raise ArgumentError(
                "open needs the profile of a file, but this profile is of rows in memory."
            )
        return self.layout.open(vectorizer, chunk_rows=chunk_rows, max_line_bytes=max_line_bytes)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but the layout, with the format and ``is_dense``, ready for JSON."""
        facts = asdict(replace(self, layout=None))
        del facts["layout"]
        return {"format": self.format, **facts, "is_dense": self.is_dense}


class Counts:
    """Counts over chunks of rows, from which a profile is made.

    With ``only_labels``, neither ratings nor features are counted, because that takes long.
    """

    def __init__(self, *, only_labels: bool = False) -> None:
        self.only_labels = only_labels
        self.n_rows = self.n_unlabelled = self.n_several = self.n_measured = self.n_values = 0
        self.graded = self.is_text = self.distributions = False
        self.max_relevance = 0.0
        self.labels: list[NDArray[Any]] = []
        self.starts: list[NDArray[np.int64]] = []  # where the labels of labelled rows start
        self.n_entries = 0
        self.columns: list[NDArray[Any]] = []
        self.ratings = Ratings()

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk."""
        n_of_row = np.diff(chunk.label_starts)
        self.n_rows += chunk.n_rows
        self.n_unlabelled += chunk.n_unlabelled
        self.n_several += int(np.count_nonzero(n_of_row > 1))
        relevance = chunk.relevance
        self.graded = self.graded or (relevance is not None and bool((relevance != 1).any()))
        largest = 1.0 if relevance is None else float(relevance.max(initial=0))
        self.max_relevance = max(self.max_relevance, largest)
        self.starts.append(chunk.label_starts[:-1][n_of_row > 0] + self.n_entries)
        self.n_entries += len(chunk.labels)
        self.labels.append(chunk.labels)
        self.distributions = self.distributions or chunk.is_distribution
        self.is_text = self.is_text or chunk.texts is not None
        if self.only_labels:
            return
        if relevance is not None:  # rows without a grade rate no label
            self.ratings.add(chunk)
        if not self.is_text and self.n_measured < MAX_PROFILED_ROWS:
            self._measure(chunk.rows)

    def _measure(self, rows: Rows) -> None:
        """Count the values that are not zero, and the columns that have any."""
        rows = rows.head(min(rows.n_rows, MAX_PROFILED_ROWS - self.n_measured))
        self.n_measured += rows.n_rows
        self.n_values += int(np.count_nonzero(rows.values))
        if rows.n_features > _MAX_FLAGS:
            self.columns.append(np.unique(rows.indices))
            return
        used = np.zeros(rows.n_features, bool)
        used[rows.indices] = True
        self.columns.append(np.flatnonzero(used))

    def profile(self, is_whole: bool, n_unlabelled: int, layout: FileLayout | None) -> DataProfile:
        """Return the profile of the counted rows and of ``n_unlabelled`` more without a label."""
        ids, n_labels = _ids_of(self.labels)
        n_labelled = self.n_rows - self.n_unlabelled
        firsts = ids[np.concatenate(self.starts)] if self.starts else ids
        measured = not self.is_text and not self.only_labels
        n_columns = len(np.unique(np.concatenate(self.columns))) if self.columns else 0
        size = self.n_measured * n_columns
        return DataProfile(
            n_rows=self.n_rows + n_unlabelled,
            n_unlabelled=self.n_unlabelled + n_unlabelled,
            n_labels=n_labels,
            labels_per_row=self.n_entries / max(n_labelled, 1),
            several_labels=self.n_several / max(n_labelled, 1) >= SEVERAL_LABELS_SHARE,
            graded=self.graded,
            max_relevance=self.max_relevance,
            ratings=self.ratings.found and self.n_several == 0,
            distributions=self.distributions,
            sorted_labels=_are_sorted(firsts, one_is_sorted=not is_whole and self.n_several == 0),
            is_text=self.is_text,
            n_features=n_columns if measured else None,
            density=self.n_values / max(size, 1) if measured else None,
            is_whole=is_whole,
            layout=layout,
        )


def _ids_of(arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], int]:
    """Return a number for each label, the same for equal labels, and how many there are."""
    arrays = [labels for labels in arrays if len(labels)]
    if all(labels.dtype != object for labels in arrays):
        labels = np.concatenate(arrays) if arrays else np.empty(0, np.int64)
        distinct, ids = np.unique(labels, return_inverse=True)
        return ids.astype(np.int64, copy=False), len(distinct)
    known: dict[Any, int] = {}
    numbers = (known.setdefault(each, len(known)) for labels in arrays for each in labels.tolist())
    ids = np.fromiter(numbers, np.int64, sum(map(len, arrays)))
    return ids, len(known)


def _are_sorted(ids: NDArray[np.int64], *, one_is_sorted: bool) -> bool:
    """Return whether equal labels come in runs four times as long as in shuffled rows.

    ``one_is_sorted`` is the answer where all rows have the same label. In the first part of a
    file, others must follow.
    """
    n = len(ids)
    if n < MIN_ROWS_IN_ORDER:
        return False
    shares = np.bincount(ids) / n
    if np.count_nonzero(shares) == 1:
        return one_is_sorted
    n_runs = 1 + np.count_nonzero(ids[1:] != ids[:-1])
    n_shuffled = 1 + (n - 1) * (1 - float((shares**2).sum()))
    return bool(n_runs < SORTED_RUNS_SHARE * n_shuffled)
