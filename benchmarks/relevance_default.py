"""Should `ExtremeRegressor` weight relevance by propensity by default? Measured on training rows.

The last fifth of each set's training rows is predicted, the others are trained on, with several
seeds; test rows are never read. Prints P@1, P@3 and P@5 of both as Markdown and what the rule says:
`relevance="propensity"` becomes the default if, averaged over the sets, each of P@1, P@3 and P@5 is
at least as high as with `relevance=None`, and on no set more than 1 % (relative) lower.

    python benchmarks/relevance_default.py --data DIR [--sets bibtex delicious] [--seeds 5]

DIR has bibtex, delicious and rcv1-sub1 in XC format and yso-en as `label ids<TAB>text`, or some.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.benchmark import Benchmark, Options, say
from harness.data_sets import training_rows
from harness.report import Block, number, table
from labeltrees import ExtremeRegressor

SETS = ("bibtex", "delicious", "rcv1-sub1", "yso-en")
KS = (1, 3, 5)
MOST_WORSE = 0.01
WAYS = (None, "propensity")
MOST_ROWS = 30_000
HEADER = ["set", "`relevance`", "P@1", "P@3", "P@5", "more P@1", "more P@3", "more P@5"]


def hits(model: Any, X: csr_array, Y: csr_array) -> NDArray[np.float64]:
    """Return P@1, P@3 and P@5 of each row, by the order that the model gives its labels."""
    labels = model.predict_top_k(X, max(KS)).labels
    found = np.not_equal(labels, None)
    rows = np.broadcast_to(np.arange(len(labels))[:, np.newaxis], labels.shape)
    true = np.zeros(labels.shape)
    true[found] = np.asarray(Y[rows[found], labels[found].astype(np.int64)]).ravel() > 0
    return np.column_stack([true[:, :k].mean(axis=1) for k in KS])


def compared(X: csr_array, Y: csr_array, seeds: int) -> dict[Any, NDArray[np.float64]]:
    """Return the mean over the seeds of each row's P@k, in percent, by way."""
    n_learned = X.shape[0] - X.shape[0] // 5
    return {
        way: np.mean(
            [
                100
                * hits(
                    ExtremeRegressor(relevance=way, random_state=seed).fit(
                        X[:n_learned], Y[:n_learned]
                    ),
                    X[n_learned:],
                    Y[n_learned:],
                )
                for seed in range(seeds)
            ],
            axis=0,
        )
        for way in WAYS
    }


def lines_of(name: str, found: dict[Any, NDArray[np.float64]]) -> list[list[str]]:
    """Return the two rows of one set's table; +- is one standard error over the rows."""
    more = found["propensity"] - found[None]
    errors = more.std(axis=0) / np.sqrt(len(more))
    gains = [f"{gain:+.2f} +- {e:.2f}" for gain, e in zip(more.mean(axis=0), errors, strict=True)]
    first, second = ([number(p, 2) for p in found[way].mean(axis=0)] for way in WAYS)
    return [[name, "None", *first, "", "", ""], ["", '"propensity"', *second, *gains]]


def verdict(means: dict[str, dict[Any, NDArray[np.float64]]]) -> str:
    """Return what the rule says of P@k by set and way."""
    usual, other = (np.mean([found[way] for found in means.values()], axis=0) for way in WAYS)
    lost = [
        name
        for name, found in means.items()
        if (found["propensity"] < (1 - MOST_WORSE) * found[None]).any()
    ]
    ahead = bool((other >= usual).all())
    chosen = 'relevance="propensity"' if ahead and not lost else "relevance=None"
    gains = " / ".join(f"{gain:+.2f}" for gain in other - usual)
    return (
        f"Averaged over the sets, propensity has {gains} P@1 / 3 / 5; it is more than 1 % worse on "
        f"{', '.join(lost) or 'no set'}. By the rule the default is {chosen}."
    )


def section(options: Options) -> list[Block]:
    """Return the table, and the default that follows from it."""
    own, means, rows = options.own, {}, []
    for name in options.sets:
        say(f"  {name}")
        found = compared(*training_rows(options.data, name, options.rows(MOST_ROWS)), own.seeds)
        rows += lines_of(name, found)
        means[name] = {way: p.mean(axis=0) for way, p in found.items()}
    return [table(HEADER, rows), verdict(means)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=3, help="models of each kind")


def refuse(options: Options) -> str | None:
    return None if options.own.seeds > 0 else "--seeds must be at least 1"


BENCHMARK = Benchmark(
    "relevance_default",
    __doc__,
    {"relevance": section},
    takes=("data", "limit"),
    sets=SETS,
    needs_data=True,
    arguments=arguments,
    refuse=refuse,
)

if __name__ == "__main__":
    BENCHMARK.main()
