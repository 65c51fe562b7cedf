"""Should label-wise experts refine the candidates of `ExtremeRegressor`? A sketch, measured.

Trees propose k labels of each row; a linear expert of each label, fitted on proposals of trees that
did not learn the row, and what the trees say are mixed into a probability by held-out rows (see
batch_sections/candidate_experts.py). Prints a Markdown table for each set and number of trees. A
fifth of the training rows is asked about, the last unless --fifth says another; test rows are never
read. The settings of the experts were chosen by the last fifth of bibtex, delicious and the first
30,000 rows of yso-en, so other rows are the fairer ones.

    python benchmarks/extreme_refinement.py --data DIR [--sets bibtex yso-en] [--limit 30000]

DIR has bibtex and delicious in XC format and yso-en as `label ids<TAB>text`, or some of them.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from batch_sections.candidate_experts import Candidates, Experts, mixed, mixture
from batch_sections.our_models import regressor, timed
from harness.data_sets import training_rows
from harness.machine import described
from harness.report import number, table
from labeltrees.metrics import calibration_error_at_k, ndcg_at_k, precision_at_k

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETS = ("bibtex", "delicious", "yso-en")
N_TREES = (1, 3)
OFFSET, COST, MIN_WEIGHT = 0.5, 1.0, 0.05
ALONE_COST = 3.0  # of experts that learn without the trees' log-odds
MIXING_SHARE = 0.15
HEADER = ["", "P@1", "P@3", "P@5", "nDCG@5", "P@1 more", "ECE@1", "log loss"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from and rows to ask about."""

    X: csr_array
    Y: csr_array
    X_asked: csr_array
    Y_asked: csr_array

    @classmethod
    def split(cls, X: csr_array, Y: csr_array, fifth: int) -> Rows:
        """Rows of this fifth, from 1, are asked about."""
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
    """Return for each row whether its likeliest candidate is true."""
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


def compare(rows: Rows, n_trees: int, n_folds: int, k: int) -> str:
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
    return "\n".join(
        [
            str(table(HEADER, lines)),
            "",
            f"Training: trees {train_s:.1f} s, twice as many {twice_s:.1f} s; refining takes "
            f"{folds_s:.1f} s more for proposals and {fit_s:.1f} s for experts (SciPy), "
            f"{(train_s + folds_s + fit_s) / train_s:.1f} times in all. Bytes: "
            f"{weights + experts.n_bytes:,}, {1 + experts.n_bytes / weights:.2f} times as many. "
            f"Asking: {1e6 * ask_s / n_asked:.0f} us a row, and {1e6 * refine_s / n_asked:.0f} "
            "more (NumPy).",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of multi-label sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="some of the sets")
    parser.add_argument("--limit", type=int, help="most rows of a set")
    parser.add_argument("--trees", type=int, nargs="+", default=N_TREES, help="trees to refine")
    parser.add_argument("--folds", type=int, default=3, help="folds of the proposals to learn from")
    parser.add_argument("--fifth", type=int, choices=range(1, 6), default=5, help="rows asked")
    parser.add_argument("--candidates", type=int, default=20, help="labels proposed for a row")
    chosen = parser.parse_args()
    if not chosen.data.is_dir():
        parser.error(f"--data must be a folder that exists, got {chosen.data}")
    if chosen.limit is not None and chosen.limit < 100:
        parser.error("--limit must be at least 100")
    if chosen.folds < 2:
        parser.error("--folds must be at least 2")
    print(f"{described()}.\n", flush=True)
    for name in chosen.sets or [each for each in SETS if (chosen.data / each).is_dir()]:
        rows = Rows.split(*training_rows(chosen.data, name, chosen.limit), chosen.fifth)
        print(f"### {name}: {rows.X.shape[0]:,} rows learned, {rows.X_asked.shape[0]:,} asked\n")
        for n_trees in chosen.trees:
            print(compare(rows, n_trees, chosen.folds, chosen.candidates), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
