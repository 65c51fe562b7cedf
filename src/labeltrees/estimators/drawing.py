"""Draw trees and the rounds of boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.models.boosting.rounds import BoostingRecord
    from labeltrees.models.lom.diagnostics import Diagnosis
    from labeltrees.models.self_terminating.model import SelfTerminatingTreeModel


def draw_tree(
    model: SelfTerminatingTreeModel,
    feature_names: Sequence[str] | None = None,
    *,
    max_depth: int = 3,
    ax: Any = None,
) -> Any:
    """Draw the nodes down to ``max_depth`` into matplotlib axes, and return those."""
    left, depths = model.core.left(), model.depths()
    max_depth = min(max_depth, int(depths.max()))
    ax = _axes(ax, (max(3.0, 1.5 * 2**max_depth), 1.3 * (max_depth + 1)))
    names = [str(label) for label in model.vocabulary.labels]
    places = _places(left.tolist(), depths.tolist(), max_depth)
    fills = _fills(model, sorted(places))
    for node, question, labels in model.lines(names, feature_names, top=2):
        if node not in places:
            continue
        x, y = places[node]
        for child, answer in ((int(left[node]), "yes"), (int(left[node]) + 1, "no")):
            if question and child in places:
                below = places[child]
                ax.plot([x, below[0]], [y, below[1]], color="0.6", zorder=1)
                _text(ax, (x + below[0]) / 2, (y + below[1]) / 2, answer, facecolor="white", lw=0)
        text = "\n".join(part for part in (question, labels.replace(", ", "\n")) if part)
        _text(ax, x, y, text, facecolor=fills[node], boxstyle="round")
    ax.set(xlim=(0, 1), ylim=(-max_depth - 0.5, 0.5))
    ax.set_axis_off()
    return ax


def _text(ax: Any, x: float, y: float, text: str, **box: Any) -> None:
    """Write into a box that layouts ignore, because the tree already fills its axes."""
    shown = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 2, "bbox": box}
    ax.text(x, y, text, **shown).set_in_layout(False)


def _fills(model: SelfTerminatingTreeModel, nodes: list[int]) -> dict[int, Any]:
    """Return each node's colour, which is its top label's and paler for a lower probability.

    It is white if there are more labels than colours in matplotlib's cycle.
    """
    from matplotlib import colors, rcParams

    cycle = rcParams["axes.prop_cycle"].by_key().get("color", [])
    if model.core.n_labels > len(cycle):
        return dict.fromkeys(nodes, "white")
    labels, p = model.core.top_labels_at(np.array(nodes, dtype=np.int32), 1)
    best = np.array([colors.to_rgb(cycle[label]) for label in labels[:, 0].tolist()])
    return dict(zip(nodes, 1 - 0.6 * p[:, :1] * (1 - best), strict=True))


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
    """Return the axes, or new ones if there are none."""
    return _pyplot().figure(figsize=size, layout="constrained").gca() if ax is None else ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("drawing needs matplotlib. Run pip install matplotlib first.") from None
    return pyplot


def _places(left: list[int], depths: list[int], max_depth: int) -> dict[int, tuple[float, float]]:
    """Return the places of nodes, where each level divides the width of the level above."""
    places, stack = {}, [(0, 0.0, 1.0)]
    while stack:
        node, begin, end = stack.pop()
        middle = (begin + end) / 2
        places[node] = (middle, -float(depths[node]))
        if left[node] >= 0 and depths[node] < max_depth:
            stack += [(left[node], begin, middle), (left[node] + 1, middle, end)]
    return places
