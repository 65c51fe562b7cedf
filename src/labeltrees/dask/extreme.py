"""Extreme regression on a cluster of Dask, bit for bit as on one machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from labeltrees.dask import answers, partitions
from labeltrees.dask.training import (
    Submitter,
    current_client,
    parts_of_files,
    parts_of_pairs,
    train_on_cluster,
)
from labeltrees.data.readers.several import are_files
from labeltrees.errors import ArgumentError
from labeltrees.estimators.extreme import ExtremeRegressor
from labeltrees.models.extreme.settings import ExtremeSettings as Default

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.models.extreme.model import ExtremeModel
    from labeltrees.models.extreme.settings import (
        MissingName,
        NodeLossName,
        ObjectiveName,
        RelevanceName,
        TailName,
    )
    from labeltrees.models.model import SearchName

__all__ = ["DaskExtremeRegressor"]


class DaskExtremeRegressor(BaseEstimator):  # type: ignore[misc]
    """`ExtremeRegressor` trained by the workers of a Dask cluster.

    The model is that of `ExtremeRegressor` on all partitions, one below the other, to the last bit:
    for any number of workers and of partitions, and whatever workers are lost on the way.

    Parameters
    ----------
    client : distributed.Client or None, default None
        The cluster. None is the client that was made last, as ``distributed.get_client`` has it.
    n_trees, arity, max_leaf, loss, objective, cost, cost_power, inner_power, relevance, \
propensity_a, propensity_b, tail, tail_weight, beam_width, missing, threshold, calibrate, \
max_epochs, tolerance, min_weight, min_weight_share, n_jobs, max_memory, random_state, warm_start, \
verbose
        As of `ExtremeRegressor`. A task trains with one thread whatever ``n_jobs`` says, which is
        for the answers of `to_local`. ``max_memory`` makes the model that it makes there, and does
        not bound workers. ``warm_start`` must be False.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    model_ : ExtremeModel
        The fitted model, in the memory of the client.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees.dask import DaskExtremeRegressor
    >>> DaskExtremeRegressor(n_trees=2, warm_start=True).fit([], [])
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: warm_start must be False on a cluster, got True.
    """

    model_: ExtremeModel
    n_features_in_: int

    def __init__(
        self,
        *,
        client: Any = None,
        n_trees: int = Default.n_trees,
        arity: int = Default.arity,
        max_leaf: int = Default.max_leaf,
        loss: NodeLossName = Default.loss,
        objective: ObjectiveName = Default.objective,
        cost: float | None = Default.cost,
        cost_power: float = Default.cost_power,
        inner_power: float = Default.inner_power,
        relevance: RelevanceName | None = Default.relevance,
        propensity_a: float = Default.propensity_a,
        propensity_b: float = Default.propensity_b,
        tail: TailName | None = Default.tail,
        tail_weight: float = Default.tail_weight,
        beam_width: int | None = Default.beam_width,
        missing: MissingName = Default.missing,
        threshold: float = Default.threshold,
        calibrate: bool = Default.calibrate,
        max_epochs: int = Default.max_epochs,
        tolerance: float = Default.tolerance,
        min_weight: float = Default.min_weight,
        min_weight_share: float = Default.min_weight_share,
        n_jobs: int | None = Default.n_jobs,
        max_memory: int | None = Default.max_memory,
        random_state: Any = Default.random_state,
        warm_start: bool = Default.warm_start,
        verbose: int = Default.verbose,
    ) -> None:
        self.client = client
        self.n_trees = n_trees
        self.arity = arity
        self.max_leaf = max_leaf
        self.loss = loss
        self.objective = objective
        self.cost = cost
        self.cost_power = cost_power
        self.inner_power = inner_power
        self.relevance = relevance
        self.propensity_a = propensity_a
        self.propensity_b = propensity_b
        self.tail = tail
        self.tail_weight = tail_weight
        self.beam_width = beam_width
        self.missing = missing
        self.threshold = threshold
        self.calibrate = calibrate
        self.max_epochs = max_epochs
        self.tolerance = tolerance
        self.min_weight = min_weight
        self.min_weight_share = min_weight_share
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: ArrayLike | None = None,
        vectorizer: Vectorizer | None = None,
    ) -> Self:
        """Learn from all partitions, from scratch, and return the estimator.

        Parameters
        ----------
        X : Dask collection, list of partitions, path or list of paths
            A Dask array of dense or sparse (CSR) blocks, one block wide, or a list of delayed
            objects, futures or matrices, the partitions: each is what `ExtremeRegressor.fit` takes.
            Paths name files in any format the library reads, with labels; each is read by a worker,
            so that all of them must see it.
        y : Dask collection or list of partitions
            The labels of the same rows, as many partitions as X has; None for files.
        classes : labels of shape (n_labels,), optional
            Names the columns of a matrix; else they are 0, 1, ...
        vectorizer : object with a ``transform`` method, optional
            Makes features of texts in files; None: hashed words and pairs.

        Returns
        -------
        the estimator
        """
        local = self._local()
        settings = local._settings()
        if settings.warm_start:
            raise ArgumentError.of("warm_start", self.warm_start, "False on a cluster")
        submit = Submitter.of(self._client())
        if are_files(X):
            if y is not None or classes is not None:
                raise ArgumentError("y and classes must be None where X names files.")
            paths = [X] if isinstance(X, str | os.PathLike) else list(X)
            parts = parts_of_files(submit, [os.fspath(path) for path in paths], vectorizer)
        else:
            pairs = partitions.pairs_of(submit.client, X, y)
            parts = parts_of_pairs(submit, pairs, classes)
        same_width = not are_files(X)
        self.model_ = train_on_cluster(submit, parts, settings, same_width=same_width)
        self.n_features_in_ = self.model_.n_features
        return self

    def to_local(self) -> ExtremeRegressor:
        """Return the plain estimator with the same model."""
        check_is_fitted(self, "model_")
        local = self._local()
        local.model_ = self.model_
        local.n_features_in_ = self.n_features_in_
        return local

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels by column of `predict_above`."""
        return self.to_local().classes_

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> Any:
        """Return the k best labels of every row and their probabilities, lazily.

        Parameters
        ----------
        X : Dask array, or list of partitions
        k, search, beam_width
            As for `ExtremeRegressor.predict_top_k`.

        Returns
        -------
        TopLabels or list of Delayed
            For a Dask array `TopLabels` of two Dask arrays with its blocks of rows; for a list of
            partitions a list of delayed `TopLabels`. Nothing is computed before it is asked for.
        """
        asked = {"k": k, "search": search, "beam_width": beam_width}
        return answers.top_labels(self.to_local(), self._on_workers(), X, asked)

    def predict_above(self, X: Any, threshold: float) -> Any:
        """Return every label with probability >= threshold, lazily.

        Parameters
        ----------
        X : Dask array, or list of partitions
        threshold : float in (0, 1]

        Returns
        -------
        Dask array or list of Delayed
            Of sparse blocks (CSR), (n_rows, n_labels); a list of delayed ones for a list.
        """
        return answers.above(self.to_local(), self._on_workers(), X, threshold)

    def top_rows(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        exact: bool = False,
        factor: float = 4.0,
    ) -> Any:
        """Return the k rows of all partitions to which each label is most relevant, lazily.

        Parameters
        ----------
        X : Dask array, or list of partitions
        labels, k, exact, factor
            As for `ExtremeRegressor.top_rows`. Where ``exact`` is False, each partition is searched
            by itself, so more rows are asked about than on one machine.

        Returns
        -------
        Delayed
            `TopRows`, whose rows are numbered through all partitions.
        """
        asked = {"labels": labels, "exact": exact, "factor": factor}
        return answers.top_rows(self._on_workers(), X, k, asked)

    def _local(self) -> ExtremeRegressor:
        params = self.get_params(deep=False)
        del params["client"]
        return ExtremeRegressor(**params)

    def _client(self) -> Any:
        return current_client(self.client)

    def _on_workers(self) -> Any:
        """Return the future of the plain estimator on all workers, which is kept for as long."""
        client, local = self._client(), self.to_local()
        before = self.__dict__.get("_placed")
        if before is None or before[0] is not client or before[1] is not self.model_:
            future = client.scatter(local, broadcast=True, hash=False)
            self._placed = (client, self.model_, future)
        return self._placed[2]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_placed", None)
        return {**state, "client": None}  # a connection is not saved
