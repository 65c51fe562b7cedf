"""An explanation as a person reads it: at most a screen, in words where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

SCREEN = 24
_AGAINST = 5
"""How many features against a label are listed at most."""
_LEAST = 5e-4
"""What counts for less than this is left out."""


def in_words(
    reason: Any, others: Iterable[tuple[Any, float]], n_labels: int, *, n_features: int
) -> list[str]:
    """Return the lines that say why a label has its probability.

    Parameters
    ----------
    reason : explanation
        With all features of the row.
    others : iterable of (label, probability)
        The likeliest labels, likeliest first.
    n_labels : int
        How many the model knows.
    n_features : int
        How many features to list at most.
    """
    likeliest = list(others)
    place = [label for label, _ in likeliest].index(reason.label) if _has(reason, likeliest) else -1
    rank = "the likeliest" if place == 0 else f"number {place + 1}" if place > 0 else "one"
    lines = [f"{reason.label} has probability {reason.p_label:.4g}: {rank} of {n_labels:,} labels."]
    rest = [f"{label} {p:.4g}" for label, p in likeliest if label != reason.label]
    if rest:
        lines.append(f"Other likely labels: {', '.join(rest[:3])}.")
    sums, constant = _summed(reason)
    strongest = sorted(sums.items(), key=lambda pair: -abs(pair[1]))
    pro = [pair for pair in strongest if pair[1] >= _LEAST]
    contra = [pair for pair in strongest if pair[1] <= -_LEAST]
    n_turns, n_trees = len(_steps(reason)), _n_trees(reason)
    over = f"{n_turns} turn{'' if n_turns == 1 else 's'}"
    scale = f"log-odds, added up over {over}" if n_trees == 1 else f"mean of {n_trees} trees"
    if not pro and not contra:
        return [*lines, "No feature of the row speaks for or against it."]
    n_contra = min(len(contra), _AGAINST, n_features)
    n_pro = min(len(pro), n_features, SCREEN - 8 - len(lines) - n_contra)
    lines += ["", f"What speaks for {reason.label} ({scale}):"]
    lines += _listed(pro, n_pro) if pro else ["  no feature of the row"]
    if contra:
        lines += ["What speaks against it:", *_listed(contra, n_contra)]
    if abs(constant) >= _LEAST:
        lines.append(f"  {constant:+9.3f}  intercept")
    if doubt := _least_certain(reason):
        lines.append(doubt)
    return [*lines, "--full shows every turn, --json all numbers."]


def _steps(reason: Any) -> list[Any]:
    """Return the turns of an explanation, of all trees if it has several."""
    if hasattr(reason, "trees"):
        return [step for steps in reason.trees for step in steps]
    return list(reason.steps)


def _n_trees(reason: Any) -> int:
    return len(reason.trees) if hasattr(reason, "trees") else 1


def _has(reason: Any, likeliest: list[tuple[Any, float]]) -> bool:
    return any(label == reason.label for label, _ in likeliest)


def _summed(reason: Any) -> tuple[dict[Any, float], float]:
    """Return what each feature adds for the label in all steps, and what no feature adds."""
    sums: dict[Any, float] = {}
    constant = 0.0
    each_tree = 1 / _n_trees(reason)
    parts = [
        (step, -each_tree if getattr(step, "direction", "") == "left" else each_tree)
        for step in _steps(reason)
    ]
    # The expert of a label: beside the tree's path, or of a label of many in the reason itself.
    refinement = getattr(reason, "refinement", None)
    expert = reason if hasattr(reason, "contributions") else refinement
    if expert is not None:
        parts.append((expert, 1))
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
    turns = [step for step in _steps(reason) if hasattr(step, "p_turn")]
    if not turns:
        return ""
    step = min(turns, key=lambda turn: turn.p_turn)
    if step.p_turn > 0.95:
        return ""
    here = step.n_right if step.direction == "right" else step.n_left
    of = step.n_left + step.n_right
    return (
        f"The least certain turn, number {step.depth + 1}, leads to {here:,} of {of:,} labels with "
        f"probability {step.p_turn:.4g}."
    )
