"""Explain a label's probability in an extreme regressor by its path and features."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.models.explanation import Contribution, strongest_features, support_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.settings import ExtremeSettings


@dataclass(frozen=True)
class RelevanceStep:
    """One regressor on the path, with ``margin = sum of contributions + other + bias``."""

    node: int
    depth: int
    child: int
    """Which child the path goes to."""
    p_path: float
    """The probability of the path so far."""
    p_node: float
    """The regressor's output for the child, with the model's power if it is not a label."""
    margin: float
    contributions: tuple[Contribution, ...]
    """The strongest features, strongest first; above 0 they support the child."""
    other: float
    """The sum of the features that are not listed."""
    bias: float


@dataclass(frozen=True)
class RelevanceExplanation:
    """The paths of one label for one row, one for each tree. ``str`` returns readable text."""

    label: int | str
    p_label: float
    """The model's prediction, the calibrated probability that the label is relevant."""
    p_trees: float
    """The mean prediction of the trees, relevance as a share of the largest learned."""
    trees: tuple[tuple[RelevanceStep, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return asdict(self)

    def to_text(self) -> str:
        """Return a text with one line per turn and one per feature."""
        lines = [f"{self.label}: {self.p_label:.4g} (trees say {self.p_trees:.4g})"]
        for number, steps in enumerate(self.trees):
            for step in steps:
                lines.append(
                    f"tree {number}, depth {step.depth}: p = {step.p_node:.4g} at child "
                    f"{step.child} of node {step.node}; what supports this turn:"
                )
                lines += support_lines(step.contributions, step.other, step.bias)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def relevance_steps(
    report: Sequence[NDArray[Any]],
    rows: Rows,
    settings: ExtremeSettings,
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
) -> tuple[RelevanceStep, ...]:
    """Return the core's report on one row's path in one tree as steps."""
    nodes, children, margins, weights = report
    weights = weights.reshape(len(nodes), len(rows.values))
    length = float(np.sqrt(np.sum(rows.values.astype(np.float64) ** 2)))
    values = rows.values / length if length > 0 else rows.values
    steps, p_path = [], 1.0
    for depth, node in enumerate(nodes.tolist()):
        margin = float(margins[depth])
        listed, other, bias = strongest_features(
            rows.indices, values, weights[depth], margin,
            n_features=n_features, names=feature_names,
        )  # fmt: skip
        slack = max(0.0, 1 - margin)
        p_node = 1 / (1 + np.exp(-margin)) if settings.loss == "logistic" else np.exp(-(slack**2))
        if depth + 1 < len(nodes):  # the last child is the label itself
            p_node **= settings.inner_power
        step = RelevanceStep(
            node=node,
            depth=depth,
            child=int(children[depth]),
            p_path=p_path,
            p_node=float(p_node),
            margin=margin,
            contributions=listed,
            other=other,
            bias=bias,
        )
        steps.append(step)
        p_path *= step.p_node
    return tuple(steps)
