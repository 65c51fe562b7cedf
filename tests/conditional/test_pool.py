"""Pools of trees: the geometric mean of the trees' distributions, scaled to sum to 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees
from labeltrees import ConditionalTreeClassifier
from labeltrees.data.labels import RaggedLabels
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.metrics import log_loss
from labeltrees.models.conditional.several_trees import PooledTreesModel, pooled


def noisy_rows(seed, n_rows=400, n_labels=12, n_features=20):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    centres = np.random.default_rng(99).normal(size=(n_labels, n_features))
    X = centres[y] + 1.5 * rng.normal(size=(n_rows, n_features))
    return X.astype(np.float32), np.array([f"label {i}" for i in y], dtype=object)


@pytest.fixture(scope="module")
def model():
    return ConditionalTreeClassifier(structure="kmeans", n_trees=3, refine=0).fit(*noisy_rows(0))


def pooled_slowly(distributions):
    """The definition, one number at a time."""
    products = [
        math.prod(p[y] for p in distributions) ** (1 / len(distributions))
        for y in range(len(distributions[0]))
    ]
    return [product / sum(products) for product in products]


def test_two_distributions_by_hand():
    # sqrt(.9 * .5) : sqrt(.1 * .5) = 3 : 1
    assert pooled([np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])])[0] == pytest.approx(
        [0.75, 0.25]
    )


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(1, 10**6), min_size=n, max_size=n), min_size=1)
    )
)
def test_pooling_agrees_with_the_definition(numbers):
    distributions = [np.array(each) / sum(each) for each in numbers[:5]]
    result = pooled([p[np.newaxis] for p in distributions])[0]
    assert result == pytest.approx(pooled_slowly(distributions), rel=1e-9)


def test_a_pool_is_made_of_the_trees_of_following_seeds(model):
    X, y = noisy_rows(0)
    rows = noisy_rows(1, n_rows=30)[0]
    trees = [
        ConditionalTreeClassifier(structure="kmeans", n_trees=1, refine=0, random_state=seed).fit(
            X, y
        )
        for seed in range(3)
    ]
    assert len({tree.tree_.to_json() for tree in trees}) > 1
    expected = [
        pooled_slowly(each)
        for each in zip(*(tree.predict_proba(rows) for tree in trees), strict=True)
    ]
    assert model.predict_proba(rows) == pytest.approx(np.array(expected), rel=1e-9)
    assert model.tree_ == trees[0].tree_


def test_a_pool_has_less_loss_than_any_of_its_trees(model):
    X, y = noisy_rows(2, n_rows=500)
    rows = labeltrees.data.rows.as_rows(X)
    alone = [log_loss(each.label_probabilities(rows, y)) for each in model.model_.members]
    assert log_loss(model.predict_label_proba(X, y)) < min(alone)


@pytest.mark.parametrize("arity", [2, 4])
@pytest.mark.parametrize("structure", ["online", "random", "huffman"])
def test_every_structure_and_arity_can_be_pooled(structure, arity):
    X, y = noisy_rows(0)
    model = ConditionalTreeClassifier(structure=structure, arity=arity, n_trees=2, refine=0).fit(
        X, y
    )
    assert model.predict_proba(X[:5]).sum(axis=1) == pytest.approx(np.ones(5))


def test_a_pool_goes_on_learning_and_takes_new_labels():
    X, y = noisy_rows(0)
    model = ConditionalTreeClassifier(structure="kmeans", n_trees=3, refine=0).fit(X, y)
    before = model.predict_proba(X[:5])
    model.partial_fit(10 * np.eye(20)[[7] * 30], ["new"] * 30)
    assert model.classes_[-1] == "new"
    assert model.predict(10 * np.eye(20)[[7]]) == ["new"]
    assert model.predict_proba(X[:5]).shape == (5, before.shape[1] + 1)
    assert model.predict_proba(X[:5]).sum(axis=1) == pytest.approx(np.ones(5))


def test_a_pool_describes_all_its_trees(model):
    facts = model.model_.describe()
    each = [member.describe() for member in model.model_.members]
    assert facts["trees"] == 3
    assert facts["weight_lines"] == sum(one["weight_lines"] for one in each)
    assert facts["leaves"] == 12
    assert model.model_.to_dot(model.classes_, max_nodes=5).startswith("digraph")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m, X, y: m.progressive_fit(X, y), "cannot predict rows before it learns them"),
        (lambda m, X, y: m.predict_top_k(X, 2, search="beam"), "has no beam search"),
        (lambda m, X, y: m.predict_label_proba(X, y[:1]), "y has 1 labels for the 2 rows"),
        (lambda m, X, y: m.predict_top_k(X, 13), r"k must be an integer in \[1, n_labels=12\]"),
        (
            lambda m, X, y: m.model_.update(
                labeltrees.data.rows.as_rows(X), RaggedLabels.of_single(y), np.empty(0), k=1
            ),
            "Use n_trees=1",
        ),
    ],
)  # fmt: skip
def test_what_a_pool_cannot_answer_is_refused(model, ask, message):
    X, y = noisy_rows(1, n_rows=2)
    before = model.predict_proba(X)
    with pytest.raises(ArgumentError, match=message):
        ask(model, X, y)
    assert (model.predict_proba(X) == before).all()


def test_a_stream_cannot_start_with_a_pool_nor_a_pool_keep_novelty():
    X, y = noisy_rows(0, n_rows=20)
    with pytest.raises(ArgumentError, match="n_trees=2 needs fit"):
        ConditionalTreeClassifier(n_trees=2, refine=0).partial_fit(X, y)
    with pytest.raises(ArgumentError, match="n_trees must be 1 with novelty=True and refine=0"):
        ConditionalTreeClassifier(n_trees=2, novelty=True, refine=0).fit(X, y)


def test_a_pool_of_trees_over_other_labels_is_refused(model):
    X, y = noisy_rows(0)
    other = ConditionalTreeClassifier(structure="online", n_trees=1, refine=0).fit(
        X[y != "label 3"], y[y != "label 3"]
    )
    with pytest.raises(ArgumentError, match="must have the same labels"):
        PooledTreesModel([model.model_.members[0], other.model_])


@pytest.mark.parametrize("damage", ["members", "tree", "none", "leaf"])
def test_a_forged_pool_is_refused(model, damage):
    tensors, facts = model.model_.to_tensors(keep_state=True)
    if damage == "members":
        facts = {"settings": facts["members"][0]["facts"]["settings"]}
    elif damage == "none":
        facts = facts | {"members": []}
    elif damage == "tree":
        del tensors["2.tree.parent"]
    else:
        other, about = (
            ConditionalTreeClassifier(structure=["label 0", "label 1"], refine=0)
            .fit(np.eye(20)[[0, 1]], ["label 0", "label 1"])
            .model_.to_tensors(keep_state=True)
        )
        kept = {name: each for name, each in tensors.items() if not name.startswith("1.")}
        tensors = kept | {f"1.{name}": array for name, array in other.items()}
        facts = facts | {
            "members": [
                facts["members"][0],
                {"model": "ConditionalTreeModel", "facts": about},
                facts["members"][2],
            ]
        }
    with pytest.raises(ModelFormatError):
        PooledTreesModel.from_tensors(tensors, facts)


def test_an_explanation_has_every_tree_s_path_and_the_pooled_probability(model):
    X, y = noisy_rows(1)
    reason = model.explain(X[0], y[0])
    assert reason.p_label == model.predict_label_proba(X[:1], y[:1])[0]
    assert len(reason.trees) == len(reason.p_trees) == 3
    rows = model.model_.rows(X[:1])
    for member, p, tree in zip(model.model_.members, reason.p_trees, reason.trees, strict=True):
        assert p == tree.p_label == member.label_probabilities(rows, y[:1])[0]
        assert tree == member.explain(rows, y[0])
    lines = str(reason).splitlines()
    assert lines[0].startswith(f"P({y[0]}) = {reason.p_label:.4g}, pooled from ")
    assert sum(line.startswith("tree ") for line in lines) == 3
    assert reason.to_dict()["trees"][2]["label"] == y[0]


def test_trees_of_many_children_are_explained_by_their_probabilities():
    X, y = noisy_rows(2)
    pool = ConditionalTreeClassifier(n_trees=2, arity=4).fit(X, y)
    reason = pool.explain(X[0], y[0])
    assert reason.trees == ()
    assert len(reason.p_trees) == 2
    assert "pooled from" in str(reason)


def test_a_pool_answers_thresholds_and_draws(model):
    X, _ = noisy_rows(3)
    p = model.predict_proba(X[:20])
    assert np.array_equal(model.predict_above(X[:20], 0.2).toarray(), np.where(p >= 0.2, p, 0))
    assert set(model.sample(X[:20], random_state=0)) <= set(model.classes_)
