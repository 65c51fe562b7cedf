"""RankSVM: linear scores that put the more relevant of two before the less relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy import sparse

from labeltrees.checks import Choice, Integer, Number, setting
from labeltrees.models.baselines.label_pairs import label_pairs
from labeltrees.models.baselines.linear import LinearScorer, check_weights_size, unit_rows
from labeltrees.models.baselines.multilabel import MultilabelModel, MultilabelSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import Targets

__all__ = ["PairsName", "RankSvmModel", "RankSvmSettings"]

PairsName = Literal["row", "label"]


@dataclass(frozen=True, kw_only=True)
class RankSvmSettings(MultilabelSettings):
    """The checked parameters of `RankSvmRanker`, which says what they mean."""

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
    def learn_scorer(cls, rows: Rows, targets: Targets, settings: RankSvmSettings) -> LinearScorer:
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
