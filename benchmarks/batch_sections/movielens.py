"""Films for users, where users are labels, films are texts, and ratings are relevances."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from batch_sections.contestants import COSTS
from batch_sections.our_models import ranked_labels, regressor, top_rows
from harness.benchmark import Options
from harness.report import Block, left_out, notes, number, table
from harness.timing import timed
from labeltrees.metrics import auc_at_k, weighted_precision_at_k

SEEDS = (0, 1, 2)
TEST_SHARE = 0.3
HEADER = ["how", "Rating@1 %", "Rating@3 %", "Rating@5 %", "AUC@5 %", "users with a film %", "s"]


@dataclass(frozen=True, eq=False)
class Films:
    """Films with their words, and the users' ratings of them, films by users."""

    texts: list[str]
    ratings: csr_array


def section(options: Options) -> list[Block]:
    """Return a table of three ways to find films for users with the same model."""
    title = "MovieLens, films for users"
    folder = options.folder("movielens-latest-small")
    if folder is None:
        return left_out(title, "folder with movielens-latest-small")
    films = read_films(folder, options.limit)
    tried = [one_seed(films, seed, options) for seed in SEEDS]
    costs = ", ".join(f"{cost:g}" for cost, _ in tried)
    answers = {how: np.mean([each[how] for _, each in tried], axis=0) for how in tried[0][1]}
    rows = [
        [how, *(number(100 * value, 2) for value in values[:-1]), number(values[-1], 3)]
        for how, values in answers.items()
    ]
    at_5 = {how: values[2] for how, values in answers.items()}
    found, transposed, every, _ = at_5.values()
    options.found["movielens"] = {"transposed": found / transposed, "every": found / every}
    said = notes(
        f"{len(films.texts):,} films, {films.ratings.shape[1]} users, {films.ratings.nnz:,} "
        f"ratings; means over seeds {SEEDS}, each with {TEST_SHARE:.0%} of the films as test rows.",
        f"Rating@k and AUC@k are labelwise (`per='label'`). Labelwise search has "
        f"{found / transposed:.2f} times the Rating@5 of the transposed top 10, and "
        f"{found / every:.3f} times the Rating@5 of scoring all pairs.",
        f"C: of {COSTS}, the best Rating@5 of scoring all pairs on a fifth of the training films, "
        f"not learned from meanwhile: {costs}.",
    )
    return [f"### {title}", table(HEADER, rows), said]


def read_films(folder: Path, limit: int | None) -> Films:
    """Return the rated films; a text has title, genres and tags."""
    texts = {
        row[0]: f"{row[1]} {row[2].replace('|', ' ')}"
        for row in read_rows(folder / "movies.csv.gz")
    }
    for _, film, tag, _ in read_rows(folder / "tags.csv.gz"):
        texts[film] += f" {tag}"
    ratings = [
        (film, int(user), float(stars))
        for user, film, stars, _ in read_rows(folder / "ratings.csv.gz")
    ]
    rated = sorted({film for film, _, _ in ratings}, key=int)[:limit]
    row_of = {film: row for row, film in enumerate(rated)}
    ratings = [(row_of[film], user - 1, stars) for film, user, stars in ratings if film in row_of]
    rows, users, stars = zip(*ratings, strict=True)
    shape = (len(rated), max(users) + 1)
    matrix = csr_array((np.array(stars, dtype=np.float32), (rows, users)), shape=shape)
    return Films([texts[film] for film in rated], matrix)


def read_rows(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def one_seed(films: Films, seed: int, options: Options) -> tuple[float, dict[str, list[float]]]:
    """Return the chosen C, and the scores and seconds of each kind of query."""
    learn, ask = halves(len(films.texts), TEST_SHARE, seed)
    inner, outer = halves(len(learn), 0.2, seed)
    tried = {}
    for cost in COSTS:
        model, X = learned(films, learn[inner], learn[outer], cost, options)
        every = csr_array(model.predict_relevance(X))
        truth = of_users(films, learn[outer], model)
        tried[cost] = weighted_precision_at_k(truth, every, 5, per="label")
    cost = max(tried, key=lambda each: tried[each])
    model, X = learned(films, learn, ask, cost, options)
    return cost, answers(model, X, of_users(films, ask, model))


def halves(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    cut = n - round(share * n)
    return np.sort(order[:cut]), np.sort(order[cut:])


def learned(
    films: Films, learn: np.ndarray, ask: np.ndarray, cost: float, options: Options
) -> tuple[Any, csr_array]:
    """Return a model of the training films, and the features of the test films."""
    words = TfidfVectorizer(dtype=np.float32)
    X = csr_array(words.fit_transform([films.texts[i] for i in learn]))
    model = regressor(cost=cost, n_jobs=options.threads).fit(X, films.ratings[learn])
    return model, csr_array(words.transform([films.texts[i] for i in ask]))


def of_users(films: Films, rows: np.ndarray, model: Any) -> csr_array:
    """Return the ratings of the users that the model knows, in its order."""
    return csr_array(films.ratings[rows][:, np.asarray(model.classes_)])


def answers(model: Any, X: csr_array, truth: csr_array) -> dict[str, list[float]]:
    n_labels = truth.shape[1]
    ways = {
        "labelwise search": lambda: top_rows(model, X, 5, n_labels),
        "top 10 users of each film, transposed": lambda: ranked_labels(model, X, 10, n_labels),
        "all pairs scored": lambda: csr_array(model.predict_relevance(X)),
        "labelwise search, exact": lambda: top_rows(model, X, 5, n_labels, exact=True),
    }
    found = {}
    for how, ask in ways.items():
        scores, seconds = timed(ask)
        reached = (np.diff(scores.tocsc().indptr) > 0).mean()
        found[how] = [
            *(weighted_precision_at_k(truth, scores, k, per="label") for k in (1, 3, 5)),
            auc_at_k(truth, scores, 5, per="label"),
            reached,
            seconds,
        ]
    return found
