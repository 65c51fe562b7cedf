"""The presets of extreme regression on bibtex, with inverse propensities as relevance.

    python benchmarks/extreme_presets.py --data DIR

Each preset as it is, and equation 13 also with C times the number of rows.
"""

from __future__ import annotations

import time
from typing import Any, get_args

from batch_sections.our_models import ranked_labels
from harness.benchmark import Benchmark, Options, say
from harness.data_sets import Split, whole
from harness.report import Block, left_out, table
from labeltrees import ExtremeRegressor
from labeltrees.metrics import auc_at_k, coverage_at_k, propensities, psndcg_at_k, psp_at_k
from labeltrees.models.extreme.settings import PresetName

NUMBERS = ["PSP@1", "PSP@3", "PSP@5", "AUC@5", "mean AUC@5", "PSnDCG@5", "coverage@5"]
HEADER = ["preset", "C", *NUMBERS, "weights", "train s"]
#: Tables 2 and 6 of the paper.
PUBLISHED = [
    ["paper's XReg", "-", "49.66", "52.66", "58.61", "52.35", "-", "54.98", "-", "-", "-"],
    ["paper's Parabel", "-", "50.88", "52.42", "57.36", "51.48", "-", "54.58", "-", "-", "-"],
]


def scores(model: ExtremeRegressor, split: Split) -> dict[str, float]:
    """Return the scores of the test rows, by the propensities of the training rows."""
    p = propensities(split.Y)
    n_labels = split.Y.shape[1]
    found = ranked_labels(model, split.X_test, min(100, n_labels), n_labels)
    relevance = split.Y_test.multiply(p.min() / p).tocsr()
    found.data *= p.min()
    return {
        **{f"PSP@{k}": psp_at_k(split.Y_test, found, k, p) for k in (1, 3, 5)},
        "AUC@5": auc_at_k(relevance, found, 5),
        "mean AUC@5": auc_at_k(relevance, found, 5, average="mean"),
        "PSnDCG@5": psndcg_at_k(split.Y_test, found, 5, p),
        "coverage@5": coverage_at_k(split.Y_test, found, 5),
    }


def row(name: PresetName, split: Split, **given: Any) -> list[str]:
    """Return a preset's line of the table; Parabel learns from labels alone."""
    if name != "parabel":
        given["relevance"] = "propensity"
    model = ExtremeRegressor.preset(name, **given)
    started = time.perf_counter()
    model.fit(split.X, split.Y)
    seconds = time.perf_counter() - started
    found = scores(model, split)
    weights = model.model_.describe()["weights"]
    numbers = [f"{100 * found[key]:.2f}" for key in NUMBERS]
    return [name, f"{model.cost:,.0f}", *numbers, f"{weights:,}", f"{seconds:.1f}"]


def section(options: Options) -> list[Block]:
    """Return a line for each preset, and the paper's."""
    if options.folder("bibtex") is None:
        return left_out("Presets", "folder with bibtex")
    split = whole(options.data, "bibtex", None)
    lines = [(name, {}) for name in get_args(PresetName)]
    lines.append(("paper", {"cost": 10.0 * split.X.shape[0]}))
    rows = []
    for name, given in lines:
        say(f"  {name}")
        rows.append(row(name, split, **given))
    return [table(HEADER, rows + PUBLISHED)]


BENCHMARK = Benchmark("extreme_presets", __doc__, {"presets": section}, ("data",), needs_data=True)

if __name__ == "__main__":
    BENCHMARK.main()
