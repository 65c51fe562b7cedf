"""Chooses the defaults of self-terminating trees on data that their benchmark does not judge by.

Sets are scikit-learn's small ones, synthetic ones, and the benchmark's *training* parts; each is
split once, two thirds to learn from. For every setting the penalty is
chosen on held-out rows as `fit` does. The rule: of the settings with fewer
leaves than scikit-learn's pruned tree (`self_terminating.pruned_tree`) on at least three in five
sets, the one of least loss (mean over sets of the log of log loss over scikit-learn's).

    python benchmarks/self_terminating_defaults.py --data DIR [--rows 2000]

The defaults were chosen with at most 2,000 rows of each set.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification

from harness.benchmark import Benchmark, Options, say
from harness.report import Block, notes, number, table
from labeltrees.data.rows import as_rows
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.self_terminating.settings import SelfTerminatingSettings
from labeltrees.models.self_terminating.training import (
    Targets,
    bin_rows,
    grow_core,
    hold_out,
    penalty_trials,
    smallest_good,
)
from self_terminating import SETS, laplace_log_loss, pruned_tree

SETTINGS = (  # criterion, split_terminated, min_gain and what it tries
    ("gini", True, "0.5", (0.5,)),
    ("gini", True, "1", (1.0,)),
    ("gini", True, "2", (2.0,)),
    ("gini", False, "0.5", (0.5,)),
    ("entropy", True, "4", (4.0,)),
)
TOLERANCES = (0.0, 0.01, 0.03, 0.05, 0.07, 0.1, 0.15)
NAMES = ("criterion", "split_terminated", "min_gain", "tolerance")
LEAST_SHARE = 0.6  # of sets with fewer leaves


def words(n_labels: int, seed: int):
    """Documents of 12 words, each from its label's own Zipf-like choice or from everyone's."""
    random, n_words = np.random.default_rng(seed), 1500
    frequency = 1 / np.arange(1, n_words + 1)
    y = random.integers(n_labels, size=2000)
    own = random.integers(n_words, size=(n_labels, 15))
    X = sparse.lil_array((len(y), n_words), dtype=np.float32)
    for row, label in enumerate(y):
        common = random.choice(n_words, size=8, p=frequency / frequency.sum())
        X[row, np.concatenate([common, random.choice(own[label], size=4)])] = 1
    return X.tocsr(), y


def sets(folder: Path):
    yield "iris", *load_iris(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    for seed, (n_labels, noise) in enumerate([(3, 0.0), (8, 0.1), (20, 0.02), (5, 0.3)]):
        X, y = make_classification(
            2000, 20, n_informative=8, n_classes=n_labels, flip_y=noise, random_state=seed
        )
        yield f"clusters {n_labels} {noise}", X, y
    yield "words 40", *words(40, 0)
    yield "words 100", *words(100, 1)
    for name, read in SETS.items():
        yield f"{name} (training)", *read(folder)[:2]


def results(X, y, X_asked, y_asked) -> dict[tuple, tuple[float, int]]:
    """Log loss and leaves of every setting, in the order of NAMES."""
    rows, asked = as_rows(X), as_rows(X_asked)
    vocabulary = LabelVocabulary(sorted(set(y.tolist())))
    targets = Targets(vocabulary.ids(y), np.empty(0), np.empty(0, dtype=np.int64), len(vocabulary))
    folds = hold_out(rows, targets, SelfTerminatingSettings().growth(), seed=0)
    found = {}
    for criterion, terminated, name, gains in SETTINGS:
        plain = SelfTerminatingSettings(criterion=criterion, split_terminated=terminated).growth()
        trials = penalty_trials(folds, plain, gains)
        for tolerance in TOLERANCES:
            best = smallest_good(trials, tolerance)
            growth = replace(plain, min_gain=best.min_gain)
            core = grow_core(bin_rows(rows, growth), targets, [best.penalty], growth)
            p = core.probabilities_at(core.leaves(*asked.arrays), vocabulary.ids(y_asked))
            result = float(-np.log(p[p > 0]).mean()), int((core.left() < 0).sum())
            found[criterion, terminated, name, tolerance] = result
    return found


def section(options: Options) -> list[Block]:
    """Return the best settings of each set, and a table of all settings."""
    losses, leaves, lines = [], [], []  # by set and setting
    for name, X, y in sets(options.data):
        say(f"  {name}")
        order = np.random.default_rng(1).permutation(X.shape[0])[: options.own.rows]
        n_learned = 2 * len(order) // 3
        X, y = X[order], np.asarray(y)[order]
        parts = X[:n_learned], y[:n_learned], X[n_learned:], y[n_learned:]
        theirs = pruned_tree(*parts[:2])
        their_loss = laplace_log_loss(theirs, theirs.classes_, *parts[2:])
        found = results(*parts)
        losses.append(np.log([loss / their_loss for loss, _ in found.values()]))
        leaves.append([n / theirs.get_n_leaves() for _, n in found.values()])
        best = list(found)[int(np.argmin(losses[-1]))]
        lines.append(f"{name}: theirs {their_loss:.3f}, ours at best {found[best][0]:.3f} {best}")
    loss, smaller = np.mean(losses, axis=0), (np.array(leaves) < 1).mean(axis=0)
    better = (np.array(losses) < 0).mean(axis=0)
    winner = int(np.where(smaller >= LEAST_SHARE, loss, np.inf).argmin())
    rows = [
        [
            *setting,
            number(loss[i], 3),
            number(np.log(leaves).mean(axis=0)[i], 2),
            f"{better[i]:.0%}",
            f"{smaller[i]:.0%}",
            "chosen" if i == winner else "",
        ]
        for i, setting in enumerate(found)
    ]
    header = [*NAMES, "loss", "leaves", "better", "smaller", ""]
    return [notes(*lines), table(header, rows)]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, help="at most so many rows of a set")


BENCHMARK = Benchmark(
    "self_terminating_defaults",
    __doc__,
    {"defaults": section},
    takes=("data",),
    needs_data=True,
    arguments=arguments,
)

if __name__ == "__main__":
    BENCHMARK.main()
