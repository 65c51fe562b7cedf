"""Paper 1, "Conditional probability tree estimation analysis and algorithms": its experiments.

    python benchmarks/papers/paper1.py --data DIR
    python benchmarks/papers/paper1.py --data DIR --only reuters

reuters      section 4.3.1 with rcv1-sub1 (5,000 of the paper's 780,000 documents), one label drawn
             for each document, and the search over alpha
advertising  section 4.3.2 with other events, which are the identifiers after three tokens of
             Python source, in the order of the files
tradeoff     the curve after Theorem 3 with its bound by the number of regressors, and measurements

Every number of the paper stands beside ours. Trees are the paper's: squared loss, gradient descent,
rule (5) by numbers of labels.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import paths
from events import next_identifiers

from harness.benchmark import Benchmark, Options
from harness.report import Block, left_out, notes, number, table
from labeltrees import (
    ConditionalTreeClassifier,
    FrequencyTableClassifier,
    OneAgainstAllClassifier,
)
from labeltrees.data.repeated import repeated_rows
from labeltrees.data.rows import as_rows
from labeltrees.errors import DivergedError
from labeltrees.metrics import equivalent_labels, hoeffding_radius, squared_loss
from online_sections import arity
from online_sections.small_data import drawn

RATES = (0.5, 0.1, 0.2, 1.0, 2.0)
ALPHAS = (0.6, 0.2, 0.4, 0.8, 0.9)
REUTERS = {
    "one-against-all": ("0.55 ± .012", "2300"),
    "CPT, random tree": ("0.56 ± .012", ""),
    "CPT, balanced tree": ("0.56 ± .012", ""),
    "CPT, online tree": ("0.56 ± .012", "108"),
}
ADS = {
    "table": ("0.812 ± .00055", "10.11"),
    "random tree": ("0.7742 ± .00055", "8.32"),
    "balanced tree": ("0.7725 ± .00055", "8.25"),
    "online tree": ("0.7632 ± .00055", "7.91"),
    "best possible": ("0.665", "5.42"),
}


REGRESSORS = {"loss": "squared", "optimizer": "sgd"}
#: Settings of the paper's tree, which is one tree with rule (5) by labels.
PAPER = REGRESSORS | {"balance": "labels", "refine": 0, "n_trees": 1}


@dataclass(frozen=True, eq=False)
class Learned:
    """A model, its progressive loss in the last training pass, and what training took."""

    model: Any
    training_loss: float
    seconds: float
    n_regressors: float | None = None
    """How many regressors learn from a training row, on average."""


def tree(rate: float, *, alpha: float = 0.6, structure: str = "online") -> Any:
    """Return the paper's tree; "random" has uniform decisions until a leaf is met."""
    return ConditionalTreeClassifier(
        **PAPER, structure=structure, alpha=alpha, learning_rate=rate, n_passes=1
    )


def learned(model: Any, train: tuple[Any, np.ndarray], n_passes: int) -> Learned:
    """Train in passes that keep the structure of the first one."""
    X, y = train
    started, seen = time.process_time(), None
    for n_before in range(n_passes):
        if n_before == 0 and model.structure != "online":
            model.fit(X, y)
        else:
            seen = model.progressive_fit(X, y, k=0)
    seconds = time.process_time() - started
    p = model.predict_label_proba(X, y) if seen is None else seen.p_label
    tree_ = model.tree_
    depths = dict(zip(tree_.label.tolist(), tree_.depths.tolist(), strict=True))
    place = {label: i for i, label in enumerate(model.classes_.tolist())}
    n_regressors = float(np.mean([depths[place[label]] for label in y.tolist()]))
    return Learned(model, squared_loss(np.clip(p, 0, 1)), seconds, n_regressors)


def every_label(rate: float, train: tuple[Any, np.ndarray]) -> Learned:
    """Train one-against-all in one pass; its prediction for a row is f_y(x), not normalised."""
    X, y = train
    model = OneAgainstAllClassifier(**REGRESSORS, learning_rate=rate, n_passes=1)
    started = time.process_time()
    said = model.progressive_scores(X, y)
    seconds = time.process_time() - started
    loss = squared_loss(np.clip(said, 0, 1))
    return Learned(model, loss, seconds, float(len(np.unique(y))))


def table_of(train: tuple[Any, np.ndarray]) -> Learned:
    """Count the labels of each row; a row never seen has probability 0 of any."""
    model = FrequencyTableClassifier(back_off=0)
    started = time.process_time()
    seen = model.progressive_fit(*train, k=0)
    return Learned(model, squared_loss(seen.p_label), time.process_time() - started)


def scores(run: Learned, test: tuple[Any, np.ndarray]) -> tuple[float, float]:
    """Return the squared loss of test rows not learned, and of the same learned one by one."""
    X, y = test
    if isinstance(run.model, OneAgainstAllClassifier):
        frozen = run.model.model_.label_scores(as_rows(X), y)
        progressive = run.model.progressive_scores(X, y)
    else:
        frozen = run.model.predict_label_proba(X, y)
        progressive = run.model.progressive_fit(X, y, k=0).p_label
    return squared_loss(np.clip(frozen, 0, 1)), squared_loss(np.clip(progressive, 0, 1))


def chosen(make: Callable[..., Learned], grid: list[tuple]) -> tuple[tuple, Learned]:
    """Return the settings with the least training error, and what they learned."""
    runs = tried(make, grid)
    best = min(runs, key=lambda each: runs[each].training_loss)
    return best, runs[best]


def tried(make: Callable[..., Learned], grid: list[tuple]) -> dict[tuple, Learned]:
    """Return what each of the settings learned, without those whose weights grew without bound.

    If all did, the last one's error is raised.
    """
    runs, failure = {}, None
    for settings in grid:
        try:
            runs[settings] = make(*settings)
        except DivergedError as error:
            print(f"left out, {settings}: {error}", file=sys.stderr, flush=True)
            failure = error
    if failure is not None and not runs:
        raise failure
    return runs


def shown(loss: float, n_rows: int) -> str:
    return f"{loss:.4f} ± {hoeffding_radius(n_rows):.4f}"


# Section 4.3.1.


def reuters(options: Options) -> list[Block]:
    """Return the table of section 4.3.1, and the search over alpha."""
    title = "### Reuters RCV1 (section 4.3.1)"
    folder = options.folder("rcv1-sub1")
    if folder is None:
        return left_out(title, "folder with rcv1-sub1")
    random = np.random.RandomState(0)
    train, test = (drawn(folder / f"{part}.txt.gz", random) for part in ("train", "test"))
    learn = partial(learned, train=train, n_passes=2)
    rates = [(rate,) for rate in options.some(RATES, 2)]
    runs = {
        "one-against-all": chosen(lambda rate: every_label(rate, train), rates),
        "CPT, random tree": chosen(lambda rate: learn(tree(rate, structure="random")), rates),
        "CPT, balanced tree": chosen(lambda rate: learn(tree(rate, alpha=1.0)), rates),
    }
    (rate,), _ = runs["CPT, balanced tree"]
    alphas = [(alpha,) for alpha in options.some(sorted(ALPHAS), 2)]
    by_alpha = tried(lambda alpha: learn(tree(rate, alpha=alpha)), alphas)
    (alpha,) = min(by_alpha, key=lambda each: by_alpha[each].training_loss)
    runs["CPT, online tree"] = chosen(lambda rate: learn(tree(rate, alpha=alpha)), rates)
    rows = [reuters_row(name, *run, alpha, test) for name, run in runs.items()]
    header = ["learner", "paper", "ours, progressive", "ours, test rows not learned", "rate"]
    header += ["training loss", "regressors per row", "paper, training s", "ours, training s"]
    said = notes(
        f"{len(train[1]):,} rows to learn (paper: 780,000), {len(test[1]):,} to test (20,000), "
        f"{len(np.unique(train[1]))} labels. Means of (1 - f(x, y))²; ± is Hoeffding's at .05. "
        "One-against-all has one pass and answers f_y(x), trees have two passes.",
        f"Rates of {options.some(RATES, 2)} and alpha of {options.some(sorted(ALPHAS), 2)}: those "
        "with the least training loss, which is the progressive one of the last pass.",
    )
    search = [alpha_row(each, run, len(train[1])) for (each,), run in by_alpha.items()]
    head = ["alpha", "training loss", "mean depth of a row", "depth", "Theorem 7's bound"]
    return [title, table(header, rows), said, "Search over alpha:", table(head, search)]


def reuters_row(name: str, settings: tuple, run: Learned, alpha: float, test: Any) -> list[str]:
    frozen, progressive = scores(run, test)
    paper, seconds = REUTERS[name]
    label = f"{name} (alpha = {alpha:g}; paper 0.6)" if "online" in name else name
    return [
        label,
        paper,
        shown(progressive, len(test[1])),
        number(frozen),
        f"{settings[0]:g}",
        number(run.training_loss),
        number(run.n_regressors, 1),
        seconds or "-",
        number(run.seconds, 2),
    ]


def alpha_row(alpha: float, run: Learned, n_rows: int) -> list[str]:
    tree_ = run.model.tree_
    kappa = 1 / (1 + 2 ** (1 - 1 / alpha))
    bound = math.log(tree_.n_labels) / math.log(1 / kappa) + 2
    loss = shown(run.training_loss, n_rows)
    return [f"{alpha:g}", loss, number(run.n_regressors, 2), str(tree_.depth), number(bound, 1)]


# Section 4.3.2.


def advertising(options: Options) -> list[Block]:
    """Return the table of section 4.3.2 for events that we have."""
    limit = 2_000 if options.quick else 1_500_000 if options.full else 200_000
    train, test = next_identifiers(limit).halves()
    learn = partial(learned, train=train, n_passes=1)
    rates = [(rate,) for rate in options.some(RATES, 2)]
    runs: dict[str, tuple[tuple, Learned]] = {"table": ((), table_of(train))}
    runs["random tree"] = chosen(lambda rate: learn(tree(rate, structure="random")), rates)
    runs["balanced tree"] = chosen(lambda rate: learn(tree(rate, alpha=1.0)), rates)
    (rate,), _ = runs["balanced tree"]
    grid = [(rate, alpha) for alpha in options.some(ALPHAS, 2)]
    runs["online tree"] = chosen(lambda rate, alpha: learn(tree(rate, alpha=alpha)), grid)
    rows = [ads_row(name, *run, test) for name, run in runs.items()]
    for name, loss in best_possible(*test).items():
        paper = ADS.get(name, ("-", "-"))
        rows.append([name, *paper, number(loss), number(equivalent_labels(loss), 2), "-", "-"])
    header = ["learner", "paper, ads", "paper, equivalent", "ours", "ours, equivalent"]
    header += ["settings", "training s"]
    seen, first_seen = set(train[1].tolist()), repeated_rows(*train).weights
    new = np.mean([label not in seen for label in test[1].tolist()])
    said = notes(
        "The paper's pages and advertisements are not public. Here a page is three tokens of "
        "Python source, an advertisement the identifier that follows, files one after the other: "
        f"{len(train[1]):,} events to learn with {len(first_seen):,} pages and {len(seen):,} "
        f"labels (paper: 40 million, 5.8 million, 860,000), {len(test[1]):,} to test; "
        f"{100 * new:.1f} % of those have a label never seen, which costs 1.",
        "Progressive: learning goes on while testing. One pass. Settings with the least training "
        f"loss: rates {options.some(RATES, 2)}, then alpha {options.some(ALPHAS, 2)}. The random "
        "tree is over the labels of the events to learn, and its training loss is of these events "
        "after they are learned; labels that come later go by rule (5).",
        '"Best possible" are the frequencies of the test events themselves, as in the paper; '
        '"least loss of any f" is the least that any probabilities have on them: (1 - f)² rewards '
        "over-confidence.",
    )
    title = "### Web advertising (section 4.3.2)"
    return [title, table(header, rows), said]


def ads_row(name: str, settings: tuple, run: Learned, test: Any) -> list[str]:
    loss = scores(run, test)[1]
    used = "rate {:g}, alpha {:g}" if len(settings) == 2 else "rate {:g}" if settings else "-"
    return [
        name,
        *ADS[name],
        shown(loss, len(test[1])),
        number(equivalent_labels(loss), 2),
        used.format(*settings),
        number(run.seconds, 2),
    ]


def best_possible(X: Any, y: np.ndarray) -> dict[str, float]:
    """Return the losses of the test events' own frequencies, and of the best f with sum 1."""
    found = repeated_rows(X, y)
    losses = [
        weight * least_loss(found.P.data[begin:end])
        for begin, end, weight in zip(
            found.P.indptr[:-1], found.P.indptr[1:], found.weights, strict=True
        )
    ]
    least = sum(losses) / found.weights.sum()
    return {"best possible": squared_loss(found.p_label), "least loss of any f": float(least)}


def least_loss(p: np.ndarray) -> float:
    """Return the least sum_y p_y (1 - f_y)² over f >= 0 with sum 1.

    If f_y > 0, its slope is the same, so 1 - f_y = c / p_y. Labels enter by size while f stays
    above 0.
    """
    p = np.sort(p)[::-1]
    inverse = np.cumsum(1 / p)
    n = np.arange(1, len(p) + 1)
    c = (n - 1) / inverse
    n_used = int(np.flatnonzero(c < p).max()) + 1
    return float(c[n_used - 1] ** 2 * inverse[n_used - 1] + p[n_used:].sum())


# The curve after Theorem 3.


def tradeoff(options: Options) -> list[Block]:
    """Return Theorem 3's bound by the number of regressors, and measurements of the same."""
    n_labels = 2**14
    rows = []
    for bits in (1, 2, 3, 4, 5, 6, 7, 14):
        k, depth = 2**bits, 14 / bits
        rows.append([
            f"k = {k:,}" + {1: " (tree)", 14: " (PECOC)"}.get(bits, ""),
            number((k - 1) * depth, 0),
            number(4 * depth**2 * ((k - 1) / k) ** 2, 1),
        ])  # fmt: skip
    header = ["", "regressors asked", "bound on the squared loss, times epsilon²"]
    title = "### Robustness against computation (the curve after Theorem 3)"
    said = f"Theorem 3 for n = {n_labels:,} labels, (k - 1) log_k n regressors."
    measured = arity.section(replace(options, limit=400 if options.quick else None))
    return [title, table(header, rows), said, *measured]


SECTIONS = {"reuters": reuters, "advertising": advertising, "tradeoff": tradeoff}


BENCHMARK = Benchmark("papers/paper1", __doc__, SECTIONS, paths.OPTIONS)


if __name__ == "__main__":
    BENCHMARK.main()
