"""The online label tree learns what a plain one does that is told the whole tree in advance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.references.multilabel_tree import ReferenceLabelTree

from labeltrees import MultiLabelTreeClassifier

N_FEATURES = 5


@st.composite
def streams(draw):
    """Rows, their {label: relevance}, weights and the model's parameters."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_rows, n_labels = draw(st.integers(2, 25)), draw(st.sampled_from([1, 3, 9, 30]))
    X = rng.normal(size=(n_rows, N_FEATURES)) * (rng.random((n_rows, N_FEATURES)) < 0.6)
    is_graded = draw(st.booleans())
    rows = []
    for _ in range(n_rows):
        labels = rng.integers(n_labels, size=rng.integers(0, 4))
        values = rng.choice([0.25, 0.5, 1.0], size=len(labels)) if is_graded else np.ones(3)
        rows.append(dict(zip(labels.tolist(), values.tolist(), strict=False)))
    assume(any(rows))
    options = {
        "refine": draw(st.sampled_from([0, 1, 3, 50])),
        "mixing": draw(st.booleans()),
        "sharpness": draw(st.sampled_from([1.0, 1.3])),
        "learning_rate": draw(st.sampled_from([0.1, 0.7])),
        "branching_threshold": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "scale": None,
    }
    weights = rng.choice([0.5, 1.0, 2.0], size=n_rows) if draw(st.booleans()) else np.ones(n_rows)
    return X.astype(np.float32), rows, weights, options


@settings(max_examples=150, deadline=None)
@given(streams())
def test_a_tree_that_grows_learns_what_a_tree_known_in_advance_does(problem):
    X, rows, weights, options = problem
    model = MultiLabelTreeClassifier(**options).partial_fit(X, rows, sample_weight=weights)
    parents, slots, labels, *_ = model.model_.core.snapshot()
    names = model.model_.vocabulary.labels
    own = [int(names[label]) if label >= 0 else -1 for label in labels]
    known = ReferenceLabelTree(
        N_FEATURES, parents.tolist(), slots.tolist(), own,
        n_candidates=options["refine"], mixing=options["mixing"],
        sharpness=options["sharpness"], learning_rate=options["learning_rate"],
    )  # fmt: skip
    for x, row, weight in zip(X, rows, weights, strict=True):
        known.observe(x, row, float(weight))
    assume(not known.close_call)
    columns = model.classes_.tolist()
    p = model.predict_proba(X[:4])
    for r in range(len(p)):
        expected = known.marginals(X[r])
        assume(not known.close_call)
        assert p[r] == pytest.approx([expected[label] for label in columns], rel=2e-3, abs=1e-5)
