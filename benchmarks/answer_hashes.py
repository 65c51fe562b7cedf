"""Print a hash of each prediction of every model, to compare two versions of the code.

    python benchmarks/answer_hashes.py --data DIR > after.txt

Every model is trained with a fixed seed and queried in every way that it supports. A line is the
SHA-256 of the bytes of one result. A change that keeps all predictions changes no line. The sets
are the built-in stream, and from the folder `letter` and `clinc150` (one label per row) and
`bibtex` (several labels per row). Only parameters that all versions share are used.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from labeltrees import (
    AdacondClassifier,
    ConditionalTreeClassifier,
    ExtremeRegressor,
    FilterTreeClassifier,
    FrequencyTableClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
    SelfTerminatingTreeClassifier,
)
from labeltrees.data.python_source import PythonSource
from labeltrees.data.readers import read_xc

sys.path.insert(0, str(Path(__file__).parent))
from online_sections.small_data import clinc150, letter

N_STREAM, N_LEARNED, N_ASKED = 20_000, 3_000, 400
PAPER_1 = {"loss": "squared", "optimizer": "sgd", "balance": "labels"}
PAPER_3 = {"criterion": "entropy", "weight_power": 0, "min_gain": 0, "split_terminated": False}
PAPER_4 = {"arity": 2, "cost": 10, "cost_power": 1, "inner_power": 1, "calibrate": False}
NODES_OF_16 = {"arity": 16, "structure": "balanced"}


def one_label_models() -> dict[str, Any]:
    """Return what learns one label per row, by name."""
    tree = ConditionalTreeClassifier
    return {
        "conditional": tree(),
        "conditional, paper 1": tree(**PAPER_1),
        "conditional, novelty": tree(novelty=True, n_passes=2),
        "conditional, two threads": tree(n_jobs=2),
        "conditional, random": tree(structure="random"),
        "conditional, balanced": tree(structure="balanced"),
        "conditional, huffman": tree(structure="huffman"),
        "conditional, kmeans": tree(structure="kmeans", n_passes=2),
        "conditional, little memory": tree(max_memory=2**20),
        "pecoc, arity 4": tree(arity=4),
        "pecoc, arity 16": tree(**NODES_OF_16),
        "pool of 3": tree(structure="kmeans", n_trees=3),
        "filter": FilterTreeClassifier(n_passes=2),
        "filter, random": FilterTreeClassifier(structure="random", n_passes=1),
        "lom": LOMTreeClassifier(n_passes=2),
        "lom, paper 2": LOMTreeClassifier(
            loss="squared", optimizer="sgd", max_splits=60, n_passes=1
        ),
        "self-terminating": SelfTerminatingTreeClassifier(),
        "self-terminating, all chosen": SelfTerminatingTreeClassifier(
            weight_power="auto", min_gain="auto", n_jobs=2
        ),
        "self-terminating, paper 3": SelfTerminatingTreeClassifier(penalty=2.0, **PAPER_3),
        "boosting": AdacondClassifier(n_rounds=3),
        "boosting, conditional": AdacondClassifier(tree(), n_rounds=3),
        "frequency table": FrequencyTableClassifier(),
        "extreme": ExtremeRegressor(),
    }


def many_label_models() -> dict[str, Any]:
    """Return what learns several labels per row, by name."""
    return {
        "extreme": ExtremeRegressor(n_jobs=2),
        "extreme, one tree": ExtremeRegressor(n_trees=1),
        "extreme, paper 4": ExtremeRegressor(**PAPER_4),
        "extreme, parabel": ExtremeRegressor(**PAPER_4, loss="hinge"),
        "extreme, propensity and tail": ExtremeRegressor(relevance="propensity", tail="xreg"),
        "extreme, other tail": ExtremeRegressor(n_trees=1, tail="pfastrexml"),
        "extreme, little memory": ExtremeRegressor(n_trees=1, max_memory=2**26),
    }


def say(set_name: str, model: str, question: str, answer: Any) -> None:
    """Print one line: where, what, and the hash of the answer's bytes."""
    digest = hashlib.sha256()
    for part in answer if isinstance(answer, tuple) else (answer,):
        array = np.asarray(part)
        if array.dtype == object:
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(array).tobytes())
    print(f"{set_name:<9} {model:<30} {question:<12} {digest.hexdigest()[:32]}", flush=True)


def ask(set_name: str, name: str, model: Any, X: Any, y: Any) -> None:
    """Ask a fitted model every question."""
    say(set_name, name, "top 5", tuple(model.predict_top_k(X, 5)))
    say(set_name, name, "all", model.predict_proba(X))
    if y is not None:
        say(set_name, name, "named", model.predict_label_proba(X, y))
    answered = []
    if type(model).__name__ in (
        "LOMTreeClassifier",
        "AdacondClassifier",
        "ExtremeRegressor",
    ) or type(getattr(model, "model_", None)).__name__ in (
        "ConditionalTreeModel",
        "FilterTreeModel",
    ):
        answered = ["above", "rows"]
    if answered:
        found = model.predict_above(X, 0.05)
        say(
            set_name,
            name,
            "above",
            (found.indptr.astype(np.int64), found.indices.astype(np.int64), found.data),
        )
        say(set_name, name, "best rows", tuple(model.top_rows(X, model.classes_[:20], 3)))
    if answered and not isinstance(model, ExtremeRegressor):
        say(set_name, name, "sample", model.sample(X, random_state=1))


def one_label(set_name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """Train and query every model of one label per row."""
    models = one_label_models()
    if len(np.unique(y)) < 200:
        models["one against all"] = OneAgainstAllClassifier(n_passes=2)
        models["one against all, paper 1"] = OneAgainstAllClassifier(
            loss="squared", optimizer="sgd", n_passes=1
        )
    for name, model in models.items():
        ask(set_name, name, model.fit(X, y), X_test, y_test)


def streams(set_name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """Update row by row, and return the predictions made before each update."""
    for name, model in (
        ("conditional", ConditionalTreeClassifier()),
        ("conditional, two threads", ConditionalTreeClassifier(n_jobs=2)),
        ("conditional, novelty", ConditionalTreeClassifier(novelty=True)),
        ("lom", LOMTreeClassifier()),
        ("filter", FilterTreeClassifier()),
        ("frequency table", FrequencyTableClassifier()),
    ):
        n = len(y) if name.startswith(("cond", "lom")) else 1_000
        seen = [model.progressive_fit(X[a : a + 500], y[a : a + 500]) for a in range(0, n, 500)]
        say(
            set_name,
            f"{name} online",
            "foreseen",
            tuple(np.concatenate(p).ravel() for p in zip(*seen, strict=True)),
        )
        ask(set_name, f"{name} online", model, X_test, y_test)


def bibtex(folder: Path) -> tuple[Any, ...]:
    """Return rows and lists of labels for training and for queries."""
    parts = []
    for name in ("train.txt.gz", "test.txt.gz"):
        chunks = list(read_xc(folder / name))
        labels = [
            chunk.labels[a:b].tolist()
            for chunk in chunks
            for a, b in zip(chunk.label_starts[:-1], chunk.label_starts[1:], strict=True)
        ]
        parts += [vstack([chunk.features for chunk in chunks], format="csr"), labels]
    return tuple(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets")
    folder = parser.parse_args().data
    chunks = list(PythonSource(limit=N_STREAM))
    X = csr_array(vstack([chunk.features for chunk in chunks], format="csr"))
    y = np.concatenate([chunk.labels for chunk in chunks])
    streams("python", X[:-N_ASKED], y[:-N_ASKED], X[-N_ASKED:], y[-N_ASKED:])
    for load in (letter, clinc150):
        name = load.__name__
        small = load(folder / name)
        (X, y), (X_test, y_test) = small.train, small.test
        if name == "clinc150":  # The last columns are rare words, so trees get many bins.
            X, X_test = X[:, :2_000], X_test[:, :2_000]
        one_label(name, X[:N_LEARNED], y[:N_LEARNED], X_test[:N_ASKED], y_test[:N_ASKED])
    X, y, X_test, _ = bibtex(folder / "bibtex")
    for name, model in many_label_models().items():
        ask("bibtex", name, model.fit(X[:N_LEARNED], y[:N_LEARNED]), X_test[:N_ASKED], None)


if __name__ == "__main__":
    main()
