"""Why a label has its probability: the turns on its path and what spoke for each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "Contribution",
    "Explanation",
    "Step",
    "check_n_features",
    "check_question",
    "steps_of",
    "strongest_features",
]

_BIAS = 2**32 - 1  # the constant feature's index in the core


@dataclass(frozen=True)
class Contribution:
    """One feature's part in a node's margin: ``contribution = value * weight``.

    With mixing the weight has two parts: the regressor's, and the vote of the feature's counts.
    """

    feature: int | str
    """Its column, or its name if names are known."""
    value: float
    """As the regressor sees it: scaled, if rows are normalised."""
    weight: float
    contribution: float
    """Above 0 it speaks for the right, below 0 for the left."""


@dataclass(frozen=True)
class Step:
    """One inner node on the way: ``margin = sum of contributions + other + bias``."""

    node: int
    depth: int
    p_path: float
    """The probability of reaching the node."""
    direction: str
    """Where the path goes: "left" or "right"."""
    p_node: float
    """The node's estimate of P(right given that it is reached)."""
    margin: float
    """The node's log-odds of right (squared loss: the regressor's value before clipping)."""
    contributions: tuple[Contribution, ...]
    """The strongest features, strongest first."""
    other: float
    """What the features not listed add up to."""
    bias: float
    """What does not depend on the row: the constant feature, and the node's own balance."""
    n_left: int
    """Labels to the left of the node."""
    n_right: int
    """Labels to its right."""

    @property
    def p_turn(self) -> float:
        """The probability of the turn taken."""
        return self.p_node if self.direction == "right" else 1 - self.p_node


@dataclass(frozen=True)
class Explanation:
    """The path of one label for one row; ``str`` of it is a text to read."""

    label: int | str
    p_label: float
    """The product of the turns' probabilities, times 1 - novelty_mass."""
    novelty_mass: float
    """What is reserved for labels not seen yet."""
    steps: tuple[Step, ...]
    """From the root to the leaf's parent; none if the model knows one label only."""

    def to_dict(self) -> dict[str, Any]:
        """Return the whole as plain values, ready for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """Return a text with one line a turn and one a feature."""
        turns = f"{len(self.steps)} turn{'' if len(self.steps) == 1 else 's'}"
        lines = [f"P({self.label}) = {self.p_label:.4g} after {turns}"]
        if self.novelty_mass > 0:
            lines[0] += f", {self.novelty_mass:.4g} being kept for labels not seen yet"
        for step in self.steps:
            lines += _step_lines(step)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def _step_lines(step: Step) -> list[str]:
    right = step.direction == "right"
    here, there = (step.n_right, step.n_left) if right else (step.n_left, step.n_right)
    sign = 1 if right else -1
    head = (
        f"{step.depth:>3}. {step.direction:<5} with p = {step.p_turn:.4g} at node {step.node} "
        f"(to {here} of {here + there} labels); for it speak:"
    )
    rows = [
        (sign * c.contribution, f"{c.feature} (value {c.value:.4g})") for c in step.contributions
    ]
    if step.other:
        rows.append((sign * step.other, "other features"))
    if step.bias:
        rows.append((sign * step.bias, "whatever the row"))
    if not rows:
        return [head.replace("; for it speak:", "; no feature speaks")]
    return [head, *(f"       {amount:+9.4f}  {text}" for amount, text in rows)]


def steps_of(
    report: Sequence[NDArray[Any]], *, n_features: int, feature_names: Sequence[str] | None
) -> tuple[Step, ...]:
    """Return the core's report on a path as steps, the ``n_features`` strongest features of each.

    ``report`` is what ``_core.report_path`` returns.
    """
    check_n_features(n_features)
    nodes, turns, margins, p_nodes, n_left, n_right, features, values, weights = report
    weights = weights.reshape(len(nodes), len(features))
    steps, p_path = [], 1.0
    for depth, node in enumerate(nodes.tolist()):
        listed, other, bias = strongest_features(
            features, values, weights[depth], float(margins[depth]),
            n_features=n_features, names=feature_names,
        )  # fmt: skip
        step = Step(
            node=node,
            depth=depth,
            p_path=p_path,
            direction="right" if turns[depth] else "left",
            p_node=float(p_nodes[depth]),
            margin=float(margins[depth]),
            contributions=listed,
            other=other,
            bias=bias,
            n_left=int(n_left[depth]),
            n_right=int(n_right[depth]),
        )
        steps.append(step)
        p_path *= step.p_turn
    return tuple(steps)


def strongest_features(
    features: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any],
    margin: float,
    *,
    n_features: int,
    names: Sequence[str] | None,
) -> tuple[tuple[Contribution, ...], float, float]:
    """Return the features with the largest part in a margin, what the others add, and the rest."""
    products = values.astype(np.float64) * weights
    real = np.where(features == _BIAS, 0.0, products)
    # The strongest first, columns in order where they are equally strong; 0 says nothing.
    strongest = np.argsort(-np.abs(real), kind="stable")[:n_features]
    strongest = strongest[real[strongest] != 0]
    listed = tuple(
        Contribution(
            feature=_name(int(features[i]), names),
            value=float(values[i]),
            weight=float(weights[i]),
            contribution=float(real[i]),
        )
        for i in strongest
    )
    return listed, float(np.delete(real, strongest).sum()), float(margin - real.sum())


def check_question(n_rows: int, feature_names: Sequence[str] | None, n_features: int) -> None:
    """Raise `ArgumentError` unless one row is asked about, with a name for every feature or none.

    >>> check_question(2, None, 5)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: x must be one row, got '2 rows'.
    """
    if n_rows != 1:
        raise ArgumentError.of("x", f"{n_rows} rows", "one row")
    if feature_names is not None and len(feature_names) != n_features:
        allowed = f"{n_features} names, one a feature"
        raise ArgumentError.of("feature_names", f"{len(feature_names)}", allowed)


def check_n_features(n_features: Any) -> None:
    """Raise `ArgumentError` unless so many features can be listed."""
    whole = isinstance(n_features, (int, np.integer)) and not isinstance(n_features, bool)
    if not whole or n_features < 0:
        raise ArgumentError.of("n_features", n_features, "an integer >= 0")


def _name(feature: int, names: Sequence[str] | None) -> int | str:
    return feature if names is None else str(names[feature])
