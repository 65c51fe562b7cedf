"""Paper 5, "Boosting conditional probability estimators", and its theorems measured.

    python benchmarks/papers/paper5.py --data DIR
    python benchmarks/papers/paper5.py --data DIR --only bounds

rounds    Theorem 1 on training rows, round by round, and what happens on rows kept apart
bounds    Theorems 4, 6 and 7 for the same models, and how many rows they would need to say anything
smooth    Theorem 8: the l1 norm of sums, of learners' deviations and of the example before it
repeated  p^x estimated from rows that repeat, by single labels and by their frequencies

The paper has no experiments, so there is no number of the paper. Distributions are from DIR/ldl
(Movie, SBU_3DFE, Yeast_alpha), or made up where DIR has none. benchmarks/boosting.py compares with
nearest neighbours and single trees in ten folds.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paths
from events import next_identifiers

from boosting import FACTOR, PENALTIES, SETS, tree
from harness.benchmark import Benchmark, Options
from harness.report import Block, notes, number, table
from labeltrees import AdacondClassifier, SelfTerminatingTreeClassifier
from labeltrees.data.repeated import repeated_rows
from labeltrees.metrics import fraction_above, total_variation, total_variation_by_row
from labeltrees.models.boosting import bounds

ROUNDS = 20
SLACK, DELTA = 0.1, 0.05
ETAS = (0.6, 0.75)
OFTEN = 20
MOST_ROWS = 10**40


@dataclass(frozen=True, eq=False)
class Boosted:
    """A model of four fifths of a set, and the rest."""

    name: str
    model: Any
    X: np.ndarray
    P: np.ndarray
    X_test: np.ndarray
    P_test: np.ndarray


def distributions(options: Options) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and their distributions by name."""
    folder = options.folder("ldl")
    if folder is None or options.quick:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4)).astype(np.float32)
        P = np.exp(X @ rng.normal(size=(4, 5)))
        return {"made up": (X, P / P.sum(axis=1, keepdims=True))}
    found = {}
    for name in SETS:
        stored = np.load(folder / f"{name}.npz")
        P = stored["distributions"]
        found[name] = (stored["features"].astype(np.float32), P / P.sum(axis=1, keepdims=True))
    return found


def boosted(options: Options) -> list[Boosted]:
    """Return a boosted tree of each set; its penalty and eta are chosen on a fifth of the rows."""
    made = []
    for name, (X, P) in distributions(options).items():
        order = np.random.default_rng(0).permutation(len(X))
        test, valid, rest = np.split(order, [len(X) // 5, 2 * len(X) // 5])
        tried = {
            penalty: total_variation(P[valid], tree(penalty).fit(X[rest], P[rest])
                                     .predict_proba(X[valid]))
            for penalty in options.some(PENALTIES, 2)
        }  # fmt: skip
        penalty = min(tried, key=lambda each: tried[each])
        learn = np.concatenate([valid, rest])
        base = tree(penalty / math.sqrt(2))
        rounds = 3 if options.quick else ROUNDS
        model = AdacondClassifier(base, eta=FACTOR * tried[penalty], n_rounds=rounds)
        model.fit(X[learn], P[learn])
        made.append(Boosted(name, model, X[learn], P[learn], X[test], P[test]))
    return made


# Theorem 1.


def rounds(options: Options) -> list[Block]:
    """Return the fractions above eta and Theorem 1's bound by round."""
    rows = []
    for each in boosted(options):
        stages = list(each.model.staged_predict_proba(each.X_test))
        eta, n_rounds = each.model.eta_, len(stages)
        for number_ in sorted({1, 2, 5, 10, n_rounds} & set(range(1, n_rounds + 1))):
            errors = total_variation_by_row(each.P_test, stages[number_ - 1])
            gammas = eta - each.model.round_errors_[:number_]
            rows.append([
                each.name, number(eta, 3), number_,
                number(float(each.model.train_exceed_[number_ - 1])),
                number(float(each.model.bound_[number_ - 1])),
                number(float(np.exp(-2 * (gammas**2).sum()))),
                number(fraction_above(errors, eta)), number(float(errors.mean())),
            ])  # fmt: skip
    header = ["set", "eta", "rounds", "training rows above eta", "Theorem 1", "exp(-2 sum gamma²)"]
    header += ["new rows above eta", "their mean total variation"]
    said = notes(
        f"Self-terminating trees; eta is {FACTOR} times the best single tree's mean total "
        "variation on a fifth of the rows, another fifth is kept apart as new rows.",
    )
    title = "### Theorem 1, round by round"
    return [title, table(header, rows), said]


# Theorems 4, 6 and 7.


def least_rows(bound: Callable[[int], float], wanted: float) -> str:
    """Return the power of ten of rows from which on a bound is below what is wanted."""
    low, high = math.log(8), math.log(MOST_ROWS)
    if bound(MOST_ROWS) > wanted:
        return f"above 10^{math.log10(MOST_ROWS):.0f}"
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if bound(round(math.exp(middle))) <= wanted else (middle, high)
    return f"10^{high / math.log(10):.1f}"


def bits_of(model: Any) -> int:
    """Return the bits of the largest learner's file, so the class has at most 2^bits learners."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        for member in model.model_.members:
            path = Path(folder, "member")
            member.save(path)
            sizes.append(8 * path.stat().st_size)
    return max(sizes)


def space_of(each: Boosted) -> dict[str, float]:
    """Return what Theorem 7 needs of a set, estimated: L of the targets, diameter, dimension.

    The doubling dimension is by counting how many more rows are within twice the median
    distance, as a power of two. L is the largest slope between a row and its nearest neighbour;
    trees are no Lipschitz functions, so this is of the target alone.
    """
    from sklearn.metrics import pairwise_distances

    rng = np.random.default_rng(0)
    some = rng.permutation(len(each.X))[:400]
    D = pairwise_distances(each.X[some])
    T = pairwise_distances(each.P[some], metric="l1") / 2
    np.fill_diagonal(D, np.inf)
    nearest = D.argmin(axis=1)
    apart = D[np.arange(len(some)), nearest]
    near = T[np.arange(len(some)), nearest]
    finite = D[np.isfinite(D)]
    radius = float(np.median(finite)) / 2
    counts = [max(1, int((finite <= r).sum())) for r in (radius, 2 * radius)]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = near[apart > 0] / apart[apart > 0]
    return {
        "lipschitz": max(float(slopes.max(initial=0.0)), 1e-9),
        "diameter": float(finite.max()),
        "doubling_dimension": math.log2(counts[1] / counts[0]),
    }


def bounds_section(options: Options) -> list[Block]:
    """Return the three bounds of each model, and the rows that each would need."""
    rows = []
    for each in boosted(options):
        n, k = len(each.X), each.P.shape[1]
        exceed, eta = float(each.model.train_exceed_[-1]), each.model.eta_
        errors = total_variation_by_row(each.P_test, each.model.predict_proba(each.X_test))
        bits = bits_of(each.model)
        finite = {"n_labels": k, "slack": SLACK, "delta": DELTA}
        size = {"log_hypotheses": bits * math.log(2)}
        space = space_of(each)
        mean = total_variation(each.P, each.model.predict_proba(each.X))

        def theorem_4(m: int, exceed=exceed, facts=finite | size) -> float:
            return bounds.finite_class_bound(exceed, n_rows=m, **facts)

        def theorem_8(m: int, exceed=exceed, facts=finite | size) -> float:
            return bounds.finite_class_bound(exceed, n_rows=m, smoothness=1.0, **facts)

        def theorem_6(m: int, exceed=exceed, facts=finite | {"dimension": 1}) -> float:
            return bounds.infinite_class_bound(exceed, n_rows=m, **facts)

        def theorem_7(m: int, mean=mean, space=space) -> float:
            return bounds.risk_bound(mean, n_rows=m, delta=DELTA, **space)

        above = fraction_above(errors, min(eta + SLACK, 1.0))
        head = [each.name, f"{n:,}", number(exceed), number(above)]
        for name, bound, wanted in (
            (f"4, H of 2^{bits:,}", theorem_4, 1.0),
            ("4 with 8, c = 1", theorem_8, 1.0),
            ("6, d = 1", theorem_6, 1.0),
        ):
            rows.append([*head, name, number(bound(n), 2), least_rows(bound, wanted)])
        what = f"7, L = {space['lipschitz']:.2g}, ddim = {space['doubling_dimension']:.1f}"
        risk = [each.name, f"{n:,}", number(mean), number(float(errors.mean()))]
        rows.append([*risk, what, number(theorem_7(n), 2), least_rows(theorem_7, 1.0)])
    header = ["set", "training rows", "training", "new rows", "theorem", "bound", "rows needed"]
    said = notes(
        f"Theorems 4 and 6: fraction above eta in training, and above eta + {SLACK} on new rows; "
        f"delta = {DELTA}. Theorem 7: mean total variation. A bound of 1 or more says nothing; the "
        "last column has the rows from which on it would be below 1.",
        "H has all files as large as the largest learner's. d = 1 is the least that a "
        "fat-shattering dimension can be, so Theorem 6 needs more still. c = 1 would be learners "
        "whose answers differ from the mixture's by at most 2 / k in any label.",
    )
    title = "### Theorems 4, 6, 7 and 8 for boosted trees"
    return [title, table(header, rows), said]


# Theorem 8.


def smooth(options: Options) -> list[Block]:
    """Return the mean l1 norm of sums beside c sqrt(n), and of unit vectors beside n."""
    rng = np.random.default_rng(0)
    rows = []
    for k in options.some((16, 256, 4096), 2):
        for n in options.some((10, 100, 1000), 2):
            draws = 20
            spread = np.abs((rng.random((draws, n, k)) * 2 - 1).sum(axis=1) / k).sum(axis=1)
            columns, signs = rng.integers(k, size=(draws, n)), rng.choice([-1, 1], size=(draws, n))
            peaked = np.zeros((draws, k))
            np.add.at(peaked, (np.arange(draws)[:, np.newaxis], columns), signs)
            rows.append([
                f"k = {k:,}", n, number(float(spread.mean()), 2),
                number(bounds.norm_of_sum_bound(n, smoothness=1.0), 2),
                number(float(np.abs(peaked).sum(axis=1).mean()), 2),
            ])  # fmt: skip
    header = ["labels", "vectors", "entries up to 1 / k: mean l1 norm", "Theorem 8", "unit vectors"]
    said = notes(
        "Entries uniform in [-1 / k, 1 / k], c = 1: the norm does not grow with k. Unit vectors of "
        "random sign, the example before the theorem: the norm is near n where k is large.",
    )
    return ["### Theorem 8", table(header, rows), said]


# p^x from repeated rows.


def repeated(options: Options) -> list[Block]:
    """Return models of single labels, and of the frequencies of equal rows."""
    events = next_identifiers(4_000 if options.quick else 200_000, order="shuffled")
    train, test = events.halves()
    common, counts = np.unique(train[1], return_counts=True)
    kept = common[np.argsort(-counts)[:20]]  # trees with distributions of thousands take long
    (X, y), (X_test, y_test) = (of_labels(part, kept) for part in (train, test))
    known = repeated_rows(X_test, y_test)
    often = known.weights >= (2 if options.quick else OFTEN)
    truth = known.P[often].toarray()
    base = SelfTerminatingTreeClassifier(penalty=1.0, min_gain=1.0)
    pairs = repeated_rows(X, y)
    n_rounds = 2 if options.quick else 5
    rows = []
    for eta in options.some(ETAS):
        learners = {
            "labels as they come": AdacondClassifier(base, eta=eta, n_rounds=n_rounds).fit(X, y),
            "frequencies of equal rows": AdacondClassifier(base, eta=eta, n_rounds=n_rounds).fit(
                pairs.X, pairs.P, sample_weight=pairs.weights, classes=pairs.labels
            ),
        }
        for name, model in learners.items():
            p = columns_of(model, known.labels, known.X[often])
            errors = total_variation_by_row(truth, p)
            rows.append([
                f"{eta:g}", name, len(model.bound_), number(float(model.train_exceed_[-1])),
                number(float(model.bound_[-1])), number(fraction_above(errors, eta)),
                number(float(errors.mean())),
            ])  # fmt: skip
    header = ["eta", "learned from", "rounds", "training above eta", "Theorem 1"]
    header += ["new rows above eta", "their mean total variation"]
    said = notes(
        f"Python source: three tokens and the identifier after them, one of the 20 commonest; "
        f"{len(y):,} pairs to learn from, {pairs.X.shape[0]:,} distinct rows. New rows are the "
        f"{int(often.sum()):,} that come at least {2 if options.quick else OFTEN} times in the "
        "pairs kept apart, whose frequencies are taken for p^x.",
        "Errors of the first kind of learner are 1 - P(label), so eta means something else to it: "
        "a row with two equally likely labels is wrong by at least 1/2 whatever is learned.",
    )
    title = "### p^x from repeated rows"
    return [title, table(header, rows), said]


def of_labels(part: tuple[Any, np.ndarray], kept: np.ndarray) -> tuple[Any, np.ndarray]:
    X, y = part
    rows = np.isin(y, kept)
    return X[rows], y[rows]


def columns_of(model: Any, labels: np.ndarray, X: Any) -> np.ndarray:
    """Return the model's distributions with the columns of these labels."""
    place = {label: i for i, label in enumerate(labels.tolist())}
    answers, p = model.predict_proba(X), np.zeros((X.shape[0], len(labels)))
    for i, label in enumerate(model.classes_.tolist()):
        if label in place:
            p[:, place[label]] = answers[:, i]
    rest = 1 - p.sum(axis=1)  # of labels that no new row has
    return p + np.maximum(rest, 0)[:, np.newaxis] / len(labels)


SECTIONS = {"rounds": rounds, "bounds": bounds_section, "smooth": smooth, "repeated": repeated}


BENCHMARK = Benchmark("papers/paper5", __doc__, SECTIONS, paths.OPTIONS)


if __name__ == "__main__":
    BENCHMARK.main()
