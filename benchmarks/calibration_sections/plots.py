"""A picture of how often labels were true, by their predicted probability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import plots
from labeltrees.metrics import ReliabilityCurve

FILE = "calibration.png"
#: Before and after the map, by contestant.
Curves = dict[str, tuple["ReliabilityCurve", "ReliabilityCurve"]]
#: A palette that colour-blind readers can tell; the longest name that fits first.
STYLES = {
    "labeltrees, `ExtremeRegressor`, `calibrate=False`": ("#0072B2", "--"),
    "labeltrees, `ExtremeRegressor`": ("#0072B2", "-"),
    "labeltrees, `MultiLabelTreeClassifier`, one pass": ("#56B4E9", "--"),
    "labeltrees, `MultiLabelTreeClassifier`": ("#56B4E9", "-"),
    "labeltrees, `ConditionalTreeClassifier`": ("#000000", "-"),
    "Omikuji, hinge": ("#D55E00", "--"),
    "Omikuji, log": ("#D55E00", "-"),
    "PECOS": ("#CC79A7", "-"),
    "napkinXC PLT": ("#009E73", "-"),
    "napkinXC OPLT": ("#009E73", "--"),
    "VW `--plt`": ("#E69F00", "-"),
    "VW `--multilabel_oaa`": ("#E69F00", "--"),
    "fastText": ("#8C6D31", "-"),
    "scikit-learn": ("#7F7F7F", "-"),
}


def reliability(curves: dict[str, Curves], path: Path) -> None:
    """Draw a column for each set, with raw scores above and isotonic ones below."""
    figure, axes = plots.figure(len(curves), rows=2, size=(3.1, 3.7))
    for column, (name, contestants) in zip(axes.T, curves.items(), strict=True):
        for place, axis in enumerate(column):
            axis.plot([0, 1], [0, 1], ":", color="#7F7F7F")
            for contestant, both in contestants.items():
                drawn(axis, contestant, both[place])
            axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        column[0].set_title(name)
        column[1].set_xlabel("probability given")
    for axis, said in zip(axes[:, 0], ("as it comes", "after isotonic"), strict=True):
        axis.set_ylabel(f"how often it was true, {said}")
    plots.finish(figure, axes.flat, path, ncols=3, dpi=80)


def drawn(axis: Any, contestant: str, curve: ReliabilityCurve) -> None:
    start = next((each for each in STYLES if contestant.startswith(each)), None)
    colour, line = ("#7F7F7F", ":") if start is None else STYLES[start]
    axis.plot(
        curve.mean_probability,
        curve.frequency,
        line,
        color=colour,
        lw=1.8 if contestant.startswith("labeltrees") else 1.0,
        label=contestant.replace("`", ""),
    )
