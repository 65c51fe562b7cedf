"""Questions to a model on a cluster: nothing is computed before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.dask.partitions import partitions_of
from labeltrees.data.ragged import starts_of
from labeltrees.models.model import TopLabels, TopRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.estimators.extreme import ExtremeRegressor

__all__ = ["above", "top_labels", "top_rows"]

# Functions take the estimator, and ``model``, the future of it where workers have it.


def top_labels(
    estimator: ExtremeRegressor, model: Any, X: Any, asked: dict[str, Any]
) -> TopLabels | list[Any]:
    """Return the best labels of every partition, as Dask arrays if X is one."""
    import dask
    import dask.array as da

    found = [dask.delayed(_top_labels)(model, part, asked) for part in partitions_of(X, "X")]
    if not hasattr(X, "dask"):
        return found
    kind = estimator.classes_.dtype
    k = asked["k"]

    def whole(place: int, dtype: Any) -> Any:
        blocks = [
            da.from_delayed(each[place], (n_rows, k), dtype=dtype)
            for each, n_rows in zip(found, X.chunks[0], strict=True)
        ]
        return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)

    return TopLabels(whole(0, kind), whole(1, np.float64))


def above(estimator: ExtremeRegressor, model: Any, X: Any, threshold: float) -> Any:
    """Return the labels above a threshold of every partition, sparse."""
    import dask
    import dask.array as da
    from scipy import sparse

    found = [dask.delayed(_above)(model, part, threshold) for part in partitions_of(X, "X")]
    if not hasattr(X, "dask"):
        return found
    n_labels, meta = len(estimator.classes_), sparse.csr_array((0, 0), dtype=np.float64)
    blocks = [
        da.from_delayed(each, (n_rows, n_labels), meta=meta)
        for each, n_rows in zip(found, X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def top_rows(model: Any, X: Any, k: int, asked: dict[str, Any]) -> Any:
    """Return the best rows of all partitions for each label."""
    import dask

    found = [dask.delayed(_top_rows)(model, part, k, asked) for part in partitions_of(X, "X")]
    return dask.delayed(_best_rows)(found, k)


def _top_labels(estimator: ExtremeRegressor, X: Any, asked: dict[str, Any]) -> TopLabels:
    return estimator.predict_top_k(X, **asked)


def _above(estimator: ExtremeRegressor, X: Any, threshold: float) -> Any:
    return estimator.predict_above(X, threshold)


def _top_rows(
    estimator: ExtremeRegressor, X: Any, k: int, asked: dict[str, Any]
) -> tuple[int, TopRows, NDArray[np.float64]]:
    """Return the number of rows, the best of them, and the scores that rank them."""
    n_rows = X.shape[0]
    most = min(k, n_rows)
    best = estimator.top_rows(X, k=most, **asked)
    _, scores = estimator.top_row_scores(X, k=most, **asked)
    return n_rows, best, scores


def _best_rows(found: Sequence[tuple[int, TopRows, NDArray[np.float64]]], k: int) -> TopRows:
    """Return the k best of the rows of all partitions; of equals, the first."""
    offsets = starts_of([n_rows for n_rows, _, _ in found])
    rows = np.hstack(
        [
            np.where(best.rows < 0, -1, best.rows + offset)
            for (_, best, _), offset in zip(found, offsets[:-1], strict=True)
        ]
    )
    p = np.hstack([best.probabilities for _, best, _ in found])
    scores = np.hstack([own for _, _, own in found])
    scores = np.where(rows < 0, -np.inf, scores)
    order = np.lexsort((rows, -p, -scores), axis=1)[:, :k]
    return TopRows(*(np.take_along_axis(each, order, axis=1) for each in (rows, p)))
