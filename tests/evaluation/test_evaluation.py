"""`labeltrees.evaluate`: scores by hand, agreement with the reference, forms of labels, errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references import evaluation as reference

import labeltrees
from labeltrees import ConditionalTreeClassifier, ExtremeRegressor, TextClassifier
from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.evaluation import Evaluation, Evaluator, evaluate_predictions
from labeltrees.models.model import TopLabels

WEATHER = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20


class Table:
    """A model whose probabilities stand in a matrix: row i of X is [i]."""

    def __init__(self, names, p, learned=None):
        self.vocabulary = LabelVocabulary(names)
        self.p = np.asarray(p, dtype=np.float64)
        self.learned = np.ones(len(names), bool) if learned is None else np.asarray(learned)

    def has_learned(self, ids):
        return (ids >= 0) & self.learned[ids]

    def _of(self, rows):
        return self.p[rows.to_csr().toarray()[:, 0].astype(int)]

    def top_labels(self, rows, k):
        p = self._of(rows)
        order = np.argsort(-p, axis=1, kind="stable")[:, :k]
        return TopLabels(self.vocabulary.labels[order], np.take_along_axis(p, order, axis=1))

    def label_probabilities(self, rows, labels):
        ids = self.vocabulary.ids(labels)
        return np.where(ids < 0, 0.0, self._of(rows)[np.arange(len(ids)), ids])

    def probabilities(self, rows):
        return self._of(rows)


def rows_of(lists, weights=None, relevance=None, *, is_distribution=False):
    flat = np.array([label for labels in lists for label in labels], dtype=object)
    starts = np.concatenate([[0], np.cumsum([len(labels) for labels in lists])]).astype(np.int64)
    rows = as_rows(np.arange(len(lists), dtype=float)[:, np.newaxis])
    weights = None if weights is None else np.asarray(weights, np.float32)
    relevance = None if relevance is None else np.concatenate(relevance).astype(np.float32)
    return Chunk(
        rows, RaggedLabels(flat, starts, relevance), weights, 1, is_distribution=is_distribution
    )


def evaluated(model, chunk, **options):
    evaluator = Evaluator(**options)
    evaluator.add(model, chunk)
    return evaluator.evaluation()


NAMES = ["a", "b", "c", "d"]


@st.composite
def problems(draw):
    n = draw(st.integers(1, 8))
    shares = st.integers(0, 8)
    p = [draw(st.lists(shares, min_size=4, max_size=4)) for _ in range(n)]
    p = [[(x + 1) / (sum(row) + 4) for x in row] for row in p]
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return p, [float(weight) for weight in weights]


@given(problem=problems(), seed=st.integers(0, 99), k=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_rows_with_one_label_agree_with_the_reference(problem, seed, k):
    p, weights = problem
    truth = np.random.default_rng(seed).choice([*NAMES, "new"], len(p)).tolist()
    learned = [name != "d" for name in NAMES]
    model = Table(NAMES, p, learned)
    found = evaluated(model, rows_of([[label] for label in truth], weights), k=k, task="label")
    tops = [sorted(range(4), key=lambda i, row=row: (-row[i], i))[:k] for row in p]
    expected = reference.label_scores(
        truth,
        [label in NAMES and label != "d" for label in truth],
        [row[NAMES.index(label)] if label in NAMES else 0.0
         for label, row in zip(truth, p, strict=True)],
        [[NAMES[i] for i in top] for top in tops],
        [[row[i] for i in top] for row, top in zip(p, tops, strict=True)],
        weights, k,
    )  # fmt: skip
    assert {name: found.scores[name] for name in expected} == pytest.approx(expected)
    assert ("log loss" in found.scores) == ("log loss" in expected)
    assert found.unseen_labels == sorted({label for label in truth if label in ("d", "new")})


@given(problem=problems(), seed=st.integers(0, 99), graded=st.booleans())
@settings(max_examples=60, deadline=None)
def test_rows_with_several_labels_agree_with_the_reference(problem, seed, graded):
    p, weights = problem
    random = np.random.default_rng(seed)
    weights[0] = 1.0
    grades = random.integers(0, 4 if graded else 2, (len(p), 4)).astype(float)
    grades[0, 0] = 1.0
    lists = [[NAMES[i] for i in np.flatnonzero(row)] for row in grades]
    chunk = rows_of(lists, weights, [row[row > 0] for row in grades])
    found = evaluated(Table(NAMES, p), chunk, k=4, task="labels")
    expected = reference.labels_scores(grades.tolist(), p, weights, (1, 3, 4))
    assert {name: found.scores[name] for name in expected} == pytest.approx(expected)
    assert found.is_graded == bool((grades > 1).any())
    # Calibration is about the probability of being relevant at all.
    binary = evaluated(Table(NAMES, p), rows_of(lists, weights), k=4, task="labels").scores
    for name in ("ECE@1", "ECE@4", "Brier@1", "Brier@4"):
        assert found.scores[name] == pytest.approx(binary[name])


@given(problem=problems(), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_rows_with_distributions_agree_with_the_reference(problem, seed):
    p, weights = problem
    truth = np.random.default_rng(seed).dirichlet(np.ones(4), len(p)).astype(np.float32)
    chunk = rows_of([NAMES] * len(p), weights, truth, is_distribution=True)
    found = evaluated(Table(NAMES, p), chunk)
    shares = truth.astype(float) / truth.astype(float).sum(axis=1, keepdims=True)
    expected = reference.distribution_scores(shares.tolist(), p, weights)
    assert found.task == "distribution"
    assert {name: found.scores[name] for name in expected} == pytest.approx(expected, abs=1e-6)


# Weights.


@pytest.mark.parametrize("task", ["label", "labels"])
def test_a_row_of_weight_two_counts_as_two_rows(task):
    p = [[0.6, 0.2, 0.1, 0.1], [0.1, 0.5, 0.3, 0.1], [0.3, 0.3, 0.2, 0.2]]
    lists = [["a"], ["c"], ["b"]]
    weighted = evaluated(Table(NAMES, p), rows_of(lists, [2, 1, 0]), task=task)
    repeated = evaluated(
        Table(NAMES, [p[0], p[0], p[1]]), rows_of([["a"], ["a"], ["c"]]), task=task
    )
    # Coverage counts labels instead of rows, and the radius has the number of independent rows.
    others = [name for name in repeated.scores if "coverage" not in name and "radius" not in name]
    expected = {name: repeated.scores[name] for name in others}
    assert {name: weighted.scores[name] for name in others} == pytest.approx(expected)


def test_labelwise_rows_of_weight_zero_are_left_out():
    model = ExtremeRegressor(n_trees=1).fit(WEATHER[0], [[label] for label in WEATHER[1]])
    X, y = [[1, 0], [0, 1], [1, 0.5]], [["sun"], ["rain"], ["rain"]]
    found = labeltrees.evaluate(model, X, y, sample_weight=[2, 1, 0], labelwise=True)
    expected = labeltrees.evaluate(model, X[:2], y[:2], labelwise=True)
    assert found.scores == expected.scores
    assert found.n_rows == 2


# What rows have decides.


@pytest.mark.parametrize(
    ("lists", "task"),
    [
        ([["a"], ["b"]], "label"),
        ([["a"], []], "label"),
        ([["a", "b"], ["b"]], "labels"),
        ([["a", "b"], *[["b"]] * 199], "label"),
        ([["a", "b"], *[["b"]] * 99], "labels"),
    ],
)
def test_what_most_rows_have_decides(lists, task):
    chunk = rows_of(lists)
    found = evaluated(Table(NAMES, np.full((len(lists), 4), 0.25)), chunk)
    assert found.task == task
    assert found.n_rows == sum(len(labels) > 0 for labels in lists) or task == "labels"


def test_how_a_file_is_cut_into_chunks_does_not_matter(monkeypatch):
    monkeypatch.setattr("labeltrees.evaluation._measuring.ROWS_TO_DECIDE", 3)
    monkeypatch.setattr("labeltrees.evaluation._truth.ROWS_TO_DECIDE", 3)
    p = np.random.default_rng(0).dirichlet(np.ones(4), 6)
    whole = rows_of([["a"], ["b"], ["c", "d"], ["a"], [], ["b", "new"]])
    model, by_row = Table(NAMES, p), Evaluator()
    for row in range(6):
        by_row.add(model, whole.take(np.array([row])))
    found = by_row.evaluation()
    assert found.task == "labels"
    assert found.to_dict() == evaluated(model, whole).to_dict()


def test_labels_may_come_in_any_form():
    X = np.random.default_rng(0).normal(size=(60, 5))
    Y = (X[:, :4] > 0.3).astype(float)
    Y[0] = 1
    names = np.array(["p", "q", "r", "s"])
    model = ExtremeRegressor(n_trees=1).fit(X, Y, classes=names)
    lists = [names[np.flatnonzero(row)].tolist() for row in Y]
    dicts = [dict.fromkeys(labels, 1.0) for labels in lists]
    expected = labeltrees.evaluate(model, X, lists).to_dict()
    for y in (dicts, Y, sparse.csr_array(Y)):
        classes = names if hasattr(y, "shape") else None
        assert labeltrees.evaluate(model, X, y, classes=classes).to_dict() == expected
    core = labeltrees.evaluate(model.model_, X, lists)
    assert core.to_dict() == expected


def test_whole_floats_and_columns_are_labels():
    model = ConditionalTreeClassifier().fit(WEATHER[0], [3, 4] * 20)
    X = [[1, 0], [0, 1]]
    expected = labeltrees.evaluate(model, X, [3, 4]).to_dict()
    for y in (np.array([3.0, 4.0]), np.array([[3], [4]])):
        assert labeltrees.evaluate(model, X, y).to_dict() == expected


def test_texts_and_propensities():
    tags = [["dry"], ["wet", "cold"]] * 20
    model = TextClassifier().fit(["sun", "rain"] * 20, tags)
    found = labeltrees.evaluate(model, ["sun", "rain"], tags[:2], k=2, learned=tags)
    assert found.scores["P@1"] == 1
    assert found.scores["PSP@2"] == pytest.approx(1)


# What is shown.


def test_an_evaluation_is_shown_as_a_table_and_as_json():
    model = ConditionalTreeClassifier().fit(*WEATHER)
    found = labeltrees.evaluate(model, [[1, 0], [0, 1]], ["sun", "fog"])
    assert "accuracy" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["scores"]["accuracy"] == 0.5
    assert "<td" in found._repr_html_()
    assert found.to_dict()["unseen_labels"] == 1
    several = labeltrees.evaluate(model, [[1, 0]], ["sun"], task="labels")
    header = next(line for line in str(several).splitlines() if "for each row" in line)
    assert header.split()[-1] == "@1"
    assert "<th>@1</th>" in several._repr_html_()


def test_a_score_at_k_needs_k_predictions():
    model = ConditionalTreeClassifier().fit(*WEATHER)
    found = labeltrees.evaluate(model, [[1, 0]], ["sun"], k=3)
    assert {"accuracy", "ECE@1"} <= set(found.scores)
    assert "top-3 accuracy" not in found.scores


def test_saved_predictions_are_compared_as_text(tmp_path):
    path = tmp_path / "answers.jsonl"
    lines = [
        {"labels": ["3", "4"], "probabilities": [0.75, 0.25]},
        {"labels": [], "probabilities": []},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = evaluate_predictions(path, [3, 4], k=2)
    assert isinstance(found, Evaluation)
    assert found.scores["accuracy"] == 0.5
    assert found.scores["ECE@1"] == pytest.approx(0.25)
    assert "log loss" not in found.scores


def test_labels_rank_rows_by_score_if_a_file_has_a_line_for_each_row(tmp_path):
    path = tmp_path / "answers.tsv"
    path.write_text("a\t0.9\tb\t0.3\nb\t0.8\ta\t0.7\n")
    found = evaluate_predictions(path, [["b"], ["a", "b"]], labelwise=True, k=1)
    assert found.scores["P@1"] == 0.5  # row 0 is first for "a", row 1 for "b"


# Errors.


def test_what_cannot_be_evaluated_is_refused(tmp_path):
    model = ConditionalTreeClassifier().fit(*WEATHER)
    X = [[1, 0], [0, 1]]
    with pytest.raises(DataError, match="y has 1 rows for the 2 rows of X"):
        labeltrees.evaluate(model, X, ["sun"])
    with pytest.raises(ArgumentError, match="model must be an estimator or a model"):
        labeltrees.evaluate("model", X, ["sun", "rain"])
    with pytest.raises(ArgumentError, match="sample_weight must have a weight above zero"):
        labeltrees.evaluate(model, X, ["sun", "rain"], sample_weight=[0, 0])
    with pytest.raises(ArgumentError, match="task must be"):
        labeltrees.evaluate(model, X, ["sun", "rain"], task="rows")
    with pytest.raises(DataError, match="y has no label"):
        labeltrees.evaluate(model, X, [[], []])
    with pytest.raises(DataError, match="No row has a label"):
        Evaluator().evaluation()
    path = tmp_path / "answers"
    path.write_text("sun\t1\n")
    with pytest.raises(DataError, match="has 1 lines, but y has 2 rows"):
        evaluate_predictions(path, ["sun", "rain"])
