"""Lazy predictions of a fitted estimator for Dask collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from labeltrees.dask._partitions import partitions_of
from labeltrees.dask._training import current_client
from labeltrees.data.ragged import starts_of
from labeltrees.models.model import TopLabels, TopRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.estimators.contract import LabelEstimator
    from labeltrees.estimators.extreme import ExtremeRegressor
    from labeltrees.models.model import SearchName

_PLACED: WeakKeyDictionary[Any, tuple[Any, Any, Any]] = WeakKeyDictionary()
"""Client, model and future of each estimator that workers have, until the estimator is deleted."""


def predict_top_k(
    estimator: LabelEstimator,
    X: Any,
    k: int = 5,
    *,
    search: SearchName | None = None,
    beam_width: int | None = None,
    client: Any = None,
) -> Any:
    """Return the k most likely labels of every row and their probabilities, lazily.

    Parameters
    ----------
    estimator : fitted estimator
    X : Dask array, or list of partitions
    k : int in [1, n_labels], default 5
    search, beam_width : optional
        Options of the estimator's `predict_top_k`, if it has them.
    client : distributed.Client, optional
        The cluster, by default the client that ``distributed.get_client`` returns.

    Returns
    -------
    TopLabels or list of Delayed
        For a Dask array, `TopLabels` of two Dask arrays with its blocks of rows. For a list of
        partitions, a list of delayed `TopLabels`. Call ``compute`` to get the values.

    Examples
    --------
    >>> import dask, numpy as np
    >>> from distributed import Client
    >>> from labeltrees import ConditionalTreeClassifier
    >>> from labeltrees.dask import predict_top_k
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
    >>> lazy = predict_top_k(model, [np.array([[1, 0]])], k=1, client=client)
    >>> dask.compute(*lazy)[0].labels.tolist()
    [['sun']]
    >>> client.close()
    """
    import dask
    import dask.array as da

    options = {"k": k, "search": search, "beam_width": beam_width}
    passed = {name: value for name, value in options.items() if value is not None}
    model = _on_workers(estimator, client)
    found = [dask.delayed(_top_labels)(model, part, passed) for part in partitions_of(X, "X")]
    if not hasattr(X, "dask"):
        return found

    def whole(place: int, dtype: Any) -> Any:
        blocks = [
            da.from_delayed(each[place], (n_rows, k), dtype=dtype)
            for each, n_rows in zip(found, X.chunks[0], strict=True)
        ]
        return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)

    return TopLabels(whole(0, estimator.classes_.dtype), whole(1, np.float64))


def predict_above(
    estimator: LabelEstimator, X: Any, threshold: float, *, client: Any = None
) -> Any:
    """Return every label with probability >= threshold, lazily.

    Parameters
    ----------
    estimator, X, client
        As for `predict_top_k`.
    threshold : float in (0, 1]

    Returns
    -------
    Dask array or list of Delayed
        For a Dask array, one of sparse blocks (CSR) of shape (n_rows, n_labels). For a list of
        partitions, a list of delayed matrices.

    Examples
    --------
    >>> import dask, numpy as np
    >>> from distributed import Client
    >>> from labeltrees import ConditionalTreeClassifier
    >>> from labeltrees.dask import predict_above
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
    >>> lazy = predict_above(model, [np.array([[1, 0]])], 0.5, client=client)
    >>> model.classes_[dask.compute(*lazy)[0].indices].tolist()
    ['sun']
    >>> client.close()
    """
    import dask
    import dask.array as da
    from scipy import sparse

    model = _on_workers(estimator, client)
    found = [dask.delayed(_above)(model, part, threshold) for part in partitions_of(X, "X")]
    if not hasattr(X, "dask"):
        return found
    n_labels, meta = len(estimator.classes_), sparse.csr_array((0, 0), dtype=np.float64)
    blocks = [
        da.from_delayed(each, (n_rows, n_labels), meta=meta)
        for each, n_rows in zip(found, X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def top_rows(
    estimator: ExtremeRegressor,
    X: Any,
    labels: ArrayLike | None = None,
    k: int = 5,
    *,
    exact: bool = False,
    factor: float = 4.0,
    client: Any = None,
) -> Any:
    """Return the k rows of all partitions to which each label is most relevant, lazily.

    Parameters
    ----------
    estimator : fitted ExtremeRegressor
    X : Dask array, or list of partitions
    labels, k, exact, factor
        As for `ExtremeRegressor.top_rows`. If ``exact`` is False, each partition is searched
        separately, so more rows are scored than on one machine.
    client : distributed.Client, optional
        As for `predict_top_k`.

    Returns
    -------
    Delayed
        `TopRows`, whose row numbers continue from partition to partition.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from labeltrees import ExtremeRegressor
    >>> from labeltrees.dask import top_rows
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> model = ExtremeRegressor(n_trees=1).fit([[1, 0], [0, 1]] * 50, [["sun"], ["rain"]] * 50)
    >>> parts = [np.array([[1, 0]]), np.array([[0, 1]])]
    >>> top_rows(model, parts, ["rain"], k=1, client=client).compute().rows.tolist()
    [[1]]
    >>> client.close()
    """
    import dask

    options = {"labels": labels, "exact": exact, "factor": factor}
    model = _on_workers(estimator, client)
    found = [dask.delayed(_top_rows)(model, part, k, options) for part in partitions_of(X, "X")]
    return dask.delayed(_best_rows)(found, k)


def _on_workers(estimator: Any, client: Any) -> Any:
    """Return the future of the estimator on all workers.

    A model that cannot change is sent once; one that can be updated is sent by every call.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator, "model_")
    client = current_client(client)
    placed_at, model, future = _PLACED.get(estimator, (None, None, None))
    is_current = placed_at is client and model is estimator.model_
    if not is_current or hasattr(estimator, "partial_fit"):
        future = client.scatter(estimator, broadcast=True, hash=False)
        _PLACED[estimator] = client, estimator.model_, future
    return future


def _top_labels(estimator: Any, X: Any, options: dict[str, Any]) -> Any:
    return estimator.predict_top_k(X, **options)


def _above(estimator: Any, X: Any, threshold: float) -> Any:
    return estimator.predict_above(X, threshold)


def _top_rows(
    estimator: ExtremeRegressor, X: Any, k: int, options: dict[str, Any]
) -> tuple[int, TopRows, NDArray[np.float64]]:
    """Return the number of rows, the best of them, and the scores that rank them."""
    n_rows = X.shape[0]
    most = min(k, n_rows)
    best = estimator.top_rows(X, k=most, **options)
    _, scores = estimator.top_row_scores(X, k=most, **options)
    return n_rows, best, scores


def _best_rows(found: Sequence[tuple[int, TopRows, NDArray[np.float64]]], k: int) -> TopRows:
    """Return the k best rows of all partitions; the first of equal rows."""
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
