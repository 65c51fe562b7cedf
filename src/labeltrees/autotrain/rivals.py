"""What a chosen model is compared with: how often labels are seen, and one regressor per label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labeltrees.autotrain.options import Recipe
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.model import TopLabels
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile
    from labeltrees.data.rows import Rows

__all__ = ["MostFrequent", "one_against_all"]

_MOST_WORK = 5e8
"""Labels times stored values of all rows that one-against-all may cost: about a second."""
_MOST_LABELS_TOGETHER = 256


class MostFrequent:
    """Predicts the same for every row: how often each label was learned.

    The probability of a label is its share of the rows that have it, or the mean of its
    probabilities where rows have distributions.

    >>> import numpy as np
    >>> from labeltrees.data.chunk import Chunk
    >>> from labeltrees.data.labels import RaggedLabels
    >>> from labeltrees.data.rows import as_rows
    >>> rows, labels = as_rows(np.zeros((3, 1))), np.array(["a", "b", "b"], dtype=object)
    >>> learned = Chunk(rows, RaggedLabels.of_single(labels), None, 1)
    >>> MostFrequent(learned).top_labels(rows, 1)[0].tolist()
    [['b'], ['b'], ['b']]
    """

    def __init__(self, learned: Chunk) -> None:
        names, ids = np.unique(learned.labels, return_inverse=True)
        given = learned.relevance if learned.is_distribution else None
        counts = np.bincount(ids, given, minlength=len(names)).astype(np.float64)
        n_rows = counts.sum() if learned.is_distribution else learned.n_rows
        self.vocabulary = LabelVocabulary(names)
        self.p = np.minimum(counts / n_rows, 1.0)
        self._order = np.argsort(-counts, kind="stable")

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids belong to labels of the rows."""
        return ids >= 0

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most frequent labels, for every row the same."""
        first = np.tile(self._order[:k], (rows.n_rows, 1))
        return TopLabels(self.vocabulary.labels[first], self.p[first])

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:  # noqa: ARG002 - of all rows alike
        """Return how frequent each label is; 0 for labels of no row."""
        ids = self.vocabulary.ids(labels)
        return np.where(ids < 0, 0.0, self.p[ids])

    def probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """Return how frequent every label is, (n_rows, n_labels)."""
        return np.tile(self.p, (rows.n_rows, 1))


def one_against_all(
    data: Chunk, profile: DataProfile, *, seed: int, jobs: int | None
) -> Recipe | None:
    """Return the recipe of a regressor for each label; None if that would take long.

    Of rows with several labels it is logistic regression of each label against the rest: a tree
    whose root has all labels as children.
    """
    if profile.n_labels * len(data.rows.indices) > _MOST_WORK:
        return None
    if profile.several_labels and not profile.distributions:
        from labeltrees.models.extreme.settings import ExtremeSettings

        if profile.n_labels > _MOST_LABELS_TOGETHER or profile.graded:
            return None
        settings = ExtremeSettings(
            n_trees=1, max_leaf=_MOST_LABELS_TOGETHER, random_state=seed, n_jobs=jobs
        )
        return Recipe(methods()["xreg"], settings)
    from labeltrees.models.baselines.one_against_all import OneAgainstAllSettings

    own = OneAgainstAllSettings(scale=None if profile.is_text else "auto", random_state=seed)
    return Recipe(methods()["one-against-all"], own, seed=seed)
