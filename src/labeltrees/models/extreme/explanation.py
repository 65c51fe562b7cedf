"""Why a label has its probability in an extreme regressor: the path and what spoke on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError
from labeltrees.models.explanation import Contribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows

__all__ = ["RelevanceExplanation", "RelevanceStep", "relevance_steps"]


@dataclass(frozen=True)
class RelevanceStep:
    """One regressor on the way: ``margin = sum of contributions + other + bias``."""

    node: int
    depth: int
    child: int
    """Which child the path goes to."""
    p_path: float
    """The probability of the path so far."""
    p_node: float
    """The regressor's answer for the child, with the model's power where it is not a label."""
    margin: float
    contributions: tuple[Contribution, ...]
    """The strongest features, strongest first; above 0 they speak for the child."""
    other: float
    """What the features not listed add up to."""
    bias: float


@dataclass(frozen=True)
class RelevanceExplanation:
    """The paths of one label for one row, one for each tree; ``str`` of it is a text to read."""

    label: int | str
    p_label: float
    """What the model says: calibrated, in the units of the relevance learned."""
    p_trees: float
    """The mean of the trees' own probabilities."""
    trees: tuple[tuple[RelevanceStep, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole as plain values, ready for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """Return a text with one line a turn and one a feature."""
        lines = [f"{self.label}: {self.p_label:.4g} (trees say {self.p_trees:.4g})"]
        for number, steps in enumerate(self.trees):
            for step in steps:
                lines.append(
                    f"tree {number}, depth {step.depth}: p = {step.p_node:.4g} at child "
                    f"{step.child} of node {step.node}; for it speak:"
                )
                lines += [
                    f"       {c.contribution:+9.4f}  {c.feature} (value {c.value:.4g})"
                    for c in step.contributions
                ]
                if step.other:
                    lines.append(f"       {step.other:+9.4f}  other features")
                lines.append(f"       {step.bias:+9.4f}  whatever the row")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def relevance_steps(
    report: Sequence[NDArray[Any]],
    rows: Rows,
    loss: str,
    inner_power: float,
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
) -> tuple[RelevanceStep, ...]:
    """Return the core's report on one row's path in one tree as steps."""
    is_int = isinstance(n_features, (int, np.integer)) and not isinstance(n_features, bool)
    if not is_int or n_features < 0:
        raise ArgumentError.of("n_features", n_features, "an integer >= 0")
    nodes, children, margins, weights = report
    weights = weights.reshape(len(nodes), len(rows.values))
    length = float(np.sqrt(np.sum(rows.values.astype(np.float64) ** 2)))
    values = rows.values / length if length > 0 else rows.values
    steps, p_path = [], 1.0
    for depth, node in enumerate(nodes.tolist()):
        products = values.astype(np.float64) * weights[depth]
        strongest = np.argsort(-np.abs(products), kind="stable")[:n_features]
        strongest = strongest[products[strongest] != 0]
        listed = tuple(
            Contribution(
                feature=_name(int(rows.indices[i]), feature_names),
                value=float(values[i]),
                weight=float(weights[depth, i]),
                contribution=float(products[i]),
            )
            for i in strongest
        )
        margin = float(margins[depth])
        slack = max(0.0, 1 - margin)
        p_node = 1 / (1 + np.exp(-margin)) if loss == "logistic" else np.exp(-(slack**2))
        if depth + 1 < len(nodes):  # the last child is the label itself
            p_node **= inner_power
        step = RelevanceStep(
            node=node,
            depth=depth,
            child=int(children[depth]),
            p_path=p_path,
            p_node=float(p_node),
            margin=margin,
            contributions=listed,
            other=float(np.delete(products, strongest).sum()),
            bias=float(margin - products.sum()),
        )
        steps.append(step)
        p_path *= step.p_node
    return tuple(steps)


def _name(feature: int, names: Sequence[str] | None) -> int | str:
    return feature if names is None else str(names[feature])
