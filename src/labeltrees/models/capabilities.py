"""Optional methods of models, each described by a protocol of one method.

A model has a capability if and only if it has the method, because no inherited method always
raises. The command line and the estimators call `can` before they offer a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from labeltrees.errors import ArgumentError
from labeltrees.models.model import MAX_DENSE_BYTES
from labeltrees.models.registry import model_class, model_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.model import BeamLabels, Predictions, TopRows
    from labeltrees.tree import LabelTree

__all__ = [
    "Above",
    "BeamSearch",
    "BestRows",
    "Descends",
    "Explains",
    "HasTree",
    "Samples",
    "SamplesSets",
    "Updates",
    "can",
    "demand",
]


@runtime_checkable
class Above(Protocol):
    """Finds every label that is likely enough."""

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse."""


@runtime_checkable
class BestRows(Protocol):
    """Finds the rows that suit a label best (labelwise inference)."""

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows with the largest probabilities of each label in order."""


@runtime_checkable
class Samples(Protocol):
    """Draws labels with their probabilities."""

    def sample(self, rows: Rows, uniforms: NDArray[np.float64]) -> NDArray[Any]:
        """Return one label per row, drawn by one number in [0, 1) each."""


@runtime_checkable
class Explains(Protocol):
    """Explains the probability of a label."""

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Return what led to a label's probability for one row; it has to_text and to_dict."""


@runtime_checkable
class BeamSearch(Protocol):
    """Searches level by level, keeping a few nodes of each, and knows when that was enough."""

    def beam_labels(self, rows: Rows, k: int, *, beam_width: int) -> BeamLabels:
        """Return the k most likely labels found, and which rows are provably exact."""


@runtime_checkable
class Descends(Protocol):
    """Follows the more likely child at every node of a tree."""

    def greedy_labels(self, rows: Rows) -> NDArray[Any]:
        """Return the label at which each row ends that always takes the likelier turn."""


@runtime_checkable
class HasTree(Protocol):
    """Has one tree over its labels that can be looked at."""

    def tree_and_masses(self) -> tuple[LabelTree, NDArray[np.float64]]:
        """Return the tree over vocabulary ids, and each node's mass, as of one moment."""


@runtime_checkable
class Updates(Protocol):
    """Can be updated row by row, with one label per row or, if `takes_label_sets`, with any."""

    def update(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        *,
        predict: bool = True,
        k: int = 0,
        pass_number: int = 0,
    ) -> Predictions:
        """Learn rows in turn and return what was predicted for each before, and its k best."""


@runtime_checkable
class SamplesSets(Protocol):
    """Draws sets of labels, each label with its probability."""

    def sample_sets(self, rows: Rows, seeds: NDArray[np.uint64]) -> sparse.csr_array:
        """Return a random set of labels for every row, decided by one number each."""


_QUESTIONS: dict[type, str] = {
    Above: "labels above a threshold",
    BestRows: "the best rows of a label",
    Samples: "draws of labels",
    Explains: "explanations",
    BeamSearch: "beam search",
    Descends: "greedy descent",
    HasTree: "one tree to look at",
    Updates: "updates row by row",
    SamplesSets: "draws of sets of labels",
}


def can(model: object, capability: type) -> bool:
    """Return whether a model, or every model of a class, has the capability.

    >>> from labeltrees.models.extreme.model import ExtremeModel
    >>> can(ExtremeModel, BestRows), can(ExtremeModel, Updates)
    (True, False)
    """
    method = next(name for name in vars(capability) if not name.startswith("_"))
    return callable(getattr(model, method, None))


def demand(model: object, capability: type, name: str) -> None:
    """Raise `ArgumentError` unless the model has what the argument or option ``name`` asks for.

    >>> from labeltrees.models.extreme.model import ExtremeModel
    >>> demand(ExtremeModel, Samples, "sample")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: sample: ExtremeModel has no draws of labels, but ... have.
    """
    if not can(model, capability):
        kind = model if isinstance(model, type) else type(model)
        *first, last = (other for other in model_names() if can(model_class(other), capability))
        raise ArgumentError(
            f"{name}: {kind.__name__} has no {_QUESTIONS[capability]}, but "
            f"{', '.join(first)}{' and ' if first else ''}{last} {'have' if first else 'has'}."
        )
