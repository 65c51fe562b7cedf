"""The pictures of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from online_sections.stream_file import tail_start

if TYPE_CHECKING:
    from pathlib import Path

    from online_sections.growth import Point
    from online_sections.scores import Answers

TITLES = {"files": "file order", "shuffled": "shuffled"}
#: One colour for each learner in all pictures, from a palette that colour-blind readers can tell.
COLOURS = {"labeltrees": "#0072B2", "VW": "#D55E00", "cache": "#7F7F7F", "fastText": "#009E73"}


def links(*names: str) -> list[str]:
    """Return the Markdown lines that show pictures."""
    return [f"![{name.replace('_', ' ')}](plots/{name}.png)\n" for name in names]


def learning_curves(answers: dict[str, list[Answers]], folder: Path) -> None:
    """Draw accuracy by block of the stream, of everything that answered the whole stream."""
    figure, axes = _figure(len(answers))
    for axis, (order, several) in zip(axes, answers.items(), strict=True):
        n_rows = max(len(each.correct) for each in several)
        for each in several:
            colour, line = _style(each.name)
            if len(each.correct) == n_rows and colour and "recall" not in each.name:
                at, accuracy = each.curve()
                axis.plot(at / 1e3, accuracy, line, color=colour, label=_short(each.name))
        axis.set(title=TITLES[order], xlabel="thousand examples seen", ylim=(0, None))
        axis.set_xlim(0, n_rows / 1e3)
    axes[0].set_ylabel("accuracy of each 2 % of the stream")
    _finish(figure, axes, folder / "learning_curves.png")


def reliability(answers: dict[str, list[Answers]], folder: Path) -> None:
    """Draw how often the likeliest label was true against the probability it was given."""
    figure, axes = _figure(len(answers), height=4.6)
    for axis, (order, several) in zip(axes, answers.items(), strict=True):
        n_rows = max(len(each.correct) for each in several)
        axis.plot([0, 1], [0, 1], ":", color="#7F7F7F", label="perfect")
        for each in several:
            colour, line = _style(each.name)
            curve = each.tail(n_rows - tail_start(n_rows)).reliability
            if curve is not None and colour:
                at, frequency = curve.mean_probability, curve.frequency
                axis.plot(at, frequency, "o" + line, ms=4, color=colour, label=_short(each.name))
        axis.set(title=TITLES[order], xlabel="probability given to the likeliest label")
        axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes[0].set_ylabel("how often it was true")
    _finish(figure, axes, folder / "reliability.png", place="upper left")


def growth(points: dict[str, list[Point]], folder: Path) -> None:
    """Draw the time per example against the number of labels, both on logarithmic scales."""
    figure, axes = _figure(len(points), share_y=True)
    costs = {"learn": "learn", "p_label": "P(label given x)", "top_1": "exact top 1"}
    for axis, (title, several) in zip(axes, points.items(), strict=True):
        n_labels = [each.n_labels for each in several]
        for (name, label), colour in zip(costs.items(), list(COLOURS.values()), strict=False):
            axis.loglog(
                n_labels,
                [getattr(each, name) for each in several],
                "o-",
                ms=4,
                label=label,
                color=colour,
            )
        axis.set(title=title, xlabel="labels")
    axes[0].set_ylabel("µs per example")
    _finish(figure, axes, folder / "growth.png", place="upper left")


def _style(name: str) -> tuple[str | None, str]:
    colour = next((each for word, each in COLOURS.items() if name.startswith(word)), None)
    return colour, "--" if "frozen" in name else "-"


def _short(name: str) -> str:
    return name.replace("`", "").removesuffix(", progressive").removesuffix(", no learning")


def _figure(n_axes: int, *, height: float = 3.8, share_y: bool = True) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, n_axes, figsize=(4.6 * n_axes, height), sharey=share_y, squeeze=False
    )
    return figure, axes[0]


def _finish(figure: Any, axes: Any, path: Path, *, place: str = "lower right") -> None:
    from matplotlib import pyplot

    for axis in axes:
        axis.grid(color="#DDDDDD", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8, loc=place)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
