"""What models with a table of weights share, whatever their shape: learn, answer, write down."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from labeltrees import _core
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    Foreseen,
    TopLabels,
    check_can_learn,
    check_dense_size,
    check_k,
    ids_to_learn,
    learning_errors,
    names_of,
)
from labeltrees.models.online.settings import SLOTS, OnlineRegression, pack_lines, unpack_lines

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows

__all__ = ["EMPTY_ORDER", "NO_LINES", "Lines", "TableModel"]

Lines = tuple["NDArray[np.uint64]", "NDArray[np.float32]", "NDArray[np.float32]"]
"""The keys, weights and sums of a table."""

_NONE = np.empty((0, SLOTS), dtype=np.float32)
NO_LINES: Lines = (np.empty(0, dtype=np.uint64), _NONE, _NONE)
EMPTY_ORDER = np.empty(0, dtype=np.int64)
"""Rows in turn."""


@dataclass
class TableModel:
    """Vocabulary, regressors and their settings; a subclass knows the shape of its core.

    Rows must be checked (`labeltrees.data.rows.as_rows`). Threads may ask while one learns.
    """

    _settings_class: ClassVar[type[Any]] = OnlineRegression

    settings: Any
    vocabulary: LabelVocabulary
    core: _core.PecocTree | _core.OneAgainstAll | _core.LomTree
    n_features: int
    frozen: bool = False

    def __post_init__(self) -> None:
        self.settings.limit(self.core)

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = EMPTY_ORDER,
        foresee: bool = True,
        foresee_top: bool = False,
        again: bool = False,
    ) -> Foreseen:
        """Learn from rows in turn (or in ``order``) and return what was foreseen of each.

        ``again`` says that the rows have been learned before, ``foresee=False`` that nobody wants
        to know the probabilities of their labels.
        """
        check_can_learn(self.frozen)
        ids = self._ids_to_learn(labels, weights)
        with learning_errors(self.settings):
            p_label, is_new, top, p_top = self.core.learn(
                *rows.arrays, ids, weights, order, foresee_top,
                self.settings.learning(again=again), foresee,
            )  # fmt: skip
        return Foreseen(p_label, names_of(self.vocabulary, top), p_top, is_new.astype(bool))

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label a row; 0 for a label never seen."""
        ids = self._ids_of_rows(rows, labels)
        return self.core.label_probabilities(*rows.arrays, ids, self.settings.reading)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k likeliest labels of every row, likeliest first; provably the top k."""
        k = check_k(k, self.core.n_labels)
        ids, p = self.core.top_labels(*rows.arrays, k, self.settings.reading)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        n_columns = len(self.vocabulary)
        check_dense_size(rows.n_rows, n_columns, max_bytes)
        return self.core.all_probabilities(*rows.arrays, n_columns, self.settings.reading)

    def to_tensors(self, *, keep_state: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and settings that `from_tensors` makes an equal model of.

        With ``keep_state=False`` only what queries need, in float16.
        """
        tensors = self.vocabulary.to_tensors() | self._shape() | {"mass": self.core.masses()}
        keys, weights, sums = self.core.lines()
        if keep_state and not self.frozen:
            tensors |= {"table.keys": keys, "table.weights": weights, "table.sums": sums}
        else:
            tensors |= pack_lines(keys, weights, {})
        return tensors, {
            "model": type(self).__name__,
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": self.frozen or not keep_state,
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, NDArray[Any]], facts: dict[str, Any]) -> Self:
        """Return the model that `to_tensors` wrote down; raise `ModelFormatError` if it did not."""
        try:
            vocabulary = LabelVocabulary.from_tensors(tensors)
            if facts["frozen"]:
                keys, weights, _ = unpack_lines(tensors)
                lines = keys, weights, np.zeros_like(weights)
            else:
                lines = tensors["table.keys"], tensors["table.weights"], tensors["table.sums"]
            core = cls._restore_core(tensors, tensors["mass"], lines, len(vocabulary))
            settings = cls._settings_class(**facts["settings"])
            return cls(settings, vocabulary, core, int(facts["n_features"]), bool(facts["frozen"]))
        except (KeyError, TypeError, IndexError, _core.TreeError, ArgumentError) as error:
            raise ModelFormatError(f"the model's parts do not fit together: {error}") from None

    @abstractmethod
    def _shape(self) -> dict[str, NDArray[Any]]:
        """Return the arrays besides the masses and the lines that make up the core."""

    @classmethod
    @abstractmethod
    def _restore_core(
        cls, tensors: dict[str, NDArray[Any]], mass: NDArray[Any], lines: Lines, n_labels: int
    ) -> Any:
        """Return the core, all of whose labels are below ``n_labels``."""

    def _ids_to_learn(
        self, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        return ids_to_learn(self.vocabulary, labels, weights)

    def _ids_of_rows(self, rows: Rows, labels: ArrayLike) -> NDArray[np.int32]:
        ids = self.vocabulary.ids(labels)
        if len(ids) != rows.n_rows:
            raise ArgumentError(f"y has {len(ids)} labels for the {rows.n_rows} rows of X.")
        return ids

    def __getstate__(self) -> dict[str, Any]:
        tensors, facts = self.to_tensors(keep_state=not self.frozen)
        return {"tensors": tensors, "facts": facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restored = self.from_tensors(state["tensors"], state["facts"])
        self.__dict__.update(restored.__dict__)
