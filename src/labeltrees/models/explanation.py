"""Explanations of predictions: the nodes on a row's path, and the features that decided at each.

`Contribution` and the functions about it serve every kind of model. The records below them are of
LOMtrees, of label trees for many labels per row, and of extreme regressors. Those of conditional
trees are in `labeltrees.models.online.explanation`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks
from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.extreme.settings import ExtremeSettings

_BIAS = 2**32 - 1  # the constant feature's index in the core


@dataclass(frozen=True)
class Contribution:
    """One feature's part in a node's margin: ``contribution = value * weight``.

    Where columns are standardised it is ``standardized * weight``, and the value is the row's own.
    With mixing the weight has two parts: the regressor's, and the vote of the feature's counts.
    """

    feature: int | str
    """Its column, or its name if names are known."""
    value: float
    """As the regressor sees it: scaled, if rows are normalised."""
    weight: float
    contribution: float
    """In a binary tree: above 0 it supports going right, below 0 going left."""
    standardized: float | None = None
    """What the regressor sees of the value where columns are standardised."""


@dataclass(frozen=True)
class ReadableExplanation:
    """An explanation as JSON values and as text. A subclass has the fields and `to_text`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return asdict(self)

    @abstractmethod
    def to_text(self) -> str:
        """Return a text with one line per turn and one per feature."""

    def __str__(self) -> str:
        return self.to_text()


def check_question(rows: Any, n_listed: Any, names: Sequence[str] | None, n_features: int) -> None:
    """Raise `ArgumentError` unless one row is asked about, with a name for every feature or none.

    ``n_listed`` is how many features to list, ``n_features`` how many the model has.
    """
    if rows.n_rows != 1:
        raise ArgumentError.of("x", f"{rows.n_rows} rows", "one row")
    if names is not None and len(names) != n_features:
        allowed = f"{n_features} names, one per feature"
        raise ArgumentError.of("feature_names", f"{len(names)}", allowed)
    checks.integer("n_features", n_listed, 0)


def strongest_features(
    features: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any],
    margin: float,
    *,
    n_features: int,
    names: Sequence[str] | None,
    own: Mapping[int, float] | None = None,
) -> tuple[tuple[Contribution, ...], float, float]:
    """Return the features with the largest part in a margin, what the others add, and the rest.

    ``own`` has the row's values by column where ``values`` are standardised.
    """
    products = values.astype(np.float64) * weights
    real = np.where(features == _BIAS, 0.0, products)
    # The strongest first, columns in order where they are equally strong; 0 says nothing.
    strongest = np.argsort(-np.abs(real), kind="stable")[:n_features]
    strongest = strongest[real[strongest] != 0]
    listed = tuple(
        Contribution(
            feature=int(features[i]) if names is None else str(names[int(features[i])]),
            value=float(values[i]) if own is None else own.get(int(features[i]), 0.0),
            weight=float(weights[i]),
            contribution=float(real[i]),
            standardized=None if own is None else float(values[i]),
        )
        for i in strongest
    )
    return listed, float(np.delete(real, strongest).sum()), float(margin - real.sum())


def support_lines(
    contributions: Iterable[Contribution], other: float, bias: float, *, sign: int = 1
) -> list[str]:
    """Return one line for each part of a margin that does not round to 0.

    >>> support_lines([Contribution("light", 1.0, 2.5, 2.5)], 0.0, -0.5)
    ['      +2.5000  light (value 1)', '      -0.5000  intercept']
    """
    rows = [(c.contribution, f"{c.feature} (value {c.value:.4g})") for c in contributions]
    rows += [(other, "other features"), (bias, "intercept")]
    return [f"     {sign * amount:+8.4f}  {text}" for amount, text in rows if abs(amount) >= 5e-5]


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
class RouteExplanation(ReadableExplanation):
    """The way of one row and what it means for one label; ``str`` of it is a text to read."""

    label: int | str
    p_label: float
    leaf: int
    n_examples: float
    """The examples in the leaf's histogram."""
    steps: tuple[RouteStep, ...]
    """From the root to the leaf's parent."""

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
                "evidence for this turn:"
            )
            lines += support_lines(step.contributions, step.other, step.bias, sign=sign)
        return "\n".join(lines)


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


@dataclass(frozen=True)
class MarginalStep:
    """One node on the path: P(some label below it is relevant, given that one below its parent is).

    ``margin`` is its log-odds, the sum of contributions, other and bias.
    """

    depth: int
    p_node: float
    p_path: float
    """The probability that some label below the node is relevant."""
    margin: float
    contributions: tuple[Contribution, ...]
    other: float
    bias: float
    n_labels: int
    """Labels below the node."""

    def to_lines(self) -> list[str]:
        """Return the node, and a line for each feature that is evidence for or against it."""
        support = support_lines(self.contributions, self.other, self.bias)
        labels = "the label itself" if self.n_labels == 1 else f"one of {self.n_labels} labels"
        end = "; evidence for it:" if support else ""
        return [f"{self.depth:>3}. {labels} with p = {self.p_node:.4g}{end}", *support]


@dataclass(frozen=True)
class MarginalExplanation(ReadableExplanation):
    """The path of one label for one row; ``str`` of it is a text to read."""

    label: int | str
    p_label: float
    p_any: float
    """The probability that the row has any label."""
    p_tree: float
    """The tree's probability of the label, which is p_any times the probability of each step."""
    steps: tuple[MarginalStep, ...]
    is_candidate: bool
    """Whether the label was reranked."""
    margin: float = 0.0
    """The refined log-odds of a candidate, which the tree and the reranker add up to."""
    of_tree: float = 0.0
    contributions: tuple[Contribution, ...] = ()
    other: float = 0.0
    bias: float = 0.0

    def to_text(self) -> str:
        """Return a text with one line per node and one per feature."""
        lines = [
            f"P({self.label}) = {self.p_label:.4g} after {len(self.steps)} "
            f"node{'' if len(self.steps) == 1 else 's'}; "
            f"the row has any label with p = {self.p_any:.4g}"
        ]
        for step in self.steps:
            lines += step.to_lines()
        tree = f"     the tree predicts {self.p_tree:.4g}"
        if self.is_candidate:
            support = support_lines(self.contributions, self.other, self.bias)
            adds = "; the reranker of the label adds:" if support else ""
            lines += [tree + adds, *support]
        else:
            lines.append(f"{tree}; the label was not reranked")
        return "\n".join(lines)


def explanation_of(
    label: int | str,
    report: Sequence[Any],
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
    own: Mapping[int, float] | None = None,
) -> MarginalExplanation:
    """Return what the core reports of a label, with the strongest features of each node.

    ``own`` are the row's values by column where regressors see them standardised.
    """
    (p_any, p_tree, q, is_candidate), nodes, row, reranked = report
    etas, margins, n_below, _ = nodes
    features, values, weights = row
    weights = weights.reshape(len(etas), len(features))

    def strongest(of: Any, total: float) -> tuple[tuple[Contribution, ...], float, float]:
        return strongest_features(
            features, values, of, total, n_features=n_features, names=feature_names, own=own
        )

    steps, p_path = [], float(p_any)
    for depth in range(len(etas)):
        listed, other, bias = strongest(weights[depth], float(margins[depth]))
        p_path *= float(etas[depth])
        steps.append(
            MarginalStep(
                depth, float(etas[depth]), p_path, float(margins[depth]),
                listed, other, bias, int(n_below[depth]),
            )
        )  # fmt: skip
    margin, of_tree, added = reranked
    found = MarginalExplanation(label, q, p_any, p_tree, tuple(steps), is_candidate)
    if not is_candidate:
        return found
    parts = strongest(added, margin - of_tree)
    return MarginalExplanation(
        label, q, p_any, p_tree, tuple(steps), is_candidate, float(margin), float(of_tree), *parts
    )


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
class RelevanceExplanation(ReadableExplanation):
    """The paths of one label for one row, one for each tree. ``str`` returns readable text."""

    label: int | str
    p_label: float
    """The model's prediction, the calibrated probability that the label is relevant."""
    p_trees: float
    """The mean prediction of the trees, relevance as a share of the largest learned."""
    trees: tuple[tuple[RelevanceStep, ...], ...]

    def to_text(self) -> str:
        """Return a text with one line per turn and one per feature."""
        lines = [f"{self.label}: {self.p_label:.4g} (trees say {self.p_trees:.4g})"]
        for number, steps in enumerate(self.trees):
            for step in steps:
                lines.append(
                    f"tree {number}, depth {step.depth}: p = {step.p_node:.4g} at child "
                    f"{step.child} of node {step.node}; evidence for this turn:"
                )
                lines += support_lines(step.contributions, step.other, step.bias)
        return "\n".join(lines)


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
