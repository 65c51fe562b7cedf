"""Refined trees: every question agrees with the whole distribution, whatever the experts say.

Invariants of answers -> learning, files and limits -> boundaries -> errors. That they learn what
they should is in test_refined_learning.py; what all models share is in tests/contract.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conditional.test_classifier import stream
from tests.conditional.test_max_memory import wide_rows

import labeltrees
from labeltrees import ConditionalTreeClassifier, LabelTree
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.errors import ArgumentError, DivergedError
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.conditional.several_trees import RefinedTreesModel
from labeltrees.models.registry import model_from
from labeltrees.store import StoredModel


@st.composite
def refined(draw):
    """A refined model of one tree or several, and rows to ask about."""
    seed, n_labels = draw(st.integers(0, 10**6)), draw(st.integers(1, 30))
    X, y = stream(seed, n_rows=80, n_features=6, n_labels=n_labels)
    options = {
        "refine": draw(st.sampled_from([1, 2, 4, 8, 50])),
        "normalize": draw(st.booleans()),
        "mixing": draw(st.booleans()),
        "learning_rate": draw(st.sampled_from([0.02, 1.0])),
        "novelty": draw(st.booleans()),
    }
    n_trees = draw(st.sampled_from([0, 1, 3]))
    if n_trees == 0:
        structure = draw(st.sampled_from(["online", "random", "balanced"]))
        model = ConditionalTreeClassifier(structure=structure, **options)
        return model.partial_fit(X, y), X[:6]
    structure = draw(st.sampled_from(["kmeans", "random"]))
    model = ConditionalTreeClassifier(structure=structure, n_trees=n_trees, **options)
    return model.fit(X, y), X[:6]


# Answers.


@settings(max_examples=60, deadline=None)
@given(refined(), st.data())
def test_every_question_agrees_with_the_whole_distribution(problem, data):
    model, X = problem
    full = model.predict_proba(X)
    n_labels = len(model.classes_)
    assert (full >= 0).all()
    assert full.sum(axis=1) == pytest.approx(np.full(len(X), 1 - model.novelty_mass_), abs=1e-9)
    label = data.draw(st.integers(0, n_labels - 1))
    named = model.predict_label_proba(X, model.classes_[[label] * len(X)])
    assert np.array_equal(named, full[:, label])
    k = data.draw(st.integers(1, n_labels))
    top = model.predict_top_k(X, k)
    assert np.array_equal(top.probabilities, -np.sort(-full)[:, :k])
    for i in range(k):
        assert np.array_equal(
            model.predict_label_proba(X, top.labels[:, i]), top.probabilities[:, i]
        )
    assert all(len(set(row)) == k for row in top.labels.tolist())
    threshold = data.draw(st.sampled_from([1e-9, 0.01, 0.2, 0.7, 1.0]))
    above = model.predict_above(X, threshold).toarray()
    assert np.array_equal(above, np.where(full >= threshold, full, 0.0))
    if model.novelty_mass_ < 1:
        best = model.top_rows(X, model.classes_[[label]], 3)
        assert np.array_equal(best.rows[0], np.argsort(-full[:, label], kind="stable")[:3])
        assert np.array_equal(best.probabilities[0], full[best.rows[0], label])


@settings(max_examples=60, deadline=None)
@given(refined(), st.integers(1, 12), st.integers(0, 12))
def test_a_certified_beam_has_the_probabilities_of_the_exact_answer(problem, k, wider):
    model, X = problem
    k = min(k, len(model.classes_))
    exact = model.predict_top_k(X, k).probabilities
    for width in (k + wider, len(model.classes_)):
        if width < k:
            continue
        beam = model.beam_top_k(X, k, beam_width=width)
        assert beam.certified.all() or width < len(model.classes_)
        assert np.array_equal(beam.probabilities[beam.certified], exact[beam.certified])
        assert (beam.probabilities <= exact).all()
        for i in range(k):
            named = model.predict_label_proba(X, beam.labels[:, i])
            assert np.array_equal(beam.probabilities[:, i], named)


@settings(max_examples=15, deadline=None)
@given(refined())
def test_draws_are_as_frequent_as_their_labels_are_likely(problem):
    model, X = problem
    n_draws = 1000
    uniforms = (np.arange(n_draws) + 0.5) / n_draws
    rows = as_rows(np.repeat(X[:1], n_draws, axis=0))
    drawn = model.model_.sample(rows, uniforms)
    frequency = np.array([(drawn == label).mean() for label in model.classes_])
    expected = model.predict_proba(X[:1])[0] / max(1 - model.novelty_mass_, 1e-300)
    if model.novelty_mass_ < 1:  # an interval for each label, of outsiders one in each tree
        assert frequency == pytest.approx(expected, abs=4 / n_draws)


@settings(max_examples=40, deadline=None)
@given(refined(), st.integers(0, 5), st.integers(0, 7))
def test_the_parts_of_an_explanation_add_up(problem, row, n_features):
    model, X = problem
    full = model.predict_proba(X[[row]])[0]
    scale = max(1 - model.novelty_mass_, 1e-300)
    margins, outside = [], []
    for place, label in enumerate(model.classes_.tolist()):
        reason = model.explain(X[row], label, n_features=n_features)
        said = reason.refinement
        assert reason.p_label == full[place]
        assert f"P({label})" in str(reason)
        if not said.is_candidate:
            assert "too little to be reranked" in str(reason)
            outside.append((said.p_trees, full[place] / scale))
            continue
        total = said.of_trees + sum(c.contribution for c in said.contributions)
        assert total + said.other + said.bias == pytest.approx(said.margin, rel=1e-4, abs=1e-4)
        assert len(said.contributions) <= n_features
        margins.append((said.margin, full[place] / scale))
    if model.novelty_mass_ == 1:
        return
    rest = 1.0 if not margins else 0.0 if not outside else sum(p for p, _ in outside)
    z = sum(np.exp(m) for m, _ in margins) + rest
    for m, q in margins:
        assert q == pytest.approx(np.exp(m) / z, rel=1e-4)
    for p, q in outside:
        assert q == pytest.approx(p / z, rel=1e-4, abs=1e-12)


def test_experts_that_know_nothing_change_nothing():
    X, y = stream(1, n_rows=200, n_labels=7)
    model = ConditionalTreeClassifier(structure="kmeans", n_trees=2, refine=4).fit(X, y)
    tensors, facts = model.model_.to_tensors(keep_state=True)
    for name in ("keys", "weights", "sums", "others", "own"):
        tensors[f"experts.{name}"] = tensors[f"experts.{name}"][:0]
    mixtures = np.zeros_like(tensors["experts.mixtures"])
    mixtures[:, -1] = 1  # the trees at their word
    ignorant = model_from(
        StoredModel("RefinedTreesModel", facts, tensors | {"experts.mixtures": mixtures})
    )
    trees = []
    for number in range(2):
        own = {n.removeprefix(f"{number}."): t for n, t in tensors.items() if n[0] == str(number)}
        own |= {n: t for n, t in tensors.items() if n.startswith(("vocabulary.", "columns."))}
        plain = ConditionalTreeModel.from_tensors(own, facts)
        trees.append(plain.probabilities(as_rows(X[:9])))
    # up to log p in float32
    mean = sum(trees) / 2
    assert ignorant.probabilities(as_rows(X[:9])) == pytest.approx(mean, rel=1e-5)


def test_a_new_label_is_refined_from_its_second_example_on():
    X, y = stream(2, n_rows=300, n_labels=6)
    model = ConditionalTreeClassifier(refine=8).partial_fit(X, y)
    far = np.full((1, X.shape[1]), 3.0, dtype=np.float32)
    before = model.model_.core.n_pairs
    model.partial_fit(far, [99])
    learned = model.model_.core.n_pairs
    assert learned > before  # its expert has heard of it
    reason = model.explain(far[0], 99).refinement
    assert reason.is_candidate
    assert sum(c.contribution for c in reason.contributions) > 0
    assert model.predict_label_proba(far, [99])[0] > reason.p_trees


@pytest.mark.parametrize("n_trees", [1, 3])
def test_refined_trees_predict_better_than_plain_ones(n_trees):
    X, y = stream(3, n_rows=1500, n_labels=20)
    shared = {"structure": "kmeans", "n_trees": n_trees}
    losses = {
        refine: -np.log(
            ConditionalTreeClassifier(**shared, refine=refine)
            .fit(X[:1000], y[:1000])
            .predict_label_proba(X[1000:], y[1000:])
        ).mean()
        for refine in (0, 8)
    }
    assert losses[8] < losses[0]


# Learning.


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 37, 150])
@pytest.mark.parametrize("copied", ["file", "pickle"])
def test_a_stream_goes_on_bit_for_bit_after_any_row(cut, copied, tmp_path):
    X, y = stream(4, n_rows=160, n_labels=12)
    options = {"refine": 3, "novelty": True}
    whole = ConditionalTreeClassifier(**options)
    seen = whole.progressive_fit(X, y)
    parts = ConditionalTreeClassifier(**options)
    first = parts.progressive_fit(X[: cut + 1], y[: cut + 1])
    if copied == "file":
        parts.save(tmp_path / "m")
        parts = labeltrees.load(tmp_path / "m")
    else:
        parts = pickle.loads(pickle.dumps(parts))
    second = parts.progressive_fit(X[cut + 1 :], y[cut + 1 :])
    for before, after, all_of in zip(first, second, seen, strict=True):
        assert np.array_equal(np.concatenate([before, after]), all_of)
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("structure", ["kmeans", "random"])
def test_several_trees_go_on_bit_for_bit_after_a_file(structure, tmp_path):
    X, y = stream(5, n_rows=200, n_labels=12)
    late = np.where(y[100:] == 3, 77, y[100:])
    model = ConditionalTreeClassifier(structure=structure, n_trees=3).fit(X[:100], y[:100])
    model.save(tmp_path / "m")
    twins = [labeltrees.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))]
    seen = model.progressive_fit(X[100:], late)
    assert 77 in model.classes_
    for twin in twins:
        again = twin.progressive_fit(X[100:], late)
        assert all(np.array_equal(a, b) for a, b in zip(seen, again, strict=True))
        assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


@settings(max_examples=20, deadline=None)
@given(refined())
def test_a_frozen_model_answers_almost_the_same(problem):
    model, X = problem
    tensors, facts = model.model_.to_tensors(keep_state=False)
    frozen = RefinedTreesModel.from_tensors(tensors, facts)
    # float16 keeps three digits; a path that is given up at 1 % may fall on the other side
    expected, answered = (each.probabilities(as_rows(X)) for each in (model.model_, frozen))
    assert (np.abs(answered - expected).sum(axis=1) < 0.03).mean() > 0.8
    assert answered.sum(axis=1) == pytest.approx(expected.sum(axis=1), abs=1e-9)


@pytest.mark.parametrize("how", ["partial_fit", "fit"])
def test_rows_of_weight_zero_are_as_if_they_were_not_there(how):
    X, y = stream(6, n_rows=120, n_labels=8)
    weights = np.ones(120)
    weights[::3] = 0
    kept = weights > 0
    options = {"structure": "online", "refine": 4, "shuffle": False}
    zero = getattr(ConditionalTreeClassifier(**options), how)(X, y, sample_weight=weights)
    none = getattr(ConditionalTreeClassifier(**options), how)(X[kept], y[kept])
    assert np.array_equal(zero.predict_proba(X), none.predict_proba(X))
    assert zero.tree_ == none.tree_
    assert zero.classes_.tolist() == none.classes_.tolist()
    seen = zero.progressive_fit(X[:9], y[:9], sample_weight=np.eye(9)[0])
    assert not seen.p_label[1:].any()


def test_not_even_the_shuffling_of_fit_knows_of_rows_of_weight_zero():
    X, y = stream(6, n_rows=120, n_labels=8)
    weights = np.ones(120)
    weights[::3] = 0
    kept = weights > 0
    zero = ConditionalTreeClassifier(n_trees=2).fit(X, y, sample_weight=weights)
    none = ConditionalTreeClassifier(n_trees=2).fit(X[kept], y[kept])
    assert np.array_equal(zero.predict_proba(X), none.predict_proba(X))


def test_what_was_seen_of_rows_is_what_the_model_says_before_each():
    X, y = stream(7, n_rows=60, n_labels=8)
    seen = ConditionalTreeClassifier(refine=4).progressive_fit(X, y)
    model = ConditionalTreeClassifier(refine=4).partial_fit(X[:1], y[:1])
    for i in range(1, 60):
        assert seen.is_new[i] == (y[i] not in model.classes_)
        if not seen.is_new[i]:
            assert model.predict_label_proba(X[[i]], y[[i]]) == [seen.p_label[i]]
        assert model.predict_label_proba(X[[i]], seen.top[i]) == seen.p_top[i]
        model.partial_fit(X[[i]], y[[i]])


def test_several_passes_teach_the_trees_again_and_count_nothing_twice():
    X, y = stream(8, n_rows=300, n_labels=8)
    once, often = (
        ConditionalTreeClassifier(structure="kmeans", n_trees=2, n_passes=n, novelty=True).fit(X, y)
        for n in (1, 4)
    )
    assert once.novelty_mass_ == often.novelty_mass_
    assert not np.array_equal(once.predict_proba(X), often.predict_proba(X))
    assert often.score(X, y) > once.score(X, y) - 0.02


def test_any_number_of_threads_answers_as_one_does():
    X, y = stream(9, n_rows=600, n_labels=12)
    model = ConditionalTreeClassifier().fit(X, y)
    one = model.predict_label_proba(X, y), model.predict_top_k(X, 3).probabilities
    model.set_params(n_jobs=3)
    assert np.array_equal(model.predict_label_proba(X, y), one[0])
    assert np.array_equal(model.predict_top_k(X, 3).probabilities, one[1])


# Memory.


@pytest.mark.parametrize("n_trees", [1, 2])
def test_all_tables_together_stay_within_the_limit(n_trees):
    X, y = wide_rows(2500)
    limit = 2**22
    options = {"structure": "kmeans", "n_trees": n_trees, "refine": 8}
    free = ConditionalTreeClassifier(**options).fit(X, y)
    limited = ConditionalTreeClassifier(**options, max_memory=limit).fit(X, y)
    assert n_bytes(free) > limit >= n_bytes(limited)
    limited.partial_fit(X, y)
    assert limit >= n_bytes(limited)
    X_test, y_test = wide_rows(300, seed=1)
    assert (limited.predict(X_test) == y_test).mean() > 0.8


def n_bytes(model):
    return model.model_.core.n_bytes + model.model_.core.n_pair_bytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refine": 4, "max_memory": 2**22 - 1}, "max_memory must be at least 4194304 with refine"),
        (
            {"refine": 4, "n_trees": 3, "structure": "kmeans", "max_memory": 2**22},
            "max_memory must be at least 6291456 with refine=4",
        ),
        ({"refine": 4, "arity": 4}, "refine must be 'auto' or 0 where nodes have more than two"),
        ({"refine": 4, "structure": [["a", "b", "c"], "d"]}, "refine must be 'auto' or 0 where"),
        (
            {"refine": 4, "n_trees": 2, "structure": "huffman"},
            "several refined trees, which must differ",
        ),
        (
            {"refine": 4, "n_trees": 2, "structure": "online"},
            "several refined trees, which must differ",
        ),
        (
            {"refine": 4, "n_trees": 2, "structure": ["a", "b"]},
            "several refined trees, which must differ",
        ),
        ({"refine": -1}, r"refine must be 'auto' or an integer in \[0, 1000\], got -1"),
        ({"refine": 1001}, r"refine must be 'auto' or an integer in \[0, 1000\], got 1001"),
        ({"refine": "all"}, r"refine must be 'auto' or an integer in \[0, 1000\], got 'all'"),
        ({"refine": None}, "refine must be"),
        ({"refine": True}, "refine must be"),
        ({"refine": 2.0}, "refine must be"),
        ({"n_trees": 0}, r"n_trees must be 'auto' or an integer in \[1, 1000\], got 0"),
        ({"sharpness": 0}, r"sharpness must be 'auto' or in \(0, 10\], got 0"),
        ({"sharpness": "x"}, "sharpness must be"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(options, message):
    model = ConditionalTreeClassifier(**options)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ArgumentError, match=message):
            learn([[1.0], [2.0], [3.0]], ["a", "b", "c"])
    assert not hasattr(model, "model_")


def test_several_refined_trees_need_fit():
    model = ConditionalTreeClassifier(n_trees=2, structure="random", refine=2)
    with pytest.raises(ArgumentError, match="n_trees=2 needs fit"):
        model.partial_fit([[1.0]], ["a"])


def test_weights_that_run_away_are_reported():
    model = ConditionalTreeClassifier(normalize=False, learning_rate=1e5, optimizer="sgd")
    with pytest.raises(DivergedError, match="learning_rate=100000 is too large"):
        model.fit([[1e15], [2e15], [3e15]] * 20, ["a", "b", "c"] * 20)


# Defaults and boundaries.


def test_the_defaults_are_those_the_docs_name():
    X, y = stream(10, n_rows=60)
    fitted = ConditionalTreeClassifier().fit(X, y).model_
    assert isinstance(fitted, RefinedTreesModel)
    assert (fitted.core.n_trees, fitted.core.n_candidates) == (4, 16)
    many = np.tile(X, (170, 1)), np.tile(y, 170)  # a large table
    fitted = ConditionalTreeClassifier().fit(*many).model_
    assert (fitted.core.n_trees, fitted.core.n_candidates) == (2, 16)
    fitted = ConditionalTreeClassifier(scale=None).fit(X, y).model_
    assert (fitted.core.n_trees, fitted.core.n_candidates) == (4, 8)
    streamed = ConditionalTreeClassifier().partial_fit(X, y).model_
    assert (streamed.core.n_trees, streamed.core.n_candidates) == (1, 4)
    for options in (
        {"refine": 0, "n_trees": 1},
        {"loss": "squared"},
        {"max_memory": 2**20},
    ):
        model = ConditionalTreeClassifier(**options).fit(X, y).model_
        assert type(model) is ConditionalTreeModel


@pytest.mark.parametrize("n_trees", [1, 4])
def test_two_labels_have_no_candidates(n_trees):
    X, y = stream(11, n_rows=100, n_labels=2)
    model = ConditionalTreeClassifier(n_trees=n_trees, structure="kmeans").fit(X, y)
    assert not model.explain(X[0], 0).refinement.is_candidate
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(100))
    assert model.model_.core.n_pairs == 0  # nothing was proposed, so experts learned nothing
    seen = model.progressive_fit(X, y)
    before = pickle.loads(pickle.dumps(model)).predict_label_proba(X[:1], seen.top[0])
    assert before.shape == (1,)
    model.partial_fit(X[:50], np.where(y[:50] == 0, 5, y[:50]))  # and then there are three
    assert model.explain(X[0], 5).refinement is not None
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(100))


def test_what_several_trees_predict_of_two_labels_is_their_mean():
    X, y = stream(12, n_rows=100, n_labels=2)
    model = ConditionalTreeClassifier(n_trees=3, structure="random").fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    seen = model.progressive_fit(X[:1], y[:1])
    assert twin.predict_label_proba(X[:1], seen.top[0]).tolist() == seen.p_top[0].tolist()


def test_one_label_and_rows_without_features():
    model = ConditionalTreeClassifier(bias=0).fit([[0.0]] * 6, ["only"] * 6)
    assert model.predict_proba([[0.0], [1.0]]).tolist() == [[1.0], [1.0]]
    assert model.sample([[1.0]], 0).tolist() == ["only"]
    assert model.beam_top_k([[0.0]], 1).labels.tolist() == [["only"]]
    many = ConditionalTreeClassifier(bias=0).fit([[0.0]] * 12, list("abcd") * 3)
    assert many.predict_proba([[0.0]]) == pytest.approx(np.full((1, 4), 0.25), abs=0.15)


def test_labels_that_come_after_fit_get_experts_too():
    X, y = stream(13, n_rows=400, n_labels=10)
    model = ConditionalTreeClassifier().fit(X[y < 7], y[y < 7])
    late = y >= 7
    model.partial_fit(X, y)
    assert sorted(model.classes_.tolist()) == list(range(10))
    assert (model.predict(X[late]) == y[late]).mean() > 0.7
    assert (model.predict(X[~late]) == y[~late]).mean() > 0.7


def test_scaled_rows_are_learned_alike():
    # Experts read rows as long as they are to each other, not as long as they are.
    X, y = stream(14, n_rows=200)
    small, large = (ConditionalTreeClassifier().fit(X * scale, y) for scale in (2.0**-20, 2.0**20))
    assert large.predict_proba(X[:20] * 2.0**20) == pytest.approx(
        small.predict_proba(X[:20] * 2.0**-20), rel=1e-3
    )


def test_a_file_from_before_there_were_experts_is_a_plain_tree():
    X, y = stream(15, n_rows=100)
    plain = ConditionalTreeClassifier(refine=0, structure="online", n_trees=1).fit(X, y)
    tensors, facts = plain.model_.to_tensors(keep_state=True)
    old = dict(facts["settings"]) | {"sharpness": 1.2}
    del old["refine"]
    model = model_from(StoredModel("ConditionalTreeModel", facts | {"settings": old}, tensors))
    assert type(model) is ConditionalTreeModel
    assert model.settings.refine == 0
    assert np.array_equal(model.probabilities(as_rows(X)), plain.predict_proba(X))
    model.update(as_rows(X), RaggedLabels.of_single(y), np.empty(0, np.float32))
    plain.partial_fit(X, y)
    assert np.array_equal(model.probabilities(as_rows(X)), plain.predict_proba(X))


def test_a_given_tree_is_refined_too():
    X, y = stream(16, n_rows=200, n_labels=5)
    model = ConditionalTreeClassifier(structure=LabelTree.balanced(5)).fit(X, y)
    assert isinstance(model.model_, RefinedTreesModel)
    assert model.tree_ == LabelTree.balanced(5)
    assert model.model_.core.n_pairs > 0
