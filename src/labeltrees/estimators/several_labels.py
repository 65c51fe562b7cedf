"""Rows with any number of labels: what `fit` is given, and how answers are given back."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.targets import as_targets
from labeltrees.errors import DataError
from labeltrees.metrics import ndcg_at_k
from labeltrees.models.extreme.relevance import as_relevance, is_matrix, raw_relevance
from labeltrees.models.model import MAX_DENSE_BYTES, check_dense_size

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.models.extreme.relevance import RawRelevance, Relevance
    from labeltrees.models.model import FormName, ScoredLabels

__all__ = ["form_of", "in_form", "ndcg_of", "raw_relevance_of", "relevance_of"]


def relevance_of(y: Any, classes: ArrayLike | None) -> Relevance:
    """Return a matrix, lists, dicts or one label per row as checked relevance.

    >>> relevance_of(["sun", "rain"], None).vocabulary.labels.tolist()
    ['rain', 'sun']
    """
    if hasattr(y, "__array__") and not hasattr(y, "ndim"):  # a series of polars
        y = np.asarray(y)
    return as_relevance(as_targets(y) if _is_one_each(y) else y, classes=classes)


def raw_relevance_of(y: Any, classes: ArrayLike | None) -> RawRelevance:
    """Return the same of some of the rows: checked, but not as shares of the largest of all.

    >>> raw_relevance_of([["sun"], []], None).starts.tolist()
    [0, 1, 1]
    """
    return raw_relevance(as_targets(y) if _is_one_each(y) else y, classes=classes)


def form_of(y: Any) -> FormName:
    """Return how y, which has been checked, names the labels of rows.

    >>> form_of(["sun", "rain"]), form_of([["sun"], []]), form_of(np.eye(2))
    ('labels', 'lists', 'matrix')
    """
    if hasattr(y, "tocsr"):
        return "sparse"
    if _is_one_each(y):
        return "labels"
    return "matrix" if is_matrix(y) else "lists"


def in_form(found: sparse.csr_array, form: FormName, classes: NDArray[Any]) -> Any:
    """Return labels that were found, with their probabilities, in the form that y had.

    >>> from scipy import sparse
    >>> found = sparse.csr_array([[0.6, 0.9], [0.0, 0.7]])
    >>> in_form(found, "lists", np.array(["rain", "sun"])).tolist()
    [['sun', 'rain'], ['sun']]
    """
    if form == "lists":
        return _label_lists(found, classes)
    found = found.astype(bool).astype(np.int64)
    if form == "sparse":
        return found
    check_dense_size(found.shape[0], found.shape[1], MAX_DENSE_BYTES)
    return found.toarray()


def ndcg_of(top: ScoredLabels, truth: Relevance, classes: NDArray[Any]) -> float:
    """Return nDCG@5 of the best labels of every row; `DataError` if truth has other rows."""
    from scipy import sparse

    labels, scores = top
    if len(labels) != truth.n_rows:
        raise DataError(f"y has {truth.n_rows} rows for the {len(labels)} rows of X.")
    names = truth.vocabulary
    names.add(classes)  # those of y keep their columns
    # A beam may find fewer than asked.
    row, place = np.nonzero(labels.astype(object) != np.array(None))
    columns, shape = names.ids(labels[row, place]), (len(labels), len(names))
    found = sparse.csr_array((scores[row, place], (row, columns)), shape=shape)
    return float(ndcg_at_k(truth.to_csr(), found, 5))


def _label_lists(found: sparse.csr_array, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of each row, likeliest first, as an array of lists."""
    lists = np.empty(found.shape[0], dtype=object)
    for row, (begin, end) in enumerate(pairwise(found.indptr.tolist())):
        likeliest = np.argsort(-found.data[begin:end], kind="stable")
        lists[row] = classes[found.indices[begin:end][likeliest]].tolist()
    return lists


def _is_one_each(y: Any) -> bool:
    """Whether y has one label per row, perhaps in a column."""
    if y is None or hasattr(y, "tocsr"):
        return y is None
    if hasattr(y, "__array__"):
        array = np.asarray(y)
        if array.ndim == 2 and array.shape[1] == 1:
            return True
        return array.ndim == 1 and not any(map(_is_several, array[:1]))
    return not any(map(_is_several, y))


def _is_several(row: Any) -> bool:
    # Data frames hold lists as arrays (what pandas reads of Parquet) or as series (polars).
    return hasattr(row, "__iter__") and not isinstance(row, (str, bytes))
