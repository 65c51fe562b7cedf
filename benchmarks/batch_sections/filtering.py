"""Precision and recall of keeping predictions by their relevance: the paper's Figure 1."""

from __future__ import annotations

from batch_sections.our_models import regressor, top_labels
from harness.benchmark import Options
from harness.data_sets import whole
from harness.plots import links
from harness.report import Block, left_out, notes, number, table
from labeltrees.metrics import filtering_curve, plot_filtering_curves, propensities

KEPT_A_ROW = 20
RECALLS = (0.1, 0.2, 0.3, 0.4)


def section(options: Options, title: str = "Filtering by relevance") -> list[Block]:
    """Return precision at some recalls of each set, and draw the curves."""
    if not options.sets:
        return left_out(title, "folder with a multi-label set")
    rows = drawn(options)
    header = ["set", "kept", *(f"precision at recall {recall:g}" for recall in RECALLS)]
    said = notes(
        f"Relevances are inverse propensities over the largest; at most {KEPT_A_ROW} labels a row "
        "are predicted. Precision is the mean true relevance of what is kept, in %, recall its "
        "share of all relevance."
    )
    return [f"### {title}", table(header, rows), *links("filtering"), said]


def drawn(options: Options) -> list[list[str]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(options.sets), 4.2), layout="constrained")
    axes = figure.subplots(1, len(options.sets), squeeze=False)[0]
    rows = []
    for axis, name in zip(axes, options.sets, strict=True):
        split = whole(options.data, name, options.limit)
        p = propensities(split.Y)
        model = regressor(relevance="propensity", n_jobs=options.threads).fit(split.X, split.Y)
        n_labels = split.Y.shape[1]
        scores = top_labels(model, split.X_test, min(KEPT_A_ROW, n_labels), n_labels)
        scores.data *= p.min()
        truth = split.Y_test.multiply(p.min() / p).tocsr()
        plot_filtering_curves(truth, scores, ax=axis).set_title(name)
        for keep in ("relevance", "top_k", "random"):
            curve = filtering_curve(truth, scores, keep=keep, max_points=5_000)  # type: ignore[arg-type]
            at = [curve.precision[curve.recall >= recall][:1] for recall in RECALLS]
            shown = [number(100 * each[0], 2) if len(each) else "-" for each in at]
            rows.append([name, f"`{keep}`", *shown])
    options.plots.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.plots / "filtering.png", dpi=130)
    return rows
