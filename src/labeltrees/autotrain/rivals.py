"""What a chosen model is compared with: how often labels are seen, and one regressor per label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labeltrees.autotrain.fitting import Recipe
from labeltrees.autotrain.gathering import first_labels
from labeltrees.autotrain.scores import N_TOP, Answers, distances
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile

__all__ = ["most_frequent", "one_against_all"]

_MOST_WORK = 5e8
"""Labels times stored values of all rows that one-against-all may cost: about a second."""
_MOST_LABELS_TOGETHER = 256


def most_frequent(learned: Chunk, asked: Chunk) -> Answers:
    """Return the answers of one who knows only how often each label was seen."""
    labels, counts = np.unique(learned.labels, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:N_TOP]
    share = counts / counts.sum()
    per_row = counts / learned.n_rows
    truth = first_labels(asked)
    place = np.minimum(np.searchsorted(labels, truth), len(labels) - 1)
    known = labels[place] == truth
    far = None
    if learned.is_distribution and learned.relevance is not None:
        labels, ids = np.unique(learned.labels, return_inverse=True)
        mean = np.bincount(ids, learned.relevance, minlength=len(labels))
        order, per_row = np.argsort(-mean, kind="stable")[:N_TOP], mean / mean.sum()
        far = distances(asked, labels, per_row)
    return Answers(
        np.tile(labels[order], (asked.n_rows, 1)),
        np.tile(np.minimum(per_row[order], 1.0), (asked.n_rows, 1)),
        np.where(known, share[place], 0.0),
        far,
    )


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
