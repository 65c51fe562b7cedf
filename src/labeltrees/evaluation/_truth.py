"""The true labels of rows, in any form, and the question that they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers.detection.profile import DataProfile
from labeltrees.data.rows import Rows, as_weights
from labeltrees.data.targets import as_targets
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Task: TypeAlias = Literal["label", "labels", "distribution"]
"""Whether rows have one label each, any number of labels, or a probability of each label."""

ROWS_TO_DECIDE = 4096
"""Number of rows by which the task is decided."""
_SUM_ERROR = 1e-3


def labels_of_rows(y: Any, classes: ArrayLike | None = None) -> RaggedLabels:
    """Return the labels of rows that come as labels, lists, dicts or a matrix.

    The relevance is None if every label has relevance 1.

    >>> labels_of_rows([["sun", "rain"], []]).labels.tolist()
    ['rain', 'sun']
    """
    from labeltrees.models.extreme.relevance import raw_relevance

    if hasattr(y, "__array__") and not hasattr(y, "ndim"):  # a series of polars
        y = np.asarray(y)
    if classes is None and _is_column_or_floats(y):
        y = as_targets(y)
    given = raw_relevance(y, classes=classes)
    if not len(given.relevance):
        raise DataError("y has no label. At least one row needs a label.")
    # A list that names a label twice says no more than one that names it once.
    values = given.relevance
    if given.most is not None:
        values = np.minimum(values, given.most)
    relevance = values.astype(np.float32) if (values != 1).any() else None
    return RaggedLabels(given.vocabulary.labels[given.labels], given.starts, relevance)


def _is_column_or_floats(y: Any) -> bool:
    """Return whether y is an array of one label per row that has to be reshaped or rounded."""
    if getattr(y, "ndim", None) == 2:
        return bool(y.shape[1] == 1) and not hasattr(y, "tocsr")
    return getattr(y, "ndim", None) == 1 and getattr(getattr(y, "dtype", None), "kind", "O") == "f"


def labelled_rows(
    rows: Rows, y: Any, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
) -> Chunk:
    """Return rows with their labels and weights as one chunk.

    >>> from labeltrees.data.rows import as_rows
    >>> labelled_rows(as_rows([[1, 0], [0, 1]]), [{"sun": 0.25, "rain": 0.75}] * 2).is_distribution
    True
    """
    sets = labels_of_rows(y, classes)
    if sets.n_rows != rows.n_rows:
        raise DataError(f"y has {sets.n_rows} rows for the {rows.n_rows} rows of X.")
    weights = as_weights(sample_weight, rows.n_rows)
    return Chunk(
        rows,
        sets,
        weights if len(weights) else None,
        first_line=0,
        is_distribution=_are_distributions(sets),
    )


def _are_distributions(sets: RaggedLabels) -> bool:
    """Return whether the relevances of every row that has labels sum to 1."""
    if sets.relevance is None:
        return False
    ends = np.concatenate(([0.0], np.cumsum(sets.relevance, dtype=np.float64)))[sets.starts]
    sums = np.diff(ends)[np.diff(sets.starts) > 0]
    return bool((np.abs(sums - 1) <= _SUM_ERROR).all())


def task_of(chunk: Chunk) -> Task:
    """Return what the first rows have.

    It does not depend on the model, so that the scores of several models can be compared.
    If fewer than one row in a hundred has several labels, rows count as having one.

    >>> from labeltrees.data.rows import as_rows
    >>> rows = as_rows([[1.0], [2.0]])
    >>> task_of(labelled_rows(rows, ["sun", "rain"])), task_of(labelled_rows(rows, [["sun"], []]))
    ('label', 'label')
    >>> task_of(labelled_rows(rows, [["sun", "rain"], ["sun"]]))
    'labels'
    """
    return task_of_profile(DataProfile.of([chunk.head(min(chunk.n_rows, ROWS_TO_DECIDE))]))


def task_of_profile(profile: DataProfile) -> Task:
    """Return what rows have, by their profile.

    >>> task_of_profile(DataProfile(several_labels=True))
    'labels'
    """
    if profile.distributions:
        return "distribution"
    return "labels" if profile.several_labels or profile.graded else "label"


def is_graded(chunk: Chunk) -> bool:
    """Return whether labels have a relevance other than 1."""
    return chunk.relevance is not None and bool((chunk.relevance != 1).any())
