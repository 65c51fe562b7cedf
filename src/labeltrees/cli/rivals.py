"""Two rivals that learn nothing, to show what is mere frequency and what mere recency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FrequencyTable:
    """Predicts the label seen most often so far, with the share it has had.

    >>> table = FrequencyTable()
    >>> table.update(["a", "b", "b", "b"])[0].tolist()
    [False, False, False, True]
    """

    def __init__(self) -> None:
        self._count: dict[Any, int] = {}
        self._total = 0
        self._best: Any = None

    def update(self, labels: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return whether each label was predicted, and the probability it had; learn it after."""
        correct = np.zeros(len(labels), dtype=bool)
        p_label = np.zeros(len(labels))
        count = self._count
        for i, label in enumerate(labels):
            seen = count.get(label, 0)
            if self._total:
                correct[i] = label == self._best
                p_label[i] = seen / self._total
            count[label] = seen + 1
            self._total += 1
            if self._best is None or seen + 1 > count[self._best]:
                self._best = label
        return correct, p_label


class Cache:
    """Predicts the label last seen after the same three tokens, else two, else one.

    >>> cache = Cache()
    >>> contexts = np.array([[1, 2, 3], [1, 2, 3], [9, 2, 3]])
    >>> cache.update(contexts, ["x", "x", "x"]).tolist()
    [False, True, True]
    """

    def __init__(self) -> None:
        self._last: tuple[dict[Any, Any], ...] = ({}, {}, {})

    def update(self, contexts: NDArray[Any], labels: Any) -> NDArray[np.bool_]:
        """Return whether each label was predicted; remember it after.

        ``contexts`` has the tokens before each label, the nearest last.
        """
        correct = np.zeros(len(labels), dtype=bool)
        three, two, one = self._last
        for i, ((a, b, c), label) in enumerate(zip(contexts.tolist(), labels, strict=True)):
            guess = three.get((a, b, c))
            if guess is None:
                guess = two.get((b, c))
            if guess is None:
                guess = one.get(c)
            correct[i] = guess == label
            three[a, b, c] = two[b, c] = one[c] = label
        return correct
