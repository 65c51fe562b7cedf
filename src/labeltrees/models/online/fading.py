"""Forgetting: what a model of conditional trees has learned counts for less and less."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees import checks
from labeltrees.errors import ArgumentError

_EXPONENT = 1024
"""A factor of two in the 16-bit code of an optimiser's sum."""
_COUNTS = ("left", "right", "own", "others")


def faded(model: Any, share: float) -> Any:
    """Return the model with weights and counts of examples times a share, and longer steps.

    Labels, tree and mixtures stay. The optimiser's sums are multiplied as well, so that steps are
    as long as they were before. O(size of the model).

    Parameters
    ----------
    model : FittedModel
        One that ``fades`` and has its state.
    share : float in (0, 1]
        What is left.

    Examples
    --------
    >>> import labeltrees
    >>> tree = labeltrees.ConditionalTreeClassifier(refine=0, n_trees=1, structure="online")
    >>> tree = tree.partial_fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> before, after = tree.model_, faded(tree.model_, 0.5)
    >>> row = before.rows([[1, 0]])
    >>> p, less = (float(model.label_probabilities(row, ["a"])[0]) for model in (before, after))
    >>> p > less > 0.5
    True
    """
    share = checks.number("share", share, 0, 1, open_low=True)
    if not model.fades or model.frozen:
        raise ArgumentError.of("model", type(model).__name__, "conditional trees with their state")
    tensors, facts = model.to_tensors(keep_state=True)
    less = round(-_EXPONENT * np.log2(share))
    for name, values in tensors.items():
        last = name.rsplit(".", 1)[-1]
        if last == "sums":
            left = np.maximum(values.astype(np.int64) - less, 1)
            tensors[name] = np.where(values > 0, left, 0).astype(values.dtype)
        elif last in _COUNTS:
            tensors[name] = np.floor(values * share).astype(values.dtype)
        elif last == "weights":
            tensors[name] = (values * np.float32(share)).astype(values.dtype)
    return type(model).from_tensors(tensors, facts)
