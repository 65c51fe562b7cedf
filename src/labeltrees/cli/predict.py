"""`labeltrees predict`: each row's likeliest labels, likely enough ones, or those it names."""

from __future__ import annotations

import json as json_module
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from labeltrees.cli.extreme import stacked
from labeltrees.cli.inputs import FormatOption, Input, InputArgument, LimitOption
from labeltrees.cli.opening import ModelArgument, as_tree, open_model
from labeltrees.cli.report import JsonOption, QuietOption, say
from labeltrees.errors import ArgumentError
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk
    from labeltrees.estimators import (
        ExtremeRegressor,
        LabelClassifier,
        LOMTreeClassifier,
        TreeQueries,
    )


def predict(
    model: ModelArgument,
    data: InputArgument,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many labels a row.")] = 1,
    named: Annotated[
        bool, typer.Option("--named", help="The probabilities of the labels each row names.")
    ] = False,
    above: Annotated[
        float | None, typer.Option(help="All labels with at least this probability, in (0, 1].")
    ] = None,
    labelwise: Annotated[
        bool, typer.Option("--labelwise", help="The rows, from 0, best for each label (xreg).")
    ] = False,
    format: FormatOption = None,  # noqa: A002
    limit: LimitOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Print a line for every row: labels and probabilities, separated by tabs, or JSON.

    With --labelwise a line for every label: the label, then rows and probabilities.
    """
    stored, estimator = open_model(model)
    if named and above is not None:
        raise ArgumentError("--named and --above ask different questions; give one of them.")
    if labelwise and (named or above is not None):
        raise ArgumentError("--labelwise asks another question than --named and --above.")
    source = Input.like(stored.extra, data, format=format, limit=limit)
    if labelwise:
        for line in _labelwise(estimator, list(source.chunks()), top, json=json):
            say(line)
        return
    with Progress("predicting", total=limit, enabled=not quiet) as progress:
        for chunk in source.chunks():
            if named:
                answers = _named(estimator, chunk)
            elif above is not None:
                answers = _above(as_tree(estimator, "--above"), chunk, above)
            else:
                answers = _top(estimator, chunk, top)
            for labels, probabilities in answers:
                say(_line(labels, probabilities, json=json))
            progress.advance(chunk.n_rows)


def _top(
    estimator: LabelClassifier, chunk: Chunk, k: int
) -> Iterator[tuple[list[Any], list[float]]]:
    labels, probabilities = estimator.predict_top_k(chunk.features, k)
    return zip(labels.tolist(), probabilities.tolist(), strict=True)


def _named(estimator: LabelClassifier, chunk: Chunk) -> Iterator[tuple[list[Any], list[float]]]:
    starts = chunk.label_starts
    p = np.empty(0)
    if len(chunk.labels):
        rows = np.repeat(np.arange(chunk.n_rows), np.diff(starts))
        p = estimator.predict_label_proba(chunk.features[rows], chunk.labels)
    for begin, end in pairwise(starts.tolist()):
        yield chunk.labels[begin:end].tolist(), p[begin:end].tolist()


def _above(
    estimator: TreeQueries | LOMTreeClassifier | ExtremeRegressor, chunk: Chunk, threshold: float
) -> Iterator[tuple[list[Any], list[float]]]:
    found = estimator.predict_above(chunk.features, threshold)
    for begin, end in pairwise(found.indptr.tolist()):
        likeliest = begin + np.argsort(-found.data[begin:end], kind="stable")
        labels = estimator.classes_[found.indices[likeliest]]
        yield labels.tolist(), found.data[likeliest].tolist()


def _labelwise(
    estimator: LabelClassifier, chunks: list[Chunk], k: int, *, json: bool
) -> Iterator[str]:
    from labeltrees.estimators import ExtremeRegressor

    if not isinstance(estimator, ExtremeRegressor):
        raise ArgumentError.of("model", type(estimator).__name__, "an xreg model for --labelwise")
    if not chunks:
        return
    rows, probabilities = estimator.top_rows(stacked([c.features for c in chunks]), k=k)
    for label, own, p in zip(estimator.classes_, rows, probabilities, strict=True):
        found, p_found = own[own >= 0].tolist(), p[own >= 0].tolist()
        if json:
            answer = {"label": label, "rows": found, "probabilities": p_found}
            yield json_module.dumps(answer, ensure_ascii=False, default=int)
        else:
            pairs = zip(found, p_found, strict=True)
            yield "\t".join([str(label), *(f"{row}\t{value:.6g}" for row, value in pairs)])


def _line(labels: list[Any], probabilities: list[float], *, json: bool) -> str:
    if json:
        row = {"labels": labels, "probabilities": probabilities}
        return json_module.dumps(row, ensure_ascii=False)
    pairs = zip(labels, probabilities, strict=True)
    return "\t".join(f"{label}\t{p:.6g}" for label, p in pairs)
