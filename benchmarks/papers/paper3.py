"""Paper 3, "Self-terminating induction of multiclass trees" (abstract): its claims, measured.

    python benchmarks/papers/paper3.py --data DIR
    python benchmarks/papers/paper3.py --data DIR --only penalties

penalties      trees of the abstract with lambda(s) constant, by depth, and doubling with depth,
               under both norms p = 1 and infinity; lambda chosen on a fifth of the training rows
risk           equation (1) computed from the finished tree, and from the gains of its splits
compatibility  trees of information gain and of the Gini index, without the penalty

The abstract has no experiments, so there is no number of the paper. Sets are scikit-learn's digits
and any of letter, rcv1-sub1, clinc150 and bibtex in DIR. One label is drawn for rows of XC sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import paths
from sklearn.tree import DecisionTreeClassifier

from harness.benchmark import Benchmark, Options
from harness.report import Block, notes, number, table
from labeltrees import SelfTerminatingTreeClassifier
from labeltrees.metrics import log_loss
from self_terminating import SETS

ABSTRACT = {"criterion": "entropy", "weight_power": 0, "min_gain": 0, "split_terminated": False}
PENALTIES = (4.0, 1.0, 2.0, 8.0, 16.0, 32.0)
MOST_DEPTH = 40
#: lambda(s) of a node by its depth, the root's being 0, over lambda.
FORMS: dict[str, Callable[[int], float]] = {
    "constant": lambda depth: 1.0,
    "by depth": lambda depth: depth + 1.0,
    "doubling": lambda depth: 2.0 ** min(depth, 30),
}
NORMS = ("l1", "linf")
QUICK_ROWS = 300

Data = tuple[Any, np.ndarray, Any, np.ndarray]


def sets(options: Options) -> dict[str, Data]:
    """Return the sets that there are; quick runs have digits alone."""
    names = ["digits"] if options.quick else [n for n in SETS if n == "digits" or options.folder(n)]
    found = {}
    for name in names:
        X, y, X_test, y_test = SETS[name](options.data)
        rows = QUICK_ROWS if options.quick else X.shape[0]
        found[name] = (X[:rows], y[:rows], X_test, y_test)
    return found


def by_depth(penalty: float, form: str) -> list[float]:
    return [penalty * FORMS[form](depth) for depth in range(MOST_DEPTH)]


def grown(penalty: float, form: str, norm: str, X: Any, y: np.ndarray) -> Any:
    tree = SelfTerminatingTreeClassifier(penalty=by_depth(penalty, form), norm=norm, **ABSTRACT)
    return tree.fit(X, y)


def loss_of(tree: Any, X: Any, y: np.ndarray) -> float:
    """Return the log loss over rows whose label was learned."""
    p = tree.predict_label_proba(X, y)
    return log_loss(np.minimum(p[np.isin(y, tree.classes_)], 1), floor=0)


def penalties(options: Options) -> list[Block]:
    """Return the trees of every form of penalty and both norms."""
    rows = []
    for name, (X, y, X_test, y_test) in sets(options).items():
        order = np.random.default_rng(0).permutation(X.shape[0])
        held_out, rest = order[: len(order) // 5], order[len(order) // 5 :]
        for form in FORMS:
            for norm in NORMS:
                tried = {
                    penalty: loss_of(grown(penalty, form, norm, X[rest], y[rest]), X[held_out],
                                     y[held_out])
                    for penalty in options.some(PENALTIES, 2)
                }  # fmt: skip
                penalty = min(tried, key=lambda each: tried[each])
                tree = grown(penalty, form, norm, X, y)
                said = tree.model_.describe()
                rows.append([
                    name, form, "1" if norm == "l1" else "infinity", f"{penalty:g}",
                    said["leaves"], said["terminated_leaves"], said["depth"],
                    number(loss_of(tree, X_test, y_test)),
                    number(float((tree.predict(X_test) == y_test).mean())),
                ])  # fmt: skip
    header = ["set", "lambda(s)", "p", "lambda", "leaves", "of them terminated", "depth"]
    header += ["log loss", "accuracy"]
    said = notes(
        f"lambda of {options.some(PENALTIES, 2)}, the one with the least log loss on a fifth of "
        "the training rows, then all are learned. By depth: lambda times 1 at the root, 2 below it "
        "and so on; doubling: times 1, 2, 4. Settings of the abstract: log loss chooses splits, "
        "nothing scales the penalty, no least gain, terminated branches are not split.",
    )
    title = "### Penalties by depth, and both norms"
    return [title, table(header, rows), said]


# Equation (1).


def penalised_risk(tree: Any, X: Any, y: np.ndarray) -> tuple[float, float, float]:
    """Return the log loss and the penalty of equation (1), and (1) by the gains of the splits.

    A child's alpha is log(p / u) up to a constant, which the norm makes as small as it can be: half
    of the distance between the largest and the smallest.
    """
    core = tree.model_.core
    parent, left = core.parent(), core.left()
    p = core.distributions_at(np.arange(core.n_nodes, dtype=np.int32))
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.log(p[1:]) - np.log(p[parent[1:]])
    theta = np.zeros(core.n_nodes)
    theta[1:] = (np.nanmax(moves, axis=1) - np.nanmin(moves, axis=1)) / 2
    depths = tree.model_.depths()
    table_ = tree.model_.penalties
    total = 0.0
    for node in np.flatnonzero(left >= 0).tolist():
        both = theta[[left[node], left[node] + 1]]
        penalty = table_[min(int(depths[node]), len(table_) - 1)]
        total += penalty * float(both.sum() if tree.norm == "l1" else both.max())
    risk = -float(np.log(tree.predict_label_proba(X, y)).sum())
    root = dict(zip(tree.classes_.tolist(), p[0].tolist(), strict=True))
    start = -sum(math.log(root[label]) for label in y.tolist())
    return risk, total, start - float(core.gain()[left >= 0].sum())


def risk(options: Options) -> list[Block]:
    """Return both sides of "the gain is the decrease of equation (1)"."""
    rows = []
    for name, (X, y, _, _) in sets(options).items():
        for form in options.some(list(FORMS), 2):
            for norm in NORMS:
                tree = grown(4.0, form, norm, X, y)
                loss, penalty, by_gains = penalised_risk(tree, X, y)
                rows.append([
                    name, form, "1" if norm == "l1" else "infinity", number(loss, 1),
                    number(penalty, 1), number(loss + penalty, 1), number(by_gains, 1),
                ])  # fmt: skip
    header = ["set", "lambda(s)", "p", "summed log loss", "V(T)", "equation (1)"]
    header += ["the root's loss less all gains"]
    said = notes("lambda = 4, training rows. The last two are equal: the search maximises what "
                 "equation (1) falls by.")  # fmt: skip
    return ["### Equation (1)", table(header, rows), said]


# "Upon omitting the variation penalty, we obtain well known growing criteria."


def compatibility(options: Options) -> list[Block]:
    """Return our trees without penalty beside scikit-learn's."""
    rows = []
    for name, (X, y, X_test, y_test) in sets(options).items():
        for criterion in ("entropy", "gini"):
            options_ = ABSTRACT | {"criterion": criterion, "split_terminated": True}
            ours = SelfTerminatingTreeClassifier(penalty=0.0, **options_).fit(X, y)
            theirs = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
            same = float((ours.predict(X_test) == theirs.predict(X_test)).mean())
            rows.append([
                name, criterion, ours.get_n_leaves(), theirs.get_n_leaves(),
                ours.get_depth(), theirs.get_depth(),
                number(float((ours.predict(X_test) == y_test).mean())),
                number(float((theirs.predict(X_test) == y_test).mean())), number(same),
            ])  # fmt: skip
    header = ["set", "criterion", "leaves", "leaves, scikit-learn's", "depth"]
    header += ["depth, scikit-learn's", "accuracy", "accuracy, scikit-learn's", "same answer"]
    said = notes(
        "lambda = 0. Trees are equal where no two splits tie (tested); ties are broken otherwise, "
        "and columns of more than 255 values are binned.",
    )
    title = "### Without the penalty: information gain and Gini"
    return [title, table(header, rows), said]


SECTIONS = {"penalties": penalties, "risk": risk, "compatibility": compatibility}


BENCHMARK = Benchmark("papers/paper3", __doc__, SECTIONS, paths.OPTIONS)


if __name__ == "__main__":
    BENCHMARK.main()
