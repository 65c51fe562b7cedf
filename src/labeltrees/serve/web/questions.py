"""Questions to a model: concurrent ones are asked together, in one call of the core."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.models.capabilities import Above, demand
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel
    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.wire import Row

__all__ = ["Questions", "answer_above", "answer_named", "answer_top"]

_HERE = 32
"""So many rows are answered by the thread that reads requests; more go to another thread."""
_BYTES_ABOVE = 2**26


class Questions:
    """Gathers the questions of one turn of the event loop, and answers them together."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._pending: dict[tuple[int, int], list[_Question]] = {}

    async def top(self, served: ServedModel, sent: Sequence[Row], k: int) -> list[Answer]:
        """Return the k likeliest labels of every row."""
        if len(sent) > _HERE:
            answers: list[Answer] = await self.elsewhere(lambda: _top_of(served, sent, k))
            return answers
        loop = asyncio.get_running_loop()
        question = _Question(served, sent, k, loop.create_future())
        at = (id(served), k)
        waiting = self._pending.get(at)
        if waiting is None:
            self._pending[at] = [question]
            loop.call_soon(self._answer, at)
        else:
            waiting.append(question)
        return await question.future

    async def elsewhere(self, ask: Callable[[], Any]) -> Any:
        """Return what a question that takes longer is answered, by another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, ask)

    def _answer(self, at: tuple[int, int]) -> None:
        asked = [each for each in self._pending.pop(at) if not each.future.done()]
        for part in _parts(asked):
            sent = [row for each in part for row in each.sent]
            try:
                answers = _top_of(part[0].served, sent, part[0].k)
            except Exception:
                _answer_alone(part)  # one of them is wrong: the others need not know
                continue
            begin = 0
            for each in part:
                each.future.set_result(answers[begin : begin + len(each.sent)])
                begin += len(each.sent)


class _Question:
    __slots__ = ("future", "k", "sent", "served")

    def __init__(
        self, served: ServedModel, sent: Sequence[Row], k: int, future: asyncio.Future[list[Answer]]
    ) -> None:
        self.served, self.sent, self.k, self.future = served, sent, k, future


def _parts(asked: list[_Question]) -> list[list[_Question]]:
    """Return the questions in parts of few rows, so that no other work waits long."""
    parts: list[list[_Question]] = []
    n_rows = _HERE
    for each in asked:
        if n_rows + len(each.sent) > _HERE:
            parts.append([])
            n_rows = 0
        parts[-1].append(each)
        n_rows += len(each.sent)
    return parts


def _answer_alone(part: list[_Question]) -> None:
    for each in part:
        try:
            each.future.set_result(_top_of(each.served, each.sent, each.k))
        except Exception as error:
            each.future.set_exception(error)


def _top_of(served: ServedModel, sent: Sequence[Row], k: int) -> list[Answer]:
    return answer_top(served.model, served.reader.read(sent), k)


def answer_top(model: FittedModel, rows: Rows, k: int) -> list[Answer]:
    """Return the k likeliest labels of every row, fewer if there are no more."""
    k = min(k, len(model.vocabulary))
    if k == 0:
        return [Answer([], []) for _ in range(rows.n_rows)]
    model.check_width(rows)
    labels, p = (part.tolist() for part in model.top_labels(rows, k)[:2])
    if any(own[-1] is None for own in labels):  # a beam may find fewer than asked
        counts = [sum(label is not None for label in own) for own in labels]
        labels = [own[:n] for own, n in zip(labels, counts, strict=True)]
        p = [own[:n] for own, n in zip(p, counts, strict=True)]
    return [Answer(own, own_p) for own, own_p in zip(labels, p, strict=True)]


def answer_named(served: ServedModel, rows: Rows, labels: list[Any]) -> list[Answer]:
    """Return the probabilities of these labels for every row; 0 for a label never seen."""
    model = served.model
    model.check_width(rows)
    if not len(model.vocabulary):
        return [Answer(labels, [0.0] * len(labels)) for _ in range(rows.n_rows)]
    known = str if model.vocabulary.is_text else int
    wrong = next((label for label in labels if not isinstance(label, known)), None)
    if wrong is not None:
        raise Problem(422, f"The labels of {served.name!r} are {known.__name__}, got {wrong!r}.")
    asked = np.array(labels * rows.n_rows, dtype=object if known is str else np.int64)
    starts = np.arange(rows.n_rows + 1, dtype=np.int64) * len(labels)
    p = model.candidate_probabilities(rows, asked, starts).reshape(rows.n_rows, len(labels))
    return [Answer(labels, own) for own in p.tolist()]


def answer_above(served: ServedModel, rows: Rows, threshold: float) -> list[Answer]:
    """Return every label with at least this probability, likeliest first."""
    model = served.model
    model.check_width(rows)
    if not len(model.vocabulary):
        return [Answer([], []) for _ in range(rows.n_rows)]
    demand(model, Above, "above")
    assert isinstance(model, Above)
    found = model.labels_above(rows, threshold, max_bytes=_BYTES_ABOVE)
    answers = []
    for begin, end in pairwise(found.indptr.tolist()):
        likeliest = begin + np.argsort(-found.data[begin:end], kind="stable")
        labels = model.vocabulary.labels[found.indices[likeliest]]
        answers.append(Answer(labels.tolist(), found.data[likeliest].tolist()))
    return answers
