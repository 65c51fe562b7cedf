"""XLR: the rankings of all labels as mixtures of a few basic ones (factorised RankSVM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.checks import Integer, Number, setting
from labeltrees.models.baselines.label_pairs import LabelPairs, label_pairs
from labeltrees.models.baselines.linear import LinearScorer, check_weights_size, unit_rows
from labeltrees.models.baselines.multilabel import MultilabelModel, MultilabelSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import Targets

__all__ = ["XlrModel", "XlrSettings"]


@dataclass(frozen=True, kw_only=True)
class XlrSettings(MultilabelSettings):
    """The checked parameters of `XlrRanker`, which says what they mean."""

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
    def learn_scorer(cls, rows: Rows, targets: Targets, settings: XlrSettings) -> LinearScorer:
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
    """Return what some steps of L-BFGS make of one factor."""
    from scipy.optimize import minimize

    if not start.size:  # rows without any feature; SciPy 1.11 fails of nothing
        return start

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss(flat.reshape(start.shape))
        return float(flat @ flat) / 2 + settings.cost * value, (
            flat + settings.cost * gradient.ravel()
        )

    options: dict[str, Any] = {"maxiter": settings.max_iterations, "maxcor": 5}
    found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(start.shape))
