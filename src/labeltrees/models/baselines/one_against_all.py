"""One-against-all: a regressor for every label, the paper's slow and strong baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeltrees import _core
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ModelFormatError
from labeltrees.models.online.table_model import Lines, TableModel
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.online.settings import OnlineRegression

__all__ = ["OneAgainstAllModel"]


@dataclass
class OneAgainstAllModel(TableModel):
    """One regressor f_y per label, which learns every row: 1 for its own label, else 0.

    P(y given x) is f_y(x) over the sum of all f(x). Everything costs O(n_labels) a row.
    """

    core: _core.OneAgainstAll

    @classmethod
    def empty(cls, settings: OnlineRegression, n_features: int) -> OneAgainstAllModel:
        """Return a model that knows no label yet."""
        return cls(settings, LabelVocabulary(), _core.OneAgainstAll(), n_features)

    def announce(self, labels: ArrayLike) -> None:
        """Give labels their regressors now, so that they learn from the first row on."""
        self.vocabulary.add(labels)
        self.core.grow(len(self.vocabulary))

    def label_scores(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return f_y(x) in [0, 1], one label a row: the paper's answer, not normalised."""
        ids = self._ids_of_rows(rows, labels)
        return self.core.label_scores(*rows.arrays, ids, self.settings.reading)

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
            raise ModelFormatError("there is a regressor for a label that nobody named.")
        return _core.OneAgainstAll(mass, *lines)
