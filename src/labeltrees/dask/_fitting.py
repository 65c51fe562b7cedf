"""Train the estimators of the library on a cluster of Dask."""

from __future__ import annotations

import os
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from labeltrees import checks
from labeltrees.dask import _partitions as partitions
from labeltrees.dask._training import (
    Submitter,
    current_client,
    parts_of_files,
    parts_of_pairs,
    train_on_cluster,
)
from labeltrees.data.readers.files import are_files, chunks_of
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.boosting.classifier import AdacondClassifier
from labeltrees.estimators.conditional import ConditionalTreeClassifier
from labeltrees.estimators.extreme import ExtremeRegressor
from labeltrees.models.boosting.model import AdacondModel, AdacondSettings
from labeltrees.models.boosting.rounds import BoostingRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from labeltrees.data.readers.vectorizers import Vectorizer

Estimator = TypeVar("Estimator", ExtremeRegressor, ConditionalTreeClassifier)


def fit(
    estimator: Estimator,
    X: Any,
    y: Any = None,
    *,
    client: Any = None,
    classes: ArrayLike | None = None,
    vectorizer: Vectorizer | None = None,
) -> Estimator:
    """Return a copy of the estimator that the workers of a cluster have trained from scratch.

    The model is the one that a single machine makes, to the last bit, for any number of workers
    and partitions, and regardless of lost workers. An `ExtremeRegressor` is trained by all workers
    as by `ExtremeRegressor.fit` on all partitions, one below the other. A
    `ConditionalTreeClassifier` learns online, so one worker trains it as by
    `ConditionalTreeClassifier.partial_fit` on one partition after the other, with one partition
    in its memory at a time.

    Parameters
    ----------
    estimator : ExtremeRegressor or ConditionalTreeClassifier
        The estimator, which is not changed. Its ``warm_start`` must be False. Tasks use one thread
        each regardless of ``n_jobs``. ``max_memory`` makes the same model as on one machine but
        does not limit workers.
    X : Dask collection, list of partitions, path or list of paths
        A Dask array of dense or sparse (CSR) blocks that is one block wide, or a list of
        partitions. A partition is a delayed object, a future or a matrix, and holds what the
        estimator's own method takes. Paths name files with labels in any format that the library
        reads. Workers read them, so all workers must have access to them.
    y : Dask collection or list of partitions
        The labels of the same rows, in the same number of partitions as X; None for files. If a
        row of a file has several labels, a ConditionalTreeClassifier learns it once for each, with
        the row's weight divided among them.
    client : distributed.Client, optional
        The cluster, by default the client that ``distributed.get_client`` returns.
    classes : labels of shape (n_labels,), optional
        Names of the columns of a matrix for an ExtremeRegressor; by default 0, 1, ...
    vectorizer : object with a ``transform`` method, optional
        Makes features of texts in files. By default words and pairs of words are hashed.

    Returns
    -------
    ExtremeRegressor or ConditionalTreeClassifier
        A fitted estimator of the same class in the memory of the client.

    Examples
    --------
    >>> from distributed import Client
    >>> from labeltrees import ExtremeRegressor
    >>> from labeltrees.dask import fit
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X, y = [[[1, 0], [0, 1]] * 50] * 2, [[["sun"], ["rain"]] * 50] * 2
    >>> model = fit(ExtremeRegressor(n_trees=1), X, y, client=client)
    >>> model.predict([[1, 0]]).tolist()
    [['sun']]
    >>> client.close()
    """
    if isinstance(estimator, ExtremeRegressor):
        return _fit_extreme(estimator, X, y, client, classes, vectorizer)
    base = _checked_tree(estimator, "an ExtremeRegressor or a ConditionalTreeClassifier")
    if classes is not None:
        raise ArgumentError.of("classes", classes, "None for a ConditionalTreeClassifier")
    submit = Submitter.of(current_client(client))
    trained = submit(learn_in_order, base, _packed(X, y, vectorizer)).result()
    assert isinstance(trained, ConditionalTreeClassifier)
    return trained


def fit_pool(
    estimator: ConditionalTreeClassifier,
    X: Any,
    y: Any = None,
    *,
    n_trees: int | None = None,
    client: Any = None,
    vectorizer: Vectorizer | None = None,
) -> AdacondClassifier:
    """Return a pool of conditional trees, each trained by a worker on its share of the partitions.

    Use it when one worker is too slow. A pool predicts the mean of its trees' probabilities. It is
    less accurate than one tree of all rows, because each tree learns from its own share only.

    Parameters
    ----------
    estimator : ConditionalTreeClassifier
        The tree with its parameters, which is not changed.
    X, y, client, vectorizer
        As for `fit`. Consecutive partitions make a share.
    n_trees : int in [1, number of partitions], optional
        Number of trees; by default the number of workers, so the model depends on the cluster.

    Returns
    -------
    AdacondClassifier
        A mixture of the trees with equal weights.

    Examples
    --------
    >>> from distributed import Client
    >>> from labeltrees import ConditionalTreeClassifier
    >>> from labeltrees.dask import fit_pool
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X, y = [[[1, 0], [0, 1]] * 50] * 2, [["sun", "rain"] * 50] * 2
    >>> model = fit_pool(ConditionalTreeClassifier(), X, y, n_trees=2, client=client)
    >>> model.predict([[1, 0]]).tolist()
    ['sun']
    >>> client.close()
    """
    base = _checked_tree(estimator, "a ConditionalTreeClassifier")
    submit = Submitter.of(current_client(client))
    parts = _packed(X, y, vectorizer)
    if n_trees is None:
        n_trees = min(len(parts), max(1, len(submit.client.nthreads())))
    n_trees = checks.integer("n_trees", n_trees, 1, len(parts), what="n_partitions=")
    edges = np.linspace(0, len(parts), n_trees + 1).astype(int)
    trees = [submit(learn_in_order, base, parts[a:b]) for a, b in pairwise(edges)]
    pool: AdacondClassifier = submit(pooled, trees).result()
    return pool


def _fit_extreme(
    estimator: ExtremeRegressor,
    X: Any,
    y: Any,
    client: Any,
    classes: ArrayLike | None,
    vectorizer: Vectorizer | None,
) -> ExtremeRegressor:
    trained: ExtremeRegressor = clone(estimator)
    settings = trained._settings()
    if settings.warm_start:
        raise ArgumentError.of("warm_start", trained.warm_start, "False on a cluster")
    submit = Submitter.of(current_client(client))
    if are_files(X):
        if classes is not None:
            raise ArgumentError.of("classes", classes, "None where X names files")
        parts = parts_of_files(submit, _paths(X, y), vectorizer)
    else:
        parts = parts_of_pairs(submit, partitions.pairs_of(submit.client, X, y), classes)
    trained.model_ = train_on_cluster(submit, parts, settings, same_width=not are_files(X))
    trained.n_features_in_ = trained.model_.n_features
    return trained


def _checked_tree(estimator: Any, allowed: str) -> ConditionalTreeClassifier:
    """Return an unfitted copy of a conditional tree, or raise `ArgumentError`."""
    if not isinstance(estimator, ConditionalTreeClassifier):
        raise ArgumentError.of("estimator", estimator, allowed)
    estimator.check_parameters()
    base: ConditionalTreeClassifier = clone(estimator)
    return base


def _paths(X: Any, y: Any) -> list[str]:
    """Return the paths that X names, or raise `ArgumentError` if labels come with them."""
    if y is not None:
        raise ArgumentError.of("y", type(y).__name__, "None where X names files")
    return [os.fspath(path) for path in ([X] if isinstance(X, str | os.PathLike) else X)]


def _packed(X: Any, y: Any, vectorizer: Vectorizer | None) -> list[bytes]:
    """Return the partitions as bytes, so that Dask does not compute them too early."""
    import dask
    from distributed.protocol.pickle import dumps

    if are_files(X):
        return [dumps((path, vectorizer)) for path in _paths(X, y)]
    pairs = partitions.zipped(partitions.partitions_of(X, "X"), partitions.partitions_of(y, "y"))
    return [dumps(dask.optimize(*pair)) for pair in pairs]


def learn_in_order(base: ConditionalTreeClassifier, parts: list[bytes]) -> Any:
    """Return a tree that has learned all partitions, each computed when it is needed."""
    tree = clone(base)
    for part in parts:
        for X, y, weights in _batches(pickle.loads(part)):  # noqa: S301 - made by `_packed`
            tree.partial_fit(X, y, sample_weight=weights)
    if not hasattr(tree, "model_"):
        raise DataError("No partition of X has a row with a label.")
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
    if getattr(X, "shape", (1,))[0]:
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
        raise DataError(
            f"the partitions of X must have the same number of features, got {sorted(widths)}."
        )
    unknown = np.ones(len(members))  # There was no boosting, so there is no bound on errors.
    record = BoostingRecord(0.5, "a pool of equals", unknown, -unknown, unknown, unknown)
    settings = AdacondSettings(n_rounds=len(members))
    model = AdacondModel(settings, vocabulary, members, record, widths.pop())
    return AdacondClassifier.around(model)
