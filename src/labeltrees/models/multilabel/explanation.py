"""Explain the probability of one label of a row by the nodes on its path and its reranker."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labeltrees.models.explanation import Contribution, strongest_features, support_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
        """Return the node, and a line for each feature that speaks for it (+) or against it."""
        support = support_lines(self.contributions, self.other, self.bias)
        labels = "the label itself" if self.n_labels == 1 else f"one of {self.n_labels} labels"
        end = "; what speaks for it:" if support else ""
        return [f"{self.depth:>3}. {labels} with p = {self.p_node:.4g}{end}", *support]


@dataclass(frozen=True)
class MarginalExplanation:
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

    def to_dict(self) -> dict[str, Any]:
        """Return the whole as plain values, ready for JSON."""
        return asdict(self)

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

    def __str__(self) -> str:
        return self.to_text()


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
