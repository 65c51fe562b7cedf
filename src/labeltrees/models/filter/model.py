"""Filter trees: their parameters, and the fitted tournament over a fixed pairing of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from labeltrees import _core
from labeltrees.checks import Choice, setting
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.dense import DenseAnswers
from labeltrees.models.model import MAX_DENSE_BYTES, TopLabels, check_dense_size, check_k, names_of
from labeltrees.models.online.settings import OPTIMIZERS, RegressorSettings
from labeltrees.models.online.tree_model import TreeModel
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.online.online_model import CoreBatch

PairingName = Literal["balanced", "random"]


@dataclass(frozen=True, kw_only=True)
class FilterSettings(RegressorSettings):
    """The checked parameters of `FilterTreeClassifier`, which says what they mean.

    Examples
    --------
    >>> FilterSettings(structure="online")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: structure must be 'balanced' or 'random', got 'online'.
    """

    structure: PairingName = setting("balanced", Choice(get_args(PairingName)))

    def tree_learning(self, *, again: bool = False) -> _core.ConditionalLearning:
        """Return how the core learns: labels are counted where new ones are placed."""
        random = self.structure == "random"
        return _core.ConditionalLearning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=self.learning_rate,
            insertion=_core.Insertion.random if random else _core.Insertion.objective,
            balance=_core.Balance.labels,
            alpha=1.0,
            seed=self.random_state,
            n_threads=1,
            again=again,
        )


@dataclass
class FilterTreeModel(TreeModel, DenseAnswers):
    """A binary tree of regressors that learns and predicts by the rules of a tournament.

    Winners cost O(depth) per row; probabilities need the sum over all labels, O(n_labels) per row.
    An explanation lists the matches on a label's way to the final. Rows must be checked (`rows`).
    Threads may query while one learns.
    """

    scores_all = True
    settings_class = FilterSettings

    settings: FilterSettings

    @classmethod
    def over(cls, settings: FilterSettings, n_features: int, labels: ArrayLike) -> Self:
        """Return a model that has learned nothing yet, over labels known in advance."""
        vocabulary = LabelVocabulary(labels)
        n_labels = len(vocabulary)
        tree = (
            LabelTree.random(n_labels, seed=settings.random_state)
            if settings.structure == "random"
            else LabelTree.balanced(n_labels)
        )
        return cls.on_tree(settings, n_features, vocabulary, tree)

    def _update_core(self, batch: CoreBatch, *, predict: bool, top: bool, again: bool) -> Any:
        learning = self.settings.tree_learning(again=again)
        return _core.learn_tournament(self.core, *batch.arrays, top, learning, predict)

    def winners(self, rows: Rows) -> NDArray[Any]:
        """Return the tournament's winner of every row. O(depth * nnz) per row."""
        seen = self.columns.seen(rows)
        ids = _core.tournament_winners(self.core, *seen.arrays, self.settings.reading)
        return names_of(self.vocabulary, ids)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        seen = self.columns.seen(rows)
        return _core.tournament_probabilities(self.core, *seen.arrays, ids, self.settings.reading)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order. The winner comes first."""
        k = check_k(k, self.core.n_labels)
        seen = self.columns.seen(rows)
        ids, p = _core.tournament_top(self.core, *seen.arrays, k, self.settings.reading)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_columns = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_columns, max_bytes)
        seen = self.columns.seen(rows)
        return _core.tournament_all(self.core, *seen.arrays, n_columns, self.settings.reading)
