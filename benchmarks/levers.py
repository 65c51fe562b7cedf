"""What was tried for better probabilities, each lever against the defaults, losses included.

Prints Markdown tables: the built-in stream, shuffled (progressive, last 20 %), and small sets,
learned from their training rows and scored on the rows kept apart to choose by; test rows are
never read.

    python benchmarks/levers.py [--limit 200000] [--data DIR] [--only stream batch sets nodes]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import vstack

from harness.benchmark import Benchmark, Options
from harness.report import Block, Table, number, table
from labeltrees import ConditionalTreeClassifier, OneAgainstAllClassifier
from labeltrees.data.python_source import PythonSource
from labeltrees.models.conditional.several_trees import pooled
from labeltrees.tree import LabelTree
from online_sections.scores import Answers
from online_sections.small_data import Part, SmallSet, small_sets

PLAIN = {"refine": 0, "structure": "online", "n_trees": 1}
KMEANS = {"structure": "kmeans"}
OFF = {"mixing": False}
RATES = (0.3, 3.0)
REFINED: dict[str, dict[str, Any]] = {
    "defaults: refined": {},
    "`refine=2`": {"refine": 2},
    "`refine=8`": {"refine": 8},
    "`refine=16`": {"refine": 16},
    "refined, `sharpness=0.8`": {"sharpness": 0.8},
    "refined, `sharpness=1.0`": {"sharpness": 1.0},
    "refined, `sharpness=1.2`": {"sharpness": 1.2},
    "refined, `mixing=False`": OFF,
    "refined, `learning_rate=0.5`": {"learning_rate": 0.5},
    "refined, `balance='labels'`": {"balance": "labels"},
}
"""What the experts can do, beside the defaults."""
REFINED_BATCH: dict[str, dict[str, Any]] = {
    "refined, `n_trees=1`": {"n_trees": 1},
    "refined, `n_trees=1, refine=16`": {"n_trees": 1, "refine": 16},
    "refined, `n_trees=2`": {"n_trees": 2},
    "refined, `n_trees=8`": {"n_trees": 8},
    "refined, `n_trees=1, structure='online'`": {"n_trees": 1, "structure": "online"},
    "refined, `n_passes=3`": {"n_passes": 3},
}
LEVERS: dict[str, dict[str, Any]] = {
    "the plain tree": {},
    "`learning_rate=0.3`": {"learning_rate": 0.3},
    "`learning_rate=0.5`": {"learning_rate": 0.5},
    "`learning_rate=2`": {"learning_rate": 2.0},
    "`sharpness=1.0`": {"sharpness": 1.0},
    "`sharpness=1.4`": {"sharpness": 1.4},
    "`mixing=False`": OFF,
    "`mixing=False, learning_rate=0.3`": OFF | {"learning_rate": 0.3},
    "`mixing=False, learning_rate=1.5`": OFF | {"learning_rate": 1.5},
    "`balance='labels'`": {"balance": "labels"},
    "`alpha=0.3`": {"alpha": 0.3},
    "`alpha=0.9`": {"alpha": 0.9},
    "`structure='random'`": {"structure": "random"},
    "`structure='balanced'`": {"structure": "balanced"},
    "`bias=1`": {"bias": 1.0},
    "the paper's: squared loss, SGD": {
        "loss": "squared",
        "optimizer": "sgd",
        "balance": "labels",
        "learning_rate": 0.5,
    },
}
BATCH_LEVERS: dict[str, dict[str, Any]] = {
    "`structure='huffman'`": {"structure": "huffman"},
    "`structure='kmeans'`": KMEANS,
    "k-means, `balance='labels'`": KMEANS | {"balance": "labels"},
    "k-means, `sharpness=1.0`": KMEANS | {"sharpness": 1.0},
    "k-means, `n_passes=3`": KMEANS | {"n_passes": 3},
    "k-means, `n_passes=10`": KMEANS | {"n_passes": 10},
    "k-means, `n_passes=3, learning_rate=0.3`": KMEANS | {"n_passes": 3, "learning_rate": 0.3},
    "k-means, `mixing=False`": KMEANS | OFF,
    "k-means, `mixing=False, n_passes=3`": KMEANS | OFF | {"n_passes": 3},
    "k-means, `mixing=False, n_passes=3, learning_rate=0.3`": KMEANS
    | OFF
    | {"n_passes": 3, "learning_rate": 0.3},
    "k-means, `arity=4`": KMEANS | {"arity": 4},
    "`n_trees=8`": {"n_trees": 8},
    "k-means, `n_trees=2`": KMEANS | {"n_trees": 2},
    "k-means, `n_trees=4`": KMEANS | {"n_trees": 4},
    "k-means, `n_trees=8`": KMEANS | {"n_trees": 8},
    "k-means, `n_trees=16`": KMEANS | {"n_trees": 16},
    "k-means, `n_trees=8, n_passes=3`": KMEANS | {"n_trees": 8, "n_passes": 3},
}
STREAM_ROWS = 200_000
SCORES = ["error %", "log loss", "squared loss", "ECE@1"]


def stream_table(limit: int) -> Table:
    """Every lever of the online tree, on the first examples of the shuffled stream."""
    source = PythonSource(order="shuffled", limit=limit)
    rows = []
    tried = REFINED | {name: PLAIN | settings for name, settings in LEVERS.items()}
    for name, settings in tried.items():
        model, parts = ConditionalTreeClassifier(**settings), []
        for chunk in source:
            seen = model.progressive_fit(chunk.features, chunk.labels)
            parts.append(
                (seen.top[:, 0] == chunk.labels, seen.p_label, seen.p_top[:, 0], seen.is_new)
            )
        answers = Answers(name, *(np.concatenate(each) for each in zip(*parts, strict=True)))
        rows.append(scored(answers.tail(len(answers.correct) // 5)))
    return table(["lever", *SCORES], rows)


def batch_table(limit: int) -> Table:
    """Return scores of trees that were trained on 80 % of the stream, for the rest of it."""
    chunks = list(PythonSource(order="shuffled", limit=limit))
    X = vstack([chunk.features for chunk in chunks], format="csr")
    y = np.concatenate([chunk.labels for chunk in chunks])
    cut = len(y) * 4 // 5
    train, test = (X[:cut], y[:cut]), (X[cut:], y[cut:])
    known = np.isin(test[1].astype(str), train[1].astype(str))
    test = (test[0][known], test[1][known])
    rows = []
    names = ("online", "random", "huffman", "kmeans")
    tried = {f"plain, `structure={name!r}`": PLAIN | {"structure": name} for name in names}
    tried |= {"defaults: refined": {}, "refined, `n_trees=1`": {"n_trees": 1}}
    for name, settings in tried.items():
        model = ConditionalTreeClassifier(**settings).fit(*train)
        top, p_top = model.predict_top_k(test[0], 1)
        p_label = model.predict_label_proba(*test)
        new = np.zeros(len(p_label), dtype=bool)
        rows.append(scored(Answers(name, top[:, 0] == test[1], p_label, p_top[:, 0], new)))
    return table(["lever", *SCORES], rows)


def sets_table(data: SmallSet) -> Table:
    """Every lever by `fit`, on the rows to choose by."""
    plain = {name: PLAIN | settings for name, settings in (LEVERS | BATCH_LEVERS).items()}
    rows = [
        scored(answered(name, ConditionalTreeClassifier(**settings).fit(*data.train), data.valid))
        for name, settings in (REFINED | REFINED_BATCH | plain).items()
    ]
    for n_passes in (1, 5):
        model = OneAgainstAllClassifier(n_passes=n_passes).fit(*data.train)
        rows.append(scored(answered(f"one against all, `n_passes={n_passes}`", model, data.valid)))
    return table(["lever", *SCORES], rows)


def nodes_table(data: SmallSet) -> Table:
    """Levers inside the nodes of one k-means tree, which no setting has.

    Temperatures are fitted on every other row to choose by; all is scored on the rest.
    """
    X, y = data.valid
    fitting, scoring = slice(0, None, 2), slice(1, None, 2)
    model = ConditionalTreeClassifier(**PLAIN | KMEANS, sharpness=1.0).fit(*data.train)
    tree, p = model.tree_, model.predict_proba(X)
    odds = node_log_odds(tree, p)
    place = {label: i for i, label in enumerate(model.classes_.tolist())}
    ids = np.array([place.get(label, -1) for label in y.tolist()])
    tried = {"k-means, `sharpness=1.0`": p}
    for name, by_depth in (("one temperature", False), ("a temperature a depth", True)):
        fitted = fit_temperature(tree, odds[fitting], ids[fitting], by_depth=by_depth)
        tried[f"the same, {name}"] = distribution(tree, apply_temperature(tree, odds, fitted))
    several = [
        ConditionalTreeClassifier(
            structure=tree, refine=0, n_trees=1, sharpness=1.0, learning_rate=rate
        ).fit(*data.train)
        for rate in RATES
    ]
    both = [node_log_odds(tree, each.predict_proba(X)) for each in several]
    tried[f"the same, rates {RATES} pooled at the nodes"] = distribution(tree, sum(both) / 2)
    trees = [
        ConditionalTreeClassifier(**PLAIN | KMEANS, random_state=seed).fit(*data.train)
        for seed in range(4)
    ]
    four = [each.predict_proba(X) for each in trees]
    tried["four k-means trees, arithmetic mean"] = sum(four) / 4
    tried["four k-means trees, geometric mean"] = pooled(four)
    rows = [scored(answers_of(name, p_all[scoring], ids[scoring])) for name, p_all in tried.items()]
    return table(["lever", *SCORES], rows)


TINY = 1e-300


def node_log_odds(tree: LabelTree, p: np.ndarray) -> np.ndarray:
    """Return the log-odds of right against left, (n_rows, n_nodes); 0 at leaves."""
    mass = np.zeros((len(p), tree.n_nodes))
    leaves = tree.label >= 0
    mass[:, leaves] = p[:, tree.label[leaves]]
    for node in range(tree.n_nodes - 1, 0, -1):  # children before their parents
        mass[:, tree.parent[node]] += mass[:, node]
    odds = np.zeros_like(mass)
    for node in np.flatnonzero(~leaves):
        left = tree.first_child[node]
        odds[:, node] = np.log(np.maximum(mass[:, left + 1], TINY))
        odds[:, node] -= np.log(np.maximum(mass[:, left], TINY))
    return odds


def distribution(tree: LabelTree, odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of labels that nodes with these log-odds multiply to."""
    log_path = np.zeros_like(odds)
    for node in np.flatnonzero(tree.label < 0):
        left = tree.first_child[node]
        log_path[:, left] = log_path[:, node] - np.logaddexp(0, odds[:, node])
        log_path[:, left + 1] = log_path[:, node] - np.logaddexp(0, -odds[:, node])
    p = np.zeros((len(odds), tree.n_labels))
    leaves = tree.label >= 0
    p[:, tree.label[leaves]] = np.exp(log_path[:, leaves])
    return p


def fit_temperature(
    tree: LabelTree, odds: np.ndarray, ids: np.ndarray, *, by_depth: bool
) -> np.ndarray:
    """Return the factor of log-odds with the least log loss, for each depth or one for all."""
    signed: dict[int, list[float]] = {}
    for row, label in enumerate(ids.tolist()):
        if label < 0:
            continue
        node = tree.leaf_of(label)
        while node != 0:
            above = int(tree.parent[node])
            side = 1.0 if node == tree.first_child[above] + 1 else -1.0
            depth = int(tree.depths[above])
            signed.setdefault(depth if by_depth else 0, []).append(side * odds[row, above])
            node = above
    factors = np.ones(tree.depth + 1)
    for depth, values in signed.items():
        best = minimize_scalar(_loss, bounds=(0.2, 5.0), args=(np.array(values),), method="bounded")
        factors[depth] = best.x
    return factors if by_depth else np.full(tree.depth + 1, factors[0])


def _loss(factor: float, signed: np.ndarray) -> float:
    return float(np.logaddexp(0, -factor * signed).mean())


def apply_temperature(tree: LabelTree, odds: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return log-odds times the factor of their node's depth."""
    return odds * factors[tree.depths]


def answered(name: str, model: Any, part: Part) -> Answers:
    X, y = part
    place = {label: i for i, label in enumerate(model.classes_.tolist())}
    ids = np.array([place.get(label, -1) for label in y.tolist()])
    return answers_of(name, model.predict_proba(X), ids)


def answers_of(name: str, p: np.ndarray, ids: np.ndarray) -> Answers:
    """Return the answers of a matrix of probabilities; id -1 is a label that was never learned."""
    p_label = np.where(ids < 0, 0.0, p[np.arange(len(ids)), ids])
    nothing_new = np.zeros(len(ids), dtype=bool)  # a label never learned is a loss as well
    return Answers(name, p.argmax(axis=1) == ids, p_label, p.max(axis=1), nothing_new)


def scored(answers: Answers) -> list[str]:
    return [
        answers.name,
        number(100 * (1 - answers.accuracy), 2),
        number(answers.log_loss_seen, 3),
        number(answers.squared_loss, 3),
        number(answers.calibration_error, 3),
    ]


def stream(options: Options) -> list[Block]:
    limit = options.rows(STREAM_ROWS)
    return [f"### Stream, {limit:,} examples", stream_table(limit)]


def batch(options: Options) -> list[Block]:
    return ["### Stream, frozen after 80 %", batch_table(options.rows(STREAM_ROWS))]


def sets(options: Options) -> Iterator[Block]:
    for data in small_sets(options.data, None) if options.data else []:
        yield f"### {data.name}"
        yield sets_table(data)


def nodes(options: Options) -> Iterator[Block]:
    for data in small_sets(options.data, None) if options.data else []:
        yield f"### {data.name}: inside the nodes"
        yield nodes_table(data)


SECTIONS = {"stream": stream, "batch": batch, "sets": sets, "nodes": nodes}
BENCHMARK = Benchmark("levers", __doc__, SECTIONS, takes=("limit", "data"))

if __name__ == "__main__":
    BENCHMARK.main()
