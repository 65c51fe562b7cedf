"""The labelwise experiments of paper 4 on movielens-latest-small, which find films for users."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from published import ABLATION, MOVIELENS
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from systems import (
    LABELWISE,
    NAMED,
    XREG,
    XREG_T,
    Run,
    System,
    above_zero,
    not_negative,
    shown,
    tuned,
)

from batch_sections.movielens import TEST_SHARE, Films, halves, read_films
from batch_sections.our_models import ranked_labels, top_rows
from harness.benchmark import Options
from harness.report import Block, left_out, notes, number, table
from harness.timing import processor_timed as timed
from labeltrees.metrics import (
    auc_at_k,
    weighted_ndcg_at_k,
    weighted_precision_at_k,
    xmad_at_k,
    xrmse_at_k,
)

FOLDER = "movielens-latest-small"
ROWS_PER_LABEL = 100
POINTWISE_LABELS = 10
FACTORS = (4.0, 1.0, 2.0, 8.0)
HIGHEST = 5.0  # stars


class Question:
    """Training and test films of one run of the paper's protocol."""

    def __init__(self, films: Films, learn: np.ndarray, ask: np.ndarray) -> None:
        words = TfidfVectorizer(dtype=np.float32)
        self.X = csr_array(words.fit_transform([films.texts[i] for i in learn]))
        self.X_asked = csr_array(words.transform([films.texts[i] for i in ask]))
        self.ratings = films.ratings[learn]
        self.truth = csr_array(films.ratings[ask])

    def fit(self, model: Any, system: System) -> Any:
        Y = self.ratings if system.graded else self.ratings.astype(bool).astype(np.float32)
        return model.fit(self.X, Y)

    def found(self, model: Any, **options: Any) -> csr_array:
        """Return the best films of every user with their scores, films by users."""
        k = min(ROWS_PER_LABEL, self.X_asked.shape[0])
        return top_rows(model, self.X_asked, k, self.truth.shape[1], **options)

    def transposed(self, model: Any) -> csr_array:
        """Return the best users of every film, by pointwise inference."""
        return ranked_labels(model, self.X_asked, POINTWISE_LABELS, self.truth.shape[1])


@functools.cache
def questions(data: Path) -> tuple[Question, Question]:
    """Return 70 % of the films to learn from, and four fifths of those to choose by."""
    films = read_films(data / FOLDER, None)
    learn, ask = halves(len(films.texts), TEST_SHARE, 0)
    inner, outer = halves(len(learn), 0.2, 0)
    return Question(films, learn, ask), Question(films, learn[inner], learn[outer])


@functools.cache
def run_of(data: Path, system: Any, quick: bool, pointwise: bool = False) -> Run:
    question, apart = questions(data)

    def score(model: Any) -> float:
        found = apart.transposed(model) if pointwise else apart.found(model)
        return rating_at(apart.truth, above_zero(found), 5)

    def fit_to(part: Question) -> Callable[[Any], Any]:
        return lambda model: part.fit(model, system)

    return tuned(system, fit_to(question), fit_to(apart), score, n_tried=1 if quick else None)


def rating_at(truth: csr_array, found: csr_array, k: int) -> float:
    return weighted_precision_at_k(truth, found, k, per="label")


def units_of(system: System, found: csr_array) -> csr_array:
    """Return scores as shares of the highest rating, if they are ratings."""
    return not_negative(found / HIGHEST if system.in_units else found)


def measured(truth: csr_array, found: csr_array, system: System) -> list[str]:
    """Return Rating@1, 3, 5, nDCG@5, AUC@1, 3, 5 in %, XMAD@5 and XRMSE@5, labelwise."""
    stars, units = csr_array(truth / HIGHEST), units_of(system, found)
    found = above_zero(found)
    return [
        *(number(100 * rating_at(truth, found, k), 2) for k in (1, 3, 5)),
        number(100 * weighted_ndcg_at_k(truth, found, 5, per="label"), 2),
        *(number(100 * auc_at_k(truth, found, k, per="label", tolerance=0), 2) for k in (1, 3, 5)),
        number(xmad_at_k(stars, units, 5, per="label"), 4),
        number(xrmse_at_k(stars, units, 5, per="label"), 4),
    ]


def compared(options: Options) -> list[System]:
    """Return the systems; quick runs have few."""
    return [NAMED["1-vs-all-LS"], NAMED[XREG]] if options.quick else LABELWISE


def movielens(options: Options) -> list[Block]:
    """Return Tables 2 and 6, labelwise."""
    title = "### Tables 2 and 6: MovieLens, labelwise"
    if options.folder(FOLDER) is None:
        return left_out(title, f"folder with {FOLDER}")
    question, _ = questions(options.data)
    rows = []
    for system in compared(options):
        run = run_of(options.data, system, options.quick)
        found, asking = timed(lambda run=run: question.found(run.model))
        cells = measured(question.truth, found, system)
        per_film = 1e3 * asking / question.X_asked.shape[0]
        name = f"{system.name} ({shown(run.settings)})"
        rows.append([name, *cells, number(run.train_s, 2), number(per_film, 4)])
        if system.name in MOVIELENS:
            rows.append([f"paper, 138K users: {system.name}", *MOVIELENS[system.name]])
    header = ["system", "Rating@1", "Rating@3", "Rating@5", "nDCG@5", "AUC@1", "AUC@3", "AUC@5"]
    header += ["XMAD@5", "XRMSE@5", "training s", "ms per film"]
    said = notes(
        f"{question.X.shape[0]:,} films to learn from, {question.X_asked.shape[0]:,} to ask about, "
        f"{question.truth.shape[1]:,} users (paper: 18,732, 8,012 and 138,490): the sets differ, "
        "so only the order of systems can be compared. Features are words of title, genres and "
        "tags. Settings by Rating@5 on a fifth of the films to learn from. RankSVM, which the "
        "paper does not have on this set, is left out: it would learn from some 40 million pairs.",
    )
    return [title, table(header, rows), said]


def ablation(options: Options) -> list[Block]:
    """Return Table 4."""
    title = "### Table 4: from Parabel to labelwise XReg-t"
    if options.folder(FOLDER) is None:
        return left_out(title, f"folder with {FOLDER}")
    question, _ = questions(options.data)
    parabel = NAMED["Parabel"]
    logloss = System(
        "Parabel-logloss",
        parabel.estimator,
        parabel.fixed | {"loss": "logistic"},
        parabel.grid,
        graded=False,
        in_units=False,
    )
    steps = {
        "Parabel-logloss": (logloss, True),
        "pointwise XReg": (NAMED[XREG], True),
        "labelwise XReg": (NAMED[XREG], False),
        "labelwise XReg-t": (NAMED[XREG_T], False),
    }
    rows = []
    for name, (system, pointwise) in steps.items():
        run = run_of(options.data, system, options.quick, pointwise)
        found = question.transposed(run.model) if pointwise else question.found(run.model)
        cells = measured(question.truth, found, system)
        reached = float((np.diff(found.tocsc().indptr) > 0).mean())
        rows.append([name, cells[2], cells[6], number(100 * reached, 1), *ABLATION[name]])
    header = ["step", "Rating@5 %", "AUC@5 %", "users with a film %"]
    header += ["paper, MovieLens-138K: Rating@5", "AUC@5"]
    said = notes(
        f"Pointwise: the {POINTWISE_LABELS} best users of each film, turned round. Labelwise: "
        f"Algorithm 1 with F = 4, {ROWS_PER_LABEL} films for each user. AUC@5 counts pairs of "
        "films found only, so few films found may have a high one.",
    )
    return [title, table(header, rows), said]


def error_rows(options: Options) -> list[list[str]]:
    """Return MovieLens's rows of Table 3."""
    from paper4 import error_row

    if options.folder(FOLDER) is None:
        return []
    question, _ = questions(options.data)
    rows = []
    for system in compared(options):
        found = question.found(run_of(options.data, system, options.quick).model)
        truth, units = csr_array(question.truth / HIGHEST), units_of(system, found)
        rows.append(error_row(f"MovieLens: {system.name}", truth, units, per="label"))
    return rows


def per_label_points(options: Options) -> list[list[str]]:
    """Return the last part of Table 7: how many points of a node are passed on."""
    if options.folder(FOLDER) is None:
        return []
    question, _ = questions(options.data)
    system = NAMED[XREG]
    run = run_of(options.data, system, options.quick)
    rows = []
    for factor in options.some(FACTORS, 1):
        found, asking = timed(lambda factor=factor: question.found(run.model, factor=factor))
        cells = measured(question.truth, found, system)
        per_film = number(1e3 * asking / question.X_asked.shape[0], 4)
        costs = [number(run.train_s, 2), per_film, number(run.model_mb, 2)]
        rows.append(["MovieLens", f"factor F = {factor:g}", cells[2], cells[6], cells[7], *costs])
    return rows
