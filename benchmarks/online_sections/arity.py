"""Loss against computation of conditional PECOC, from the tree (arity 2) to one node."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import plots
from harness.benchmark import Options
from harness.report import Block, left_out, notes, number, table
from labeltrees import ConditionalTreeClassifier
from labeltrees.metrics import log_loss, squared_loss
from online_sections.small_data import Part, SmallSet, clinc150

STRUCTURES = ("kmeans", "random")
N_PASSES = 3
RATES = (0.3, 1.0, 3.0)
SEEDS = (0, 1, 2)
HEADER = [
    *("structure", "arity", "learning rate", "regressors per prediction", "squared loss"),
    *("log loss", "error %", "regret factor"),
]

ARITY_COLOURS = {"kmeans": "#0072B2", "random": "#D55E00"}


@dataclass(frozen=True)
class Point:
    """The test scores of an arity with the learning rate chosen for it, means over seeds."""

    structure: str
    arity: int
    rate: float
    n_regressors: float
    squared_loss: float
    log_loss: float
    error: float
    regret_factor: float


def section(options: Options) -> list[Block]:
    """Return a table of arities, and draw them."""
    title = "Arity"
    folder = options.folder("clinc150")
    if folder is None:
        return left_out(title, "folder with clinc150")
    data = clinc150(folder).first(options.limit)
    points = [
        best(data, structure, arity) for structure in STRUCTURES for arity in arities(data.n_labels)
    ]
    draw(points, options.plots)
    said = notes(
        f"{data.name}: {len(data.train[1]):,} rows to learn, {data.n_labels} labels, without "
        "mixing, which only binary trees have. Regressors per prediction of P(y given x), over "
        f"the test rows; {N_PASSES} passes, means over {len(SEEDS)} seeds. The learning rate is "
        f"the one of {RATES} with the least log loss on held-out rows.",
        "The regret factor is Theorem 3's bound, 4 (log n / log k)² ((k - 1) / k)², with k = n "
        "for one node.",
    )
    blocks = [f"### {title}", table(HEADER, [row(point) for point in points]), "", said, ""]
    return [*blocks, *plots.links("arity")]


def draw(points: list[Point], folder: Path) -> None:
    """Draw losses and Theorem 3's bound against the number of regressors per prediction."""
    from matplotlib.ticker import StrMethodFormatter

    panels = {
        "squared_loss": "squared loss",
        "log_loss": "log loss",
        "regret_factor": "bound on the regret factor",
    }
    figure, grid = plots.figure(1, rows=len(panels), size=(4.8, 2.5))
    axes = grid[:, 0]
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
        axis.set(title=f"{title}, by arity", xscale="log")
        axis.set_ylim(0, 1.12 * max(getattr(each, name) for each in points))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes[-1].set_xlabel("regressors per prediction")
    plots.titled(figure, "A larger arity improves only the bound")
    plots.finish(figure, axes, folder / "arity.png")


def arities(n_labels: int) -> list[int]:
    """Return 2, 4, ... up to the first that is one node for all labels."""
    return [2**bits for bits in range(1, max(2, (n_labels - 1).bit_length() + 1))]


def best(data: SmallSet, structure: str, arity: int) -> Point:
    """Return the test scores of the rate with the least log loss on the rows to choose by."""
    tried = {rate: fitted(data, structure, arity, rate) for rate in RATES}
    chosen = min(tried, key=lambda each: scores(tried[each], data.valid)[1])
    squared, log, error = scores(tried[chosen], data.test)
    depth = max(1.0, np.log(data.n_labels) / np.log(arity))
    k = min(arity, data.n_labels)
    return Point(
        structure=structure,
        arity=arity,
        rate=chosen,
        n_regressors=float(np.mean([cost(model, data.test[1]) for model in tried[chosen]])),
        squared_loss=squared,
        log_loss=log,
        error=error,
        regret_factor=float(4 * depth**2 * ((k - 1) / k) ** 2),
    )


def fitted(
    data: SmallSet, structure: str, arity: int, rate: float
) -> list[ConditionalTreeClassifier]:
    return [
        ConditionalTreeClassifier(
            structure=structure,
            arity=arity,
            n_trees=1,
            refine=0,
            n_passes=N_PASSES,
            learning_rate=rate,
            mixing=False,
            random_state=seed,
        ).fit(*data.train)
        for seed in SEEDS
    ]


def scores(models: list[ConditionalTreeClassifier], part: Part) -> tuple[float, float, float]:
    """Return squared loss, log loss and error, means over the models."""
    X, y = part
    p = [model.predict_label_proba(X, y) for model in models]
    error = np.mean([np.mean(model.predict(X) != y) for model in models])
    return (
        float(np.mean([squared_loss(each) for each in p])),
        float(np.mean([log_loss(each) for each in p])),
        float(error),
    )


def cost(model: ConditionalTreeClassifier, labels: np.ndarray) -> float:
    """Return the mean number of regressors that P(label given x) evaluates."""
    tree = model.tree_
    code_size = np.where(
        tree.n_children > 1, 2.0 ** np.ceil(np.log2(np.maximum(tree.n_children, 1))), 1
    )
    asked = code_size - 1
    above = np.zeros(tree.n_nodes)  # a parent's number is below its children's
    for node in range(1, tree.n_nodes):
        above[node] = above[tree.parent[node]] + asked[tree.parent[node]]
    of_label = dict(zip(tree.label.tolist(), above.tolist(), strict=True))
    place = {name: i for i, name in enumerate(model.classes_.tolist())}
    return float(np.mean([of_label[place[label]] for label in labels.tolist() if label in place]))


def row(point: Point) -> list[str]:
    return [
        point.structure,
        str(point.arity),
        f"{point.rate:g}",
        number(point.n_regressors, 1),
        number(point.squared_loss),
        number(point.log_loss),
        number(100 * point.error, 2),
        number(point.regret_factor, 1),
    ]
