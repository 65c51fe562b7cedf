"""Compare Adacond with its base learner on distributions (ldl) and on the built-in stream.

    python benchmarks/boosting.py --data DIR [--only Movie SBU_3DFE Yeast_alpha stream]

DIR has ldl/NAME.npz with `features` and `distributions`. Without DIR only the stream is run.

Distributions, 10 folds. Everything is chosen inside the training rows of a fold, a fifth of which
is held out for it. The penalty of the tree alone and the neighbours' k (features scaled or not) are
chosen by their mean total variation. Eta is 1.5 times the mean total variation of the tree. The
boosted tree has the same penalty over sqrt(2), since averaging smooths too. This penalty and the 20
rounds were fixed on held-out training rows of two folds of Yeast_alpha, and the factor 1.5 after a
look at one other split of each set.
All are then fitted to all training rows of the fold.

Stream: five conditional trees, eta = 0.9 (the true label is given less than a tenth). In blocks of
20,000, models learn all examples before a block and predict the block. So every example after the
first block is predicted by models that have seen earlier ones only. Also measured are the
single tree, and the mean of five trees that differ in their seeds, to tell boosting from averaging.
"""

from __future__ import annotations

import resource
import time
import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from harness.benchmark import Benchmark, Options
from harness.report import Block, left_out, number, table
from labeltrees import AdacondClassifier, ConditionalTreeClassifier, SelfTerminatingTreeClassifier
from labeltrees import metrics as m
from labeltrees.data.python_source import PythonSource

SETS = ("Movie", "SBU_3DFE", "Yeast_alpha")
PENALTIES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
NEIGHBOURS = (5, 10, 20, 40, 80, 160)
FACTOR = 1.5
ROUNDS = 20
BOOSTED, BASE = "boosted tree", "its base learner alone"
ALONE, NEAR = "best tree alone", "nearest neighbours"
STREAM_ETA = 0.9
PLAIN = {"structure": "online", "n_trees": 1, "refine": 0}
"""A single tree, because the boosted learner should be quick."""
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

STREAM_HEADER = [
    *("order", "labels", "single", "boosted", "mean of five", "mean error, single"),
    *("mean error, boosted", "mean error, mean of five", "training, round 1", "round 5", "bound"),
]


def tree(penalty: float) -> SelfTerminatingTreeClassifier:
    return SelfTerminatingTreeClassifier(
        penalty=penalty, weight_power=0.5, min_gain=0, criterion="entropy", split_terminated=False
    )


def neighbours(X, P, X_test, scaled: bool) -> dict[int, np.ndarray]:
    """Return the mean distribution of the k nearest training rows, for every k tried."""
    if scaled:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    nearest = NearestNeighbors(n_neighbors=max(NEIGHBOURS)).fit(X)
    rows = nearest.kneighbors(X_test, return_distance=False)
    sums = np.cumsum(P[rows], axis=1)
    return {k: sums[:, k - 1] / k for k in NEIGHBOURS}


def choose(X, P, seed: int) -> tuple[float, float, int, bool]:
    """Return the tree's penalty and held-out mean total variation, and the neighbours' options."""
    order = np.random.default_rng(seed).permutation(len(X))
    held_out, rest = order[: len(X) // 5], order[len(X) // 5 :]
    trees = {
        penalty: m.total_variation(
            P[held_out], tree(penalty).fit(X[rest], P[rest]).predict_proba(X[held_out])
        )
        for penalty in PENALTIES
    }
    near = {
        (k, scaled): m.total_variation(P[held_out], guess)
        for scaled in (False, True)
        for k, guess in neighbours(X[rest], P[rest], X[held_out], scaled).items()
    }
    penalty = min(trees, key=trees.__getitem__)
    return penalty, trees[penalty], *min(near, key=near.__getitem__)


def fold(X, P, X_test, seed: int) -> tuple[dict[str, np.ndarray], float, str]:
    """Return everyone's distributions for the test rows, eta, and what was chosen."""
    penalty, mean, k, scaled = choose(X, P, seed)
    # Movie is 1 % full, so its trees grow twice as fast from sparse rows.
    thin = sparse.csr_array(X) if (X != 0).mean() < 0.5 else X
    thin_test = sparse.csr_array(X_test) if thin is not X else X_test
    base = tree(penalty / np.sqrt(2))
    boosted = AdacondClassifier(base, eta=FACTOR * mean, n_rounds=ROUNDS).fit(thin, P)
    return (
        {
            BOOSTED: boosted.predict_proba(thin_test),
            BASE: next(boosted.staged_predict_proba(thin_test)),
            ALONE: tree(penalty).fit(thin, P).predict_proba(thin_test),
            NEAR: neighbours(X, P, X_test, scaled)[k],
        },
        boosted.eta_,
        f"{penalty}/{k}{'s' if scaled else ''}/{len(boosted.bound_)}",
    )


def ldl(name: str, options: Options) -> list[Block]:
    """Return a table of the learners of one set of distributions."""
    folder = options.folder("ldl")
    if folder is None:
        return left_out(name, "folder with ldl")
    stored = np.load(folder / f"{name}.npz")
    X, P = stored["features"].astype(np.float32), stored["distributions"]
    P = P / P.sum(axis=1, keepdims=True)
    truth, etas, chosen = [], [], []
    guesses: dict[str, list] = {BOOSTED: [], BASE: [], ALONE: [], NEAR: []}
    above: dict[str, list] = {who: [] for who in guesses}
    for seed, (rest, test) in enumerate(KFold(10, shuffle=True, random_state=1).split(X)):
        answers, eta, settings = fold(X[rest], P[rest], X[test], seed)
        truth.append(P[test])
        etas.append(eta)
        chosen.append(settings)
        for who, p in answers.items():
            guesses[who].append(p)
            above[who].append(m.fraction_above(m.total_variation_by_row(P[test], p), eta))
    won = {who: sum(np.array(above[BOOSTED]) < np.array(above[who])) for who in above}
    lost = {who: sum(np.array(above[BOOSTED]) > np.array(above[who])) for who in above}
    everything = np.concatenate(truth)
    means = {
        who: [score(everything, np.concatenate(parts)) for score in SCORES.values()]
        for who, parts in guesses.items()
    }
    rows = [
        [
            who,
            number(np.mean(above[who])),
            f"{won[who]} / {lost[who]}",
            number(means[BOOSTED][0] / values[0]),
            *(number(value) for value in values),
        ]
        for who, values in means.items()
    ]
    header = ["", "above eta", "folds boosted wins / loses", "mean TV, boosted by this", *SCORES]
    return [
        f"### {name}",
        f"{X.shape[0]:,} x {X.shape[1]:,}, {P.shape[1]} labels. eta {np.mean(etas):.4f}; "
        f"penalty/k (s: scaled)/rounds by fold: {', '.join(chosen)}",
        table(header, rows),
    ]


def examples(order: str) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return 100,000 examples, randomly from the first 200,000, or the first of the files."""
    chunks = list(PythonSource(order=order, limit=200_000 if order == "shuffled" else 100_000))
    X = sparse.vstack([chunk.features for chunk in chunks]).tocsr()[:100_000]
    return X, np.concatenate([chunk.labels for chunk in chunks])[:100_000]


def stream_row(order: str) -> list[str]:
    X, y = examples(order)
    base = ConditionalTreeClassifier(**PLAIN)
    errors: dict[str, list] = {"single": [], "mean of five": [], "boosted": []}
    train = []
    for begin in range(BLOCK, len(y), BLOCK):
        past, block = slice(begin), slice(begin, begin + BLOCK)
        trees = [
            ConditionalTreeClassifier(**PLAIN, random_state=seed).fit(X[past], y[past])
            for seed in range(5)
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
    names = ("single", "boosted", "mean of five")
    errors_ = [*(above[who] for who in names), *(by_name[who].mean() for who in names)]
    return [order, f"{len(set(y)):,}", *(number(each) for each in (*errors_, first, last, bound))]


def memory() -> str:
    """Boost once over all 100,000 and say how much memory that took."""
    X, y = examples("shuffled")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.perf_counter()
    model = AdacondClassifier(ConditionalTreeClassifier(**PLAIN), eta=STREAM_ETA, n_rounds=5).fit(
        X, y
    )
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


def stream(_: Options) -> list[Block]:
    """Return a table of both orders of the built-in stream."""
    return [
        "### Built-in stream",
        memory(),
        f"eta = {STREAM_ETA}. Fractions of examples predicted with an error above eta, mean "
        "errors, and of the last fit the fraction of training rows.",
        table(STREAM_HEADER, [stream_row(order) for order in ("shuffled", "files")]),
    ]


SECTIONS = {"stream": stream, **{name: partial(ldl, name) for name in SETS}}
BENCHMARK = Benchmark("boosting", __doc__, SECTIONS, takes=("data",))

if __name__ == "__main__":
    warnings.simplefilter("error")
    BENCHMARK.main()
