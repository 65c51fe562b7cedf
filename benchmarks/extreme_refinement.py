"""Should label-wise experts refine the candidates of `ExtremeRegressor`? A sketch, measured.

Trees propose k labels of each row. Candidate c of row x then has the probability
sigmoid(v0 logit p_c + v1 f_c(x) + v2), where p_c is the trees' and f_c a linear regressor of the
label's own. f_c learns from rows that have c among the proposals of trees that did not learn the
row, by the logistic loss of offset logit p_c + f_c(x); held-out rows fit v. There is a table for
each set and number of trees. A fifth of the training rows is predicted, the last unless --fifth
names another; test rows are never read. The settings of the experts were chosen by the last fifth
of bibtex, delicious and the first 30,000 rows of yso-en, so other rows are the fairer ones.

    python benchmarks/extreme_refinement.py --data DIR [--sets bibtex yso-en] [--limit 30000]

DIR has bibtex and delicious in XC format and yso-en as `label ids<TAB>text`, or some of them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logit

from batch_sections.our_models import regressor
from harness.benchmark import Benchmark, Options
from harness.data_sets import training_rows
from harness.report import Block, number, table
from harness.timing import timed
from labeltrees.metrics import calibration_error_at_k, ndcg_at_k, precision_at_k

#: A weight takes 2 bytes and names its feature with 4.
BYTES_PER_WEIGHT = 6
MIN_P = 1e-6
N_STEPS, N_CORRECTIONS = 40, 6


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of a row and a label, what the trees say of them, and whether they are true."""

    row: NDArray[np.int64]
    label: NDArray[np.int64]
    p: NDArray[np.float64]
    true: NDArray[np.bool_]

    @classmethod
    def proposed(cls, model: Any, X: csr_array, Y: csr_array, k: int) -> Candidates:
        """The k best labels of each row by the model's own search."""
        labels, p = model.predict_top_k(X, min(k, len(model.classes_)))
        found = np.not_equal(labels, None)  # a beam may find fewer than k
        row, label = np.nonzero(found)[0], labels[found].astype(np.int64)
        rows_of_truth = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        true = np.isin(row * Y.shape[1] + label, rows_of_truth * Y.shape[1] + Y.indices)
        return cls(row, label, np.clip(p[found].astype(float), MIN_P, 1 - MIN_P), true)

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def of(self, chosen: NDArray[np.bool_]) -> Candidates:
        return Candidates(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @property
    def log_odds(self) -> NDArray[np.float64]:
        return logit(self.p)


@dataclass(frozen=True, eq=False)
class Experts:
    """The weights of all labels' regressors, by label and feature; the last feature is constant."""

    keys: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def fitted(
        cls, X: csr_array, pairs: Candidates, *, offset: float, cost: float, min_weight: float
    ) -> Experts:
        """Fit all experts at once, which is exact because their losses share no weight."""
        keys, values, starts = _inputs(X, pairs)
        known, columns = np.unique(keys, return_inverse=True)
        A = csr_array((values, columns, starts), shape=(len(pairs.row), len(known)))
        weights = _logistic(A, pairs.true, offset * pairs.log_odds, cost)
        kept = np.abs(weights) > min_weight
        return cls(known[kept], weights[kept])

    def ask(self, X: csr_array, pairs: Candidates) -> NDArray[np.float64]:
        """Return f of each candidate."""
        keys, values, starts = _inputs(X, pairs)
        if not len(self.keys):
            return np.zeros(len(pairs.row))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        parts = np.where(self.keys[place] == keys, self.weights[place], 0) * values
        return np.add.reduceat(parts, starts[:-1]) if len(parts) else np.zeros(0)

    @property
    def n_bytes(self) -> int:
        return BYTES_PER_WEIGHT * len(self.keys)


def mixture(inputs: NDArray[np.float64], true: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return v, the logistic regression of the truth on the inputs and 1."""
    A = _with_ones(inputs)
    return _logistic(A, true, np.zeros(len(A)), cost=1e6 / len(A))


def mixed(inputs: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities."""
    return expit(_with_ones(inputs) @ v)


def _with_ones(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([inputs, np.ones(len(inputs))])


def _logistic(
    A: Any, true: NDArray[np.bool_], offset: NDArray[np.float64], cost: float
) -> NDArray[np.float64]:
    """Return the w with the least w.w / 2 + cost * sum of the log losses of offset + A w."""
    sign = np.where(true, 1.0, -1.0)
    transposed = A.T.tocsr() if hasattr(A, "tocsr") else A.T

    def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (offset + A @ w)
        slopes = -cost * sign * expit(-margin)
        return w @ w / 2 + cost * np.logaddexp(0, -margin).sum(), w + transposed @ slopes

    options = {"maxiter": N_STEPS, "maxcor": N_CORRECTIONS}
    start = np.zeros(A.shape[1])
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


def _inputs(X: csr_array, pairs: Candidates) -> tuple[NDArray[Any], ...]:
    """Return key and value of every feature of every pair, and where each pair's start."""
    n_keys = X.shape[1] + 1
    sizes = np.diff(X.indptr)[pairs.row] + 1
    starts = np.concatenate(([0], np.cumsum(sizes)))
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    is_last = place == np.repeat(sizes, sizes) - 1
    at = np.where(is_last, 0, np.repeat(X.indptr[pairs.row], sizes) + place)
    feature = np.where(is_last, X.shape[1], X.indices[at])
    return (
        np.repeat(pairs.label, sizes) * n_keys + feature,
        np.where(is_last, 1.0, X.data[at].astype(float)),
        starts,
    )


SETS = ("bibtex", "delicious", "yso-en")
N_TREES = (1, 3)
OFFSET, COST, MIN_WEIGHT = 0.5, 1.0, 0.05
ALONE_COST = 3.0  # of experts that learn without the trees' log-odds
MIXING_SHARE = 0.15
HEADER = ["", "P@1", "P@3", "P@5", "nDCG@5", "P@1 more", "ECE@1", "log loss"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows and queried rows."""

    X: csr_array
    Y: csr_array
    X_asked: csr_array
    Y_asked: csr_array

    @classmethod
    def split(cls, X: csr_array, Y: csr_array, fifth: int) -> Rows:
        """Return the split whose queried rows are this fifth, counted from 1."""
        place = np.arange(X.shape[0])
        asked = (place >= len(place) * (fifth - 1) // 5) & (place < len(place) * fifth // 5)
        return cls(X[~asked], Y[~asked], X[asked], Y[asked])


class Refinement:
    """Experts for candidates, and how they and the trees are mixed."""

    def __init__(self, rows: Rows, pairs: Candidates) -> None:
        self.rows, self.pairs = rows, pairs
        held_out = np.random.default_rng(1).random(rows.X.shape[0]) < MIXING_SHARE
        self.mixing = held_out[pairs.row]

    def refined(self, asked: Candidates) -> tuple[NDArray[np.float64], Experts]:
        """Return the candidates' probabilities by trees and experts, and the experts."""
        settings = {"offset": OFFSET, "cost": COST, "min_weight": MIN_WEIGHT}
        held_out, first = self.pairs.of(self.mixing), self._experts(~self.mixing, settings)
        f = first.ask(self.rows.X, held_out)
        v = mixture(np.column_stack([held_out.log_odds, f]), held_out.true)
        experts = self._experts(np.ones_like(self.mixing), settings)
        f = experts.ask(self.rows.X_asked, asked)
        return mixed(np.column_stack([asked.log_odds, f]), v), experts

    def alone(self, asked: Candidates) -> NDArray[np.float64]:
        """Return the candidates' probabilities by experts that never hear of the trees'."""
        settings = {"offset": 0.0, "cost": ALONE_COST, "min_weight": MIN_WEIGHT}
        held_out, experts = self.pairs.of(self.mixing), self._experts(~self.mixing, settings)
        v = mixture(experts.ask(self.rows.X, held_out)[:, np.newaxis], held_out.true)
        return mixed(experts.ask(self.rows.X_asked, asked)[:, np.newaxis], v)

    def _experts(self, chosen: NDArray[np.bool_], settings: dict[str, float]) -> Experts:
        return Experts.fitted(self.rows.X, self.pairs.of(chosen), **settings)


def cross_fitted(rows: Rows, n_trees: int, n_folds: int, k: int) -> Candidates:
    """Return proposals for every row, by trees that have not learned it."""
    fold = np.random.default_rng(0).integers(n_folds, size=rows.X.shape[0])
    parts = []
    for each in range(n_folds):
        learned, asked = fold != each, np.flatnonzero(fold == each)
        model = regressor(n_trees=n_trees).fit(rows.X[learned], rows.Y[learned])
        found = Candidates.proposed(model, rows.X[asked], rows.Y[asked], k)
        parts.append(Candidates(asked[found.row], found.label, found.p, found.true))
    return Candidates.joined(parts)


def scored(name: str, Y: csr_array, asked: Candidates, p, compared=None) -> list[str]:
    """Return a row of the table; ``compared`` is whether the trees' first labels are true."""
    scores = csr_array((p, (asked.row, asked.label)), shape=Y.shape)
    precision = [number(100 * precision_at_k(Y, scores, k), 2) for k in (1, 3, 5)]
    more = "-"
    if compared is not None:
        gain = 100 * (first_is_true(Y, asked, p) - compared)
        more = f"{gain.mean():+.2f} +- {gain.std() / np.sqrt(len(gain)):.2f}"
    loss = -np.log(np.where(asked.true, p, 1 - p)).mean()
    ece = calibration_error_at_k(Y, scores, 1)
    ndcg = 100 * ndcg_at_k(Y, scores, 5)
    return [name, *precision, number(ndcg, 2), more, number(ece, 3), number(loss)]


def first_is_true(Y: csr_array, asked: Candidates, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row whether its top candidate is true."""
    order = np.lexsort((-p, asked.row))
    rows, places = np.unique(asked.row[order], return_index=True)
    hits = np.zeros(Y.shape[0])
    hits[rows] = asked.true[order][places]
    return hits


def file_bytes(model) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.stat().st_size


def compare(rows: Rows, n_trees: int, n_folds: int, k: int) -> list[Block]:
    """Return the table of one set, and what refining costs, in a sentence."""
    X, Y, n_asked = rows.X_asked, rows.Y_asked, rows.X_asked.shape[0]
    model, train_s = timed(lambda: regressor(n_trees=n_trees).fit(rows.X, rows.Y))
    asked, ask_s = timed(lambda: Candidates.proposed(model, X, Y, k))
    trees = first_is_true(Y, asked, asked.p)
    name = f"trees: {n_trees}"
    lines = [scored(name, Y, asked, asked.p)]
    twice, twice_s = timed(lambda: regressor(n_trees=2 * n_trees).fit(rows.X, rows.Y))
    more = Candidates.proposed(twice, X, Y, k)
    lines.append(scored(f"trees: {2 * n_trees}", Y, more, more.p, trees))
    pairs, folds_s = timed(lambda: cross_fitted(rows, n_trees, n_folds, k))
    refinement = Refinement(rows, pairs)
    (p, experts), fit_s = timed(lambda: refinement.refined(asked))
    _, refine_s = timed(lambda: experts.ask(X, asked))
    lines.append(scored(f"{name}, refined", Y, asked, p, trees))
    lines.append(scored("experts alone", Y, asked, refinement.alone(asked), trees))
    weights = file_bytes(model)
    said = (
        f"Training: trees {train_s:.1f} s, twice as many {twice_s:.1f} s; refining takes "
        f"{folds_s:.1f} s more for proposals and {fit_s:.1f} s for experts (SciPy), "
        f"{(train_s + folds_s + fit_s) / train_s:.1f} times in all. Bytes: "
        f"{weights + experts.n_bytes:,}, {1 + experts.n_bytes / weights:.2f} times as many. "
        f"Asking: {1e6 * ask_s / n_asked:.0f} us a row, and {1e6 * refine_s / n_asked:.0f} "
        "more (NumPy)."
    )
    return [table(HEADER, lines), said]


def section(options: Options) -> Iterator[Block]:
    """Return a table for each set and number of trees."""
    own = options.own
    for name in options.sets:
        rows = Rows.split(*training_rows(options.data, name, options.limit), own.fifth)
        yield f"### {name}: {rows.X.shape[0]:,} rows learned, {rows.X_asked.shape[0]:,} asked"
        for n_trees in own.trees:
            yield from compare(rows, n_trees, own.folds, own.candidates)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trees", type=int, nargs="+", default=N_TREES, help="trees to refine")
    parser.add_argument("--folds", type=int, default=3, help="folds of the proposals to learn from")
    parser.add_argument("--fifth", type=int, choices=range(1, 6), default=5, help="rows asked")
    parser.add_argument("--candidates", type=int, default=20, help="labels proposed for a row")


def refuse(options: Options) -> str | None:
    return None if options.own.folds > 1 else "--folds must be at least 2"


BENCHMARK = Benchmark(
    "extreme_refinement",
    __doc__,
    {"refinement": section},
    takes=("data", "limit"),
    sets=SETS,
    needs_data=True,
    arguments=arguments,
    refuse=refuse,
)

if __name__ == "__main__":
    BENCHMARK.main()
