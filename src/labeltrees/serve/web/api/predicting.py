"""Operations that predict: labels, explanations, best rows, and completions of code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.models.capabilities import BestRows, Explains, demand
from labeltrees.serve.problems import Problem
from labeltrees.serve.web.batching import labels_above, named_labels, top_labels
from labeltrees.serve.wire import (
    CompleteResponse,
    InputRow,
    LabelRows,
    PredictResponse,
    RowLabels,
    RowsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.serve.learning.served import ServedModel
    from labeltrees.serve.web.api.operations import Call, Limits
    from labeltrees.serve.wire import (
        CompleteRequest,
        ExplainRequest,
        PredictRequest,
        RowsRequest,
    )

_UNFINISHED = re.compile(r"(?<![^\W\d])\b[^\W\d]\w*\Z")
_COMPLETION_CANDIDATES = 300
_MOST_NAMED = 2000


async def predict(call: Call) -> PredictResponse:
    """Return the most likely labels of rows, all likely ones, or the probabilities of some."""
    request: PredictRequest = call.content
    served = call.server.served(call.name)
    sent = _rows_of(request.rows, request.text, request.features)
    limits = call.server.limits
    limits.check_rows(len(sent))
    await call.server.reach(served, request.min_seq)
    seq = served.seq
    if request.labels is not None and request.above is not None:
        raise Problem(422, "'labels' and 'above' cannot be combined. Give one of them.")
    if request.labels is not None:
        _check_size(len(sent) * len(request.labels), limits)
        labels = request.labels
        found = await call.server.predictions.in_thread(
            lambda: named_labels(served, served.reader.read(sent), labels)
        )
    elif request.above is not None:
        above = request.above
        found = await call.server.predictions.in_thread(
            lambda: labels_above(served, served.reader.read(sent), above)
        )
    else:
        _check_size(len(sent) * request.k, limits)
        found = await call.server.predictions.top(served, sent, request.k) if sent else []
    return PredictResponse(served.name, seq, found)


def _rows_of(
    rows: Sequence[InputRow] | None, text: str | None, features: Any
) -> Sequence[InputRow]:
    """Return the rows of a request, which may hold one row directly."""
    if rows is None:
        return [InputRow(text, features)]
    if text is not None or features is not None:
        raise Problem(422, "Give 'rows', or one row by 'text' or 'features'.", kind="bad-content")
    return rows


def _check_size(n: int, limits: Limits) -> None:
    if n > limits.response_labels:
        raise Problem(
            413, f"A response can have {limits.response_labels:,} labels, this one would have "
            f"{n:,}. Send fewer rows, or ask for fewer labels.", kind="response-too-large",
        )  # fmt: skip


async def explain(call: Call) -> dict[str, Any]:
    """Explain the probability of a label for a row: its path, and the features at every step."""
    request: ExplainRequest = call.content
    served = call.server.served(call.name)
    demand(served.model, Explains, "explain")
    seq = served.seq
    reason = await call.server.predictions.in_thread(lambda: _explained(served, request))
    return {"model": served.name, "seq": seq, "reason": reason}


def _explained(served: ServedModel, request: ExplainRequest) -> dict[str, Any]:
    model = served.model
    assert isinstance(model, Explains)
    sent = InputRow(request.text, request.features)
    row = served.reader.read([sent])
    model.check_width(row)
    label = request.label
    if label is None:
        found = top_labels(model, row, 1)[0].labels
        if not found or found[0] is None:
            raise Problem(409, f"{served.name!r} has not learned any label yet.", kind="no-labels")
        label = found[0]
    names = served.reader.feature_names(sent)
    reason = model.explain(row, label, n_features=request.n_features, feature_names=names)
    as_dict: dict[str, Any] = reason.to_dict()
    return as_dict


async def rows(call: Call) -> RowsResponse:
    """Return the rows with the largest probabilities of each label (labelwise inference)."""
    request: RowsRequest = call.content
    served = call.server.served(call.name)
    call.server.limits.check_rows(len(request.rows))
    _check_size(len(request.labels) * request.k, call.server.limits)
    demand(served.model, BestRows, "rows")
    seq = served.seq
    found = await call.server.predictions.in_thread(lambda: _best_rows(served, request))
    return RowsResponse(served.name, seq, found)


def _best_rows(served: ServedModel, request: RowsRequest) -> list[LabelRows]:
    model = served.model
    assert isinstance(model, BestRows)
    if not request.rows or not request.labels:
        return []
    read = served.reader.read(request.rows)
    model.check_width(read)
    best, p = model.top_rows(read, request.labels, min(request.k, read.n_rows))[:2]
    return [
        LabelRows(label, own[own >= 0].tolist(), own_p[own >= 0].tolist())
        for label, own, own_p in zip(request.labels, np.asarray(best), np.asarray(p), strict=True)
    ]


async def complete(call: Call) -> CompleteResponse:
    """Complete Python code with the most likely next identifiers.

    If the code ends within an identifier, only identifiers with the same beginning are returned.
    """
    request: CompleteRequest = call.content
    served = call.server.served(call.name)
    if served.reader.kind != "python":
        raise Problem(
            409, f"{served.name!r} was not trained on Python code, so it cannot complete code.",
            kind="no-code",
        )  # fmt: skip
    unfinished = _UNFINISHED.search(request.source)
    beginning = "" if unfinished is None else unfinished[0]
    row = InputRow(request.source[: len(request.source) - len(beginning)])
    seq = served.seq
    if not beginning:
        found = (await call.server.predictions.top(served, [row], request.k))[0]
    else:
        found = await call.server.predictions.in_thread(
            lambda: _beginning_with(served, row, beginning, request.k)
        )
    return CompleteResponse(served.name, seq, beginning, found.labels, found.probabilities)


def _beginning_with(served: ServedModel, row: InputRow, beginning: str, k: int) -> RowLabels:
    """Return the most likely labels that begin with a text, and their probabilities."""
    read = served.reader.read([row])
    likely = top_labels(served.model, read, _COMPLETION_CANDIDATES)[0]
    pairs = zip(likely.labels, likely.probabilities, strict=True)
    found = [(label, p) for label, p in pairs if str(label).startswith(beginning)]
    if len(found) < k:  # add unlikely labels
        known = served.model.vocabulary.labels.tolist()
        names = [each for each in known if str(each).startswith(beginning)][:_MOST_NAMED]
        if names:
            named = named_labels(served, read, names)[0]
            rest = dict(zip(named.labels, named.probabilities, strict=True)) | dict(found)
            found = sorted(rest.items(), key=lambda pair: -pair[1])
    return RowLabels([label for label, _ in found[:k]], [p for _, p in found[:k]])
