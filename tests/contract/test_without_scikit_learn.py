"""Every saved model is loaded, asked and taught in a process that never imports scikit-learn.

One process for all of them: its start takes longer than all it does.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.questions import differing, every_answer, learn
from tests.contract.subjects import (
    N_FEATURES,
    NAMES,
    ONLINE,
    SUBJECTS,
    Made,
    asked,
    copied,
    folder,
    saved,
    training,
)

SCRIPT = Path(__file__).with_name("without_scikit_learn.py")


def lines_of(X, y):
    """Return rows as lines of a numeric format."""
    for row, label in zip(X, y, strict=True):
        entries = " ".join(f"{i}:{value:.9g}" for i, value in enumerate(row) if value)
        yield f"{label} {entries}"


def later():
    X, y = training()
    return X[:30], NAMES[y[::-1][:30]]


@pytest.fixture(scope="module")
def process():
    """Return the finished process and all that models said in it."""
    X, y = training()
    lines = list(lines_of(X[:40], y[:40]))
    (folder() / "data.xc").write_text("\n".join([f"40 {N_FEATURES} 9", *lines, ""]))
    (folder() / "data.svm").write_text("\n".join([*lines, ""]))
    wanted = {
        "asked": asked(),
        "later": later(),
        "models": {subject.name: str(saved(subject.name)) for subject in SUBJECTS},
    }
    (folder() / "wanted.pickle").write_bytes(pickle.dumps(wanted))
    command = [sys.executable, str(SCRIPT), str(folder())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done, pickle.loads((folder() / "given.pickle").read_bytes())


def test_every_model_was_loaded_and_the_command_line_answered(process):
    done, given = process
    assert json.loads(done.stderr) == sorted(given) == sorted(s.name for s in SUBJECTS)
    assert "log loss" in done.stdout
    assert done.stdout.count("é") > 500


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_a_model_says_there_what_it_says_here(process, subject):
    expected = every_answer(Made(subject, "fitted").model, asked())
    assert differing(process[1][subject.name][0], expected) == []


@pytest.mark.parametrize("subject", ONLINE, ids=str)
def test_a_model_learns_there_as_it_learns_here(process, subject):
    model = copied(Made(subject, "fitted").model)
    learn(model, *later())
    assert differing(process[1][subject.name][1], every_answer(model, asked())) == []
