"""What models of many regressors over one table share: how they are written down."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import checks
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.model import file_parts, stored_width
from labeltrees.models.online.lines import SLOTS, pack_lines, unpack_lines
from labeltrees.models.online.table_model import TableModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

Lines = tuple["NDArray[np.uint64]", "NDArray[np.float32]", "NDArray[np.float32]"]
"""The keys, weights and sums of a table."""

_NONE = np.empty((0, SLOTS), dtype=np.float32)
NO_LINES: Lines = (np.empty(0, dtype=np.uint64), _NONE, _NONE)


@dataclass
class BankModel(TableModel):
    """A model whose file is masses, lines and what a subclass adds: the shape of its core."""

    def to_tensors(self, *, keep_state: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
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
    def from_tensors(
        cls,
        tensors: dict[str, NDArray[Any]],
        facts: dict[str, Any],
        vocabulary: LabelVocabulary | None = None,
    ) -> Self:
        """Return the model that `to_tensors` wrote down; raise `ModelFormatError` if it did not."""
        with file_parts():
            if vocabulary is None:
                vocabulary = LabelVocabulary.from_tensors(tensors)
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
    def _shape(self) -> dict[str, NDArray[Any]]:
        """Return the arrays besides the masses and the lines that make up the core."""

    @classmethod
    @abstractmethod
    def _restore_core(
        cls, tensors: dict[str, NDArray[Any]], mass: NDArray[Any], lines: Lines, n_labels: int
    ) -> Any:
        """Return the core, all of whose labels are below ``n_labels``."""
