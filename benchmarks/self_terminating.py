"""Self-terminating trees against scikit-learn's decision tree, both choosing their own size.

scikit-learn's tree is pruned by cost complexity, its alpha chosen from ten of the pruning path by
3-fold cross-validation, its leaves smoothed by Laplace's rule; the criterion of both choices is log
loss. Ours is `SelfTerminatingTreeClassifier()` as it is, and with ``min_gain=2``, for small trees.
Times are CPU times of all of `fit`, choosing included, one thread each. Prints Markdown tables,
wins and losses.

    python benchmarks/self_terminating.py --data DIR [--only pruned]

DIR has letter/letter.csv.gz, rcv1-sub1 and bibtex in XC format, clinc150 as label<TAB>text.
"""

from __future__ import annotations

import csv
import gzip
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from harness.benchmark import Benchmark, Options
from harness.report import Block, left_out, number, table
from labeltrees import SelfTerminatingTreeClassifier
from labeltrees.data.readers import open_reader

HEADER = [
    *("set", "rows x features", "labels", "min_gain", "penalty", "log loss", "log loss, theirs"),
    *("leaves", "leaves, theirs", "CPU seconds", "CPU seconds, theirs"),
    *("accuracy", "accuracy, theirs"),
]
QUANTILES = (0.5, 0.7, 0.8, 0.9, 0.94, 0.97, 0.985, 0.993, 0.997, 0.999)


def letter(folder: Path):
    with gzip.open(folder / "letter" / "letter.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([row[1:] for row in rows], dtype=np.float32)
    y = np.array([row[0] for row in rows])
    return X[:15_000], y[:15_000], X[15_000:], y[15_000:]


def digits(_: Path):
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    X, y = X[order].astype(np.float32), y[order]
    return X[:1200], y[:1200], X[1200:], y[1200:]


def xc(folder: Path):
    """An XC set with one of each row's labels drawn; rows without a label are left out."""
    parts = []
    for name in ("train.txt.gz", "test.txt.gz"):
        draw, labels, features = np.random.RandomState(0), [], []
        for chunk in open_reader(str(folder / name), format="xc"):
            sizes = np.diff(chunk.label_starts)
            some = sizes > 0
            features.append(chunk.features[some])
            for begin, size in zip(chunk.label_starts[:-1][some], sizes[some], strict=True):
                labels.append(chunk.labels[begin + draw.randint(size)])
        parts += [sparse.vstack(features).tocsr(), np.array(labels)]
    return tuple(parts)


def clinc150(folder: Path):
    parts, vectorizer = [], HashingVectorizer(n_features=2**12, alternate_sign=False)
    for name in ("train.tsv.gz", "test.tsv.gz"):
        with gzip.open(folder / "clinc150" / name, "rt", encoding="utf-8") as file:
            pairs = [line.rstrip("\n").split("\t", 1) for line in file]
        X = vectorizer.transform(text for _, text in pairs).astype(np.float32)
        parts += [X, np.array([label for label, _ in pairs])]
    return tuple(parts)


SETS = {
    "letter": letter,
    "rcv1-sub1": lambda folder: xc(folder / "rcv1-sub1"),
    "clinc150": clinc150,
    "bibtex": lambda folder: xc(folder / "bibtex"),
    "digits": digits,
}


def laplace_log_loss(tree: DecisionTreeClassifier, classes, X, y) -> float:
    """Mean log loss over rows whose label is one of ``classes``."""
    n_node = tree.tree_.weighted_n_node_samples
    leaves = tree.apply(X)
    known = np.isin(y, classes)
    columns = np.searchsorted(tree.classes_, y[known])
    columns = np.minimum(columns, len(tree.classes_) - 1)
    learned = tree.classes_[columns] == y[known]
    count = tree.tree_.value[leaves[known], 0, columns] * n_node[leaves[known]] * learned
    return float(-np.log((count + 1) / (n_node[leaves[known]] + len(classes))).mean())


def pruned_tree(X, y) -> DecisionTreeClassifier:
    path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y).ccp_alphas
    alphas = np.unique(np.quantile(np.maximum(path, 0), QUANTILES))
    classes = np.unique(y)
    losses = np.zeros(len(alphas))
    for grown_on, held_out in KFold(3, shuffle=True, random_state=0).split(X):
        for i, alpha in enumerate(alphas):
            tree = DecisionTreeClassifier(random_state=0, ccp_alpha=alpha)
            tree.fit(X[grown_on], y[grown_on])
            losses[i] += laplace_log_loss(tree, classes, X[held_out], y[held_out])
    return DecisionTreeClassifier(random_state=0, ccp_alpha=alphas[losses.argmin()]).fit(X, y)


def compare(name: str, X, y, X_test, y_test) -> list[list]:
    started = time.process_time()
    theirs = pruned_tree(X, y)
    their_time = time.process_time() - started
    their_loss = laplace_log_loss(theirs, theirs.classes_, X_test, y_test)
    their_accuracy = float((theirs.predict(X_test) == y_test).mean())
    rows = []
    for settings in ({}, {"min_gain": 2.0}):
        started = time.process_time()
        ours = SelfTerminatingTreeClassifier(**settings).fit(X, y)
        our_time = time.process_time() - started
        p = ours.predict_label_proba(X_test, y_test)
        our_loss = float(-np.log(p[p > 0]).mean())
        our_accuracy = float((ours.predict(X_test) == y_test).mean())
        rows.append([
            name, f"{X.shape[0]} x {X.shape[1]}", len(ours.classes_), f"{ours.min_gain_:g}",
            f"{ours.penalty_:.3g}", number(our_loss), number(their_loss), ours.get_n_leaves(),
            theirs.get_n_leaves(), number(our_time, 2), number(their_time, 2),
            number(our_accuracy), number(their_accuracy),
        ])  # fmt: skip
    return rows


def speed(X, y, *, repeats: int = 15) -> list[Block]:
    """Return the seconds of training once at the same depth."""
    penalty = SelfTerminatingTreeClassifier().fit(X, y).penalty_
    depth = SelfTerminatingTreeClassifier(penalty=penalty).fit(X, y).get_depth()
    rivals = {
        "SelfTerminatingTreeClassifier": SelfTerminatingTreeClassifier(penalty=penalty),
        "the same, n_jobs=2": SelfTerminatingTreeClassifier(penalty=penalty, n_jobs=2),
        "DecisionTreeClassifier, gini": DecisionTreeClassifier(max_depth=depth, random_state=0),
        "DecisionTreeClassifier, entropy": DecisionTreeClassifier(
            max_depth=depth, criterion="entropy", random_state=0
        ),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, model in rivals.items():
            wall, cpu = time.perf_counter(), time.process_time()
            model.fit(X, y)
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    ours = np.min(times["SelfTerminatingTreeClassifier"], axis=0)
    rows = []
    for name, model in rivals.items():
        wall, cpu = np.min(times[name], axis=0)
        costs = [number(1e3 * wall, 1), number(wall / ours[0], 2)]
        costs += [number(1e3 * cpu, 1), number(cpu / ours[1], 2)]
        rows.append([name, *costs, model.get_n_leaves()])
    header = ["", "ms", "ms, times ours", "CPU ms", "CPU ms, times ours", "leaves"]
    return [f"Training once on letter at depth {depth}, best of {repeats}:", table(header, rows)]


def sizes(X, y) -> list[Block]:
    """Return how many leaves penalties give, by the abstract's settings and by ours."""
    penalties = (0, 0.5, 1, 2, 4, 8)
    abstract = {"criterion": "entropy", "weight_power": 0, "min_gain": 0, "split_terminated": False}
    rows = [
        [
            name,
            *(
                SelfTerminatingTreeClassifier(penalty=penalty, **settings).fit(X, y).get_n_leaves()
                for penalty in penalties
            ),
        ]
        for name, settings in {"the abstract's": abstract, "by default": {}}.items()
    ]
    return ["Leaves on letter by penalty:", table(["", *map(str, penalties)], rows)]


def pruned(options: Options) -> list[Block]:
    """Return a table of the sets that are there."""
    names = [name for name in SETS if name == "digits" or options.folder(name)]
    rows = [row for name in names for row in compare(name, *SETS[name](options.data))]
    return ["### Against pruned trees", table(HEADER, rows)]


def on_letter(options: Options) -> list[Block]:
    """Return speed and sizes of trees on letter."""
    if options.folder("letter") is None:
        return left_out("Training once", "folder with letter")
    X, y = letter(options.data)[:2]
    return ["### Training once", *speed(X, y), *sizes(X, y)]


SECTIONS = {"pruned": pruned, "letter": on_letter}
BENCHMARK = Benchmark("self_terminating", __doc__, SECTIONS, takes=("data",), needs_data=True)

if __name__ == "__main__":
    BENCHMARK.main()
