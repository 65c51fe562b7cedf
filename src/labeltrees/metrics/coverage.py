"""How many of the labels that rows really have a ranking ever names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from labeltrees.checks import choice, integer
from labeltrees.errors import ArgumentError
from labeltrees.metrics.rankings import Pairs, Per, Ranking, top_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

Named: TypeAlias = Literal["rightly", "at all"]


def coverage_at_k(
    truth: Any, scores: Any, k: int, *, named: Named = "rightly", per: Per = "row"
) -> float:
    """Return Coverage@k, the share of the relevant labels that are among the first k of some row.

    Labels that no row has are left out. A ranking that names the same popular labels for every row
    has a low coverage, however precise it is.

    Parameters
    ----------
    truth : sparse matrix or array of shape (n_rows, n_labels)
        Relevances >= 0; a label is true where its relevance is not 0.
    scores : sparse matrix or array of shape (n_rows, n_labels)
        The predictions, finite.
    k : int >= 1
        How many labels count.
    named : {"rightly", "at all"}, default "rightly"
        ``"rightly"`` counts a label that is among the first k of a row which has it, ``"at all"``
        also one that is among the first k of any other row.
    per : {"row", "label"}, default "row"
        Whether labels are ranked for each row, or rows for each label; rows are covered then.

    Examples
    --------
    >>> truth, scores = [[1, 0, 0], [1, 1, 0]], [[0.9, 0.1, 0.5], [0.8, 0.2, 0.1]]
    >>> coverage_at_k(truth, scores, 1), coverage_at_k(truth, scores, 2)
    (0.5, 1.0)
    >>> coverage_at_k([[1, 0], [0, 1]], [[0.1, 0.9], [0.9, 0.1]], 1, named="at all")
    1.0
    """
    pairs = Pairs.checked(truth, scores, per=per, signed=True)
    first = top_positions(pairs.scores, integer("k", k, 1))
    return coverage(pairs, first, pairs.ranking(k, first), named)


def coverage(pairs: Pairs, first: IntArray, ranking: Ranking, named: Named = "rightly") -> float:
    """Return Coverage@k of a ranking whose labels are at ``first`` among the predictions."""
    counts = first >= 0
    if choice("named", named, get_args(Named)) == "rightly":
        counts = counts & (ranking.relevance > 0)
    relevant = np.unique(pairs.truth.indices)
    if not len(relevant):
        raise ArgumentError.of("the number of relevant labels", 0, "> 0")
    return float(np.isin(relevant, pairs.scores.indices[first[counts]]).mean())
