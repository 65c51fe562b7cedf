"""The contract of every estimator: it writes a card of itself, and so does its loaded model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.contract.subjects import (
    CAN,
    N_LABELS,
    NAMES,
    SUBJECTS,
    fitted,
    of_all,
    saved,
    targets,
    training,
)

from labeltrees import load_model
from labeltrees.cards import card, label_hash
from labeltrees.models.capabilities import HasTree


@of_all
def test_every_estimator_writes_its_card(subject):
    X, y = training()
    truth, more = targets(subject, y, NAMES)
    found = fitted(subject.name).card(X[:40], truth[:40], **more)
    facts = found.facts
    assert json.loads(json.dumps(facts)) == facts
    assert facts["model"] == subject.model
    assert facts["learned"]["labels"] == N_LABELS
    assert facts["label_hash"] == label_hash(NAMES)
    assert (facts["learned"]["frequencies"] is not None) == (HasTree in CAN[subject.model])
    scores = facts["quality"]["scores"]
    assert all(np.isfinite(value) and value >= 0 for value in scores.values())
    kind = "P@1" if subject.several else "accuracy"  # by what rows have, whatever the model
    kind = "total variation" if subject.several == "distributions" else kind
    assert kind in scores
    assert scores["ECE@1"] <= 1
    assert f"| {kind} |" in str(found)
    assert found.picture.startswith("<svg")


@pytest.mark.parametrize("subject", SUBJECTS[::6], ids=str)
def test_a_loaded_model_s_card_has_the_same_scores(subject):
    X, y = training()
    truth, more = targets(subject, y, NAMES)
    ours = fitted(subject.name).card(X[:40], truth[:40], **more).facts
    path = saved(subject.name)
    theirs = card(load_model(path), X[:40], truth[:40], file=path, **more).facts
    assert theirs["quality"] == ours["quality"]
    assert theirs["settings"] == ours["settings"]
    assert theirs["file"]["bytes"] == path.stat().st_size
