"""What learning row by row needs besides the core: label ids, states that can learn, passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import FrozenModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.model import Foreseen

__all__ = ["IN_TURN", "LearnsInPasses", "check_can_learn", "ids_to_learn"]

IN_TURN: NDArray[np.int64] = np.empty(0, dtype=np.int64)
"""The order of rows learned one after the other."""


def check_can_learn(frozen: bool) -> None:
    """Raise `FrozenModelError` if the model was saved without what learning needs."""
    if frozen:
        raise FrozenModelError(
            "this model was saved with keep_state=False and cannot learn any more."
        )


def ids_to_learn(
    vocabulary: LabelVocabulary, labels: NDArray[Any], weights: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Return the ids of labels, new ones included, unless all their rows have weight 0."""
    if not len(weights) or weights.all():
        return vocabulary.add(labels)
    vocabulary.add(labels[weights > 0])  # a row of weight 0 is as if it were not there
    return vocabulary.ids(labels)


class LearnsInPasses:
    """A model that `fit` teaches by going over all rows as its settings say."""

    settings: Any

    if TYPE_CHECKING:

        def learn(
            self,
            rows: Rows,
            labels: NDArray[Any],
            weights: NDArray[np.float32],
            *,
            order: NDArray[np.int64] = IN_TURN,
            foresee: bool = True,
            foresee_top: bool = False,
            again: bool = False,
        ) -> Foreseen:
            """Learn from rows."""

    def learn_in_passes(
        self, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> None:
        """Learn all rows ``n_passes`` times, each time in an order of its own."""
        for number, order in enumerate(self.settings.orders(rows.n_rows)):
            self.learn(rows, labels, weights, order=order, foresee=False, again=number > 0)
