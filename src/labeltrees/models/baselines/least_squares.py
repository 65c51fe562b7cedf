"""One-vs-all least squares, with a ridge regression of every label's relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labeltrees.checks import Number, setting
from labeltrees.models.baselines.linear import LinearScorer, check_weights_size, unit_rows
from labeltrees.models.baselines.multilabel import MultilabelSettings, RegressingModel

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import RelevanceTargets

_DIRECT = 4096  # largest number of features or rows that is solved directly
_MAX_STEPS = 500
_RESIDUAL = 1e-6  # tolerance of conjugate gradients, relative to the right side


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
