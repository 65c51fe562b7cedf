"""Refined trees learn as tests/references/refined.py does, row by row and all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.refined import ReferenceRefinedTrees

from labeltrees import ConditionalTreeClassifier
from labeltrees.models.conditional import settings as conditional_settings
from labeltrees.models.conditional.settings import ConditionalSettings

CLOSE = {"rel": 1e-3, "abs": 1e-7}
"""Float32 against float64, after some dozens of steps and an exponential."""
CLOSE_AFTER_FIT = {"rel": 5e-3, "abs": 1e-5}
"""The weights of trees and experts are found to about four digits."""


def problem(seed, *, n_rows=(3, 40), on_stream=True):
    """Rows whose features tell their labels more or less, and how to learn them."""
    rng = np.random.default_rng(seed)
    n, n_features = int(rng.integers(*n_rows)), int(rng.integers(1, 6))
    n_labels = int(rng.choice([2, 3, 5, 9, 14]))
    skewed = np.minimum(rng.geometric(rng.choice([0.1, 0.3]), size=n), n_labels) - 1
    y = np.where(rng.random() < 0.5, skewed, rng.integers(n_labels, size=n))
    centres = rng.normal(size=(n_labels, n_features))
    X = centres[y] + rng.choice([0.2, 0.7, 2.0]) * rng.normal(size=(n, n_features))
    X[rng.random(X.shape) < rng.choice([0.0, 0.4])] = 0
    weights = np.ones(n) if rng.random() < 0.5 else rng.choice([0.5, 1.0, 2.0], size=n)
    options = {
        "refine": int(rng.choice([1, 2, 3, 4, 8, 20])),
        "optimizer": str(rng.choice(["adagrad", "sgd"])),
        "learning_rate": float(rng.choice([0.1, 1.0])),
        "normalize": bool(rng.random() < 0.7),
        "bias": float(rng.choice([0.0, 0.25])),
        "mixing": bool(rng.random() < 0.8),
        "sharpness": float(rng.choice([0.9, 1.3])),
    }
    if on_stream:
        options |= {
            "alpha": float(rng.choice([0.1, 0.6, 1.0])),
            "balance": str(rng.choice(["labels", "examples"])),
        }
    return X.astype(np.float32), y, weights, options


def reference_of(X, refine, **options):
    return ReferenceRefinedTrees(X.shape[1], refine, **options)


def check_distributions(model, reference, X, close=CLOSE):
    for row, distribution in zip(X, model.predict_proba(X), strict=True):
        expected = reference.distribution(row)
        if reference.close_call:
            return
        assert distribution == pytest.approx([expected[each] for each in model.classes_], **close)


def test_one_candidate_by_hand():
    # Three labels, one row each, no features but the constant 1: no step depends on rounding.
    model = ConditionalTreeClassifier(
        refine=1, normalize=False, bias=1.0, mixing=False, learning_rate=1.0, optimizer="sgd"
    )
    model.partial_fit([[0.0]] * 3, ["a", "b", "c"])
    p = [step.p_node for step in model.explain([0.0], "c").steps]
    assert len(p) >= 1
    refined = {label: model.explain([0.0], label).refinement for label in "abc"}
    (best,) = [label for label in "abc" if refined[label].is_candidate]
    rest = 1 - refined[best].p_trees
    e = np.exp(refined[best].margin)
    assert model.predict_label_proba([[0.0]], [best]) == pytest.approx(e / (e + rest))
    for label in set("abc") - {best}:
        expected = refined[label].p_trees / (e + rest)
        assert model.predict_label_proba([[0.0]], [label]) == pytest.approx(expected)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_streams_agree_with_the_reference_step_by_step(seed):
    check_stream(seed)


def check_stream(seed):
    """Return whether the whole stream could be compared."""
    X, y, weights, options = problem(seed)
    reference = reference_of(X, **options)
    model = ConditionalTreeClassifier(**options, scale=None)
    seen = model.progressive_fit(X, y, sample_weight=weights)
    for i, label in enumerate(y):
        p = reference.observe(X[i], label, weights[i])
        if reference.close_call:
            return False
        assert bool(seen.is_new[i]) == (p is None)
        assert seen.p_label[i] == pytest.approx(p or 0.0, **CLOSE)
    check_distributions(model, reference, X[:3])
    return True


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.05, 0.0, 0.5]), st.booleans())
def test_fit_agrees_with_the_reference(seed, n_trees, least_share, go_on):
    passes = conditional_settings.RerankerPasses(16, False, go_on)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditional_settings, "LEAST_SHARE", least_share)
        patch.setattr(ConditionalSettings, "reranker_passes", lambda *_: passes)
        check_fit(seed, n_trees, least_share, go_on)


def check_fit(seed, n_trees, least_share, go_on):
    """Return whether the fit could be compared."""
    X, y, weights, options = problem(seed, n_rows=(12, 40), on_stream=False)
    model = ConditionalTreeClassifier(
        structure="kmeans",
        n_trees=n_trees,
        shuffle=False,
        random_state=seed % 1000,
        scale=None,
        **options,
    )
    model.fit(X, y, sample_weight=weights)
    reference = reference_of(X, n_trees=n_trees, least_share=least_share, **options)
    for tree, (structure, *_) in zip(reference.trees, model.model_.core.snapshot()[0], strict=True):
        plant(tree, structure, model.classes_)
    reference.fit(X, y, weights, seed % 1000, go_on=go_on)
    if reference.close_call:
        return False
    check_distributions(model, reference, X[:3], CLOSE_AFTER_FIT)
    # and goes on from there
    model.partial_fit(X[:3], y[:3])
    for row, label in zip(X[:3], y[:3], strict=True):
        reference.observe(row, label)
    check_distributions(model, reference, X[3:6], CLOSE_AFTER_FIT)
    return True


def plant(reference, structure, classes):
    """Give a reference the nodes of a tree over class ids."""
    parents, labels = structure.parents(), structure.labels()
    nodes = [reference.new_node(None, None) for _ in parents]
    for i, (parent, label) in enumerate(zip(parents, labels, strict=True)):
        if parent >= 0:
            above = nodes[parent]
            nodes[i].parent = above
            if above.left is None:
                above.left = nodes[i]
            else:
                above.right = nodes[i]
        if label >= 0:
            nodes[i].label = classes[label].item()
            reference.leaf_of[nodes[i].label] = nodes[i]
    reference.root = nodes[0]
