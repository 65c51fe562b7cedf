"""What can be asked of a model: labels, reasons, rows, and completions of code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.models.capabilities import BestRows, Explains, demand
from labeltrees.serve.problems import Problem
from labeltrees.serve.web.questions import answer_above, answer_named, answer_top
from labeltrees.serve.wire import (
    Answer,
    BestOf,
    CompleteAnswer,
    PredictAnswer,
    Row,
    RowsAnswer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call
    from labeltrees.serve.web.limits import Limits
    from labeltrees.serve.wire import (
        CompleteRequest,
        ExplainRequest,
        PredictRequest,
        RowsRequest,
    )

__all__ = ["complete", "explain", "predict", "rows"]

_UNFINISHED = re.compile(r"(?<![^\W\d])\b[^\W\d]\w*\Z")
_LOOKED_AT = 300
_MOST_BEGINNINGS = 2000


async def predict(call: Call) -> PredictAnswer:
    """Answer rows with their likeliest labels, the probabilities of some, or all likely ones."""
    asked: PredictRequest = call.content
    served = call.server.served(call.name)
    sent = rows_of(asked.rows, asked.text, asked.features)
    limits = call.server.limits
    limits.check_rows(len(sent))
    await call.server.reach(served, asked.min_seq)
    seq = served.seq
    if asked.labels is not None and asked.above is not None:
        raise Problem(422, "'labels' and 'above' ask different questions; give one of them.")
    if asked.labels is not None:
        _check_answers(len(sent) * len(asked.labels), limits)
        labels = asked.labels
        answers = await call.server.questions.elsewhere(
            lambda: answer_named(served, served.reader.read(sent), labels)
        )
    elif asked.above is not None:
        above = asked.above
        answers = await call.server.questions.elsewhere(
            lambda: answer_above(served, served.reader.read(sent), above)
        )
    else:
        _check_answers(len(sent) * asked.k, limits)
        answers = await call.server.questions.top(served, sent, asked.k) if sent else []
    return PredictAnswer(served.name, seq, answers)


def rows_of(rows: Sequence[Row] | None, text: str | None, features: Any) -> Sequence[Row]:
    """Return the rows of a request, which may be one row itself."""
    if rows is None:
        return [Row(text, features)]
    if text is not None or features is not None:
        raise Problem(422, "Give 'rows', or one row by 'text' or 'features'.", kind="bad-content")
    return rows


def _check_answers(n: int, limits: Limits) -> None:
    if n > limits.answers:
        raise Problem(
            413, f"An answer may have {limits.answers:,} labels, these would be {n:,}.",
            kind="answer-too-large",
        )  # fmt: skip


async def explain(call: Call) -> dict[str, Any]:
    """Tell why a row gives a label its probability: the path, each turn, what supports it."""
    asked: ExplainRequest = call.content
    served = call.server.served(call.name)
    demand(served.model, Explains, "explain")
    seq = served.seq
    reason = await call.server.questions.elsewhere(lambda: _explained(served, asked))
    return {"model": served.name, "seq": seq, "reason": reason}


def _explained(served: ServedModel, asked: ExplainRequest) -> dict[str, Any]:
    model = served.model
    assert isinstance(model, Explains)
    sent = Row(asked.text, asked.features)
    row = served.reader.read([sent])
    model.check_width(row)
    label = asked.label
    if label is None:
        found = answer_top(model, row, 1)[0].labels
        if not found or found[0] is None:
            raise Problem(409, f"{served.name!r} knows no label yet.", kind="no-labels")
        label = found[0]
    names = served.reader.feature_names(sent)
    reason = model.explain(row, label, n_features=asked.n_features, feature_names=names)
    found_reason: dict[str, Any] = reason.to_dict()
    return found_reason


async def rows(call: Call) -> RowsAnswer:
    """Find the rows that suit each label best (labelwise inference)."""
    asked: RowsRequest = call.content
    served = call.server.served(call.name)
    call.server.limits.check_rows(len(asked.rows))
    _check_answers(len(asked.labels) * asked.k, call.server.limits)
    demand(served.model, BestRows, "rows")
    seq = served.seq
    found = await call.server.questions.elsewhere(lambda: _best_rows(served, asked))
    return RowsAnswer(served.name, seq, found)


def _best_rows(served: ServedModel, asked: RowsRequest) -> list[BestOf]:
    model = served.model
    assert isinstance(model, BestRows)
    if not asked.rows or not asked.labels:
        return []
    read = served.reader.read(asked.rows)
    model.check_width(read)
    best, p = model.top_rows(read, asked.labels, min(asked.k, read.n_rows))[:2]
    return [
        BestOf(label, own[own >= 0].tolist(), own_p[own >= 0].tolist())
        for label, own, own_p in zip(asked.labels, np.asarray(best), np.asarray(p), strict=True)
    ]


async def complete(call: Call) -> CompleteAnswer:
    """Complete Python code: the identifiers that are likely to come next at its end.

    If the code ends within an identifier, only those that begin like it are answered.
    """
    asked: CompleteRequest = call.content
    served = call.server.served(call.name)
    if served.reader.kind != "python":
        raise Problem(409, f"{served.name!r} has not learned from Python code.", kind="no-code")
    begun = _UNFINISHED.search(asked.source)
    beginning = "" if begun is None else begun[0]
    row = Row(asked.source[: len(asked.source) - len(beginning)])
    seq = served.seq
    if not beginning:
        answer = (await call.server.questions.top(served, [row], asked.k))[0]
    else:
        answer = await call.server.questions.elsewhere(
            lambda: _beginning_with(served, row, beginning, asked.k)
        )
    return CompleteAnswer(served.name, seq, beginning, answer.labels, answer.probabilities)


def _beginning_with(served: ServedModel, row: Row, beginning: str, k: int) -> Answer:
    """Return the likeliest labels that begin with a text, and their probabilities."""
    read = served.reader.read([row])
    likely = answer_top(served.model, read, _LOOKED_AT)[0]
    pairs = zip(likely.labels, likely.probabilities, strict=True)
    found = [(label, p) for label, p in pairs if str(label).startswith(beginning)]
    if len(found) < k:  # the unlikely ones as well
        known = served.model.vocabulary.labels.tolist()
        names = [each for each in known if str(each).startswith(beginning)][:_MOST_BEGINNINGS]
        if names:
            named = answer_named(served, read, names)[0]
            rest = dict(zip(named.labels, named.probabilities, strict=True)) | dict(found)
            found = sorted(rest.items(), key=lambda pair: -pair[1])
    return Answer([label for label, _ in found[:k]], [p for _, p in found[:k]])
