"""Our estimator in the sections that have no peer."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

import labeltrees
from labeltrees.metrics import label_matrix


def regressor(**options: Any) -> Any:
    """Return an `ExtremeRegressor` with a fixed seed."""
    return labeltrees.ExtremeRegressor(random_state=0, **options)


def with_one_thread(model: Any) -> Any:
    """Return the model, which uses one thread from now on."""
    model.set_params(n_jobs=1)
    return model


def top_labels(model: Any, X: Any, k: int, n_labels: int) -> csr_array:
    """Return the k best labels of each row as a matrix; labels are column numbers."""
    labels, scores = model.predict_top_k(X, k)
    return label_matrix(labels, scores, classes=range_of(n_labels))


def ranked_labels(model: Any, X: Any, k: int, n_labels: int) -> csr_array:
    """Return the k best labels of each row with the scores that rank them, a tail's included."""
    labels, scores = model.predict_top_scores(X, k)
    return label_matrix(labels, scores, classes=range_of(n_labels))


def top_rows(model: Any, X: Any, k: int, n_labels: int, **options: Any) -> csr_array:
    """Return the k best rows of each label with their relevance as a matrix, rows by labels."""
    columns = range_of(n_labels)
    rows, scores = model.top_row_scores(X, labels=None, k=k, **options)
    found = label_matrix(rows, scores, classes=range_of(X.shape[0]))
    whole = label_matrix(model.classes_[:, None], classes=columns)  # a column for every label
    return (whole.T @ found).T.tocsr()


def range_of(n: int) -> list[int]:
    """Return the numbers below n."""
    return list(range(n))
