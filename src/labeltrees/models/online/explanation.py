"""Why a label has its probability in a binary tree of regressors: the turns on its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeltrees.models.explanation import (
    Contribution,
    ReadableExplanation,
    strongest_features,
    support_lines,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


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

    def to_lines(self) -> list[str]:
        """Return the turn, and a line for each feature that supports it (+) or not (-)."""
        right = self.direction == "right"
        here, there = (self.n_right, self.n_left) if right else (self.n_left, self.n_right)
        support = support_lines(self.contributions, self.other, self.bias, sign=1 if right else -1)
        return [
            f"{self.depth:>3}. {self.direction:<5} with p = {self.p_turn:.4g} at node {self.node}, "
            f"to {here} of {here + there} labels"
            + ("; evidence for this turn:" if support else "; no evidence for either turn"),
            *support,
        ]


@dataclass(frozen=True)
class Refinement:
    """The refined probability: ``margin`` is the weighted log of p_trees plus the reranker's part.

    The label's probability is e^margin over the sum of the same of all candidates and of the
    trees' probabilities of all others; of a label that is no candidate, p_trees over that sum.
    """

    n_trees: int
    """The path is the first one's."""
    p_trees: float
    """The trees' probability of the label: their mean."""
    is_candidate: bool
    """Whether the trees found the label likely enough to be reranked."""
    margin: float = 0.0
    of_trees: float = 0.0
    """The trees' part in the margin."""
    contributions: tuple[Contribution, ...] = ()
    """The strongest features of the label's reranker, strongest first."""
    other: float = 0.0
    """What the features not listed add up to."""
    bias: float = 0.0
    """What does not depend on the row: the constant feature."""

    def to_lines(self) -> list[str]:
        """Return the trees' probability, and a line for each feature of the reranker."""
        who = "the tree" if self.n_trees == 1 else f"{self.n_trees} trees"
        predicts = f"{who} {'predicts' if self.n_trees == 1 else 'predict'} {self.p_trees:.4g}"
        if not self.is_candidate:
            return [f"     {predicts}, too little to be reranked"]
        support = support_lines(self.contributions, self.other, self.bias)
        if not support:
            return [f"     {predicts}; the reranker of the label adds nothing"]
        return [f"     {predicts}; the reranker of the label adds:", *support]


@dataclass(frozen=True)
class Explanation(ReadableExplanation):
    """The path of one label for one row; ``str`` of it is a text to read."""

    label: int | str
    p_label: float
    """The product of the turns' probabilities, refined by the reranker if there is one, times
    1 - novelty_mass."""
    novelty_mass: float
    """What is reserved for labels not seen yet."""
    steps: tuple[Step, ...]
    """From the root to the leaf's parent; none if the model knows one label only."""
    refinement: Refinement | None = None
    """What rerankers add; None in a plain tree."""

    def to_text(self) -> str:
        """Return a text with one line per turn and one per feature."""
        turns = f"{len(self.steps)} turn{'' if len(self.steps) == 1 else 's'}"
        lines = [f"P({self.label}) = {self.p_label:.4g} after {turns}"]
        if self.novelty_mass > 0:
            lines[0] += f"; {self.novelty_mass:.4g} is kept for labels not seen yet"
        for step in self.steps:
            lines += step.to_lines()
        if self.refinement is not None:
            lines += self.refinement.to_lines()
        return "\n".join(lines)


@dataclass(frozen=True)
class PooledExplanation(ReadableExplanation):
    """One label's paths in all trees of a pool; ``str`` of it is a text to read.

    The pooled probability is the geometric mean of the trees', over the same of all labels.
    """

    label: int | str
    p_label: float
    """The pooled probability."""
    p_trees: tuple[float, ...]
    """The label's probability in each tree."""
    trees: tuple[Explanation, ...]
    """Its path in each tree; empty for trees with more than two children at a node."""

    def to_text(self) -> str:
        """Return a text with a part for each tree."""
        each = ", ".join(f"{p:.4g}" for p in self.p_trees)
        lines = [f"P({self.label}) = {self.p_label:.4g}, pooled from {each}"]
        for number, tree in enumerate(self.trees, 1):
            lines.append(f"tree {number}: {tree.to_text()}")
        return "\n".join(lines)


def steps_of(
    report: Sequence[NDArray[Any]],
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
    own: Mapping[int, float] | None = None,
) -> tuple[Step, ...]:
    """Return the core's report on a path as steps, the ``n_features`` strongest features of each.

    ``report`` is what ``_core.report_path`` returns, ``own`` the row's values by column where
    regressors see them standardised.
    """
    nodes, turns, margins, p_nodes, n_left, n_right, features, values, weights = report
    weights = weights.reshape(len(nodes), len(features))
    steps, p_path = [], 1.0
    for depth, node in enumerate(nodes.tolist()):
        listed, other, bias = strongest_features(
            features, values, weights[depth], float(margins[depth]),
            n_features=n_features, names=feature_names, own=own,
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


def refinement_of(
    report: Sequence[Any],
    n_trees: int,
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
    own: Mapping[int, float] | None = None,
) -> Refinement:
    """Return what ``_core.report_refinement`` returns, with the ``n_features`` strongest features.

    What is neither the trees' part nor a feature's is the constant feature's.
    """
    p_trees, _, is_candidate, margin, of_trees, features, values, weights = report
    if not is_candidate:
        return Refinement(n_trees, p_trees, is_candidate)
    listed, other, bias = strongest_features(
        features, values, weights, margin - of_trees,
        n_features=n_features, names=feature_names, own=own,
    )  # fmt: skip
    return Refinement(n_trees, p_trees, is_candidate, margin, of_trees, listed, other, bias)
