"""Every question to a model, asked at once; without scikit-learn, for a process that has none."""

from __future__ import annotations

import json

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.models.capabilities import (
    Above,
    BeamSearch,
    BestRows,
    Descends,
    Explains,
    HasTree,
    Samples,
    SamplesSets,
    Updates,
    can,
)

CAPABILITIES = (
    Above,
    BestRows,
    Samples,
    Explains,
    BeamSearch,
    Descends,
    HasTree,
    SamplesSets,
    Updates,
)
NO_WEIGHTS = np.empty(0, dtype=np.float32)


def every_answer(model, X):
    """Return all that a model says of these rows, by question, as arrays that can be compared."""
    rows = model.rows(X)
    # How much memory its tables take depends on how they grew.
    facts = {name: v for name, v in model.describe().items() if not name.endswith("in_memory")}
    top = model.top_labels(rows, 3)
    likely = top.labels[:, 0]
    found = {
        "probabilities": model.probabilities(rows),
        "label_probabilities": model.label_probabilities(rows, likely),
        "top_labels": top.labels,
        "top_labels, p": top.probabilities,
        "describe": np.array(json.dumps(facts)),
        "to_dot": np.array(model.to_dot(list(map(str, model.vocabulary.labels)), max_nodes=9)),
    }
    if can(model, Above):
        found["labels_above"] = model.labels_above(rows, 0.15).toarray()
    if can(model, BestRows):
        found["top_rows"], found["top_rows, p"] = model.top_rows(rows, likely[:2], 3)
    if can(model, Samples):
        found["sample"] = model.sample(rows, np.linspace(0, 0.99, rows.n_rows))
    if can(model, Explains):
        reason = model.explain(rows.take(np.array([0])), likely.tolist()[0])
        found["explain"] = np.array(json.dumps(reason.to_dict()) + reason.to_text())
    if can(model, Descends):
        found["greedy_labels"] = model.greedy_labels(rows)
    if can(model, BeamSearch):
        beam = model.beam_labels(rows, 2, beam_width=2)
        found |= {f"beam_labels, {i}": each for i, each in enumerate(beam)}
    if can(model, HasTree):
        tree, found["masses"] = model.tree_and_masses()
        found |= {"tree": tree.parent, "tree, labels": tree.label}
    return found


def learn(model, X, y):
    """Let a model learn rows in turn."""
    model.update(model.rows(X), RaggedLabels.of_single(y), NO_WEIGHTS, predict=False)


def differing(ours, theirs):
    """Return the questions that two models answer differently, be it by one bit."""
    assert ours.keys() == theirs.keys()
    return [name for name in ours if not np.array_equal(ours[name], theirs[name])]


def same_state(ours, theirs):
    """Assert that two pairs of tensors and facts are the same, to the last bit."""
    for one, other in zip(ours[0].items(), theirs[0].items(), strict=True):
        assert one[0] == other[0]
        assert one[1].dtype == other[1].dtype, one[0]
        assert np.array_equal(one[1], other[1]), one[0]
    assert ours[1] == theirs[1]
