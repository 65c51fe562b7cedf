"""Why a decision tree gives a label its probability: the way of the row, and what led it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labeltrees.models.explanation import Contribution, strongest_features, support_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class RouteStep:
    """One inner node on the row's way: ``margin = sum of contributions + other + bias``."""

    node: int
    p_label: float
    """The label's probability, were this node the end."""
    n_examples: float
    """The examples in the node's histogram."""
    margin: float
    """Below 0 the row goes left, else right."""
    direction: str
    contributions: tuple[Contribution, ...]
    """The strongest features, strongest first."""
    other: float
    """What the features not listed add up to."""
    bias: float
    """The constant feature's part."""


@dataclass(frozen=True)
class RouteExplanation:
    """The way of one row and what it means for one label; ``str`` of it is a text to read."""

    label: int | str
    p_label: float
    leaf: int
    n_examples: float
    """The examples in the leaf's histogram."""
    steps: tuple[RouteStep, ...]
    """From the root to the leaf's parent."""

    def to_dict(self) -> dict[str, Any]:
        """Return the whole as plain values, ready for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """Return a text with one line per turn and one per feature."""
        turns = f"{len(self.steps)} turn{'' if len(self.steps) == 1 else 's'}"
        lines = [
            f"P({self.label}) = {self.p_label:.4g} after {turns}, at leaf {self.leaf} "
            f"({self.n_examples:g} examples)"
        ]
        for depth, step in enumerate(self.steps):
            sign = 1 if step.direction == "right" else -1
            lines.append(
                f"{depth:>3}. {step.direction:<5} at node {step.node} ({step.n_examples:g} "
                f"examples, p = {step.p_label:.4g}), margin {step.margin:+.4f}; "
                "what supports this turn:"
            )
            lines += support_lines(step.contributions, step.other, step.bias, sign=sign)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def route_steps(
    report: Sequence[NDArray[Any]],
    p_label: NDArray[Any],
    n_examples: NDArray[Any],
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
    own: Mapping[int, float] | None = None,
) -> tuple[RouteStep, ...]:
    """Return the core's report on a row's way as steps, without the leaf.

    ``own`` has the row's values by column where regressors see them standardised.
    """
    nodes, margins, features, values, weights = report
    weights = weights.reshape(len(margins), len(features))
    steps = []
    for i, margin in enumerate(margins.tolist()):
        listed, other, bias = strongest_features(
            features, values, weights[i], margin,
            n_features=n_features, names=feature_names, own=own,
        )  # fmt: skip
        steps.append(
            RouteStep(
                node=int(nodes[i]),
                p_label=float(p_label[i]),
                n_examples=float(n_examples[i]),
                margin=margin,
                direction="left" if margin < 0 else "right",
                contributions=listed,
                other=other,
                bias=bias,
            )
        )
    return tuple(steps)
