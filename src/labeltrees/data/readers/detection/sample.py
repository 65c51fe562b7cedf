"""What the first rows of a file tell: numbers of rows and labels, their order, their features."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.same_rows import Ratings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labeltrees.data.chunk import Chunk

__all__ = ["Sample", "sample_of"]

_MOST_ROWS = 20_000
_FEWEST_ROWS = 20  # fewer say nothing about their order


@dataclass(frozen=True)
class Sample:
    """Counts over the looked-at rows."""

    n_rows: int = 0
    n_unlabelled: int = 0
    n_labels: int = 0
    several_labels: bool = False
    graded: bool = False
    sorted_labels: bool = False
    is_text: bool = False
    density: float | None = None
    n_features: int | None = None
    is_whole: bool = True
    ratings: bool = False
    distributions: bool = False
    several_share: float = 0.0
    max_relevance: float = 1.0

    def notes(self) -> tuple[str, ...]:
        """Return sentences about what a user should know."""
        notes = []
        if self.n_rows and self.n_unlabelled == self.n_rows:
            notes.append(f"None of the {self.n_rows:,} rows looked at has a label.")
        elif self.n_unlabelled:
            notes.append(
                f"Rows without a label: {self.n_unlabelled:,} of {self.n_rows:,} looked at."
            )
        if self.sorted_labels:
            notes.append(
                "Rows arrive sorted by label: a model that learns in this order forgets the "
                "first labels, so rows must be shuffled."
            )
        if self.ratings:
            what = "text" if self.is_text else "row of features"
            notes.append(
                f"Several rows rate different labels for one {what}: `join_same_rows` "
                "(train --join-rows) makes one row of them, with all its labels."
            )
        return tuple(notes)


def sample_of(chunks: Iterable[Chunk], *, is_whole: bool) -> Sample:
    r"""Return the counts of the first chunks, which are of a whole file or of its beginning.

    >>> import io
    >>> from labeltrees.data.readers import read_svmlight
    >>> sample_of(read_svmlight(io.BytesIO(b"3 1:1\n 1:2\n")), is_whole=True).n_unlabelled
    1
    """
    n_rows = n_unlabelled = n_entries = n_several = 0
    most = 0.0
    graded = is_text = distributions = False
    labels: Counter[Any] = Counter()
    firsts: list[Any] = []
    columns: set[int] = set()
    ratings = Ratings()
    for chunk in chunks:
        n_rows += chunk.n_rows
        n_unlabelled += chunk.n_unlabelled
        n_of_row = np.diff(chunk.label_starts)
        n_several += int(np.count_nonzero(n_of_row > 1))
        graded = graded or (chunk.relevance is not None and bool((chunk.relevance != 1).any()))
        most = max(most, 1.0 if chunk.relevance is None else chunk.relevance.max(initial=0))
        labels.update(chunk.labels.tolist())
        ratings.add(chunk)
        distributions = distributions or chunk.is_distribution
        firsts.extend(chunk.labels[chunk.label_starts[:-1][n_of_row > 0]].tolist())
        is_text = chunk.texts is not None
        if not is_text:
            n_entries += int(np.count_nonzero(chunk.rows.values))
            columns.update(np.unique(chunk.rows.indices).tolist())
        if n_rows >= _MOST_ROWS:
            is_whole = False
            break
    size = n_rows * len(columns)
    return Sample(
        n_rows,
        n_unlabelled,
        len(labels),
        n_several > 0,
        graded,
        _are_sorted(firsts, may_be_one=is_whole or n_several > 0),
        is_text,
        None if is_text else (n_entries / size if size else 0.0),
        None if is_text else len(columns),
        is_whole,
        ratings.found,
        distributions,
        n_several / max(1, n_rows - n_unlabelled),
        float(most),
    )


def _are_sorted(labels: list[Any], *, may_be_one: bool) -> bool:
    """Return whether equal labels come in runs four times as long as in a shuffled file."""
    n = len(labels)
    if n < _FEWEST_ROWS:
        return False
    counts = Counter(labels)
    if len(counts) == 1:
        return not may_be_one  # all of the first rows have one label; others must follow
    n_runs = 1 + sum(a != b for a, b in pairwise(labels))
    shuffled = 1 + (n - 1) * (1 - sum((count / n) ** 2 for count in counts.values()))
    return bool(4 * n_runs < shuffled)
