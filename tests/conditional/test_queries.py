"""The further questions to a plain conditional tree: beam, threshold, draw, reasons, novelty.

Worked example -> agreement with the whole distribution -> invariants -> boundaries -> errors.
"""

from __future__ import annotations

import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conditional.test_classifier import stream
from tests.references.conditional import ReferenceConditionalTree

import labeltrees
from labeltrees import ConditionalTreeClassifier
from labeltrees.data.rows import as_rows
from labeltrees.errors import (
    ArgumentError,
    ModelFormatError,
)
from labeltrees.models.conditional.model import ConditionalTreeModel

TWO_ROWS = [[1.0], [2.0]], ["a", "b"]


@st.composite
def fitted(draw):
    """A plain model with trees of all shapes, and rows to ask about."""
    n_labels = draw(st.integers(1, 40))
    X, y = stream(draw(st.integers(0, 10**6)), n_rows=100, n_features=6, n_labels=n_labels)
    model = ConditionalTreeClassifier(
        structure=draw(st.sampled_from(["online", "random"])),
        balance=draw(st.sampled_from(["examples", "labels"])),
        loss=draw(st.sampled_from(["logistic", "squared"])),
        alpha=draw(st.sampled_from([0.0, 0.05, 0.3, 1.0])),
        learning_rate=draw(st.sampled_from([0.02, 0.5])),
        novelty=draw(st.booleans()),
        refine=0,
    )
    return model.partial_fit(X, y), X[:8]


# Beam search.


@settings(max_examples=300, deadline=None)
@given(fitted(), st.integers(1, 12), st.integers(0, 12))
def test_a_certified_beam_answer_is_the_exact_answer(problem, k, wider):
    model, X = problem
    k = min(k, len(model.classes_))
    exact = model.predict_top_k(X, k)
    beam = model.beam_top_k(X, k, beam_width=k + wider)
    sure = beam.certified
    assert np.array_equal(beam.labels[sure], exact.labels[sure])
    assert np.array_equal(beam.probabilities[sure], exact.probabilities[sure])
    for i in range(k):  # what is found is found with its true probability, likeliest first
        named = model.predict_label_proba(X, beam.labels[:, i])
        assert np.array_equal(beam.probabilities[:, i], named)
    assert (np.diff(beam.probabilities, axis=1) <= 0).all()
    assert (beam.probabilities <= exact.probabilities).all()


@settings(max_examples=200, deadline=None)
@given(fitted(), st.integers(1, 40))
def test_a_beam_of_full_width_is_exact_and_certified(problem, k):
    model, X = problem
    n_labels = len(model.classes_)
    k = min(k, n_labels)
    beam = model.beam_top_k(X, k, beam_width=n_labels)
    exact = model.predict_top_k(X, k)
    assert beam.certified.all()
    assert np.array_equal(beam.labels, exact.labels)
    assert np.array_equal(beam.probabilities, exact.probabilities)


def test_a_beam_that_misses_the_best_label_is_not_certified():
    # Right of the root (p .55) are two labels of .275 each, left (p .45) one of nearly all.
    X = np.eye(2)
    model = ConditionalTreeClassifier(
        structure="balanced", loss="squared", optimizer="sgd", normalize=False, learning_rate=0.001
    )
    model.partial_fit(X[[0] * 4], ["a", "b", "c", "d"])  # (a c) (b d)
    core = model.model_.core
    keys, weights, *rest = core.lines()
    weights[:] = 0
    weights[keys & np.uint64(0xFFFFFFFF) == 0, :3] = [0.55, 0.0, 0.5]
    restored = type(core)(core.tree(), core.masses(), keys, weights, *rest, core.mixtures())
    model.model_.core = restored
    p = dict(zip(model.classes_, model.predict_proba(X[:1])[0], strict=True))
    assert p["a"] == pytest.approx(0.45, abs=1e-5)
    beam = model.beam_top_k(X[:1], 1, beam_width=1)
    assert beam.labels[0, 0] in ("b", "d")
    assert not beam.certified[0]
    assert model.beam_top_k(X[:1], 1, beam_width=2).labels[0, 0] == "a"
    assert model.predict_top_k(X[:1], 1, search="beam", beam_width=1).labels[0, 0] != "a"
    assert model.predict(X[:1])[0] == "a"


# Thresholds.


@settings(max_examples=300, deadline=None)
@given(fitted(), st.sampled_from([1e-9, 0.001, 0.05, 0.2, 0.5, 1.0]))
def test_labels_above_a_threshold_are_those_of_the_whole_distribution(problem, threshold):
    model, X = problem
    full = model.predict_proba(X)
    above = model.predict_above(X, threshold)
    assert np.array_equal(above.toarray(), np.where(full >= threshold, full, 0.0))
    assert above.shape == full.shape
    assert above.has_canonical_format
    # The threshold itself is included, to the last bit.
    one = float(full[0].max())
    if one > 0:
        assert model.predict_above(X[:1], one).nnz == (full[:1] >= one).sum()


# The best rows for a label.


@settings(max_examples=200, deadline=None)
@given(fitted(), st.integers(1, 8), st.data())
def test_the_best_rows_of_a_label_are_those_of_sorting_its_column(problem, k, data):
    model, X = problem
    labels = data.draw(st.lists(st.sampled_from(model.classes_.tolist()), max_size=6))
    labels = np.array(labels, dtype=np.int64)
    full = model.predict_proba(X)
    found = model.top_rows(X, labels, k)
    assert found.rows.shape == found.probabilities.shape == (len(labels), k)
    # In the unscaled distribution, as a novelty mass of 1 makes all columns equal.
    bare = model.model_.core.all_probabilities(
        *model.model_.columns.seen(as_rows(X)).arrays, full.shape[1], model.model_.settings.reading
    )
    for i, label in enumerate(labels):
        column = int(np.flatnonzero(model.classes_ == label)[0])
        rows = np.argsort(-bare[:, model.model_.vocabulary.ids([label])[0]], kind="stable")[:k]
        assert np.array_equal(found.rows[i], rows)
        assert np.array_equal(found.probabilities[i], full[rows, column])


# Draws.


@settings(max_examples=100, deadline=None)
@given(fitted(), st.integers(0, 1000))
def test_a_draw_is_the_label_whose_interval_holds_the_number(problem, seed):
    model, X = problem
    uniforms = np.random.default_rng(seed).random(len(X))
    tree, full, names = (
        model.model_.tree,
        model.model_.probabilities,
        model.model_.vocabulary.labels,
    )
    p = full(as_rows(X)) / max(1 - model.novelty_mass_, 1e-300)
    in_order = []  # leaves from left to right

    def walk(node):
        if tree.label[node] >= 0:
            in_order.append(tree.label[node])
            return
        walk(tree.first_child[node])
        walk(tree.first_child[node] + 1)

    walk(0)
    if model.novelty_mass_ == 1:
        return
    ends = np.cumsum(p[:, in_order], axis=1)
    for r, label in enumerate(model.model_.sample(as_rows(X), uniforms)):
        place = int(np.flatnonzero(names[in_order] == label)[0])
        assert ends[r, place] >= uniforms[r] - 1e-9
        assert place == 0 or ends[r, place - 1] <= uniforms[r] + 1e-9


# Reasons.


def test_an_explanation_by_hand():
    model = ConditionalTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=0.5, normalize=False, bias=0.5
    )
    model.partial_fit([[1.0, 2.0], [1.0, 2.0]], ["a", "b"])  # w = .5 (1 - 0) (1, 2, .5)
    reason = model.explain([0.2, 0.1], "a", n_features=1, feature_names=["x", "y"])
    (step,) = reason.steps
    assert (step.node, step.depth, step.direction, step.p_path) == (0, 0, "left", 1.0)
    assert (step.n_left, step.n_right) == (1, 1)
    (strongest,) = step.contributions
    assert strongest.feature == "x"  # x and y both give .1: the first column comes first
    assert strongest.value == pytest.approx(0.2)
    assert strongest.weight == 0.5
    assert strongest.contribution == pytest.approx(0.1)
    assert step.other == pytest.approx(0.1)
    assert step.bias == pytest.approx(0.5 * 0.25)
    assert step.margin == pytest.approx(0.325)
    assert reason.p_label == pytest.approx(0.675)
    text = str(reason)
    assert text.startswith("P(a) = 0.675 after 1 turn\n  0. left  with p = 0.675 at node 0")
    assert "-0.1000  x (value 0.2)" in text
    assert "other features" in text


@settings(max_examples=100, deadline=None)
@given(fitted(), st.integers(0, 7), st.data())
def test_contributions_add_up_to_the_margin_and_turns_to_the_probability(problem, row, data):
    model, X = problem
    label = data.draw(st.sampled_from(model.classes_.tolist()))
    reason = model.explain(X[row], label, n_features=data.draw(st.integers(0, 7)))
    assert reason.p_label == model.predict_label_proba(X[[row]], [label])[0]
    assert [step.node for step in reason.steps] == (
        model.tree_.path(int(np.flatnonzero(model.classes_ == label)[0]))[:-1].tolist()
    )
    for step in reason.steps:
        total = sum(c.contribution for c in step.contributions) + step.other + step.bias
        assert total == pytest.approx(step.margin, rel=1e-4, abs=1e-5)  # float32 against float64
        shares = [abs(c.contribution) for c in step.contributions]
        assert shares == sorted(shares, reverse=True)
        assert step.n_left + step.n_right == model.tree_.n_leaves[step.node]
    assert json.loads(json.dumps(reason.to_dict()))["label"] == label
    assert str(reason).count("\n") >= len(reason.steps)


def test_a_tree_of_one_label_has_nothing_to_explain():
    model = ConditionalTreeClassifier(refine=0).fit([[1.0]], ["only"])
    reason = model.explain([1.0], "only")
    assert reason.steps == ()
    assert str(reason) == "P(only) = 1 after 0 turns"
    assert model.sample([[1.0]], 0).tolist() == ["only"]
    assert model.predict_above([[1.0]], 1.0).toarray().tolist() == [[1.0]]
    assert model.beam_top_k([[1.0]], 1).certified.all()


# Novelty.


def test_novelty_by_hand():
    X = np.ones((4, 1))
    model = ConditionalTreeClassifier(novelty=True)
    seen = model.progressive_fit(X, ["a", "b", "a", "c"])
    # N1 / N before each row: nothing seen, 1 of 1, 2 of 2, 1 of 3
    assert seen.p_label.tolist() == [1.0, 1.0, 0.0, pytest.approx(1 / 3)]
    assert model.novelty_mass_ == 0.5  # b and c of four examples
    assert model.predict_label_proba(X[:1], ["fog"]).tolist() == [0.5]
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.full(4, 0.5))
    plain = ConditionalTreeClassifier().partial_fit(X, ["a", "b", "a", "c"])
    assert np.array_equal(model.predict_proba(X), 0.5 * plain.predict_proba(X))
    top, plain_top = model.predict_top_k(X, 3), plain.predict_top_k(X, 3)
    assert np.array_equal(top.labels, plain_top.labels)
    assert np.array_equal(top.probabilities, 0.5 * plain_top.probabilities)
    assert plain.novelty_mass_ == 0
    assert model.explain([1.0], "a").novelty_mass == 0.5
    assert "not seen yet" in str(model.explain([1.0], "a"))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.booleans())
def test_novelty_of_predictions_is_counted_before_each_row(seed, n_labels, weighted):
    X, y = stream(seed, n_rows=60, n_features=4, n_labels=n_labels)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=60) if weighted else np.ones(60)
    weights[0] = 1
    model = ConditionalTreeClassifier(novelty=True)
    plain = ConditionalTreeClassifier()
    counts = {}
    for part in np.array_split(np.arange(60), 4):
        weights[part[0]] = 1
        seen = model.progressive_fit(X[part], y[part], sample_weight=weights[part])
        bare = plain.progressive_fit(X[part], y[part], sample_weight=weights[part])
        for i, r in enumerate(part):
            n = sum(counts.values())
            mass = sum(c == 1 for c in counts.values()) / n if n else 1.0
            assert seen.p_top[i] == bare.p_top[i] * (1 - mass)
            if weights[r] > 0:
                expected = mass if bare.is_new[i] else bare.p_label[i] * (1 - mass)
                assert seen.p_label[i] == expected
                counts[y[r]] = counts.get(y[r], 0) + 1
    assert model.novelty_mass_ == sum(c == 1 for c in counts.values()) / sum(counts.values())


def test_passes_of_fit_count_an_example_once():
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "b"]
    for n_passes in (1, 5):
        model = ConditionalTreeClassifier(novelty=True, n_passes=n_passes).fit(X, y)
        assert model.novelty_mass_ == pytest.approx(1 / 3)


def test_announced_labels_are_still_new():
    model = ConditionalTreeClassifier(novelty=True)
    model.partial_fit([[1.0]] * 3, ["a", "b", "a"], classes=["a", "b", "c"])
    assert model.predict_label_proba([[1.0]], ["c"]) == pytest.approx([1 / 3])
    assert model.predict_proba([[1.0]])[0, 2] == 0


@pytest.mark.parametrize("keep_state", [True, False])
def test_novelty_travels_with_the_file(tmp_path, keep_state):
    X, y = stream(5, n_rows=40, n_labels=30)
    model = ConditionalTreeClassifier(novelty=True).partial_fit(X, y, classes=np.arange(50))
    model.save(tmp_path / "m", keep_state=keep_state)
    twin = labeltrees.load(tmp_path / "m")
    assert twin.novelty_mass_ == model.novelty_mass_ > 0
    assert twin.predict_label_proba(X[:1], [99]) == [model.novelty_mass_]
    assert twin.model_.describe()["novelty_mass"] == model.novelty_mass_
    if keep_state:
        again = pickle.loads(pickle.dumps(twin))
        p_label = [m.progressive_fit(X, y).p_label for m in (model, twin, again)]
        assert np.array_equal(p_label[0], p_label[1])
        assert np.array_equal(p_label[0], p_label[2])
        assert twin.novelty_mass_ == model.novelty_mass_


@pytest.mark.parametrize("keep_state", [True, False])
@pytest.mark.parametrize(
    "novelty",
    [None, 3, {}, {"n_once": 3, "n_examples": 2}, {"n_once": -1, "n_examples": 2}, {"mass": 0.5}],
)
def test_novelty_that_makes_no_sense_is_refused(novelty, keep_state):
    model = ConditionalTreeClassifier(novelty=True, refine=0).fit(*TWO_ROWS).model_
    tensors, facts = model.to_tensors(keep_state=keep_state)
    with pytest.raises(ModelFormatError):
        ConditionalTreeModel.from_tensors(tensors, facts | {"novelty": novelty})


@pytest.mark.parametrize("counts", [[1], [1, 2], [1, 1, 0], [3, -1], [1.0, 1.0]])
def test_counts_that_do_not_fit_are_refused(counts):
    model = ConditionalTreeClassifier(novelty=True, refine=0).fit(*TWO_ROWS).model_
    tensors, facts = model.to_tensors(keep_state=True)
    with pytest.raises(ModelFormatError, match="counts of labels"):
        ConditionalTreeModel.from_tensors(tensors | {"novelty.counts": np.array(counts)}, facts)


def test_a_row_without_any_feature_is_explained_by_nothing():
    model = ConditionalTreeClassifier(bias=0, scale=None).fit([[1.0], [2.0]], ["a", "b"])
    reason = model.explain([0.0], "a")
    assert reason.steps[0].contributions == ()
    assert reason.steps[0].margin == 0
    assert "no evidence for either turn" in str(reason)


# All of them.


def test_asking_anything_while_another_thread_learns_is_safe():
    X, y = stream(6, n_rows=2000, n_labels=200)
    model = ConditionalTreeClassifier(novelty=True).partial_fit(X[:50], y[:50])
    label = y[0]
    failures = []

    def ask():
        try:
            for _ in range(20):
                model.beam_top_k(X[:20], 3, beam_width=5)
                model.predict_above(X[:20], 0.01)
                model.sample(X[:20], 0)
                model.top_rows(X[:20], [label], 3)
                model.explain(X[0], label)
                model.predict_label_proba(X[:20], y[:20])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for start in range(50, 2000, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    for thread in threads:
        thread.join()
    assert not failures


def test_an_estimate_with_novelty_still_learns_as_the_reference_does():
    X, y = stream(7, n_rows=60)
    reference = ReferenceConditionalTree(X.shape[1])
    model = ConditionalTreeClassifier(novelty=True, refine=0, scale=None)
    model.partial_fit(X, y)
    for row, label in zip(X, y, strict=True):
        reference.observe(row, label)
    assert model.tree_.parent.tolist() == reference.parents()


@pytest.mark.parametrize("search", ["fast", "", None, True])
def test_an_unknown_search_is_refused(search):
    model = ConditionalTreeClassifier().fit([[1.0, 0.0], [0.0, 1.0]] * 5, ["a", "b"] * 5)
    with pytest.raises(ArgumentError, match="search must be 'auto', 'exact' or 'beam', got"):
        model.predict_top_k([[1.0, 0.0]], 1, search=search)
