"""Tasks put labels where one machine puts them, and every node is in one task."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.dask._planning import (
    MeanFeatures,
    all_features,
    crown_of,
    ordered_part,
    part_below,
    plan_tree,
)
from labeltrees.dask._tasks import Whole
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.models.extreme.settings import ExtremeSettings
from labeltrees.models.extreme.training import clustered, ordered_labels, tree_shape


@st.composite
def mean_features(draw):
    """Some labels of many, each with a few features or none."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(1, 250))
    labels = np.sort(random.choice(2 * n_labels, n_labels, replace=False)).astype(np.int32)
    width = draw(st.sampled_from([3, 40, 10**6]))
    rows = [np.unique(random.integers(width, size=random.integers(6))) for _ in labels]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    indices = np.concatenate(rows).astype(np.int32)
    values = random.integers(-4, 5, len(indices)).astype(np.float32)
    return MeanFeatures(labels, starts, indices, values)


@st.composite
def tree_settings(draw):
    return ExtremeSettings(
        arity=draw(st.sampled_from([2, 3, 16])),
        max_leaf=draw(st.sampled_from([2, 7, 100])),
        random_state=draw(st.integers(0, 9)),
    )


def ranges(features, n):
    return [features.take(part) for part in np.array_split(features.labels, n) if len(part)]


def planned(features, counts, settings, number, *, whole_tree):
    together = all_features(ranges(features, 3))
    crown = crown_of(together, settings, number, whole_tree)
    parts = [part_below(together, crown, part) for part in range(len(crown.subtrees))]
    orders = [ordered_part(part, settings, number) for part in parts]
    labels = LabelVocabulary(range(len(counts)))
    whole = Whole(labels, counts, (1,), 10**6, 1, 1.0, None, "lists")
    return plan_tree(crown, orders, whole, settings)


@given(mean_features(), tree_settings(), st.integers(0, 3), st.booleans())
def test_tasks_put_labels_where_one_machine_does(features, settings, number, whole_tree):
    wanted = clustered(features, settings, number, 1)
    counts = np.zeros(2 * len(features.labels), np.int64)
    counts[features.labels] = 1 + np.arange(len(features.labels)) % 7
    plan = planned(features, counts, settings, number, whole_tree=whole_tree)
    assert plan.parents.tolist() == wanted.parents().tolist()
    assert plan.labels.tolist() == wanted.labels().tolist()
    nodes = np.concatenate([group.nodes for group in plan.groups])
    assert sorted(nodes.tolist()) == np.flatnonzero(wanted.child_counts()).tolist()
    placed = np.flatnonzero(plan.places >= 0)
    assert placed.tolist() == features.labels.tolist()
    assert sorted(plan.places[placed].tolist()) == list(range(len(placed)))


@given(mean_features(), st.integers(1, 4))
def test_ranges_of_labels_are_put_together_as_they_were(features, n_ranges):
    for found, wanted in zip(all_features(ranges(features, n_ranges)), features, strict=True):
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("n_labels", [1, 50])
@pytest.mark.parametrize("whole_tree", [False, True])
def test_a_crown_keeps_no_features(n_labels, whole_tree):
    """There is one for each tree at the same time."""
    starts = 1000 * np.arange(n_labels + 1)
    indices = np.tile(np.arange(1000, dtype=np.int32), n_labels)
    values = np.random.default_rng(1).random(len(indices), np.float32)
    features = MeanFeatures(np.arange(n_labels, dtype=np.int32), starts, indices, values)
    crown = crown_of(features, ExtremeSettings(arity=4, max_leaf=5), 0, whole_tree)
    assert len(pickle.dumps(crown)) < 1000 + 8 * n_labels


def test_a_node_wants_as_many_labels_as_it_has():
    settings = ExtremeSettings(arity=2, max_leaf=2)
    labels = np.arange(5, dtype=np.int32)
    nothing = (np.zeros(6, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    with pytest.raises(ValueError, match="another number of labels"):
        ordered_labels((labels, *nothing), tree_shape(6, settings), 0, None, settings, 0)


def test_a_tree_of_another_arity_has_no_order():
    labels, starts = np.arange(60, dtype=np.int32), np.zeros(61, np.int64)
    nothing = (labels, starts, np.empty(0, np.int32), np.empty(0, np.float32))
    shape = tree_shape(60, ExtremeSettings(arity=4, max_leaf=5))
    with pytest.raises(ValueError, match="node 0 has other children"):
        ordered_labels(nothing, shape, 0, None, ExtremeSettings(arity=3, max_leaf=5), 0)
