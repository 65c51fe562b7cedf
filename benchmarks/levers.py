"""What was tried for better probabilities, each lever against the defaults, losses included.

Prints Markdown tables: the built-in stream, shuffled (progressive, last 20 %), and small sets,
learned from their training rows and scored on the rows kept apart to choose by; test rows are
never read.

    python benchmarks/levers.py [--limit 200000] [--data DIR] [--only stream batch sets nodes]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import vstack

from harness.machine import described
from harness.report import number, table
from labeltrees import ConditionalTreeClassifier, OneAgainstAllClassifier
from labeltrees.data.python_source import PythonSource
from labeltrees.models.conditional.pool import pooled
from online_sections.node_levers import (
    apply_temperature,
    distribution,
    fit_temperature,
    node_log_odds,
)
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
SCORES = ["error %", "log loss", "squared loss", "ECE@1"]


def stream_table(limit: int) -> str:
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


def batch_table(limit: int) -> str:
    """Trees of the first 80 % of the stream, asked about the rest without learning on."""
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


def sets_table(data: SmallSet) -> str:
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


def nodes_table(data: SmallSet) -> str:
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("stream", "batch", "sets", "nodes")
    parser.add_argument("--limit", type=int, default=200_000, help="examples of the stream")
    parser.add_argument("--data", type=Path, help="folder of small sets, as for online.py")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    chosen = parser.parse_args()
    print(f"{described()}.\n", flush=True)
    if "stream" in chosen.only:
        print(
            f"### Stream, {chosen.limit:,} examples\n\n{stream_table(chosen.limit)}\n", flush=True
        )
    if "batch" in chosen.only:
        print(f"### Stream, frozen after 80 %\n\n{batch_table(chosen.limit)}\n", flush=True)
    for data in small_sets(chosen.data, None) if chosen.data else []:
        if "sets" in chosen.only:
            print(f"### {data.name}\n\n{sets_table(data)}\n", flush=True)
        if "nodes" in chosen.only:
            print(f"### {data.name}: inside the nodes\n\n{nodes_table(data)}\n", flush=True)


if __name__ == "__main__":
    main()
