"""One-against-all has a regressor for every label; it is the paper's slow and strong baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeltrees import _core
from labeltrees.checks import setting
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ModelFormatError
from labeltrees.models.dense import DenseAnswers
from labeltrees.models.online.bank_model import BankModel, Lines
from labeltrees.models.online.settings import LearningRate, RegressorSettings
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.online.online_model import CoreBatch


@dataclass(frozen=True, kw_only=True)
class OneAgainstAllSettings(RegressorSettings):
    """The checked parameters of `OneAgainstAllClassifier`, which describes them."""

    learning_rate: float = setting(1.5, LearningRate)


@dataclass
class OneAgainstAllModel(DenseAnswers, BankModel):
    """One regressor f_y per label, which learns every row: 1 for its own label, else 0.

    P(y given x) is f_y(x) over the sum of all f(x). Everything costs O(n_labels) per row.
    """

    scores_all = True
    settings_class = OneAgainstAllSettings

    core: _core.OneAgainstAll

    @classmethod
    def empty(cls, settings: OneAgainstAllSettings, n_features: int) -> OneAgainstAllModel:
        """Return a model without labels."""
        return cls(settings, LabelVocabulary(), _core.OneAgainstAll(), n_features)

    @classmethod
    def over(
        cls, settings: OneAgainstAllSettings, n_features: int, labels: ArrayLike
    ) -> OneAgainstAllModel:
        """Return a model whose labels have their regressors from the first row on."""
        model = cls.empty(settings, n_features)
        model.vocabulary.add(labels)
        model.core.grow(len(model.vocabulary))
        return model

    def label_scores(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return f_y(x) in [0, 1], one label per row, as in the paper and not normalised."""
        ids = self.label_ids(rows, labels)
        seen = self.columns.seen(rows)
        return self.core.label_scores(*seen.arrays, ids, self.settings.reading)

    def learn_scored(
        self, rows: Rows, labels: RaggedLabels, weights: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Learn rows in turn and return f_y(x) of each row's label y just before.

        0 for a label that had no regressor yet, and for a row of weight 0.
        """
        scoring = _Scoring(self.settings, self.vocabulary, self.core, self.n_features, self.frozen)
        scoring.columns = self.columns
        return scoring.update(rows, labels, weights).p_label

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model."""
        return {
            "can_learn": not self.frozen,
            "weight_lines": self.core.n_lines,
            "table_bytes_in_memory": self.core.n_bytes,
            "regressors": self.core.n_labels,
            "examples_learned": float(self.core.masses().sum()),
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a star of the labels as Graphviz DOT."""
        star = LabelTree.balanced(self.core.n_labels, arity=max(2, self.core.n_labels))
        return star.to_dot(names=names, max_nodes=max_nodes)

    def _shape(self) -> dict[str, NDArray[Any]]:
        return {}

    @classmethod
    def _restore_core(
        cls,
        tensors: dict[str, NDArray[Any]],  # noqa: ARG003
        mass: NDArray[Any],
        lines: Lines,
        n_labels: int,
    ) -> _core.OneAgainstAll:
        if len(mass) > n_labels:
            raise ModelFormatError(
                "there is a regressor for a label that the vocabulary does not name."
            )
        return _core.OneAgainstAll(mass, *lines)


class _Scoring(OneAgainstAllModel):
    """The same model, which predicts f_y(x) for each row instead of a probability."""

    def _update_core(self, batch: CoreBatch, *, predict: bool, top: bool, again: bool) -> Any:
        learning = self.settings.learning(again=again)
        return self.core.learn_scored(*batch.arrays, top, learning, predict)
