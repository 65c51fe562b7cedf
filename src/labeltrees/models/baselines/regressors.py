"""Least squares and LEML, linear models of the relevance of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labeltrees import store
from labeltrees.checks import Integer, Number, setting
from labeltrees.errors import ModelFormatError
from labeltrees.models.baselines.multilabel import MultilabelSettings, RegressingModel
from labeltrees.models.baselines.scores import (
    LinearScorer,
    check_weights_size,
    stored_features,
    unit_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import RelevanceTargets
    from labeltrees.store import Tensors

_DIRECT = 4096  # largest number of features or rows that is solved directly
_MAX_STEPS = 500
_RESIDUAL = 1e-6  # tolerance of conjugate gradients, relative to the right side
_MOST_WEIGHT = 1e15
_SQUARED_RESIDUAL = 1e-10  # squared tolerance of conjugate gradients, relative to the start


@dataclass(frozen=True, kw_only=True)
class LeastSquaresSettings(MultilabelSettings):
    """The checked parameters of `LeastSquaresRegressor`, which describes them."""

    cost: float = setting(1.0, Number(1e-6, 1e6))


class LeastSquaresModel(RegressingModel):
    """Minimises |w|^2 + cost sum_i (y_i - w . x_i - b)^2 over w, b for each label."""

    settings_class = LeastSquaresSettings
    scorer_class = LinearScorer

    @classmethod
    def learn_scorer(
        cls, rows: Rows, targets: RelevanceTargets, settings: LeastSquaresSettings
    ) -> LinearScorer:
        """Return the solution for all labels at once."""
        unit = unit_rows(rows)
        check_weights_size(len(unit.features), targets.matrix.shape[1])
        X = unit.matrix.astype(np.float64)
        Y = targets.matrix.astype(np.float64)
        x_mean = np.asarray(X.mean(axis=0)).ravel()
        y_mean = np.asarray(Y.mean(axis=0)).ravel()
        penalty = 1 / settings.cost
        if X.shape[1] <= min(_DIRECT, 2 * X.shape[0]):
            weights = _primal(X, Y, x_mean, y_mean, penalty)
        elif X.shape[0] <= _DIRECT:
            weights = _dual(X, Y, x_mean, y_mean, penalty)
        else:
            weights = _iterated(X, Y, x_mean, y_mean, penalty)
        biases = y_mean - x_mean @ weights
        return LinearScorer(unit.features, weights.astype(np.float32), biases.astype(np.float32))


def _primal(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    x_mean: NDArray[np.float64],
    y_mean: NDArray[np.float64],
    penalty: float,
) -> NDArray[np.float64]:
    """Solve (Xc' Xc + penalty) W = Xc' Y, Xc being X less its mean, which stays sparse."""
    from scipy.linalg import solve

    gram = (X.T @ X).toarray() - X.shape[0] * np.outer(x_mean, x_mean)
    gram[np.diag_indices_from(gram)] += penalty
    right = (X.T @ Y).toarray() - X.shape[0] * np.outer(x_mean, y_mean)
    return np.asarray(solve(gram, right, assume_a="pos"))


def _dual(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    x_mean: NDArray[np.float64],
    y_mean: NDArray[np.float64],
    penalty: float,
) -> NDArray[np.float64]:
    """Solve (Xc Xc' + penalty) A = Yc and return W = Xc' A."""
    from scipy.linalg import solve

    kernel = (X @ X.T).toarray()
    to_mean = X @ x_mean
    kernel += x_mean @ x_mean - to_mean[:, np.newaxis] - to_mean
    kernel[np.diag_indices_from(kernel)] += penalty
    alpha = np.asarray(solve(kernel, Y.toarray() - y_mean, assume_a="pos"))
    return np.asarray(X.T @ alpha - np.outer(x_mean, alpha.sum(axis=0)))


def _iterated(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    x_mean: NDArray[np.float64],
    y_mean: NDArray[np.float64],
    penalty: float,
) -> NDArray[np.float64]:
    """Solve the equations of `_primal` by conjugate gradients, each label with its own steps."""
    transposed = X.T.tocsr()
    n = X.shape[0]
    residual = (transposed @ Y).toarray() - n * np.outer(x_mean, y_mean)
    weights: NDArray[np.float64] = np.zeros_like(residual)
    direction = residual.copy()
    square = (residual**2).sum(axis=0)
    goal = _RESIDUAL**2 * square
    for _ in range(_MAX_STEPS):
        active = square > goal
        if not active.any():
            break
        turned = transposed @ (X @ direction) + penalty * direction
        turned -= n * np.outer(x_mean, x_mean @ direction)
        curve = (direction * turned).sum(axis=0)
        step = np.divide(square, curve, out=np.zeros_like(square), where=active & (curve > 0))
        weights += step * direction
        residual -= step * turned
        new = (residual**2).sum(axis=0)
        turn = np.divide(new, square, out=np.zeros_like(new), where=active & (square > 0))
        direction = np.where(active, residual + turn * direction, 0)
        square = np.where(active, new, square)
    return weights


@dataclass(frozen=True, kw_only=True)
class LemlSettings(MultilabelSettings):
    """The checked parameters of `LemlRegressor`, which describes them."""

    rank: int = setting(100, Integer(1, 10_000))
    penalty: float = setting(1.0, Number(1e-6, 1e6))
    n_rounds: int = setting(10, Integer(1, 10_000))
    max_steps: int = setting(10, Integer(1, 10_000))


@dataclass(frozen=True)
class LemlScorer:
    """score(x, label) = h_label . W' x / |x|.

    ``rows_to_rank`` is W, with a line for each feature that was learned from, and
    ``rank_to_labels`` has the h as its columns; both float32.
    """

    features: NDArray[np.int32]
    rows_to_rank: NDArray[np.float32]
    rank_to_labels: NDArray[np.float32]

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return scores, (n_rows, n_labels)."""
        reduced = unit_rows(rows, self.features).matrix @ self.rows_to_rank
        # A sparse matrix, because a dense product may round a row differently with other rows.
        return np.asarray(sparse.csr_array(reduced) @ self.rank_to_labels, dtype=np.float64)

    def describe(self) -> dict[str, Any]:
        """Return its sizes."""
        return {
            "features_learned": len(self.features),
            "rank": self.rows_to_rank.shape[1],
            "weights": self.rows_to_rank.size + self.rank_to_labels.size,
        }

    def to_tensors(self) -> Tensors:
        """Return arrays for the model file."""
        return {
            "features": self.features,
            "rows_to_rank": self.rows_to_rank,
            "rank_to_labels": self.rank_to_labels,
        }

    @classmethod
    def from_tensors(
        cls,
        tensors: Tensors,
        settings: Any,  # noqa: ARG003 - other scorers need it
        n_features: int,
        n_labels: int,
    ) -> Self:
        """Return the scorer that `to_tensors` saved."""
        features = stored_features(tensors, n_features)
        first = store.tensor(tensors, "rows_to_rank", np.float32, ndim=2)
        second = store.tensor(tensors, "rank_to_labels", np.float32, ndim=2)
        if first.shape != (len(features), len(second)) or second.shape[1] != n_labels:
            raise ModelFormatError("the factors do not fit the labels and features.")
        for factor in (first, second):
            if not (np.abs(factor) <= _MOST_WEIGHT).all():
                raise ModelFormatError(f"a weight is not in [-{_MOST_WEIGHT:g}, {_MOST_WEIGHT:g}].")
        return cls(features, first, second)


class LemlModel(RegressingModel):
    """W, H that minimise 1/2 |Y - X W H'|^2 + penalty/2 (|W|^2 + |H|^2), found in turns."""

    settings_class = LemlSettings
    scorer_class = LemlScorer

    @classmethod
    def learn_scorer(
        cls, rows: Rows, targets: RelevanceTargets, settings: LemlSettings
    ) -> LemlScorer:
        """Return both factors; their rank is at most the number of features or labels."""
        unit = unit_rows(rows)
        X, Y = unit.matrix.astype(np.float64), targets.matrix.astype(np.float64)
        rank = max(1, min(settings.rank, X.shape[1], Y.shape[1]))
        draw = np.random.default_rng(settings.random_state)
        W = draw.normal(size=(X.shape[1], rank)) / np.sqrt(rank)
        W, H = alternate(
            X, Y, W, settings.penalty, n_rounds=settings.n_rounds, max_steps=settings.max_steps
        )
        return LemlScorer(
            unit.features, W.astype(np.float32), np.ascontiguousarray(H.T, dtype=np.float32)
        )


def alternate(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    W: NDArray[np.float64],
    penalty: float,
    *,
    n_rounds: int,
    max_steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return W and H after minimising over each in turn, from a first W; H comes last.

    For a given W, H is a ridge regression on the columns of X W. For a given H, W is found by
    at most ``max_steps`` steps of conjugate gradients. The objective's second derivative maps S to
    X' X S H' H + penalty S, which takes two sparse products and no matrix of all labels.
    """
    transposed = X.T.tocsr()
    H = _labels(X @ W, Y, penalty)
    for _ in range(n_rounds):
        W = _rows(X, transposed, transposed @ (Y @ H), W, H.T @ H, penalty, max_steps)
        H = _labels(X @ W, Y, penalty)
    return W, H


def _labels(
    reduced: NDArray[np.float64], Y: sparse.csr_array, penalty: float
) -> NDArray[np.float64]:
    """Return the H that is best for X W."""
    from scipy.linalg import solve

    gram = reduced.T @ reduced
    gram[np.diag_indices_from(gram)] += penalty
    return np.asarray(solve(gram, (Y.T @ reduced).T, assume_a="pos")).T


def _rows(
    X: sparse.csr_array,
    transposed: sparse.csr_array,
    right: NDArray[np.float64],
    W: NDArray[np.float64],
    square: NDArray[np.float64],
    penalty: float,
    max_steps: int,
) -> NDArray[np.float64]:
    """Solve X' X W H' H + penalty W = X' Y H from a first W, with square = H' H."""

    def turned(S: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(transposed @ ((X @ S) @ square) + penalty * S)

    residual = right - turned(W)
    direction = residual.copy()
    size = float((residual**2).sum())
    goal = _SQUARED_RESIDUAL * size
    for _ in range(max_steps):
        if size <= goal or size == 0:
            break
        ahead = turned(direction)
        step = size / float((direction * ahead).sum())
        W = W + step * direction
        residual -= step * ahead
        new = float((residual**2).sum())
        direction = residual + new / size * direction
        size = new
    return W
