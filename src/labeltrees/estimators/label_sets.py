"""What users give as the labels of rows that have many, as checked label sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees.data.labels import ALLOWED_RELEVANCE, RaggedLabels
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.several_labels import form_of, relevance_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.models.model import FormName

__all__ = ["NamedSets", "named_sets"]


class NamedSets(NamedTuple):
    """Label sets, how they were given, and the labels that are announced with them."""

    sets: RaggedLabels
    form: FormName
    names: NDArray[Any]
    """Of a matrix all of its columns, else the labels that occur, sorted."""


def named_sets(y: Any, classes: ArrayLike | None = None) -> NamedSets:
    """Return a matrix, lists, sets, dicts or one label per row as checked label sets.

    Rows may have no label at all. Relevance, of a matrix or of dicts, must be in [0, 1].

    >>> found = named_sets([{"sun": 1.0, "rain": 0.5}, {}])
    >>> found.sets.labels.tolist(), found.sets.relevance.tolist(), found.form
    (['rain', 'sun'], [0.5, 1.0], 'lists')
    """
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None.")
    if hasattr(y, "__array__") and not hasattr(y, "ndim"):
        y = np.asarray(y)
    empty = _without_labels(y, classes)
    if empty is not None:
        return empty
    named = None if form_of(y) in ("lists", "labels") else classes
    relevance = relevance_of(y, named)
    values = relevance.values.astype(np.float64) * relevance.scale
    if relevance.scale > 1:
        entry = int(np.argmax(values))
        row = int(np.searchsorted(relevance.starts, entry, side="right")) - 1
        raise DataError(f"row {row} of y has {values[entry]:g}; {ALLOWED_RELEVANCE}")
    names = relevance.vocabulary.labels
    is_graded = relevance.is_graded or relevance.scale != 1
    if form_of(y) == "lists" and not is_graded:
        sets = RaggedLabels.of_lists([_relevant(row) for row in y])  # in the order they are named
    else:
        graded = values.astype(np.float32) if is_graded else None
        sets = RaggedLabels(names[relevance.labels], relevance.starts, graded)
    if named is None and classes is not None:
        names = np.concatenate([np.asarray(LabelVocabulary(classes).labels), names])
    return NamedSets(sets, form_of(y), names)


def _relevant(row: Any) -> list[Any]:
    return [label for label in row if row[label]] if isinstance(row, dict) else list(row)


def _without_labels(y: Any, classes: ArrayLike | None) -> NamedSets | None:
    """Return rows none of which has a label; None if one has, or something is wrong with y."""
    if hasattr(y, "tocsr"):
        matrix = y.tocsr()
        is_empty, n_rows, width = matrix.nnz == 0, matrix.shape[0], matrix.shape[1]
    elif getattr(y, "ndim", 1) == 2:
        array = np.asarray(y)
        is_empty = array.dtype.kind in "biuf" and array.size > 0 and not array.any()
        n_rows, width = array.shape
    else:
        rows = list(y)
        is_empty = bool(rows) and all(
            isinstance(row, (list, tuple, set, frozenset, dict)) and len(row) == 0 for row in rows
        )
        n_rows, width = len(rows), None
    if not is_empty:
        return None
    names = np.arange(0 if width is None else width) if classes is None else np.asarray(classes)
    names = LabelVocabulary(names).labels
    if width is not None and len(names) != width:
        raise ArgumentError.of("classes", classes, f"{width} different labels")
    starts = np.zeros(n_rows + 1, np.int64)
    return NamedSets(RaggedLabels(np.empty(0, dtype=object), starts), form_of(y), names)
