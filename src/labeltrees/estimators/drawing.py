"""Models as pictures: trees, and the rounds of boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.models.boosting.rounds import BoostingRecord
    from labeltrees.models.lom.diagnostics import Diagnosis
    from labeltrees.models.self_terminating.model import SelfTerminatingTreeModel

__all__ = ["draw_boosting", "draw_diagnosis", "draw_tree"]


def draw_tree(
    model: SelfTerminatingTreeModel,
    feature_names: Sequence[str] | None = None,
    *,
    max_depth: int = 3,
    ax: Any = None,
) -> Any:
    """Draw the nodes down to ``max_depth`` into matplotlib axes, and return those."""
    ax = _axes(ax, (2.2 * 2**max_depth, 1.4 * (max_depth + 1)))
    names = [str(label) for label in model.vocabulary.labels]
    left, depths = model.core.left(), model.depths()
    places = _places(left.tolist(), depths.tolist(), max_depth)
    for node, question, labels in model.lines(names, feature_names, top=2):
        if node not in places:
            continue
        x, y = places[node]
        for child in (int(left[node]), int(left[node]) + 1):
            if question and child in places:
                ax.plot([x, places[child][0]], [y, places[child][1]], color="0.6", zorder=1)
        text = "\n".join(part for part in (question, labels.replace(", ", "\n")) if part)
        box = {"boxstyle": "round", "facecolor": "white" if question else "0.93"}
        ax.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box, zorder=2)
    ax.set_axis_off()
    return ax


def draw_boosting(record: BoostingRecord, *, ax: Any = None) -> Any:
    """Draw the fraction of rows above eta and its bound by round into axes, and return those."""
    ax = _axes(ax, (6.0, 4.0))
    rounds = range(1, len(record.errors) + 1)
    ax.plot(rounds, record.bound, linestyle="--", marker=".", label="bound of Theorem 1")
    ax.plot(rounds, record.exceed, marker=".", label=f"rows with error above {record.eta:.3g}")
    ax.set_xlabel("rounds")
    ax.set_ylabel("fraction of training rows")
    ax.set_ylim(bottom=0)
    ax.legend()
    return ax


def draw_diagnosis(found: Diagnosis, axes: Any = None) -> Any:
    """Draw the quality of splits, the entropy of leaves and their sizes, and return the axes."""
    pyplot = _pyplot()
    if axes is None:
        axes = pyplot.figure(figsize=(10, 7), layout="constrained").subplots(2, 2).ravel()
    quality, entropy, sizes, recycled = axes
    quality.scatter(found.balance, found.impurity, c=found.objective, s=12, vmin=0, vmax=1)
    quality.set(xlabel="balance: share going right", ylabel="impurity", title="splits, by J(h)")
    entropy.plot(found.entropy)
    entropy.set(xlabel="splits", ylabel="nats", title="mean entropy of the leaves")
    sizes.plot(sorted(found.leaf_sizes, reverse=True))
    sizes.set(xlabel="leaf, by size", ylabel="examples", title="leaf sizes", yscale="symlog")
    times = range(int(found.n_recycled.max(initial=0)) + 1)
    recycled.bar(times, [int((found.n_recycled == n).sum()) for n in times])
    recycled.set(xlabel="times recycled", ylabel="nodes", title="recycling", yscale="symlog")
    return axes


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes to draw into: those given, or new ones."""
    return _pyplot().figure(figsize=size).gca() if ax is None else ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install matplotlib") from None
    return pyplot


def _places(left: list[int], depths: list[int], max_depth: int) -> dict[int, tuple[float, float]]:
    """Where the nodes stand: each level in equal parts of the width above it."""
    places, stack = {}, [(0, 0.0, 1.0)]
    while stack:
        node, begin, end = stack.pop()
        middle = (begin + end) / 2
        places[node] = (middle, -float(depths[node]))
        if left[node] >= 0 and depths[node] < max_depth:
            stack += [(left[node], begin, middle), (left[node] + 1, middle, end)]
    return places
