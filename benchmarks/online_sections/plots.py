"""The pictures of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from online_sections.stream_file import tail_start

if TYPE_CHECKING:
    from pathlib import Path

    from online_sections.arity import Point as ArityPoint
    from online_sections.growth import Point
    from online_sections.scores import Answers

TITLES = {"files": "file order", "shuffled": "shuffled"}
#: One colour for each learner in all pictures, from a palette that colour-blind readers can tell;
#: the first that a name starts with.
COLOURS = {
    "labeltrees": "#0072B2",
    "VW `--log_multi": "#D55E00",
    "cache": "#7F7F7F",
    "fastText": "#009E73",
}
ARITY_COLOURS = {"kmeans": "#0072B2", "random": "#D55E00"}
COSTS = {
    "learn": ("learn", "#0072B2"),
    "p_label": ("P(label given x)", "#D55E00"),
    "top_1": ("exact top 1", "#009E73"),
}


def links(*names: str) -> list[str]:
    """Return the Markdown lines that show pictures."""
    return [f"![{name.replace('_', ' ')}](../plots/{name}.png)" for name in names]


def learning_curves(answers: dict[str, list[Answers]], folder: Path) -> None:
    """Draw accuracy by block of the stream, of everything that answered the whole stream."""
    figure, axes = _figure(len(answers))
    for axis, (order, several) in zip(axes, answers.items(), strict=True):
        n_rows = max(len(each.correct) for each in several)
        for each in several:
            if len(each.correct) == n_rows and _style(each.name):
                at, accuracy = each.curve()
                axis.plot(at / 1e3, accuracy, **_style(each.name))
        axis.set(title=TITLES[order], xlabel="thousand examples seen", ylim=(0, None))
        axis.set_xlim(0, n_rows / 1e3)
    axes[0].set_ylabel("accuracy of each 4 % of the stream")
    _finish(figure, axes, folder / "learning_curves.png")


def reliability(answers: dict[str, list[Answers]], folder: Path) -> None:
    """Draw how often the likeliest label was true against the probability it was given."""
    figure, axes = _figure(len(answers), height=5.2)
    for axis, (order, several) in zip(axes, answers.items(), strict=True):
        n_rows = max(len(each.correct) for each in several)
        axis.plot([0, 1], [0, 1], ":", color="#7F7F7F", label="perfect")
        for each in _best_of_each_peer(several):
            curve = each.tail(n_rows - tail_start(n_rows)).reliability
            if curve is not None and _style(each.name):
                axis.plot(
                    curve.mean_probability, curve.frequency, marker="o", ms=4, **_style(each.name)
                )
        axis.set(title=TITLES[order], xlabel="probability given to the likeliest label")
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes[0].set_ylabel("how often it was true")
    _finish(figure, axes, folder / "reliability.png")


def growth(points: dict[str, list[Point]], folder: Path) -> None:
    """Draw the time per example against the number of labels, both on logarithmic scales."""
    figure, axes = _figure(len(points))
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

    for axis, (title, several) in zip(axes, points.items(), strict=True):
        n_labels = [each.n_labels for each in several]
        for name, (label, colour) in COSTS.items():
            cost = [getattr(each, name) for each in several]
            axis.loglog(n_labels, cost, "o-", ms=4, label=label, color=colour)
        axis.set(title=title, xlabel="labels")
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("µs per example")
    _finish(figure, axes, folder / "growth.png")


def arity(points: list[ArityPoint], folder: Path) -> None:
    """Draw losses and Theorem 3's bound against the regressors that one prediction asks."""
    from matplotlib.ticker import StrMethodFormatter

    panels = {
        "squared_loss": "squared loss",
        "log_loss": "log loss",
        "regret_factor": "bound on the regret factor",
    }
    figure, axes = _figure(len(panels), sharey=False)
    for axis, (name, title) in zip(axes, panels.items(), strict=True):
        for structure, colour in ARITY_COLOURS.items():
            several = [each for each in points if each.structure == structure]
            asked = [each.n_regressors for each in several]
            height = [getattr(each, name) for each in several]
            axis.plot(asked, height, "o-", ms=4, label=structure, color=colour)
            for each, x, y in zip(several, asked, height, strict=True):
                if structure == "kmeans":
                    axis.annotate(
                        f"{each.arity}", (x, y), (0, 6), textcoords="offset points", ha="center"
                    )
        axis.set(title=title, xlabel="regressors asked per prediction", xscale="log")
        axis.set_ylim(0, 1.12 * max(getattr(each, name) for each in points))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    _finish(figure, axes, folder / "arity.png")


def _best_of_each_peer(several: list[Answers]) -> list[Answers]:
    """Return the answers, of fastText's only the most accurate."""
    other = [each for each in several if not each.name.startswith("fastText")]
    fasttext = [each for each in several if each.name.startswith("fastText")]
    return other + sorted(fasttext, key=lambda each: each.accuracy)[-1:]


def _style(name: str) -> dict[str, str] | None:
    """Return how to draw a learner, or None for one that is only in the tables."""
    colour = next((each for word, each in COLOURS.items() if name.startswith(word)), None)
    if colour is None:
        return None
    label = name.replace("`", "").removesuffix(", progressive").removesuffix(", no learning")
    if label.startswith("fastText"):
        label = "fastText hs, its best, frozen"
    return {"color": colour, "ls": "--" if "frozen" in name else "-", "label": label}


def _figure(n_axes: int, *, height: float = 4.2, sharey: bool = True) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1,
        n_axes,
        figsize=(4.6 * n_axes, height),
        sharey=sharey,
        squeeze=False,
        layout="constrained",
    )
    figure.get_layout_engine().set(wspace=0.06)
    return figure, axes[0]


def _finish(figure: Any, axes: Any, path: Path) -> None:
    from matplotlib import pyplot

    for axis in axes:
        axis.grid(color="#DDDDDD", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_xscale() == "linear":
            axis.locator_params(axis="x", nbins=5)
    # Below the panels, where it cannot hide a line.
    drawn = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        drawn.values(), drawn, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
