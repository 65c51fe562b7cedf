"""The baselines of the extreme regression paper on its smallest set, beside its numbers.

Prints as Markdown what Tables 2 and 6 of Prabhu et al. (WSDM 2020) print for BibTeX: PSP@1, 3, 5,
PSnDCG@5 and AUC@5, each with the paper's number, and how long it took to learn. XLR, which the
paper uses only labelwise, is also measured by PSP@5 of rows ranked for each label.

    python benchmarks/multilabel_baselines.py --data DIR [--only NAME ...] [--choose]

DIR has bibtex in XC format, train.txt.gz and test.txt.gz. With ``--choose`` the settings are chosen
again on a tenth of the training rows, by models of the others. Test rows are not read.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.benchmark import Benchmark, Options
from harness.data_sets import Split, training_rows, whole
from harness.report import Block, number, table
from labeltrees import (
    Bm25Ranker,
    DismecRanker,
    LeastSquaresRegressor,
    LemlRegressor,
    PfastreXmlRanker,
    ProxmlRanker,
    RankSvmRanker,
    XlrRanker,
)
from labeltrees.metrics import auc_at_k, propensities, psndcg_at_k, psp_at_k
from labeltrees.metrics._multilabel import inverse_propensity_relevance

KS = (1, 3, 5)
GRIDS: dict[type, dict[str, list[Any]]] = {
    LeastSquaresRegressor: {"relevance": ["propensity"], "cost": [0.3, 1.0, 2.0, 3.0]},
    DismecRanker: {"cost": [0.1, 0.3, 0.6, 1.0, 2.0]},
    ProxmlRanker: {"cost": [0.5, 1.0, 2.0, 3.0]},
    RankSvmRanker: {"relevance": ["propensity"], "cost": [0.01, 0.03, 0.1, 0.3]},
    XlrRanker: {
        "n_factors": [20, 50, 100, 159],
        "n_rounds": [5],
        "cost": [0.001, 0.003, 0.01, 0.03, 0.1],
    },
    LemlRegressor: {
        "relevance": ["propensity"],
        "rank": [60, 100, 159],
        "penalty": [0.3, 0.6, 1.2],
    },
    PfastreXmlRanker: {"cost": [1.0, 4.0], "tail_weight": [0.6, 0.8, 1.0], "gamma": [30.0, 60.0]},
    Bm25Ranker: {"k1": [1.2, 10.0, 100.0, 1000.0], "b": [0.75, 1.0]},
}
#: Settings that held-out rows chose, and DiSMEC with the C of the DiSMEC paper. LEML and PfastreXML
#: were chosen by hand on a fifth of the training rows. The second LEML has a smaller penalty.
RUNS: list[tuple[type, dict[str, Any]]] = [
    (LeastSquaresRegressor, {"relevance": "propensity", "cost": 1.0}),
    (DismecRanker, {"cost": 0.6}),
    (DismecRanker, {"cost": 1.0}),
    (ProxmlRanker, {"cost": 2.0}),
    (RankSvmRanker, {"relevance": "propensity", "cost": 0.1}),
    (XlrRanker, {"n_factors": 159, "n_rounds": 5, "cost": 0.01}),
    (LemlRegressor, {"relevance": "propensity", "rank": 100, "penalty": 1.2}),
    (LemlRegressor, {"relevance": "propensity", "rank": 159, "penalty": 0.06}),
    (PfastreXmlRanker, {"cost": 4.0, "tail_weight": 0.6, "gamma": 60.0}),
    (Bm25Ranker, {"k1": 100.0, "b": 0.75}),
]
#: Tables 2 and 6 of the paper: PSP@1, 3, 5, nDCG@5 and AUC@5.
PUBLISHED: dict[type, tuple[float, ...]] = {
    LeastSquaresRegressor: (53.50, 55.10, 60.14, 57.30, 54.21),
    DismecRanker: (50.88, 52.52, 57.23, 54.54, 51.47),
    ProxmlRanker: (50.10, 52.00, 58.30),
    RankSvmRanker: (49.31, 51.79, 59.12, 54.97, 52.58),
    LemlRegressor: (51.30, 52.17, 56.42, 54.10, 51.58),
    PfastreXmlRanker: (52.43, 53.41, 59.75, 56.41, 53.68),
}
SHARED = ("PSP@1", "PSP@3", "PSP@5", "nDCG@5", "AUC@5")
HEADER = [
    "learner",
    *(column for name in SHARED for column in (name, f"{name}, paper")),
    *("labelwise PSP@5", "seconds to fit"),
]


def measured(model: Any, X: Any, Y: Any, propensity: Any) -> list[float]:
    """Return PSP@1, 3, 5, PSnDCG@5, AUC@5, and PSP@5 of rows ranked for each label, in percent."""
    scores = model.predict_scores(X)
    scores = scores - scores.min() + 1e-3  # the metrics take 0 for a label that was not scored
    relevance = inverse_propensity_relevance(Y, propensity)
    found = [psp_at_k(Y, scores, k, propensity) for k in KS]
    found.append(psndcg_at_k(Y, scores, 5, propensity))
    # Scores of PfastreXML may differ by less than the default tolerance, which would be ties.
    found.append(auc_at_k(relevance, scores, 5, tolerance=0))
    found.append(psp_at_k(Y, scores, 5, propensity, per="label"))
    return [100 * value for value in found]


def learned(kind: type, settings: dict[str, Any], X: Any, Y: Any) -> tuple[Any, float]:
    """Return the fitted estimator and the seconds that it took."""
    start = time.perf_counter()
    model = kind(calibrate=False, **settings).fit(X, Y)
    return model, time.perf_counter() - start


def chosen(kind: type, X: Any, Y: Any) -> tuple[dict[str, Any], list[list[Any]]]:
    """Return the settings with the best PSnDCG@5 on held-out training rows, and all that was tried.

    XLR is chosen by the rows that it ranks for each label.
    """
    order = np.random.default_rng(0).permutation(X.shape[0])
    held, rest = order[: len(order) // 10], order[len(order) // 10 :]
    propensity = propensities(Y)
    lines = []
    for values in itertools.product(*GRIDS[kind].values()):
        settings = dict(zip(GRIDS[kind], values, strict=True))
        model, _ = learned(kind, settings, X[rest], Y[rest])
        found = measured(model, X[held], Y[held], propensity)
        lines.append([found[5 if kind is XlrRanker else 3], settings])
    return max(lines, key=lambda line: line[0])[1], lines


def section(options: Options) -> Iterator[Block]:
    """Return the settings tried, if they are to be chosen, or the table."""
    kinds = [kind for kind in GRIDS if kind.__name__ in options.own.only]
    if options.own.choose:
        X, Y = training_rows(options.data, "bibtex", None)
        for kind in kinds:
            best, lines = chosen(kind, X, Y)
            tried = ", ".join(f"{settings} {value:.2f}" for value, settings in lines)
            by = "labelwise PSP@5" if kind is XlrRanker else "nDCG@5"
            yield f"- {kind.__name__}: {best} (held-out {by}: {tried})"
        return
    split = whole(options.data, "bibtex", None)
    propensity = propensities(split.Y)
    runs = [run for run in RUNS if run[0] in kinds]
    yield table(HEADER, [row(*run, split, propensity) for run in runs])


def row(kind: type, settings: dict[str, Any], split: Split, propensity: Any) -> list[str]:
    """Return our numbers, each beside the paper's."""
    model, seconds = learned(kind, settings, split.X, split.Y)
    found = measured(model, split.X_test, split.Y_test, propensity)
    paper = [*PUBLISHED.get(kind, ()), *[None] * 5][:5]
    cells = [number(value, 2) for pair in zip(found, paper, strict=False) for value in pair]
    named = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return [f"`{kind.__name__}({named})`", *cells, number(found[5], 2), number(seconds, 1)]


def arguments(parser: argparse.ArgumentParser) -> None:
    names = [kind.__name__ for kind in GRIDS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--choose", action="store_true", help="choose the settings again")


BENCHMARK = Benchmark(
    "multilabel_baselines",
    __doc__,
    {"baselines": section},
    takes=("data",),
    needs_data=True,
    arguments=arguments,
)

if __name__ == "__main__":
    BENCHMARK.main()
