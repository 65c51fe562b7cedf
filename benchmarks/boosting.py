"""Adacond against its own base learner: distributions (ldl) and the built-in stream.

    python benchmarks/boosting.py --data DIR [--only Movie,SBU_3DFE,Yeast_alpha,stream]

DIR has ldl/NAME.npz with `features` and `distributions`. Without DIR only the stream is run.

Distributions, 10 folds. Everything is chosen inside the training rows of a fold, a fifth of which
is held out for it: the tree's penalty and the neighbours' k (features scaled or not) by mean total
variation of the tree and the neighbours alone; eta is FACTOR times the tree's held-out mean. Then
both are fitted to all training rows, the boosted one with the same tree and ROUNDS rounds.

Stream: five conditional trees, eta = 0.9 (the true label is given less than a tenth). In blocks of
20,000: models learn all examples before a block and foresee the block, so every example but those
of the first block is foreseen by models that have seen earlier ones only. Beside it the single
tree, and the mean of five trees that differ in their seeds, to tell boosting from averaging.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from labeltrees import AdacondClassifier, ConditionalTreeClassifier, SelfTerminatingTreeClassifier
from labeltrees import metrics as m
from labeltrees.data.python_source import PythonSource
from machine import described

SETS = ("Movie", "SBU_3DFE", "Yeast_alpha")
PENALTIES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
NEIGHBOURS = (5, 10, 20, 40, 80, 160)
FACTORS = (1.5, 2.0)
ROUNDS = 20
STREAM_ETA = 0.9
BLOCK = 20_000
SCORES = {
    "total variation": m.total_variation,
    "Chebyshev": m.chebyshev_distance,
    "Clark": m.clark_distance,
    "Canberra": m.canberra_distance,
    "KL": m.kl_divergence,
    "cosine": m.cosine_similarity,
    "intersection": m.intersection_similarity,
}


def tree(penalty: float) -> SelfTerminatingTreeClassifier:
    return SelfTerminatingTreeClassifier(penalty=penalty, min_gain=0)


def neighbours(k: int, scaled: bool):
    scaler = StandardScaler() if scaled else FunctionTransformer()
    return make_pipeline(scaler, KNeighborsRegressor(k))


def choose(X, P, seed: int) -> tuple[float, float, tuple[int, bool]]:
    """Return the penalty, the tree's held-out mean total variation, and the neighbours' options."""
    order = np.random.default_rng(seed).permutation(len(X))
    held_out, rest = order[: len(X) // 5], order[len(X) // 5 :]
    trees = {
        penalty: m.total_variation(
            P[held_out], tree(penalty).fit(X[rest], P[rest]).predict_proba(X[held_out])
        )
        for penalty in PENALTIES
    }
    near = {
        (k, scaled): m.total_variation(
            P[held_out], neighbours(k, scaled).fit(X[rest], P[rest]).predict(X[held_out])
        )
        for k in NEIGHBOURS
        for scaled in (False, True)
    }
    penalty = min(trees, key=trees.__getitem__)
    return penalty, trees[penalty], min(near, key=near.__getitem__)


def ldl(name: str, folder: Path) -> None:
    stored = np.load(folder / "ldl" / f"{name}.npz")
    X, P = stored["features"].astype(np.float32), stored["distributions"]
    P = P / P.sum(axis=1, keepdims=True)
    names = ["tree", "nearest neighbours", *(f"boosted, eta x {f}" for f in FACTORS)]
    truth, guesses = [], {who: [] for who in names}
    etas = {factor: [] for factor in FACTORS}
    chosen, rounds, better = [], [], dict.fromkeys(FACTORS, 0)
    above = {factor: {who: [] for who in names} for factor in FACTORS}
    for number, (rest, test) in enumerate(KFold(10, shuffle=True, random_state=1).split(X)):
        penalty, mean, near = choose(X[rest], P[rest], number)
        chosen.append((penalty, *near))
        truth.append(P[test])
        guesses["tree"].append(tree(penalty).fit(X[rest], P[rest]).predict_proba(X[test]))
        guesses["nearest neighbours"].append(
            neighbours(*near).fit(X[rest], P[rest]).predict(X[test])
        )
        for factor in FACTORS:
            boosted = AdacondClassifier(tree(penalty), eta=factor * mean, n_rounds=ROUNDS)
            boosted.fit(X[rest], P[rest])
            rounds.append(len(boosted.bound_))
            guesses[f"boosted, eta x {factor}"].append(boosted.predict_proba(X[test]))
            etas[factor].append(boosted.eta_)
        for factor in FACTORS:
            eta = etas[factor][-1]
            for who in names:
                errors = m.total_variation_by_row(P[test], guesses[who][-1])
                above[factor][who].append(m.fraction_above(errors, eta))
            mine = above[factor][f"boosted, eta x {factor}"][-1]
            better[factor] += mine < above[factor]["tree"][-1]
    print(f"\n### {name}: {X.shape[0]} x {X.shape[1]}, {P.shape[1]} labels\n")
    print(f"penalty, k, scaled by fold: {chosen}; rounds kept: {min(rounds)} to {max(rounds)}\n")
    print("| eta | tree | boosted | neighbours | folds won of 10 | mean TV, boosted / tree |")
    print("|---:|---:|---:|---:|---:|---:|")
    all_true = np.concatenate(truth)
    mean_of = {
        who: [fn(all_true, np.concatenate(guesses[who])) for fn in SCORES.values()] for who in names
    }
    for factor in FACTORS:
        who = f"boosted, eta x {factor}"
        print(
            f"| {np.mean(etas[factor]):.4f} ({factor} x) "
            f"| {np.mean(above[factor]['tree']):.4f} | {np.mean(above[factor][who]):.4f} "
            f"| {np.mean(above[factor]['nearest neighbours']):.4f} | {better[factor]} "
            f"| {mean_of[who][0] / mean_of['tree'][0]:.4f} |"
        )
    print("\n| | " + " | ".join(SCORES) + " |\n|---|" + "---:|" * len(SCORES))
    for who in names:
        print(f"| {who} | " + " | ".join(f"{value:.4f}" for value in mean_of[who]) + " |")


def examples(order: str) -> tuple[sparse.csr_matrix, np.ndarray]:
    """100,000 examples: of the first 200,000 in random order, or the first of the files."""
    chunks = list(PythonSource(order=order, limit=200_000 if order == "shuffled" else 100_000))
    X = sparse.vstack([chunk.features for chunk in chunks]).tocsr()[:100_000]
    return X, np.concatenate([chunk.labels for chunk in chunks])[:100_000]


def stream(order: str) -> str:
    X, y = examples(order)
    base = ConditionalTreeClassifier()
    errors: dict[str, list] = {"single": [], "mean of five": [], "boosted": []}
    train = []
    for begin in range(BLOCK, len(y), BLOCK):
        past, block = slice(begin), slice(begin, begin + BLOCK)
        trees = [
            ConditionalTreeClassifier(random_state=seed).fit(X[past], y[past]) for seed in range(5)
        ]
        p = [one.predict_label_proba(X[block], y[block]) for one in trees]
        errors["single"].append(1 - p[0])
        errors["mean of five"].append(1 - np.mean(p, axis=0))
        boosted = AdacondClassifier(base, eta=STREAM_ETA, n_rounds=5).fit(X[past], y[past])
        errors["boosted"].append(1 - boosted.predict_label_proba(X[block], y[block]))
        train.append((boosted.train_exceed_[0], boosted.train_exceed_[-1], boosted.bound_[-1]))
    by_name = {who: np.clip(np.concatenate(parts), 0, 1) for who, parts in errors.items()}
    above = {who: m.fraction_above(d, STREAM_ETA) for who, d in by_name.items()}
    first, last, bound = train[-1]
    return (
        f"| {order} | {len(set(y)):,} | {above['single']:.4f} | {above['boosted']:.4f} "
        f"| {above['mean of five']:.4f} | {by_name['single'].mean():.4f} "
        f"| {by_name['boosted'].mean():.4f} | {by_name['mean of five'].mean():.4f} "
        f"| {first:.4f} | {last:.4f} | {bound:.4f} |"
    )


def memory() -> str:
    """Boost once over all 100,000 and say how much memory that took."""
    X, y = examples("shuffled")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.perf_counter()
    model = AdacondClassifier(ConditionalTreeClassifier(), eta=STREAM_ETA, n_rounds=5).fit(X, y)
    seconds = time.perf_counter() - started
    model.predict_top_k(X[:10_000], 5)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table = sum(member.core.n_bytes for member in model.model_.members) / 2**20
    dense = 8 * X.shape[0] * len(model.classes_) / 2**20
    return (
        f"Boosting 5 trees over {X.shape[0]:,} examples and {len(model.classes_):,} labels and "
        f"asking the top 5 of 10,000 rows: peak memory {peak:,.0f} MB, of which {before:,.0f} MB "
        f"before it began and {table:,.0f} MB the five models; an (n_rows, n_labels) array would "
        f"take {dense:,.0f} MB. {seconds:.1f} s to fit."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with ldl/NAME.npz")
    parser.add_argument("--only", default=",".join((*SETS, "stream")))
    chosen = parser.parse_args()
    warnings.simplefilter("error")
    print(described())
    only = chosen.only.split(",")
    if "stream" in only:
        print("\n### Built-in stream\n\n" + memory() + "\n", flush=True)
        print(
            f"eta = {STREAM_ETA}. Fractions of examples foreseen with an error above eta, mean "
            "errors, and of the last fit the fraction of training rows.\n"
        )
        print(
            "| order | labels | single | boosted | mean of five | mean error, single | boosted "
            "| mean of five | training, round 1 | round 5 | bound |"
        )
        print("|---|" + "---:|" * 10)
        for order in ("shuffled", "files"):
            print(stream(order), flush=True)
    for name in SETS if chosen.data else ():
        if name in only:
            ldl(name, chosen.data)


if __name__ == "__main__":
    main()
