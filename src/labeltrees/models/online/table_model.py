"""What models with a table of weights share, whatever their shape: learn and answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    TopLabels,
    check_dense_size,
    check_k,
    names_of,
)
from labeltrees.models.online.online_model import OnlineModel
from labeltrees.models.online.scaling import ColumnScale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees import _core
    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.online.online_model import CoreBatch


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
