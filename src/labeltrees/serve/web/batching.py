"""Predictions for requests; concurrent ones are computed together, in one call of the core."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.models.capabilities import Above, demand
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import RowLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel
    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.wire import InputRow

_INLINE_ROWS = 32
"""Maximum number of rows for the thread that reads requests; another thread predicts more rows."""
_BYTES_ABOVE = 2**26


class PredictionBatches:
    """Collects the predictions of one turn of the event loop, and computes them together."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._pending: dict[tuple[int, int], list[_Pending]] = {}

    async def top(self, served: ServedModel, sent: Sequence[InputRow], k: int) -> list[RowLabels]:
        """Return the k most likely labels of every row."""
        if len(sent) > _INLINE_ROWS:
            found: list[RowLabels] = await self.in_thread(lambda: _top_of(served, sent, k))
            return found
        loop = asyncio.get_running_loop()
        pending = _Pending(served, sent, k, loop.create_future())
        at = (id(served), k)
        waiting = self._pending.get(at)
        if waiting is None:
            self._pending[at] = [pending]
            loop.call_soon(self._predict, at)
        else:
            waiting.append(pending)
        return await pending.future

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Return the result of longer work, which another thread does."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _predict(self, at: tuple[int, int]) -> None:
        pending = [each for each in self._pending.pop(at) if not each.future.done()]
        for part in _parts(pending):
            sent = [row for each in part for row in each.sent]
            try:
                found = _top_of(part[0].served, sent, part[0].k)
            except Exception:
                _predict_singly(part)  # one request is wrong, and the others are not affected
                continue
            begin = 0
            for each in part:
                each.future.set_result(found[begin : begin + len(each.sent)])
                begin += len(each.sent)


class _Pending:
    __slots__ = ("future", "k", "sent", "served")

    def __init__(
        self,
        served: ServedModel,
        sent: Sequence[InputRow],
        k: int,
        future: asyncio.Future[list[RowLabels]],
    ) -> None:
        self.served, self.sent, self.k, self.future = served, sent, k, future


def _parts(pending: list[_Pending]) -> list[list[_Pending]]:
    """Return the pending predictions in parts of few rows, so that other work is not delayed."""
    parts: list[list[_Pending]] = []
    n_rows = _INLINE_ROWS
    for each in pending:
        if n_rows + len(each.sent) > _INLINE_ROWS:
            parts.append([])
            n_rows = 0
        parts[-1].append(each)
        n_rows += len(each.sent)
    return parts


def _predict_singly(part: list[_Pending]) -> None:
    for each in part:
        try:
            each.future.set_result(_top_of(each.served, each.sent, each.k))
        except Exception as error:
            each.future.set_exception(error)


def _top_of(served: ServedModel, sent: Sequence[InputRow], k: int) -> list[RowLabels]:
    return top_labels(served.model, served.reader.read(sent), k)


def top_labels(model: FittedModel, rows: Rows, k: int) -> list[RowLabels]:
    """Return the k most likely labels of every row, or all labels if there are fewer."""
    k = min(k, getattr(model, "n_tree_labels", len(model.vocabulary)))
    if k == 0:
        return [RowLabels([], []) for _ in range(rows.n_rows)]
    model.check_width(rows)
    labels, p = (part.tolist() for part in model.top_labels(rows, k)[:2])
    if any(own[-1] is None for own in labels):  # a beam may find fewer than k labels
        counts = [sum(label is not None for label in own) for own in labels]
        labels = [own[:n] for own, n in zip(labels, counts, strict=True)]
        p = [own[:n] for own, n in zip(p, counts, strict=True)]
    return [RowLabels(own, own_p) for own, own_p in zip(labels, p, strict=True)]


def named_labels(served: ServedModel, rows: Rows, labels: list[Any]) -> list[RowLabels]:
    """Return the probabilities of these labels for every row, 0 for an unknown label."""
    model = served.model
    model.check_width(rows)
    if not len(model.vocabulary):
        return [RowLabels(labels, [0.0] * len(labels)) for _ in range(rows.n_rows)]
    known = str if model.vocabulary.is_text else int
    wrong = next((label for label in labels if not isinstance(label, known)), None)
    if wrong is not None:
        raise Problem(422, f"The labels of {served.name!r} are {known.__name__}, got {wrong!r}.")
    repeated = np.array(labels * rows.n_rows, dtype=object if known is str else np.int64)
    starts = np.arange(rows.n_rows + 1, dtype=np.int64) * len(labels)
    p = model.candidate_probabilities(rows, RaggedLabels(repeated, starts))
    return [RowLabels(labels, own) for own in p.reshape(rows.n_rows, len(labels)).tolist()]


def labels_above(served: ServedModel, rows: Rows, threshold: float) -> list[RowLabels]:
    """Return every label with at least this probability, most likely first."""
    model = served.model
    model.check_width(rows)
    if not len(model.vocabulary):
        return [RowLabels([], []) for _ in range(rows.n_rows)]
    demand(model, Above, "above")
    assert isinstance(model, Above)
    matrix = model.labels_above(rows, threshold, max_bytes=_BYTES_ABOVE)
    found = []
    for begin, end in pairwise(matrix.indptr.tolist()):
        order = begin + np.argsort(-matrix.data[begin:end], kind="stable")
        labels = model.vocabulary.labels[matrix.indices[order]]
        found.append(RowLabels(labels.tolist(), matrix.data[order].tolist()))
    return found
