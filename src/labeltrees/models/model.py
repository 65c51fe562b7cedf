"""What every fitted model is: its questions, its answers, and the checks they share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError, DivergedError, FrozenModelError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.online.settings import OnlineRegression
    from labeltrees.tree import LabelTree

__all__ = [
    "MAX_DENSE_BYTES",
    "BeamLabels",
    "Foreseen",
    "Model",
    "TopLabels",
    "TopRows",
    "check_can_learn",
    "check_dense_size",
    "check_k",
    "check_threshold",
    "check_top_rows",
    "describe_tree",
    "ids_to_learn",
    "learning_errors",
    "names_of",
]

_BYTES_PER_ROW = 32  # of a label's best rows: row and probability, while searching and answered

MAX_DENSE_BYTES = 2**32
"""An answer larger than this is refused unless the caller allows it."""


class TopLabels(NamedTuple):
    """The likeliest labels and their probabilities, both of shape (n_rows, k)."""

    labels: NDArray[Any]
    probabilities: NDArray[np.float64]


class BeamLabels(NamedTuple):
    """What a beam search found: `TopLabels` with a certificate for every row."""

    labels: NDArray[Any]
    probabilities: NDArray[np.float64]
    certified: NDArray[np.bool_]
    """Whether these are provably the top k: no path given up was likelier than the k-th."""


class TopRows(NamedTuple):
    """The rows likeliest to have each label and their probabilities, both (n_labels, k)."""

    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64]


class Model(Protocol):
    """What a fitted model answers, whatever it is; rows are checked before."""

    vocabulary: LabelVocabulary
    n_features: int

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label a row; 0 for a label never seen."""

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k likeliest labels of every row, likeliest first."""

    def probabilities(self, rows: Rows, *, max_bytes: int) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""

    def describe(self) -> dict[str, Any]:
        """Return what a curious person may want to know of the model, ready for JSON."""

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a drawing of the model's top as Graphviz DOT; names are those of the labels."""

    def to_tensors(self, *, keep_state: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and facts (ready for JSON) that `from_tensors` makes an equal model of."""

    @classmethod
    def from_tensors(cls, tensors: dict[str, NDArray[Any]], facts: dict[str, Any]) -> Self:
        """Return the model that `to_tensors` wrote down, or raise `ModelFormatError`."""


class Foreseen(NamedTuple):
    """What a model said of each row just before it learned from it."""

    p_label: NDArray[np.float64]
    """The probability of the row's own label; 0, or the novelty mass, if it was new."""
    top: NDArray[Any]
    """The likeliest label; empty if not asked for."""
    p_top: NDArray[np.float64]
    """And its probability."""
    is_new: NDArray[np.bool_]
    """Whether the row's label had never been learned before."""


def check_dense_size(n_rows: int, n_labels: int, max_bytes: int) -> None:
    """Raise `TooLargeError` if a float64 matrix of that shape is larger than allowed."""
    n_bytes = 8 * n_rows * n_labels
    if n_bytes > max_bytes:
        raise TooLargeError(
            f"{n_rows} rows x {n_labels} labels need {n_bytes:,} bytes, over "
            f"max_bytes={max_bytes:,}: ask for predict_top_k or predict_label_proba, "
            "pass fewer rows, or raise max_bytes."
        )


def check_k(k: Any, n_labels: int) -> int:
    """Return k as an int, or raise `ArgumentError` if no model can give so many labels."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n_labels:
        raise ArgumentError.of("k", k, f"an integer in [1, n_labels={n_labels}]")
    return int(k)


def check_threshold(threshold: Any) -> None:
    """Raise `ArgumentError` unless the threshold of a probability is in (0, 1]."""
    is_number = isinstance(threshold, (int, float, np.integer, np.floating))
    if not is_number or isinstance(threshold, bool) or not 0 < threshold <= 1:
        raise ArgumentError.of("threshold", threshold, "in (0, 1]")


def check_top_rows(
    labels: ArrayLike,
    known: NDArray[np.bool_],
    n_labels: int,
    k: Any,
    n_rows: int,
    max_bytes: int,
) -> int:
    """Return k as an int, or raise if the best rows of these labels cannot be given."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n_rows:
        raise ArgumentError.of("k", k, f"an integer in [1, n_rows={n_rows}]")
    if not known.all():
        wrong = int(np.argmin(known))
        value = np.asarray(labels, dtype=object).tolist()[wrong]
        raise ArgumentError.of(f"labels[{wrong}]", value, f"one of the {n_labels} labels seen")
    n_bytes = _BYTES_PER_ROW * len(known) * int(k)
    if n_bytes > max_bytes:
        raise TooLargeError(
            f"{k} rows for each of {len(known)} labels need {n_bytes:,} bytes, over "
            f"max_bytes={max_bytes:,}: ask for fewer, or raise max_bytes."
        )
    return int(k)


def ids_to_learn(
    vocabulary: LabelVocabulary, labels: NDArray[Any], weights: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Return the ids of labels, new ones included, unless all their rows have weight 0."""
    if not len(weights) or weights.all():
        return vocabulary.add(labels)
    vocabulary.add(labels[weights > 0])  # a row of weight 0 is as if it were not there
    return vocabulary.ids(labels)


def names_of(vocabulary: LabelVocabulary, ids: NDArray[np.int32]) -> NDArray[Any]:
    """Return the labels with these ids; None for id -1, no label at all."""
    known = vocabulary.labels
    if not ids.size or ids.min() >= 0:
        return known[ids]
    named = np.full(ids.shape, None, dtype=object)
    named[ids >= 0] = known[ids[ids >= 0]]
    return named


def describe_tree(tree: LabelTree, core: _core.ConditionalTree | _core.PecocTree) -> dict[str, Any]:
    """Return the sizes and shape of a tree of regressors, ready for JSON."""
    is_leaf = tree.label >= 0
    mass, depths = core.masses()[is_leaf], tree.depths[is_leaf]
    facts: dict[str, Any] = {
        "weight_lines": core.n_lines,
        "table_bytes_in_memory": core.n_bytes,
        "nodes": tree.n_nodes,
        "leaves": tree.n_labels,
        "depth": tree.depth,
        "mean_leaf_depth": float(depths.mean()) if len(depths) else 0.0,
        "least_possible_depth": max(0, (tree.n_labels - 1).bit_length()),
    }
    if mass.sum() > 0:
        facts["mean_depth_of_an_example"] = float(np.average(depths, weights=mass))
        facts["examples_learned"] = float(mass.sum())
    return facts


def check_can_learn(frozen: bool) -> None:
    """Raise `FrozenModelError` if the model was saved without what learning needs."""
    if frozen:
        raise FrozenModelError(
            "this model was saved with keep_state=False and cannot learn any more."
        )


@contextmanager
def learning_errors(settings: OnlineRegression) -> Iterator[None]:
    """Say which setting is to blame where the core's weights diverge."""
    try:
        yield
    except _core.Diverged as error:
        raise DivergedError(
            f"{error}: learning_rate={settings.learning_rate:g} is too large for "
            f"optimizer={settings.optimizer!r} on this data."
        ) from None
