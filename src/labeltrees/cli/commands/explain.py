"""The command `labeltrees explain`, which prints why a label has its probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from labeltrees.cli.reading_options import FormatOption, LineOption, ModelArgument, open_model
from labeltrees.cli.report import JsonOption, say, say_json
from labeltrees.data.readers.source import MAX_LINE_BYTES
from labeltrees.errors import ArgumentError
from labeltrees.input import Input
from labeltrees.models.capabilities import Explains, demand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labeltrees.data.chunk import Chunk
    from labeltrees.models.model import FittedModel

_N_OTHERS = 4
SCREEN = 24
"""Maximum number of lines of the short text."""
_AGAINST = 5
"""Maximum number of listed features against a label."""
_LEAST = 5e-4
"""Minimum absolute contribution of a listed feature."""


def explain(
    model: ModelArgument,
    data: Annotated[
        str | None, typer.Argument(help="Data file, gzipped or not, or '-' for stdin.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", "-t", help="Text to explain instead of a row of a file.")
    ] = None,
    row: Annotated[int, typer.Option(min=0, help="Number of the row, counted from 0.")] = 0,
    label: Annotated[
        str | None, typer.Option(help="Label to explain. By default the most likely label.")
    ] = None,
    features: Annotated[int, typer.Option(min=0, help="Maximum number of features to list.")] = 10,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Print every step of the path through the tree and its features."
        ),
    ] = False,
    format: FormatOption = None,  # noqa: A002
    max_line_bytes: LineOption = MAX_LINE_BYTES,
    json: JsonOption = False,
) -> None:
    """Print which features of a row are evidence for a label, and which against it.

    Example:
        labeltrees explain intents.safetensors --text "wake me at six"
    """
    stored, opened = open_model(model)
    demand(opened, Explains, "explain")
    assert isinstance(opened, Explains)
    if (data is None) == (text is None):
        raise ArgumentError("Give DATA (a file, or '-' for stdin) or --text, and not both.")
    if text is not None:
        source = Input.of_texts(stored, [text])
    else:
        source = Input.like(
            stored, data or "", format=format, limit=row + 1, max_line_bytes=max_line_bytes
        )
    chunk = _row(source, row)
    x = chunk.rows
    opened.check_width(x)
    n_labels = getattr(opened, "n_tree_labels", len(opened.vocabulary))
    top = opened.top_labels(x, min(_N_OTHERS, n_labels))
    chosen = top.labels[0, 0] if label is None else _as_label(opened, label)
    own = text if chunk.texts is None else chunk.texts[0]
    names = source.feature_names(own)
    n_listed = features if full or json else len(x.indices) + 1
    reason = opened.explain(x, chosen, n_features=n_listed, feature_names=names)
    if json:
        say_json(reason.to_dict())
    elif full:
        say(reason.to_text())
    else:
        others = zip(top.labels[0].tolist(), top.probabilities[0].tolist(), strict=True)
        for line in explanation_lines(reason, others, len(opened.vocabulary), n_features=features):
            say(line)


def _row(source: Input, row: int) -> Chunk:
    n_before = 0
    for chunk in source.chunks():
        if row < n_before + chunk.n_rows:
            return chunk.take(np.array([row - n_before]))
        n_before += chunk.n_rows
    raise ArgumentError.of("--row", row, f"below {n_before}, the number of rows of {source.path}")


def _as_label(model: FittedModel, text: str) -> int | str:
    if model.vocabulary.is_text:
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentError.of(
            "--label", text, "an integer, because the labels of this model are integers"
        ) from None


def explanation_lines(
    reason: Any, others: Iterable[tuple[Any, float]], n_labels: int, *, n_features: int
) -> list[str]:
    """Return the lines of a short explanation of a label's probability.

    Parameters
    ----------
    reason : explanation
        The explanation with all features of the row.
    others : iterable of (label, probability)
        The most likely labels, in descending order.
    n_labels : int
        The number of labels of the model.
    n_features : int
        The maximum number of listed features.
    """
    top = list(others)
    known = [label for label, _ in top]
    place = known.index(reason.label) + 1 if reason.label in known else None
    lines = [f"{reason.label} has probability {reason.p_label:.4g}."]
    if place is not None:
        rank = "the most likely" if place == 1 else f"number {place}"
        lines[0] = f"{lines[0][:-1]} and is {rank} of {n_labels:,} labels."
    rest = [f"{label} {p:.4g}" for label, p in top if label != reason.label]
    if rest:
        lines.append(f"Other likely labels: {', '.join(rest[:3])}.")
    sums, constant = _summed(reason)
    strongest = sorted(sums.items(), key=lambda pair: -abs(pair[1]))
    pro = [pair for pair in strongest if pair[1] >= _LEAST]
    contra = [pair for pair in strongest if pair[1] <= -_LEAST]
    n_steps, n_trees = len(_steps(reason)), _n_trees(reason)
    over = f"{n_steps} step{'' if n_steps == 1 else 's'}"
    scale = f"sum of log-odds over {over}" if n_trees == 1 else f"mean of {n_trees} trees"
    if not pro and not contra:
        return [*lines, "No feature of the row is evidence for or against it."]
    n_contra = min(len(contra), _AGAINST, n_features)
    n_pro = min(len(pro), n_features, SCREEN - 8 - len(lines) - n_contra)
    lines += ["", f'Evidence for "{reason.label}" ({scale}):']
    lines += _listed(pro, n_pro) if pro else ["  no feature of the row"]
    if contra:
        lines += ["Evidence against it:", *_listed(contra, n_contra)]
    if abs(constant) >= _LEAST:
        lines.append(f"  {constant:+9.3f}  intercept")
    if doubt := _least_certain(reason):
        lines.append(doubt)
    return [*lines, "Use --full to print every step, or --json for all numbers."]


def _steps(reason: Any) -> list[Any]:
    """Return the steps of an explanation, of all trees if it has several."""
    if hasattr(reason, "trees"):
        return [step for steps in reason.trees for step in steps]
    return list(reason.steps)


def _n_trees(reason: Any) -> int:
    return len(reason.trees) if hasattr(reason, "trees") else 1


def _summed(reason: Any) -> tuple[dict[Any, float], float]:
    """Return the sum of contributions of each feature over all steps, and the intercept."""
    sums: dict[Any, float] = {}
    constant = 0.0
    each_tree = 1 / _n_trees(reason)
    parts = [
        (step, -each_tree if getattr(step, "direction", "") == "left" else each_tree)
        for step in _steps(reason)
    ]
    # A reranker is beside the tree's path, or in the explanation itself for one label of many.
    refinement = getattr(reason, "refinement", None)
    reranker = reason if hasattr(reason, "contributions") else refinement
    if reranker is not None:
        parts.append((reranker, 1))
    for part, sign in parts:
        for each in part.contributions:
            sums[each.feature] = sums.get(each.feature, 0.0) + sign * each.contribution
        constant += sign * part.bias
    return sums, constant


def _listed(pairs: list[tuple[Any, float]], n: int) -> list[str]:
    lines = [f"  {amount:+9.3f}  {_name(feature)}" for feature, amount in pairs[:n]]
    if left := pairs[n:]:
        lines.append(f"  {sum(amount for _, amount in left):+9.3f}  {len(left)} others")
    return lines


def _name(feature: Any) -> str:
    return feature if isinstance(feature, str) else f"feature {feature}"


def _least_certain(reason: Any) -> str:
    steps = [step for step in _steps(reason) if hasattr(step, "p_turn")]
    if not steps:
        return ""
    step = min(steps, key=lambda each: each.p_turn)
    if step.p_turn > 0.95:
        return ""
    here = step.n_right if step.direction == "right" else step.n_left
    of = step.n_left + step.n_right
    return (
        f"Step {step.depth + 1} is the least certain. It leads to {here:,} of {of:,} labels with "
        f"probability {step.p_turn:.4g}."
    )
