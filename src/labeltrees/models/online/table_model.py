"""Models with a table of weights: how they learn and predict, and how they are saved."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import checks
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    TopLabels,
    check_dense_size,
    check_k,
    names_of,
    stored_width,
)
from labeltrees.models.online.lines import SLOTS, pack_lines, unpack_lines
from labeltrees.models.online.online_model import OnlineModel
from labeltrees.models.online.scaling import ColumnScale

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees import _core
    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.online.online_model import CoreBatch
    from labeltrees.store import Facts, Tensors

Lines = tuple["NDArray[np.uint64]", "NDArray[np.float32]", "NDArray[np.float32]"]
"""The keys, weights and sums of a table."""
_NONE = np.empty((0, SLOTS), dtype=np.float32)
NO_LINES: Lines = (np.empty(0, dtype=np.uint64), _NONE, _NONE)


@dataclass
class TableModel(OnlineModel):
    """Settings, vocabulary and regressors; a subclass knows the shape of its core.

    Rows must be checked (`rows`). Threads may query while one learns.
    """

    settings: Any
    vocabulary: LabelVocabulary
    core: _core.PecocTree | _core.OneAgainstAll | _core.LomTree
    n_features: int
    frozen: bool = False
    columns: ColumnScale = field(default_factory=ColumnScale, init=False, repr=False)

    def _update_core(self, batch: CoreBatch, *, predict: bool, top: bool, again: bool) -> Any:
        learning = self.settings.learning(again=again)
        return self.core.learn(*batch.arrays, top, learning, predict)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        seen = self.columns.seen(rows)
        return self.core.label_probabilities(*seen.arrays, ids, self.settings.reading)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order, which are provably the top k."""
        k = check_k(k, self.core.n_labels)
        seen = self.columns.seen(rows)
        ids, p = self.core.top_labels(*seen.arrays, k, self.settings.reading)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_columns = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_columns, max_bytes)
        seen = self.columns.seen(rows)
        return self.core.all_probabilities(*seen.arrays, n_columns, self.settings.reading)


@dataclass
class BankModel(TableModel):
    """A model whose file is masses, lines and what a subclass adds: the shape of its core."""

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what questions need, in float16.
        """
        frozen = self.frozen or not keep_state
        with self.columns.still():
            mass, (keys, weights, sums) = self.core.masses_and_lines()
            of_columns, about_columns = self.columns.to_tensors()
        tensors = self.vocabulary.to_tensors() | self._shape() | of_columns | {"mass": mass}
        if frozen:
            tensors |= pack_lines(keys, weights, {})
        else:
            tensors |= {"table.keys": keys, "table.weights": weights, "table.sums": sums}
        return tensors, about_columns | {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": frozen,
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        frozen = checks.flag("frozen", facts["frozen"])
        settings = cls.settings_class.from_dict(facts["settings"], n_labels=len(vocabulary))
        if frozen:
            keys, weights, _ = unpack_lines(tensors)
            lines = keys, weights, np.zeros_like(weights)
        else:
            lines = tensors["table.keys"], tensors["table.weights"], tensors["table.sums"]
        core = cls._restore_core(tensors, tensors["mass"], lines, len(vocabulary))
        model = cls(settings, vocabulary, core, stored_width(facts), frozen)
        model.columns.restore(tensors, facts, model.n_features)
        return model

    @abstractmethod
    def _shape(self) -> Tensors:
        """Return the arrays besides the masses and the lines that make up the core."""

    @classmethod
    @abstractmethod
    def _restore_core(
        cls, tensors: Tensors, mass: NDArray[Any], lines: Lines, n_labels: int
    ) -> Any:
        """Return the core, all of whose labels are below ``n_labels``."""
