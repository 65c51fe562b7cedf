"""Conditional probability trees on a cluster: one that learns all rows in order, or several."""

from __future__ import annotations

import os
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from labeltrees import checks
from labeltrees.dask.partitions import partitions_of
from labeltrees.dask.training import Submitter, current_client
from labeltrees.data.readers.several import are_files, chunks_of
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.boosting.classifier import AdacondClassifier
from labeltrees.estimators.conditional import ConditionalTreeClassifier
from labeltrees.models.boosting.model import AdacondModel, AdacondSettings
from labeltrees.models.boosting.rounds import BoostingRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.readers.vectorizers import Vectorizer

    ModeName = Literal["exact", "pool"]

__all__ = ["DaskConditionalTree"]

_MODES = ("exact", "pool")


class DaskConditionalTree(BaseEstimator):  # type: ignore[misc]
    """A conditional probability tree that learns from partitions, where they are read one by one.

    An online learner's rows have an order, and each is answered by what all before it have taught:
    exactly that is ``mode="exact"``, on one worker. ``mode="pool"`` has a tree for each worker,
    which learns its share of the partitions, and answers by the mean of their probabilities.

    Parameters
    ----------
    client : distributed.Client or None, default None
        The cluster. None is the client that was made last, as ``distributed.get_client`` has it.
    base : ConditionalTreeClassifier or None, default None
        The tree, with its parameters; it is not changed. None: one with the defaults.
    mode : {"exact", "pool"}, default "exact"
        ``"exact"``: the partitions are learned in their order, as `partial_fit` of one after the
        other: the model is the same to the last bit, whatever workers there are.
        ``"pool"``: consecutive partitions make a share, and each share a tree.
    n_trees : int >= 1 or None, default None
        Trees of a pool, at most as many as there are partitions. None: as many as workers, so that
        the model depends on the cluster.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees.dask import DaskConditionalTree
    >>> DaskConditionalTree(mode="average").fit([], [])
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: mode must be 'exact' or 'pool', got 'average'.
    """

    def __init__(
        self,
        *,
        client: Any = None,
        base: ConditionalTreeClassifier | None = None,
        mode: ModeName = "exact",
        n_trees: int | None = None,
    ) -> None:
        self.client = client
        self.base = base
        self.mode = mode
        self.n_trees = n_trees

    def fit(self, X: Any, y: Any = None, *, vectorizer: Vectorizer | None = None) -> Self:
        """Learn from all partitions, from scratch, and return the estimator.

        Parameters
        ----------
        X : Dask collection, list of partitions, path or list of paths
            As for `DaskExtremeRegressor.fit`, but one label per row. A worker holds one partition
            at a time, so all of them together may be larger than its memory; of a file, a chunk.
        y : Dask collection or list of partitions
            The labels of the same rows; None for files, whose rows are learned once for each label,
            with its share of the row's weight.
        vectorizer : object with a ``transform`` method, optional
            Makes features of texts in files; None: hashed words and pairs.

        Returns
        -------
        the estimator
        """
        mode = checks.choice("mode", self.mode, _MODES)
        base = ConditionalTreeClassifier() if self.base is None else clone(self.base)
        if not isinstance(base, ConditionalTreeClassifier):
            raise ArgumentError.of("base", self.base, "None or a ConditionalTreeClassifier")
        base.check_parameters()
        submit = Submitter.of(current_client(self.client))
        parts = _packed(X, y, vectorizer)
        if mode == "exact":
            self._local = submit(learn_in_order, base, parts).result()
        else:
            n = _n_trees(self.n_trees, submit, len(parts))
            edges = np.linspace(0, len(parts), n + 1).astype(int)
            trees = [submit(learn_in_order, base, parts[a:b]) for a, b in pairwise(edges)]
            self._local = submit(pooled, trees).result()
        self.n_features_in_ = self._local.n_features_in_
        return self

    def to_local(self) -> Any:
        """Return the plain estimator.

        Returns
        -------
        ConditionalTreeClassifier or AdacondClassifier
            The latter for a pool: its mixture of models, here with equal weights.
        """
        check_is_fitted(self, "n_features_in_")
        return self._local

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        classes: NDArray[Any] = self.to_local().classes_
        return classes

    def __getstate__(self) -> dict[str, Any]:
        return {**dict(super().__getstate__()), "client": None}  # a connection is not saved


def _n_trees(n_trees: int | None, submit: Submitter, n_parts: int) -> int:
    if n_trees is None:
        return min(n_parts, max(1, len(submit.client.nthreads())))
    return checks.integer("n_trees", n_trees, 1, n_parts, what="n_partitions=")


def _packed(X: Any, y: Any, vectorizer: Vectorizer | None) -> list[bytes]:
    """Return the partitions closed up, so that Dask does not make them before they are wanted."""
    import dask
    from distributed.protocol.pickle import dumps

    if are_files(X):
        if y is not None:
            raise ArgumentError("must be None where X names files.", argument="y", value=y)
        paths = [X] if isinstance(X, str | os.PathLike) else list(X)
        return [dumps((os.fspath(path), vectorizer)) for path in paths]
    left, right = partitions_of(X, "X"), partitions_of(y, "y")
    if len(left) != len(right):
        raise ArgumentError(f"y has {len(right)} partitions for the {len(left)} of X.")
    return [dumps(dask.optimize(*pair)) for pair in zip(left, right, strict=True)]


def learn_in_order(base: ConditionalTreeClassifier, parts: list[bytes]) -> Any:
    """Return a tree that has learned partitions, each made when its turn comes."""
    tree = clone(base)
    for part in parts:
        for X, y, weights in _batches(pickle.loads(part)):  # noqa: S301 - it is our own
            tree.partial_fit(X, y, sample_weight=weights)
    if not hasattr(tree, "model_"):
        raise DataError("X has no row with a label in any partition.")
    return tree


def _batches(part: tuple[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    first, second = part
    if isinstance(first, str):
        for chunk in chunks_of(first, second):
            X, labels, weights = chunk.one_label()
            if len(labels):
                yield X, labels, weights
        return
    import dask

    X, y = dask.compute(first, second, scheduler="synchronous")
    if X.shape[0]:
        yield X, y, None


def pooled(trees: list[ConditionalTreeClassifier]) -> AdacondClassifier:
    """Return the mixture of trees with equal weights."""
    members: list[Any] = [tree.model_ for tree in trees]
    every = LabelVocabulary()
    for member in members:
        every.add(member.vocabulary.labels)
    vocabulary = LabelVocabulary(sorted(every.labels.tolist()))
    widths = {member.n_features for member in members}
    if len(widths) > 1:
        raise DataError(f"the partitions of X have {sorted(widths)} features: all need as many.")
    unknown = np.ones(len(members))  # nothing was boosted, and nothing is promised
    record = BoostingRecord(0.5, "a pool of equals", unknown, -unknown, unknown, unknown)
    settings = AdacondSettings(n_rounds=len(members))
    model = AdacondModel(settings, vocabulary, members, record, widths.pop())
    return AdacondClassifier.around(model)
