"""Linear scores that rank labels: DiSMEC, ProXML, RankSVM and XLR.

DiSMEC and ProXML train one classifier per label against all other rows. RankSVM and XLR learn from
pairs of a more and a less relevant cell of the matrix of rows and labels. XLR (factorised RankSVM)
mixes the rankings of all labels from a few.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy import sparse

from labeltrees import _core, checks
from labeltrees.checks import Choice, Integer, Number, Threads, setting
from labeltrees.errors import TooLargeError
from labeltrees.models.baselines.multilabel import (
    MultilabelModel,
    MultilabelSettings,
    RankingSettings,
)
from labeltrees.models.baselines.scores import LinearScorer, check_weights_size, unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import RelevanceTargets

MAX_PAIRS = 2**27
PairsName = Literal["row", "label"]


@dataclass(frozen=True, kw_only=True)
class DismecSettings(RankingSettings):
    """The checked parameters of `DismecRanker`, which describes them."""

    cost: float = setting(1.0, Number(1e-6, 1e6))
    min_weight: float = setting(0.01, Number(0, 1e6))
    max_epochs: int = setting(100, Integer(1, 100_000))
    tolerance: float = setting(1e-3, Number(0, 1))
    n_jobs: int | None = setting(None, Threads())


@dataclass(frozen=True, kw_only=True)
class ProxmlSettings(RankingSettings):
    """The checked parameters of `ProxmlRanker`, which describes them."""

    cost: float = setting(1.0, Number(1e-6, 1e6))
    max_epochs: int = setting(200, Integer(1, 100_000))
    tolerance: float = setting(1e-2, Number(0, 1))
    n_jobs: int | None = setting(None, Threads())


class _OneVsRestModel(MultilabelModel):
    """A model that learns which labels a row has, regardless of how relevant they are."""

    scorer_class = LinearScorer

    @staticmethod
    def link(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability whose squared hinge loss a score minimises: (1 + score) / 2."""
        return np.clip((1 + scores) / 2, 0, 1)

    @classmethod
    def learn_scorer(cls, rows: Rows, targets: RelevanceTargets, settings: Any) -> LinearScorer:
        """Return the classifiers of all labels; the same for any number of threads."""
        unit, Y = unit_rows(rows), targets.matrix
        data = _core.OneVsRestData(
            *_arrays(unit.matrix), len(unit.features), *_arrays(Y), Y.shape[1]
        )
        found = cls._train(data, settings, checks.threads("n_jobs", settings.n_jobs))
        shape = (len(unit.features), Y.shape[1])
        weights = sparse.csr_array((found.values(), found.labels(), found.starts()), shape=shape)
        return LinearScorer(unit.features, weights, found.biases())

    @classmethod
    @abstractmethod
    def _train(
        cls, data: _core.OneVsRestData, settings: Any, n_workers: int
    ) -> _core.OneVsRestWeights:
        """Return the weights of all labels."""


class DismecModel(_OneVsRestModel):
    """Minimises 1/2 |w|^2 + 1/2 b^2 + cost sum_i max(0, 1 - y m_i)^2 over w, b for each label.

    m_i = w . x_i + b. Weights up to ``min_weight`` are dropped afterwards.
    """

    settings_class = DismecSettings

    @classmethod
    def _train(
        cls, data: _core.OneVsRestData, settings: DismecSettings, n_workers: int
    ) -> _core.OneVsRestWeights:
        options = _core.RidgeOptions(
            loss=_core.NodeLoss.hinge,
            cost=settings.cost,
            max_epochs=settings.max_epochs,
            tolerance=settings.tolerance,
            least_weight=settings.min_weight,
            seed=settings.random_state,
        )
        return data.train_ridge(options, n_workers)


class ProxmlModel(_OneVsRestModel):
    """Minimises |w|_1 + cost sum_i max(0, 1 - y_i (w . x_i + b))^2 over w, b for each label."""

    settings_class = ProxmlSettings

    @classmethod
    def _train(
        cls, data: _core.OneVsRestData, settings: ProxmlSettings, n_workers: int
    ) -> _core.OneVsRestWeights:
        return data.train_lasso(settings.cost, settings.max_epochs, settings.tolerance, n_workers)


def _arrays(matrix: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )


@dataclass(frozen=True)
class LabelPairs:
    """Cells of a matrix of scores, and pairs of cells. The first of a pair is more relevant."""

    cells: sparse.csr_array
    """Matrix of shape (n_rows, n_labels). Its entries are the cells; values are ignored."""
    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    """The numbers of the two cells of each pair."""

    def loss(self, scores: NDArray[np.float64]) -> tuple[float, sparse.csr_array]:
        """Return the sum over pairs of max(0, 1 - (s_better - s_worse))^2, and its gradient.

        >>> Y = sparse.csr_array([[1.0, 0.0]])
        >>> pairs = label_pairs(Y, "row", None, np.random.default_rng(0))
        >>> loss, gradient = pairs.loss(np.array([[0.5, 0.0]]))
        >>> loss, gradient.toarray().tolist()
        (0.25, [[-1.0, 1.0]])
        """
        cells = self.cells
        row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        own = scores[row, cells.indices]
        slack = np.maximum(0, 1 - (own[self.better] - own[self.worse]))
        n = len(own)
        gradient = np.bincount(self.worse, slack, n) - np.bincount(self.better, slack, n)
        answer = sparse.csr_array((2 * gradient, cells.indices, cells.indptr), shape=cells.shape)
        return float(slack @ slack), answer


def label_pairs(
    Y: sparse.csr_array, per: str, n_zeros: int | None, rng: np.random.Generator
) -> LabelPairs:
    """Return all pairs of a row's labels, or of a label's rows, that differ in relevance.

    ``per`` is "row" or "label". ``n_zeros`` is the number of cells without relevance that are
    drawn at random for each row or label; None takes all. Raises `TooLargeError` if there are more
    than `MAX_PAIRS` pairs.

    >>> Y = sparse.csr_array([[2.0, 0.0, 1.0]])
    >>> pairs = label_pairs(Y, "row", None, np.random.default_rng(0))
    >>> sorted(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))
    [(0, 1), (0, 2), (2, 1)]
    """
    groups = Y.tocsr() if per == "row" else sparse.csr_array(Y.T)
    groups.sort_indices()
    width = groups.shape[1]
    counts = np.diff(groups.indptr).astype(np.int64)
    n_others = width - counts if n_zeros is None else np.minimum(width - counts, n_zeros)
    _check_count(counts, n_others, n_zeros)
    members, values = [], []
    better, worse = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    begin = 0
    for group in np.flatnonzero(counts).tolist():
        own = slice(groups.indptr[group], groups.indptr[group + 1])
        relevant, relevance = groups.indices[own], groups.data[own]
        others = np.setdiff1d(np.arange(width), relevant, assume_unique=True)
        if n_others[group] < len(others):
            others = np.sort(rng.choice(others, n_others[group], replace=False))
        above, below = np.nonzero(relevance[:, np.newaxis] > relevance)
        n, m = len(relevant), len(others)
        better += [begin + above, begin + np.repeat(np.arange(n), m)]
        worse += [begin + below, begin + n + np.tile(np.arange(m), n)]
        members += [relevant, others]
        values.append(np.full(n + m, group))
        begin += n + m
    inner, outer = np.concatenate(members), np.concatenate(values)
    row, column = (outer, inner) if per == "row" else (inner, outer)
    order = np.lexsort((column, row))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    starts = np.searchsorted(row[order], np.arange(Y.shape[0] + 1))
    ones = np.ones(len(order))
    cells = sparse.csr_array((ones, column[order], starts), shape=Y.shape)
    return LabelPairs(cells, place[np.concatenate(better)], place[np.concatenate(worse)])


def _check_count(
    counts: NDArray[np.int64], n_others: NDArray[np.int64], n_zeros: int | None
) -> None:
    n_pairs = int((counts * n_others + counts * (counts - 1) // 2).sum())
    if n_pairs > MAX_PAIRS:
        raise TooLargeError(
            f"the rows have up to {n_pairs:,} pairs of relevance, but "
            f"at most {MAX_PAIRS:,} are allowed. "
            f"Choose a smaller n_zeros (now {n_zeros})."
        )


@dataclass(frozen=True, kw_only=True)
class RankSvmSettings(MultilabelSettings):
    """The checked parameters of `RankSvmRanker`, which describes them."""

    cost: float = setting(0.1, Number(1e-6, 1e6))
    per: PairsName = setting("row", Choice(get_args(PairsName)))
    n_zeros: int | None = setting(None, Integer(1, 2**31 - 1, optional=True))
    max_iterations: int = setting(1000, Integer(1, 100_000))


class RankSvmModel(MultilabelModel):
    """The W, b that minimise 1/2 |W|^2 + 1/2 |b|^2 + cost times the loss of all pairs.

    The loss of a pair is max(0, 1 - (score of the better - score of the worse))^2.
    """

    settings_class = RankSvmSettings
    scorer_class = LinearScorer

    @classmethod
    def learn_scorer(
        cls, rows: Rows, targets: RelevanceTargets, settings: RankSvmSettings
    ) -> LinearScorer:
        """Return the solution by L-BFGS, from zero weights."""
        from scipy.optimize import minimize

        unit, n_labels = unit_rows(rows), targets.matrix.shape[1]
        check_weights_size(len(unit.features), n_labels)
        rng = np.random.default_rng(settings.random_state)
        pairs = label_pairs(targets.matrix, settings.per, settings.n_zeros, rng)
        ones = sparse.csr_array(np.ones((rows.n_rows, 1)))
        X = sparse.csr_array(sparse.hstack([unit.matrix.astype(np.float64), ones], format="csr"))
        transposed = sparse.csr_array(X.T)
        shape = (X.shape[1], n_labels)

        def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            loss, slopes = pairs.loss(X @ flat.reshape(shape))
            gradient = flat + settings.cost * (transposed @ slopes.toarray()).ravel()
            return float(flat @ flat) / 2 + settings.cost * loss, gradient

        found = minimize(
            objective, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B",
            options={"maxiter": settings.max_iterations, "maxcor": 5, "maxfun": 10**9},
        )  # fmt: skip
        weights = found.x.reshape(shape).astype(np.float32)
        return LinearScorer(unit.features, weights[:-1].copy(), weights[-1].copy())


@dataclass(frozen=True, kw_only=True)
class XlrSettings(MultilabelSettings):
    """The checked parameters of `XlrRanker`, which describes them."""

    n_factors: int = setting(10, Integer(1, 10_000))
    cost: float = setting(0.1, Number(1e-6, 1e6))
    n_zeros: int | None = setting(100, Integer(1, 2**31 - 1, optional=True))
    n_rounds: int = setting(10, Integer(1, 100_000))
    max_iterations: int = setting(10, Integer(1, 100_000))


class XlrModel(MultilabelModel):
    """U and V that minimise 1/2 |U|^2 + 1/2 |V|^2 + cost times the loss of all pairs of rows.

    Label l scores a row x by u_l . V x; the loss of a pair of rows that differ in their relevance
    to a label is max(0, 1 - (score of the better - score of the worse))^2.
    """

    settings_class = XlrSettings
    scorer_class = LinearScorer

    @classmethod
    def learn_scorer(
        cls, rows: Rows, targets: RelevanceTargets, settings: XlrSettings
    ) -> LinearScorer:
        """Return the scorer that alternating minimisation finds; it may be a local optimum."""
        unit, n_labels = unit_rows(rows), targets.matrix.shape[1]
        check_weights_size(len(unit.features), n_labels)
        rng = np.random.default_rng(settings.random_state)
        pairs = label_pairs(targets.matrix, "label", settings.n_zeros, rng)
        X = unit.matrix.astype(np.float64)
        size = 1 / np.sqrt(settings.n_factors)
        U = size * rng.normal(size=(n_labels, settings.n_factors))
        V = size * rng.normal(size=(X.shape[1], settings.n_factors))
        transposed = sparse.csr_array(X.T)
        for _ in range(settings.n_rounds):
            V = _descend(V, settings, _loss_of_basis(pairs, X, transposed, U))
            U = _descend(U, settings, _loss_of_mixtures(pairs, X @ V))
        weights = (V @ U.T).astype(np.float32)
        return LinearScorer(unit.features, weights, np.zeros(n_labels, dtype=np.float32))


def _loss_of_basis(
    pairs: LabelPairs, X: sparse.csr_array, transposed: sparse.csr_array, U: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
    """Return the loss as a function of V."""

    def loss(V: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slopes = pairs.loss((X @ V) @ U.T)
        return value, transposed @ (slopes @ U)

    return loss


def _loss_of_mixtures(
    pairs: LabelPairs, Z: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
    """Return the loss as a function of U; Z is X V."""

    def loss(U: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slopes = pairs.loss(Z @ U.T)
        return value, slopes.T @ Z

    return loss


def _descend(
    start: NDArray[np.float64],
    settings: XlrSettings,
    loss: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """Return one factor after some steps of L-BFGS."""
    from scipy.optimize import minimize

    if not start.size:  # rows without any feature; SciPy 1.11 fails on empty arrays
        return start

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss(flat.reshape(start.shape))
        return float(flat @ flat) / 2 + settings.cost * value, (
            flat + settings.cost * gradient.ravel()
        )

    options: dict[str, Any] = {"maxiter": settings.max_iterations, "maxcor": 5}
    found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(start.shape))
