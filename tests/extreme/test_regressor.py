"""Extreme regression: label trees over graded relevance, and every question to them.

Worked example -> agreement with tests/references/extreme.py -> searches -> labelwise ->
invariants -> calibration, memory -> files -> boundaries -> errors.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references.extreme import (
    ReferenceTree,
    labelwise,
    node_problem,
    of_house,
)

import labeltrees
from labeltrees import ExtremeRegressor
from labeltrees.errors import ArgumentError, ModelFormatError, TooLargeError
from labeltrees.metrics import calibration_error_at_k, propensities
from labeltrees.models.extreme.calibration import Calibration, ProbabilityMap
from labeltrees.models.extreme.model import RelevanceTreeArrays

EXACT = {"tolerance": 0.0, "max_epochs": 400, "min_weight": 0.0, "calibrate": False}


def data(seed, n_rows=300, n_features=12, n_labels=20, graded=False):
    """Rows whose labels depend on their features."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.4)
    scores = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels)) / 4
    Y = (scores > np.quantile(scores, 0.88)).astype(float)
    if graded:
        Y *= rng.integers(1, 6, size=Y.shape)
    return X.astype(np.float32), Y


def sorted_labels(p, k):
    order = np.lexsort((np.broadcast_to(np.arange(p.shape[1]), p.shape), -p), axis=1)[:, :k]
    return order, np.take_along_axis(p, order, axis=1)


# A worked example.


def test_targets_multiply_to_the_relevance():
    parent, label = [-1, 0, 0, 1, 1, 2, 2], [-1, -1, -1, 0, 1, 2, 3]
    Y = np.array([[1.0, 0.5, 0.2, 0], [0, 0, 0.4, 0.8]])
    _, s, z = node_problem(parent, label, Y, 0)
    assert (s.tolist(), z.tolist()) == ([1, 1], [[1, 0.2], [0, 0.8]])
    _, s, z = node_problem(parent, label, Y, 2)
    assert (s.tolist(), z.tolist()) == ([0.2, 0.8], [[1, 0], [0.5, 1]])


# Agreement with the reference.


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(2, 2), (3, 4), (16, 100)]),
    st.sampled_from(["logistic", "hinge"]),
    st.booleans(),
)
def test_every_regressor_is_the_references(seed, shape, loss, graded):
    X, Y = data(seed, n_rows=40, n_features=6, n_labels=9, graded=graded)
    if not Y.any():
        return
    arity, max_leaf = shape
    model = ExtremeRegressor(n_trees=1, arity=arity, max_leaf=max_leaf, loss=loss, **EXACT)
    model.fit(X, sparse.csr_matrix(Y))
    tree = model.model_.trees[0].tree
    scale = Y.max()
    reference = ReferenceTree(
        tree.parents(), tree.labels(), X.astype(float), Y / scale, of_house(3.0, 0.4, loss),
        hinge=loss == "hinge", inner_power=0.75,
    )  # fmt: skip
    expected = scale * reference.probabilities(X.astype(float), 9)
    assert model.predict_relevance(X) == pytest.approx(expected, abs=0.01 * scale)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([2, 5]), st.integers(1, 20))
def test_exact_top_k_equals_sorting_everything(seed, n_trees, arity, k):
    X, Y = data(seed, n_rows=80)
    model = ExtremeRegressor(n_trees=n_trees, arity=arity, max_leaf=4, max_epochs=3).fit(X, Y)
    k = min(k, model.model_.n_tree_labels)
    p = model.predict_proba(X)
    order, best = sorted_labels(p, k)
    for search in ({"search": "exact"}, {"search": "beam", "beam_width": 1000}):
        labels, values = model.predict_top_k(X, k, **search)
        assert np.array_equal(values, best)
        assert np.array_equal(labels, order)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 3),
    st.floats(0.01, 0.9),
    st.booleans(),
    st.sampled_from([None, "propensity"]),
)
def test_labels_above_a_threshold_are_those_of_the_whole_matrix(
    seed, n_trees, share, graded, relevance
):
    X, Y = data(seed, n_rows=80, graded=graded)
    settings = {"n_trees": n_trees, "arity": 3, "max_leaf": 4, "max_epochs": 3}
    model = ExtremeRegressor(**settings, relevance=relevance).fit(X, Y)
    p = model.predict_proba(X)
    found = model.predict_above(X, share)
    assert np.array_equal(found.toarray(), np.where(p >= share, p, 0))


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("calibrate", [False, True])
def test_every_question_gives_the_same_number(n_trees, calibrate):
    X, Y = data(4, n_rows=2000)
    model = ExtremeRegressor(n_trees=n_trees, max_leaf=4, arity=3, calibrate=calibrate).fit(X, Y)
    assert model.model_.calibration.is_identity != calibrate
    p = model.predict_proba(X[:50])
    labels, values = model.predict_top_k(X[:50], 5)
    assert np.array_equal(np.take_along_axis(p, labels, axis=1), values)
    assert np.array_equal(model.predict_label_proba(X[:50], labels[:, 2]), values[:, 2])
    assert np.array_equal(model.predict(X[:50]), p >= 0.5)
    assert np.array_equal(model.predict_relevance(X[:50]), p)
    assert np.array_equal(model.predict_top_scores(X[:50], 5).scores, values)
    reason = model.explain(X[0], labels[0, 0])
    assert reason.p_label == values[0, 0]
    products = [np.prod([step.p_node for step in steps]) for steps in reason.trees]
    assert np.mean(products) == pytest.approx(reason.p_trees, rel=1e-5)
    for step in reason.trees[0]:
        total = sum(c.contribution for c in step.contributions) + step.other + step.bias
        assert total == pytest.approx(step.margin, abs=1e-5)
    assert str(labels[0, 0]) in str(reason)


def own_features(n_rows, n_labels):
    """Rows that have one label each, and a feature that no other label's rows have."""
    label = np.arange(n_rows) % n_labels
    one_hot = sparse.csr_array((np.ones(n_rows, np.float32), (np.arange(n_rows), label)))
    return one_hot, label


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("cost", [1e2, 1e4, 1e6])
def test_separable_labels_are_learned_at_every_cost(loss, cost):
    X, label = own_features(300, 6)
    model = ExtremeRegressor(cost=cost, n_trees=1, loss=loss).fit(X, X)
    assert (model.predict_top_k(X, 1).labels[:, 0] == label).all()
    assert model.predict_label_proba(X, label).min() > 0.9


def test_every_node_learns_where_the_cost_grows_with_what_is_below_it():
    X, label = own_features(1200, 300)
    model = ExtremeRegressor(
        arity=2, max_leaf=2, n_trees=1, cost=100, cost_power=1, inner_power=1, calibrate=False
    ).fit(X, X)
    trained = model.model_.trees[0]
    parents_with_weights = trained.arrays[2]
    inner = np.flatnonzero(trained.tree.child_counts() > 0)
    assert np.setdiff1d(inner, parents_with_weights).tolist() == []
    assert (model.predict_top_k(X, 1).labels[:, 0] == label).all()


# Labelwise inference.


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 10), st.booleans())
def test_exact_labelwise_inference_is_transposed_pointwise(seed, n_trees, k, calibrate):
    X, Y = data(seed, n_rows=600)
    model = ExtremeRegressor(
        n_trees=n_trees, arity=3, max_leaf=4, max_epochs=3, calibrate=calibrate
    ).fit(X, Y)
    asked = X[:90]
    p = model.predict_proba(asked)
    rows, values = model.top_rows(asked, k=k, exact=True)
    _, best = sorted_labels(p.T, k)
    known = [label for label in range(20) if p[:, label].any()]
    assert values[known] == pytest.approx(best[known], rel=1e-12)
    ours = np.take_along_axis(p.T[known], rows[known], axis=1)
    assert ours == pytest.approx(best[known], rel=1e-12)  # ties may be in another order
    some = np.array(known)[::-1][:3]
    assert np.array_equal(model.top_rows(asked, some, k, exact=True).rows, rows[some])


CALIBRATIONS = [
    Calibration(), Calibration(b=0.0), Calibration(b=0.0, d=0.3), Calibration(0.5, 2.0, -1.0, 2.0),
    Calibration(20.0, 20.0, 20.0, -5.0),
]  # fmt: skip


def certain_model(seed, loss, n_trees, calibration):
    """A model whose weights are so large that answers are 0 and 1 exactly (hinge), or 1."""
    rng = np.random.default_rng(seed)
    X, Y = data(seed % 5, n_rows=120, n_features=6, n_labels=8)
    model = ExtremeRegressor(
        n_trees=n_trees, arity=2, max_leaf=3, max_epochs=2, loss=loss, calibrate=False
    ).fit(X, Y)
    trees = []
    for tree in model.model_.trees:
        arrays = list(tree.arrays)
        values, biases = arrays[5], arrays[6]
        large = rng.choice([-200.0, -1.0, 1.0, 200.0, 200.0], size=len(values))
        arrays[5] = large.astype(np.float16).view(values.dtype)
        arrays[6] = rng.choice([-200.0, 0.0, 200.0, 200.0], size=len(biases)).astype(biases.dtype)
        trees.append(RelevanceTreeArrays(tree.tree, tuple(arrays)))
    probability_map = ProbabilityMap(calibration)
    model.model_ = replace(
        model.model_, trees=trees, calibration=calibration, probability_map=probability_map
    )
    return model, X[:40]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["logistic", "hinge"]),
    st.integers(1, 3),
    st.integers(1, 40),
    st.sampled_from(CALIBRATIONS),
)
def test_exact_labelwise_inference_is_brute_force_where_labels_are_certain(
    seed, loss, n_trees, k, calibration
):
    model, X = certain_model(seed, loss, n_trees, calibration)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    rows, values = model.top_rows(X, k=k, exact=True)
    known = [label for label in range(8) if rows[label, 0] >= 0]
    _, best = sorted_labels(p.T, k)
    assert np.array_equal(values[known], best[known])
    assert np.array_equal(np.take_along_axis(p.T[known], rows[known], axis=1), best[known])
    assert all(len(set(found)) == k for found in rows[known].tolist())
    assert not p[:, np.setdiff1d(np.arange(8), known)].any()


@pytest.mark.parametrize("seed", range(2))
def test_exact_labelwise_inference_finds_the_best_rows_of_a_hinge_model(seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 20, 1500)
    feature = np.where(rng.random(1500) < 0.3, rng.integers(0, 20, 1500), label)
    X = np.hstack([np.eye(20)[feature], rng.random((1500, 10)) * (rng.random((1500, 10)) < 0.1)])
    model = ExtremeRegressor(loss="hinge", n_trees=1, cost=10.0).fit(X, np.eye(20)[label])
    asked = X[:300].astype(np.float32)
    values = model.top_rows(asked, k=3, exact=True).probabilities
    assert np.array_equal(values, sorted_labels(model.predict_proba(asked).T, 3)[1])


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_labelwise_inference_is_algorithm_1(factor):
    X, Y = data(8, n_rows=400)
    model = ExtremeRegressor(n_trees=1, arity=2, max_leaf=3, calibrate=False, inner_power=1)
    model.fit(X, Y)
    tree, reach = model.model_.trees[0].tree, model.model_.trees[0].arrays[-1]
    parent, label = tree.parents(), tree.labels()
    asked = X[::3]
    answers = _answers_by_node(model, asked)
    expected = labelwise(parent, label, reach, answers.__getitem__, len(asked), 5, factor)
    rows, _ = model.top_rows(asked, k=5, factor=factor)
    for own, best in expected.items():
        assert rows[own].tolist() == best.tolist()


def _answers_by_node(model, X):
    """The answer for every node of the first tree, from explanations' margins."""
    tree = model.model_.trees[0].tree
    first, answers = tree.first_children(), {}
    rows = [sparse.csr_matrix(x) for x in X]
    for label in tree.labels()[tree.labels() >= 0]:
        leaf = tree.leaf_of(label)
        path = []
        while leaf > 0:
            path.append(leaf)
            leaf = tree.parents()[leaf]
        if all(node in answers for node in path):
            continue
        steps = [model.explain(row, label, n_features=0).trees[0] for row in rows]
        for depth, step in enumerate(steps[0]):
            margins = np.array([s[depth].margin for s in steps])
            answers[first[step.node] + step.child] = 1 / (1 + np.exp(-margins))
    return answers


def test_reach_is_the_share_of_rows_with_a_label_below():
    X, Y = data(5)
    model = ExtremeRegressor(n_trees=1, arity=3, max_leaf=4).fit(X, Y)
    tree, reach = model.model_.trees[0].tree, model.model_.trees[0].arrays[-1]
    for node in range(1, tree.n_nodes):
        below = [label for label in tree.labels()[tree.labels() >= 0]
                 if node in _path(tree, tree.leaf_of(label))]  # fmt: skip
        assert reach[node] == pytest.approx((Y[:, below].max(axis=1) > 0).mean())


def _path(tree, node):
    while node > 0:
        yield node
        node = tree.parents()[node]


# Invariants.


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_model_does_not_depend_on_the_number_of_threads(loss):
    X, Y = data(6, n_rows=800, n_labels=60)
    one, many = (
        ExtremeRegressor(n_trees=2, arity=3, max_leaf=5, loss=loss, n_jobs=n).fit(X, Y)
        for n in (1, 3)
    )
    for a, b in zip(one.model_.trees, many.model_.trees, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a.arrays, b.arrays, strict=True))
    assert one.model_.calibration == many.model_.calibration
    assert np.array_equal(one.predict_proba(X), many.predict_proba(X))
    assert np.array_equal(one.top_rows(X, k=7).rows, many.top_rows(X, k=7).rows)


def test_answers_do_not_depend_on_batching_or_layout():
    X, Y = data(7)
    model = ExtremeRegressor(n_trees=2, arity=3, max_leaf=4).fit(X, Y)
    labels, p = model.predict_top_k(X, 4)
    for i in (0, 11, 299):
        single = model.predict_top_k(sparse.csr_matrix(X[i : i + 1]), 4)
        assert np.array_equal(single.labels[0], labels[i])
        assert np.array_equal(single.probabilities[0], p[i])
    scaled = model.predict_top_k(X * 8, 4)  # rows are of length 1
    assert scaled.probabilities == pytest.approx(p, rel=1e-6)


def test_rows_without_labels_are_examples_of_none():
    X, Y = data(9, n_rows=600)
    Y[::2] = 0
    half = ExtremeRegressor(n_trees=1, calibrate=False).fit(X, Y).predict_proba(X).mean()
    full = ExtremeRegressor(n_trees=1, calibrate=False).fit(X[1::2], Y[1::2])
    assert half < 0.75 * full.predict_proba(X).mean()


def test_relevance_is_scaled_back():
    X, Y = data(10, n_rows=1000, graded=True)
    model = ExtremeRegressor(n_trees=1, calibrate=False, max_leaf=4, arity=4).fit(X, Y)
    ten = ExtremeRegressor(n_trees=1, calibrate=False, max_leaf=4, arity=4).fit(X, 10 * Y)
    found = model.predict_relevance(X)
    assert ten.predict_relevance(X) == pytest.approx(10 * found)
    assert ten.predict_proba(X) == pytest.approx(model.predict_proba(X))
    assert model.model_.scale == 5
    assert 1 < found.max() <= 5
    assert np.corrcoef(found.ravel(), Y.ravel())[0, 1] > 0.5
    one = model.predict_label_relevance(X[:3], [4, 0, 77])
    assert one == pytest.approx([found[0, 4], found[1, 0], 0])


@pytest.mark.parametrize("relevance", [None, "propensity"])
@pytest.mark.parametrize("graded", [False, True])
def test_probabilities_are_those_of_being_relevant_at_all(graded, relevance):
    X, Y = data(12, n_rows=6000, n_labels=12, graded=graded)
    model = ExtremeRegressor(n_trees=1, relevance=relevance).fit(X[:4000], Y[:4000])
    asked, true = X[4000:], Y[4000:] > 0
    p, found = model.predict_proba(asked), model.predict_relevance(asked)
    assert 0 <= p.min() <= p.max() <= 1
    top = model.predict_top_k(asked, 3)
    assert np.array_equal(np.take_along_axis(p, top.labels, axis=1), top.probabilities)
    scored = model.predict_top_scores(asked, 3)
    assert np.array_equal(scored.labels, top.labels)
    assert np.array_equal(np.take_along_axis(found, top.labels, axis=1), scored.scores)
    assert (np.diff(scored.scores, axis=1) <= 0).all()
    assert calibration_error_at_k(true, sparse.csr_array(p), 3) < 0.04
    if graded or relevance:
        assert found.max() > 1
        mean = (
            found.mean() / (Y[4000:] / propensities(Y[:4000] > 0) if relevance else Y[4000:]).mean()
        )
        assert mean == pytest.approx(1, abs=0.15)
    else:
        assert np.array_equal(found, p)


# Calibration, memory.


def test_calibration_makes_probabilities_come_true():
    X, Y = data(11, n_rows=6000, n_features=30, n_labels=40)
    fit, test = slice(0, 4000), slice(4000, 6000)
    errors = []
    for calibrate in (False, True):
        model = ExtremeRegressor(n_trees=1, arity=4, max_leaf=4, calibrate=calibrate, cost=0.3)
        labels, p = model.fit(X[fit], Y[fit]).predict_top_k(X[test], 1)
        hits = np.take_along_axis(Y[test], labels, axis=1)[:, 0]
        order = np.array_split(np.argsort(p[:, 0]), 10)
        errors.append(np.mean([abs(p[part, 0].mean() - hits[part].mean()) for part in order]))
    assert errors[1] < 0.05
    assert errors[1] < 0.6 * errors[0]


def test_memory_is_estimated_before_training_and_respected():
    X, Y = data(13, n_rows=60, n_features=3000, n_labels=200)
    with pytest.raises(TooLargeError, match="max_memory=10,000"):
        ExtremeRegressor(max_memory=10_000).fit(X, Y)
    free = ExtremeRegressor(n_trees=1, min_weight=0, arity=4, max_leaf=4).fit(X, Y)
    tight = ExtremeRegressor(n_trees=1, min_weight=0, arity=4, max_leaf=4, max_memory=12_000_000)
    tight.fit(X, Y)
    assert tight.model_.describe()["weights"] < free.model_.describe()["weights"]
    roomy = ExtremeRegressor(n_trees=1, min_weight=0, arity=4, max_leaf=4, max_memory=10**9)
    assert np.array_equal(roomy.fit(X, Y).predict_proba(X), free.predict_proba(X))


# Files.


def test_no_damage_to_a_mapped_file_kills_the_process(tmp_path):
    X, Y = data(15)
    ExtremeRegressor(n_trees=1, arity=3, max_leaf=4).fit(X, Y).save(tmp_path / "m")
    good = (tmp_path / "m").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(ModelFormatError):
            labeltrees.load(tmp_path / "bad")
        try:
            model = labeltrees.load(tmp_path / "bad", mapped=True)
        except ModelFormatError:
            refused += 1
            continue
        with np.errstate(all="ignore"):
            model.predict_top_k(X[:5], 3)
            model.top_rows(X[:20], k=3)
    assert refused > 0


# Boundaries.


def test_one_label_alone_has_a_regressor():
    X, _ = data(16)
    y = [["only"] if x[0] > 0 else [] for x in X]
    model = ExtremeRegressor().fit(X, y)
    p = model.predict_proba(X)[:, 0]
    has = np.array([bool(labels) for labels in y])
    assert p[has].mean() > p[~has].mean() + 0.4
    assert model.predict_top_k(X, 1).labels[0, 0] == "only"


def test_labels_that_no_row_has_get_nothing():
    X, Y = data(17)
    Y[:, 3] = 0
    model = ExtremeRegressor(n_trees=2, max_leaf=4, arity=4).fit(X, Y)
    assert not model.predict_proba(X)[:, 3].any()
    assert model.top_rows(X, [3], 2).rows.tolist() == [[-1, -1]]
    without_rows = np.flatnonzero(~Y.any(axis=0))
    for k in (20, 20 - len(without_rows) + 1):
        labels, p = model.predict_top_k(X, k, search="exact")
        last = labels[:, 20 - len(without_rows) :]
        assert np.array_equal(last, np.tile(without_rows[: last.shape[1]], (len(X), 1)))
        assert not p[:, 20 - len(without_rows) :].any()
    beam = model.predict_top_k(X, 20, beam_width=1000)
    assert np.array_equal(beam.labels, model.predict_top_k(X, 20, search="exact").labels)
    with pytest.raises(ArgumentError, match="n_labels=20"):
        model.predict_top_k(X, 21)
    with pytest.raises(ArgumentError, match="label"):
        model.explain(X[0], 3)


def test_empty_rows_and_unknown_features_get_the_biases():
    X, Y = data(18)
    X[:, 5] = 0
    model = ExtremeRegressor(n_trees=1).fit(sparse.csr_matrix(X), Y)
    nothing = sparse.csr_matrix((1, 12), dtype=np.float32)
    new = sparse.csr_matrix(([1.0], ([0], [5])), shape=(1, 12), dtype=np.float32)
    assert np.array_equal(model.predict_proba(nothing), model.predict_proba(new))


def test_very_wide_data_needs_no_more_memory():
    X, Y = data(19)
    wide = sparse.csr_matrix(X).tocoo()
    columns = wide.col.astype(np.int64) * 170_000_000
    far = sparse.csr_matrix((wide.data, (wide.row, columns)), shape=(len(X), 2**31 - 1))
    near = ExtremeRegressor(n_trees=1, max_leaf=4, arity=4).fit(X, Y)
    assert np.array_equal(
        ExtremeRegressor(n_trees=1, max_leaf=4, arity=4).fit(far, Y).predict_proba(far),
        near.predict_proba(X),
    )


# Errors.


def test_questions_of_its_own_are_refused_and_change_nothing():
    X, Y = data(20)
    model = ExtremeRegressor(n_trees=1).fit(X, Y)
    before = model.predict_proba(X)
    for call, message in (
        (lambda: model.predict_top_k(X, 2, search="x"), "search must be"),
        (lambda: model.predict_top_k(X, 2, beam_width=0), "beam_width must be"),
        (lambda: model.predict_top_scores(X, 0), "k must be"),
        (lambda: model.top_rows(X, k=0), "k must be"),
        (lambda: model.top_rows(X, k=len(X) + 1), "k must be"),
        (lambda: model.top_rows(X, factor=0), "factor must be"),
        (lambda: model.top_rows(X, exact="yes"), "exact must be"),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()
    assert np.array_equal(model.predict_proba(X), before)
