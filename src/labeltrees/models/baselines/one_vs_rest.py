"""DiSMEC and ProXML, which train one classifier per label against all other rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees import _core, checks
from labeltrees.checks import Integer, Number, Threads, setting
from labeltrees.models.baselines.linear import LinearScorer, unit_rows
from labeltrees.models.baselines.multilabel import MultilabelModel, RankingSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.baselines.multilabel import RelevanceTargets


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
