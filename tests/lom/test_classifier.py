"""LOMtree: the tree it grows, the leaves it recycles, and the probabilities it gives.

By hand -> agreement with tests/references/lom.py -> invariants after any stream -> what the
paper proves -> streams on which the tree used to be lost -> queries -> files -> boundaries.
What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.references.lom import ReferenceLomTree

from labeltrees import LOMTreeClassifier
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.errors import (
    ArgumentError,
    DivergedError,
    ModelFormatError,
)
from labeltrees.models.lom.diagnostics import split_quality
from labeltrees.models.lom.model import LomSettings, LomTreeModel, _histograms


def stream(seed, n_rows=600, n_features=8, n_labels=12, noise=0.4):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    centres = rng.normal(size=(n_labels, n_features))
    return (centres[y] + noise * rng.normal(size=(n_rows, n_features))).astype(np.float32), y


def shape(model: LomTreeModel):
    """The tree as nested tuples: C, E, histogram and children of every node."""
    nodes = model.core.nodes()
    histograms = [{} for _ in nodes["left"]]
    labels = model.vocabulary.labels.tolist()
    for node, label, count in zip(*_histograms(model.core.snapshot()), strict=True):
        histograms[node][labels[label]] = int(count)

    def of(node):
        children = ()
        if nodes["left"][node] >= 0:
            children = (of(int(nodes["left"][node])), of(int(nodes["right"][node])))
        histogram = dict(sorted(histograms[node].items()))
        return (int(nodes["least"][node]), float(nodes["mean"][node]), histogram, children)

    return of(model.core.root)


# By hand.


def test_two_labels_by_hand():
    model = LOMTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=0.5, normalize=False, bias=0.0, back_off=1.0
    )
    model.partial_fit([[1.0]], ["a"])  # one leaf
    assert model.model_.core.n_splits == 0
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]
    # b is the leaf's second label: it splits; E = e = 0, so b goes right by .5 x.
    model.partial_fit([[1.0]], ["b"])
    nodes = model.model_.core.nodes()
    assert model.model_.core.n_splits == 1
    assert nodes["mean"][0] == 0.5
    assert nodes["least"].tolist() == [0, 0, 2]
    assert model.apply([[1.0], [-1.0]]).tolist() == [2, 1]
    # The root has seen both; the right leaf has b. A new label tells nothing of trust, which is
    # still one half: (1 + 1/2) / 2, and of that all but a millionth.
    p = model.predict_label_proba([[1.0]], ["b"])[0]
    assert p == pytest.approx(0.75 * (1 - 1e-6) + 0.5e-6)


# Agreement with the reference.

numbers = st.sampled_from([-1.0, 0.0, 0.0, 0.25, 2.0])


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 3))
    row = st.lists(numbers, min_size=n_features, max_size=n_features)
    rows = draw(st.lists(row, min_size=1, max_size=60))
    labels = draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    return np.array(rows, dtype=np.float32), labels


@settings(max_examples=200, deadline=None)
@given(
    problems(),
    st.sampled_from(["hinge", "squared", "absolute", "logistic"]),
    st.sampled_from(["adagrad", "sgd"]),
    st.integers(0, 6),
    st.sampled_from([1, 2, 4]),
)
def test_the_tree_learns_like_the_reference_step_by_step(problem, loss, optimizer, limit, swap):
    X, y = problem
    options = {"loss": loss, "optimizer": optimizer, "learning_rate": 0.2,
               "max_splits": limit, "swap_resistance": swap}  # fmt: skip
    reference, model = ReferenceLomTree(**options), LOMTreeClassifier(**options, scale=None)
    for x, label in zip(X, y, strict=True):
        model.partial_fit([x], [label])
        reference.observe(x, label)
        assert model.model_.core.n_recyclings == reference.n_recyclings
        assert_same(shape(model.model_), reference.shape())
    for x in X[:5]:
        for label in set(y):
            expected = reference.probability(x, label)
            assert model.predict_label_proba([x], [label])[0] == pytest.approx(expected)


def assert_same(ours, theirs):
    assert ours[0] == theirs[0]
    assert ours[1] == pytest.approx(theirs[1], rel=1e-4, abs=1e-5)
    assert ours[2] == theirs[2]
    assert len(ours[3]) == len(theirs[3])
    for one, other in zip(ours[3], theirs[3], strict=True):
        assert_same(one, other)


def test_recycling_agrees_with_the_reference_on_longer_streams():
    n_recyclings = 0
    for seed in range(6):
        rng = random.Random(seed)
        options = {"max_splits": 3 + seed, "swap_resistance": 1 + seed % 2, "learning_rate": 0.5}
        reference, model = ReferenceLomTree(**options), LOMTreeClassifier(**options, scale=None)
        X, y = [], []
        for _ in range(400):
            label = min(15, int(rng.paretovariate(0.7)))
            X.append([float(rng.random() < 0.5) for _ in range(4)])
            y.append(label)
            reference.observe(X[-1], label)
        model.partial_fit(X, y)
        assert_same(shape(model.model_), reference.shape())
        assert model.model_.core.n_recyclings == reference.n_recyclings
        n_recyclings += reference.n_recyclings
    assert n_recyclings > 50


@settings(max_examples=60, deadline=None)
@given(
    problems(),
    st.sampled_from(["hinge", "squared"]),
    st.integers(0, 6),
    st.integers(1, 2),
)
def test_the_papers_label_of_a_leaf_is_the_one_learned_there_most_often(problem, loss, limit, swap):
    X, y = problem
    options = {"loss": loss, "optimizer": "sgd", "learning_rate": 0.2,
               "max_splits": limit, "swap_resistance": swap}  # fmt: skip
    reference = ReferenceLomTree(**options)
    model = LOMTreeClassifier(**options, counts="training", back_off=0, scale=None).partial_fit(
        X, y
    )
    for x, label in zip(X, y, strict=True):
        reference.observe(x, label)
    for x, answer in zip(X, model.predict(X), strict=True):
        assert answer in reference.leaf_labels(x)


def test_counting_the_training_path_only_changes_answers_and_not_the_tree():
    X, y = stream(5, noise=1.5)
    both, training = (LOMTreeClassifier(counts=c).partial_fit(X, y) for c in ("both", "training"))
    nodes, others = both.model_.core.nodes(), training.model_.core.nodes()
    for name in ("left", "right", "least", "mean", "leaf_top", "split_number"):
        assert np.array_equal(nodes[name], others[name])
    assert others["weight"].sum() < nodes["weight"].sum()
    assert (training.predict(X) != both.predict(X)).any()
    tensors, facts = training.model_.to_tensors(keep_state=True)
    old = facts | {"settings": facts["settings"] | {"counts": "taught"}}
    assert LomTreeModel.from_tensors(tensors, old).settings.counts == "training"


def test_a_second_pass_is_the_same_however_it_is_cut():
    X, y = stream(6, noise=1.0)
    rows, weights = as_rows(X), np.empty(0, np.float32)
    labels = RaggedLabels.of_single(y)
    models = []
    for n_parts in (1, 2, 7):
        model = LomTreeModel.empty(LomSettings(), X.shape[1])
        model.update(rows, labels, weights)
        for part in np.array_split(np.arange(len(y)), n_parts):
            model.update(rows, labels, weights, order=part, pass_number=1)
        assert model.core.n_rounds == 2
        models.append(model)
    expected = models[0].probabilities(rows)
    for model in models[1:]:
        assert np.array_equal(model.probabilities(rows), expected)
    models[1].update(rows, labels, weights, order=np.arange(200), pass_number=1)
    assert models[1].core.n_rounds == pytest.approx(2 + 1 / 3)
    tensors, facts = models[1].to_tensors(keep_state=True)
    again = LomTreeModel.from_tensors(tensors, facts)
    assert np.array_equal(again.probabilities(rows), models[1].probabilities(rows))
    older = {name: value for name, value in facts.items() if name != "weight_learned_again"}
    assert LomTreeModel.from_tensors(tensors, older | {"n_rounds": 3}).core.n_rounds == 3
    with pytest.raises(ModelFormatError, match="learned again"):
        LomTreeModel.from_tensors(tensors, facts | {"weight_learned_again": 1e9})


# Invariants after any stream.


def check_tree(model: LomTreeModel, limit=None):
    nodes, core = model.core.nodes(), model.core
    left, right, parent = nodes["left"], nodes["right"], nodes["parent"]
    assert ((left < 0) == (right < 0)).all()
    order, at = [core.root], 0
    assert parent[core.root] == -1
    while at < len(order):
        node = order[at]
        at += 1
        if left[node] >= 0:
            for child in (int(left[node]), int(right[node])):
                assert parent[child] == node
                order.append(child)
    assert sorted(order) == list(range(core.n_nodes))  # every node once
    for node in reversed(order):
        if left[node] >= 0:
            assert nodes["least"][node] == min(nodes["least"][[left[node], right[node]]])
    assert (left >= 0).sum() == core.n_splits
    if limit is not None:
        assert core.n_splits <= limit
    owner, _, count = _histograms(core.snapshot())
    sums = np.bincount(owner, weights=count, minlength=core.n_nodes)
    assert sums == pytest.approx(nodes["weight"])
    distinct = np.bincount(owner, minlength=core.n_nodes)
    assert distinct.tolist() == nodes["n_labels"].tolist()
    places = list(zip(nodes["block"][left >= 0], nodes["slot"][left >= 0], strict=True))
    assert len(set(places)) == len(places)
    if core.n_recyclings == 0:
        # A split's children have all that came to it since.
        inner = np.flatnonzero(left >= 0)
        below = nodes["weight"][left[inner]] + nodes["weight"][right[inner]]
        assert (below <= nodes["weight"][inner] * 2).all()
        assert nodes["weight"][core.root] == core.masses().sum()


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(0, 5), st.sampled_from([1, 1.5, 4]), st.integers(1, 4))
def test_after_any_stream_the_tree_is_a_tree(problem, limit, swap, n_passes):
    X, y = problem
    model = LOMTreeClassifier(max_splits=limit, swap_resistance=swap, n_passes=n_passes).fit(X, y)
    check_tree(model.model_, limit)
    check_tree(pickle.loads(pickle.dumps(model.model_)), limit)


def adversary(kind, seed, n_rows, n_labels):
    """The streams on which VW's tree collapses."""
    rng = random.Random(seed)
    for _ in range(n_rows):
        if kind == 0:
            y, x = rng.randint(1, n_labels), [f"w{rng.randint(0, 30)}" for _ in range(4)]
        elif kind == 1:
            y = 1 if rng.random() < 0.5 else rng.randint(1, n_labels)
            x = ["c"] if rng.random() < 0.9 else [f"z{rng.randint(0, 3)}"]
        else:
            y = min(n_labels, int(rng.paretovariate(0.7)))
            x = ["c", f"d{y % 3}"]
        yield x, y


def rows_of(examples):
    names = {}
    examples = list(examples)
    X = sparse.lil_array((len(examples), 40), dtype=np.float32)
    for i, (words, _) in enumerate(examples):
        for word in words:
            X[i, names.setdefault(word, len(names))] = 1
    return X.tocsr(), np.array([y for _, y in examples])


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("n_labels", [4, 16, 64])
def test_adversarial_streams_lose_no_node_and_recycle_logarithmically(kind, n_labels):
    for seed in range(3):
        X, y = rows_of(adversary(kind, seed, 3000, n_labels))
        model = LOMTreeClassifier(max_splits=n_labels - 1, swap_resistance=4).partial_fit(X, y)
        check_tree(model.model_, n_labels - 1)
        most = model.model_.core.nodes()["n_recycled"].max()
        assert most <= math.log2(len(y))  # Lemma 3
        hits = (model.predict(X) == y).mean()
        majority = np.bincount(y).max() / len(y)
        assert hits >= majority - 0.01
        if kind == 2:  # the feature tells the label's remainder by 3: a tree can use it
            assert hits > majority + 0.05


def test_the_sibling_of_the_smallest_leaf_becomes_the_root():
    # T = 1: when the one split's smaller leaf is recycled, its parent is the root.
    model = LOMTreeClassifier(max_splits=1, swap_resistance=1, learning_rate=1.0)
    X = [[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 60
    model.partial_fit(X, ["a", "b"] + ["c", "d", "e"] * 20)
    assert model.model_.core.n_recyclings > 0
    check_tree(model.model_, 1)
    assert model.predict_proba([[0.0, 1.0]]).min() > 0


# What the paper proves.


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8))
def test_lemmas_1_and_2_hold_for_every_split(counts):
    left, right = np.array(counts, dtype=float).T
    objective, impurity, balance = split_quality(left, right)
    assert -1e-12 <= objective <= 1 + 1e-12  # Lemma 2
    balance = min(balance, 1 - balance)  # sides may be exchanged; past 1/2 the bound is below 0
    if balance > 0:  # Lemma 1
        assert impurity <= min((2 - objective) / (4 * balance) - balance, 0.5) + 1e-9


def test_a_pure_and_balanced_split_has_objective_one():
    assert split_quality(np.array([5.0, 0, 2]), np.array([0, 7.0, 0])) == (1.0, 0.0, 0.5)
    assert split_quality(np.array([5.0, 5.0]), np.array([5.0, 5.0]))[0] == 0


def test_diagnosis_of_data_adds_up():
    X, y = stream(1)
    model = LOMTreeClassifier().fit(X, y)
    found = model.diagnose(X, y)
    assert found.leaf_sizes.sum() == len(y)
    assert len(found.entropy) == len(found.objective) + 1 == model.model_.core.n_splits + 1
    assert (np.diff(found.entropy) <= 1e-9).all()  # a split never adds entropy
    leaves = model.apply(X)
    expected = 0.0
    for leaf in np.unique(leaves):
        p = np.bincount(y[leaves == leaf]) / (leaves == leaf).sum()
        expected -= (leaves == leaf).mean() * (p[p > 0] * np.log(p[p > 0])).sum()
    assert found.entropy[-1] == pytest.approx(expected, abs=1e-9)
    recorded = model.diagnose().summary()
    assert recorded["splits"] == model.model_.core.n_splits
    with pytest.raises(ArgumentError, match="2 labels for the 1 rows"):
        model.diagnose(X[:1], y[:2])
    axes = model.plot(X, y)
    assert [ax.get_title() for ax in axes][1] == "mean entropy of the leaves"


# Queries.


@pytest.mark.parametrize("noise", [0.4, 5.0])  # few labels a leaf, many
def test_every_query_tells_the_same_probability(noise):
    X, y = stream(2, n_labels=30, noise=noise)
    model = LOMTreeClassifier(max_splits=20).partial_fit(X, y)
    full = model.predict_proba(X[:80])
    assert full.sum(axis=1) == pytest.approx(np.ones(80), abs=1e-12)
    assert full.min() > 0
    columns = {label: column for column, label in enumerate(model.classes_)}
    for k in (1, 3, len(columns)):
        labels, p = model.predict_top_k(X[:80], k)
        assert np.array_equal(p, -np.sort(-full, axis=1)[:, :k])
        in_columns = np.vectorize(columns.__getitem__)(labels)
        assert np.array_equal(np.take_along_axis(full, in_columns, axis=1), p)
    assert np.array_equal(model.predict(X[:80]), model.classes_[full.argmax(axis=1)])
    assert np.array_equal(model.predict_label_proba(X[:80], labels[:, 2]), p[:, 2])
    for threshold in (0.001, 0.05, 0.5):
        above = model.predict_above(X[:80], threshold).toarray()
        assert np.array_equal(above, np.where(full >= threshold, full, 0))
    best = model.top_rows(X[:80], [3, 5], 4)
    for row, label in enumerate((3, 5)):
        p_rows = full[:, columns[label]]
        assert best.rows[row].tolist() == np.argsort(-p_rows, kind="stable")[:4].tolist()
        assert np.array_equal(best.probabilities[row], p_rows[best.rows[row]])


def test_an_explanation_follows_the_row():
    X, y = stream(4)
    model = LOMTreeClassifier().partial_fit(X, y)
    reason = model.explain(X[0], int(y[0]), n_features=3)
    assert reason.p_label == model.predict_label_proba(X[:1], y[:1])[0]
    assert reason.leaf == model.apply(X[:1])[0]
    for step in reason.steps:
        parts = sum(c.contribution for c in step.contributions) + step.other + step.bias
        assert parts == pytest.approx(step.margin, abs=1e-5)
        assert (step.direction == "left") == (step.margin < 0)
        assert len(step.contributions) <= 3
    assert "at leaf" in str(reason)
    assert reason.to_dict()["leaf"] == reason.leaf


def test_back_off_beats_the_leaf_histogram_alone():
    X, y = stream(8, n_rows=2000, n_labels=30, noise=0.8)
    losses = []
    for back_off in (0.0, 1.0):
        model = LOMTreeClassifier(back_off=back_off, n_passes=1).fit(X[:1500], y[:1500])
        p = model.predict_label_proba(X[1500:], y[1500:])
        losses.append(-np.log(np.maximum(p, 1e-9)).mean())
    assert losses[1] < losses[0]


def trust_of(classifier):
    state = classifier.model_.core.snapshot()
    return state["reached"], state["drawn"]


def test_trust_is_learned_from_rows_before_they_are_taught_and_in_the_first_pass_only():
    X, y = stream(4, n_labels=30, noise=1.0)
    once = LOMTreeClassifier(n_passes=1, shuffle=False).fit(X, y)
    asked, drawn = trust_of(once)
    # Every row but the first of each label asks the leaf it ends in, and only some of them draw.
    at_leaf = asked[160:].sum() - 2 * 160
    n_empty = at_leaf - (len(y) - len(set(y.tolist())))
    assert -30 < n_empty <= 1e-6  # ends in leaves that have seen nothing ask the node above
    assert (drawn > 0).all()
    assert (drawn < asked).all()
    thrice = LOMTreeClassifier(n_passes=3, shuffle=False).fit(X, y)
    for ours, theirs in zip(trust_of(thrice), (asked, drawn), strict=True):
        assert np.array_equal(ours, theirs)


def test_learned_trust_beats_trust_unlearned():
    X, y = stream(9, n_rows=6000, n_labels=60, noise=1.5)
    model = LOMTreeClassifier(n_passes=1).fit(X[:4000], y[:4000])
    tensors, facts = model.model_.to_tensors(keep_state=True)
    fresh, _ = LomTreeModel.empty(model.model_.settings, X.shape[1]).to_tensors(keep_state=True)
    unlearned = {name: fresh[name] for name in ("back_off.asked", "back_off.drawn")}
    other = LomTreeModel.from_tensors(tensors | unlearned, facts)
    rows = model._check_rows(X[4000:])
    losses = [-np.log(each.label_probabilities(rows, y[4000:])).mean()
              for each in (model.model_, other)]  # fmt: skip
    assert losses[0] < losses[1]


def test_the_limit_grows_with_the_labels_or_stays():
    X, y = stream(9, n_labels=10)
    assert LOMTreeClassifier(max_splits=4).fit(X, y).model_.core.n_splits == 4
    assert LOMTreeClassifier(splits_per_label=1).fit(X, y).model_.core.n_splits <= 10
    stump = LOMTreeClassifier(max_splits=0).fit(X, y)
    shares = np.bincount(y) / len(y)
    assert stump.predict_proba(X[:1])[0] == pytest.approx(shares, abs=1e-9)


# Files.


DAMAGE = {
    "a cycle": ("nodes.left", lambda a: np.where(a >= 0, 0, a).astype(a.dtype)),
    "a child past the end": ("nodes.right", lambda a: np.where(a >= 0, 999, a).astype(a.dtype)),
    "another parent": ("nodes.parent", lambda a: np.zeros_like(a)),
    "shared ledgers": ("nodes.ledger", lambda a: np.ones_like(a)),
    "closed ledgers": ("ledgers.open", lambda a: np.zeros_like(a)),
    "no place": ("nodes.block", lambda a: a + 10_000),
    "shared places": ("nodes.slot", lambda a: a * 0),
    "wrong least": ("nodes.least", lambda a: np.arange(len(a), dtype=a.dtype)),
    "negative counts": ("ledgers.counts", lambda a: -a),
    "NaN": ("nodes.mean", lambda a: a * np.float32(np.nan)),
    "unsorted": ("ledgers.keys", lambda a: a[::-1].copy()),
    "short": ("nodes.weight", lambda a: a[:-1]),
    "other type": ("nodes.least", lambda a: a.astype(np.float32)),
    "labels nobody learned": ("mass", lambda a: a * 0),
    "too many labels": ("mass", lambda a: np.ones(999)),
    "weights": ("table.weights", lambda a: a * np.float32(np.inf)),
    "no trust": ("back_off.drawn", lambda a: a * 0),
    "more than trust": ("back_off.asked", lambda a: a * 0.1),
    "few classes": ("back_off.asked", lambda a: a[:-1]),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_parts_that_do_not_fit_together_are_refused(case):
    X, y = stream(11, n_rows=200)
    tensors, facts = LOMTreeClassifier().fit(X, y).model_.to_tensors(keep_state=True)
    name, damage = DAMAGE[case]
    with np.errstate(invalid="ignore"), pytest.raises(ModelFormatError):
        LomTreeModel.from_tensors(tensors | {name: damage(tensors[name])}, facts)


def test_the_tree_is_drawn():
    X, y = stream(12)
    model = LOMTreeClassifier().fit(X, y)
    text = model.model_.to_dot([f'l"{label}' for label in model.classes_], max_nodes=5)
    assert text.count("->") == 4
    assert 'l\\"' in text


# Boundaries.


def test_empty_rows_are_rows():
    model = LOMTreeClassifier(bias=0.0).partial_fit([[0.0]] * 20, ["a", "b"] * 10)
    assert model.predict_proba([[0.0]])[0] == pytest.approx([0.5, 0.5], abs=0.1)
    check_tree(model.model_)


def test_weights_that_grow_without_bound_are_reported_and_the_model_lives():
    model = LOMTreeClassifier(
        loss="squared", optimizer="sgd", learning_rate=1e6, normalize=False
    ).partial_fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(DivergedError, match="learning_rate"):
        model.partial_fit([[1e6]] * 50, ["a", "b"] * 25)
    assert np.isfinite(model.predict_proba([[1.0]])).all()
    pickle.loads(pickle.dumps(model.model_))
