"""The base class of all models, with their file format, and the checks they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from labeltrees import __version__, checks, store
from labeltrees.data.rows import MAX_FEATURES, as_rows
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError, ModelFormatError, TooLargeError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.settings import Settings
    from labeltrees.store import Facts, Tensors

MAX_DENSE_BYTES = 2**32
"""An answer larger than this is refused unless the caller allows it."""

BYTES_PER_ENTRY = 12
"""Number of bytes of an entry of a sparse result, which has a column and a probability."""

SearchName = Literal["auto", "exact", "beam"]
"""Search for the most likely labels; "auto" chooses what suits the model."""

FormName = Literal["labels", "lists", "matrix", "sparse"]
"""How rows name their labels: one each, lists of them, a dense or a sparse matrix."""

_ENTRIES_AT_ONCE = 2**22  # of rows that are repeated for their candidates, or of distributions
_BYTES_PER_ROW = 32  # of a label's best rows: row and probability, while searching and answered


class TopLabels(NamedTuple):
    """The most likely labels and their probabilities, both of shape (n_rows, k)."""

    labels: NDArray[Any]
    probabilities: NDArray[np.float64]


class ScoredLabels(NamedTuple):
    """The best labels and the scores that rank them, which are no probabilities, (n_rows, k)."""

    labels: NDArray[Any]
    scores: NDArray[np.float64]


class BeamLabels(NamedTuple):
    """What a beam search found: `TopLabels` with a certificate for every row."""

    labels: NDArray[Any]
    probabilities: NDArray[np.float64]
    certified: NDArray[np.bool_]
    """Whether these are provably the top k, because each dropped path was less likely."""


class TopRows(NamedTuple):
    """The rows most likely to have each label and their probabilities, both (n_labels, k)."""

    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64]


class ScoredRows(NamedTuple):
    """The best rows of each label and the scores that rank them, both (n_labels, k)."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


class Predictions(NamedTuple):
    """What a model predicted for each row just before it learned the row."""

    p_label: NDArray[np.float64]
    """The probability of each label of each row, in the order in which they were given. A new label
    has 0, or the novelty mass."""
    top: NDArray[Any]
    """The k most likely labels, (n_rows, k), with None if fewer were known."""
    p_top: NDArray[np.float64]
    """Their probabilities, (n_rows, k)."""
    is_new: NDArray[np.bool_]
    """Whether each label had never been learned before, in the order of ``p_label``."""

    @classmethod
    def none(cls, k: int = 0) -> Predictions:
        """Return the predictions for no rows."""
        top = np.empty((0, k), dtype=object), np.empty((0, k))
        return cls(np.empty(0), *top, np.empty(0, dtype=bool))

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Return the predictions for the rows of all parts, one part after the other."""
        if not parts:
            return cls.none()
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class Model(Protocol):
    """The questions that every model answers; rows are checked before (`FittedModel.rows`)."""

    vocabulary: LabelVocabulary
    n_features: int

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order."""

    def probabilities(self, rows: Rows, *, max_bytes: int) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""

    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model, ready for JSON."""

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a drawing of the model's top as Graphviz DOT with these names of labels."""

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts (ready for JSON) from which an equal model can be made."""


class FittedModel(ABC):
    """A model of this library, which has settings, checks its rows, and can be saved and pickled.

    Its other methods tell what else it can do (`labeltrees.models.capabilities`).
    """

    missing: ClassVar[bool] = False
    """Whether NaN in a row is a missing value."""
    settings_class: ClassVar[type[Settings]]
    takes_label_sets: ClassVar[bool] = False
    """Whether it learns rows with any number of labels; otherwise each row has exactly one."""
    scores_all: ClassVar[bool] = False
    """Whether the probability of one label depends on all scores, because they are scaled."""
    fades: ClassVar[bool] = False
    """Whether its weights and counts can fade (`labeltrees.models.online.online_model`)."""

    settings: Any
    """Its method's parameters, of ``settings_class``."""
    vocabulary: LabelVocabulary
    n_features: int
    frozen: bool = False
    """Whether it was saved without what only learning needs."""

    @abstractmethod
    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""

    @abstractmethod
    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row in order."""

    @abstractmethod
    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return sizes and shape of the model, ready for JSON."""

    @abstractmethod
    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a drawing of the model's top as Graphviz DOT with these names of labels."""

    @abstractmethod
    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts (ready for JSON) that `from_tensors` makes an equal model of."""

    @classmethod
    def from_tensors(
        cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary | None = None
    ) -> Self:
        """Return the model that `to_tensors` saved, or raise `ModelFormatError`.

        Models of a mixture share one ``vocabulary``. Without it, the tensors have one. A file may
        be forged, so a model that is accepted here must answer every query.
        """
        with file_parts():
            if vocabulary is None:
                vocabulary = LabelVocabulary.from_tensors(tensors)
            return cls._restored(tensors, facts, vocabulary)

    @classmethod
    @abstractmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        """Return the model of these parts; `from_tensors` turns what they raise into its error."""

    def rows(self, X: Any) -> Rows:
        """Return ``X`` as rows of this model, or raise `DataError`."""
        return as_rows(X, n_features=self.n_features, missing=self.missing)

    def check_width(self, rows: Rows) -> None:
        """Raise `DataError` unless checked rows have as many features as the model."""
        if rows.n_features != self.n_features:
            raise DataError(f"X must have {self.n_features} features, got {rows.n_features}.")

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        keep_state: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Write the model to a file that `labeltrees.load_model` and `labeltrees.load` read.

        ``keep_state=False`` leaves out what only learning needs and stores weights as float16: a
        far smaller file for a model that will not learn again. ``extra`` is kept with the model.
        """
        store.write(path, self.stored(keep_state=keep_state, extra=extra))

    def stored(
        self, *, keep_state: bool = True, extra: dict[str, Any] | None = None
    ) -> store.StoredModel:
        """Return what `save` writes."""
        tensors, facts = self.to_tensors(keep_state=checks.flag("keep_state", keep_state))
        name = type(self).__name__
        return store.StoredModel(name, facts, tensors, extra or {}, __version__)

    def label_ids(self, rows: Rows, labels: ArrayLike) -> NDArray[np.int32]:
        """Return the ids of one label per row, -1 for labels never seen."""
        ids = self.vocabulary.ids(labels)
        if len(ids) != rows.n_rows:
            raise ArgumentError(f"y has {len(ids)} labels for the {rows.n_rows} rows of X.")
        return ids

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids belong to labels that the model has learned; -1 is none."""
        return ids >= 0

    def candidate_probabilities(self, rows: Rows, candidates: RaggedLabels) -> NDArray[np.float64]:
        """Return P(label given row) for each row and each of its labels.

        As `label_probabilities`, some rows at a time, so that memory stays small.
        """
        labels, starts = candidates.labels, candidates.starts
        p = np.empty(len(labels))
        per_row = len(rows.indices) // max(rows.n_rows, 1) + 1
        size = len(self.vocabulary) * rows.n_rows if self.scores_all else per_row * len(labels)
        n_parts = min(max(rows.n_rows, 1), 1 + size // _ENTRIES_AT_ONCE)
        for part in np.array_split(np.arange(rows.n_rows), n_parts):
            if len(part):
                own = slice(starts[part[0]], starts[part[-1] + 1])
                p[own] = self._of_candidates(rows.take(part), labels[own], candidates.counts[part])
        return p

    def _of_candidates(
        self, rows: Rows, labels: NDArray[Any], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the probabilities of ``counts[i]`` labels for each row i."""
        row = np.repeat(np.arange(rows.n_rows), counts)
        if not self.scores_all:
            return self.label_probabilities(rows.take(row), labels)
        ids = self.vocabulary.ids(labels)
        return np.where(ids < 0, 0.0, self.probabilities(rows)[row, ids])

    def __getstate__(self) -> dict[str, Any]:
        tensors, facts = self.to_tensors(keep_state=not self.frozen)
        return {"tensors": tensors, "facts": facts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restored = self.from_tensors(state["tensors"], state["facts"])
        self.__dict__.update(restored.__dict__)


def stored_width(facts: dict[str, Any]) -> int:
    """Return the number of features in the facts of a file."""
    return checks.integer("n_features", facts["n_features"], 1, MAX_FEATURES)


@contextmanager
def file_parts() -> Iterator[None]:
    """Turn every error while a model is made from a file into `ModelFormatError`."""
    try:
        yield
    except ModelFormatError:
        raise
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise ModelFormatError(f"the model's parts do not fit together: {error}") from None


def check_dense_size(n_rows: int, n_labels: int, max_bytes: int) -> None:
    """Raise `TooLargeError` if a float64 matrix of that shape is larger than allowed."""
    n_bytes = 8 * n_rows * n_labels
    if n_bytes > max_bytes:
        raise TooLargeError(
            f"{n_rows} rows x {n_labels} labels need {n_bytes:,} bytes, over "
            f"max_bytes={max_bytes:,}. Use predict_top_k or predict_label_proba, "
            "pass fewer rows, or raise max_bytes."
        )


def check_k(k: Any, n_labels: int) -> int:
    """Return k as an int, or raise `ArgumentError` if the model has fewer labels."""
    return checks.integer("k", k, 1, n_labels, what="n_labels=")


def check_top_rows(
    labels: ArrayLike,
    known: NDArray[np.bool_],
    n_labels: int,
    k: Any,
    n_rows: int,
    max_bytes: int,
) -> int:
    """Return k as an int, or raise if the best rows of these labels cannot be given."""
    asked = checks.integer("k", k, 1, n_rows, what="n_rows=")
    if not known.all():
        wrong = int(np.argmin(known))
        label = np.asarray(labels, dtype=object).tolist()[wrong]
        checks.one_of_labels(f"labels[{wrong}]", label, False, n_labels)
    n_bytes = _BYTES_PER_ROW * len(known) * asked
    if n_bytes > max_bytes:
        raise TooLargeError(
            f"{asked} rows for each of {len(known)} labels need {n_bytes:,} bytes, over "
            f"max_bytes={max_bytes:,}. Use a smaller k, or raise max_bytes."
        )
    return asked


def names_of(vocabulary: LabelVocabulary, ids: NDArray[np.int32]) -> NDArray[Any]:
    """Return the labels with these ids, with None for id -1."""
    known = vocabulary.labels
    if not ids.size or ids.min() >= 0:
        return known[ids]
    named = np.full(ids.shape, None, dtype=object)
    named[ids >= 0] = known[ids[ids >= 0]]
    return named
