"""The best of what trees find, in the order of a tail classifier, for rows and for labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees.models.extreme.tail import unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.tail import TailClassifier

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["N_CANDIDATES", "Found", "rerank_labels", "rerank_rows"]

N_CANDIDATES = 100
"""How many candidates trees propose at least. It does not depend on how many are asked for, so that
the first of many are the same as the first of few."""
_GROWTH = 4
_ENTRIES_AT_ONCE = 2**23


class Found(NamedTuple):
    """What trees found for some questions, (n_questions, n), by falling value."""

    ids: NDArray[Any]
    """Labels of a row or rows of a label; -1 where there is none."""
    probabilities: FloatArray
    values: FloatArray
    """What ranks them: expected relevance, or the tail classifier's score."""


if TYPE_CHECKING:
    Ask = Callable[[IntArray, int], Found]


def rerank_labels(
    tail: TailClassifier, rows: Rows, ask: Ask, k: int, *, n_labels: int, exact: bool
) -> Found:
    """Return the k labels of each row that the tail classifier ranks first.

    ``ask(rows, n)`` finds the n labels of largest value of these rows; there are ``n_labels``.
    """
    X = unit_rows(rows)

    def score(asked: IntArray, found: Found) -> FloatArray:
        row = np.broadcast_to(asked[:, np.newaxis], found.ids.shape)
        return tail.scores(X, row, found.ids, found.values)

    sizes = {"n_questions": rows.n_rows, "n_ids": n_labels, "k": k}
    return _reranked(ask, score, tail.most, **sizes, exact=exact)


def rerank_rows(
    tail: TailClassifier, rows: Rows, ask: Ask, k: int, *, labels: NDArray[np.int32], exact: bool
) -> Found:
    """Return the k rows of each of the labels that the tail classifier ranks first.

    ``ask(labels, n)`` finds the n rows of largest value of these labels, by place in ``labels``.
    """
    X = unit_rows(rows)

    def score(asked: IntArray, found: Found) -> FloatArray:
        label = np.broadcast_to(labels[asked][:, np.newaxis], found.ids.shape)
        return tail.scores(X, found.ids, label, found.values)

    sizes = {"n_questions": len(labels), "n_ids": rows.n_rows, "k": k}
    return _reranked(ask, score, tail.most, **sizes, exact=exact)


def _reranked(
    ask: Ask,
    score: Callable[[IntArray, Found], FloatArray],
    most: Callable[[FloatArray], FloatArray],
    *,
    n_questions: int,
    n_ids: int,
    k: int,
    exact: bool,
) -> Found:
    """Return the k best of each question's candidates, by the scores that they are given.

    ``ask(questions, n)`` finds the n candidates of largest value of these questions, ``score``
    gives them scores, and ``most`` says what a candidate of a value scores at most. Candidates are
    the first 100, or k if that is more; ``exact`` asks for further ones until no other of the
    ``n_ids`` there are can be among the k best.
    """
    best = Found(
        np.full((n_questions, k), -1, dtype=np.int64),
        np.zeros((n_questions, k)),
        np.zeros((n_questions, k)),
    )
    left, n = np.arange(n_questions), min(max(k, N_CANDIDATES), n_ids)
    while len(left):
        open_ = []
        step = max(1, _ENTRIES_AT_ONCE // n)
        for begin in range(0, len(left), step):
            part = left[begin : begin + step]
            found = ask(part, n)
            first = _first(found, score(part, found), k)
            for whole, own in zip(best, first, strict=True):
                whole[part] = own
            if exact and n < n_ids:
                sure = first.values[:, -1] > most(found.values[:, -1])
                open_.append(part[~sure & (found.ids[:, -1] >= 0)])
        left = np.concatenate(open_) if open_ else left[:0]
        n = min(_GROWTH * n, n_ids)
    return best


def _first(found: Found, scores: FloatArray, k: int) -> Found:
    """Return the k of largest score; of equals, those of larger value."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    parts = (found.ids, found.probabilities, scores)
    return Found(*(np.take_along_axis(each, order, axis=1) for each in parts))
