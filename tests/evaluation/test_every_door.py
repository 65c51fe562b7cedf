"""One model has the same scores in Python, on the command line, in its card and as `train` prints.

Every test trains on the command line and keeps the held-out rows, by which `train` measured the
model, as a file of their own. All other doors then evaluate the saved model on that file.
"""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees import store
from labeltrees.autotrain import _held_out as held_out
from labeltrees.autotrain._held_out import splits
from labeltrees.cli import main
from labeltrees.data.shuffle import joined
from labeltrees.evaluation import evaluate_predictions
from labeltrees.input import Input

WORDS = {
    "fruit": ["apple", "pear", "plum", "fig"],
    "tool": ["saw", "drill", "plane", "file"],
    "river": ["rhine", "nile", "po", "tiber"],
    "bird": ["wren", "rook", "owl", "tern"],
    "metal": ["iron", "zinc", "lead", "tin"],
    "tree": ["oak", "elm", "ash", "lime"],
}
N_ROWS = 1000
EXACT = {"rel": 1e-12, "abs": 1e-12}


def words_of(label, random, n=2):
    others = [word for words in WORDS.values() for word in words]
    return " ".join([*random.choice(WORDS[label], n), *random.choice(others, 2)])


def weighted_rows(random):
    """Rows with one label and a weight; some labels come once and may be unseen."""
    for number in range(N_ROWS):
        label = str(random.choice(list(WORDS)))
        name = f"rare{number}" if number % 8 == 0 else label
        yield [f"{name} {random.integers(1, 9) / 4} |w {words_of(label, random)}"]


def tagged_rows(random):
    for _ in range(N_ROWS):
        labels = random.choice(list(WORDS), random.choice([1, 1, 2, 3]), replace=False).tolist()
        text = " ".join(words_of(label, random, 1) for label in labels)
        yield [json.dumps({"text": text, "labels": labels})]


def rated_rows(random):
    """Each text has three lines, each of which rates one label."""
    for number in range(N_ROWS):
        label = str(random.choice(list(WORDS)))
        text = f"{words_of(label, random)} {number}"
        others = random.choice([name for name in WORDS if name != label], 2, replace=False)
        grades = [(label, 4 + number % 2), *((str(name), 1) for name in others)]
        yield [f"{text},{name},{grade}" for name, grade in grades]


def mixed_rows(random):
    """Rows whose labels are probabilities."""
    for _ in range(N_ROWS):
        x = round(float(random.random()), 3)
        label = {"dry": round(0.8 * x, 6), "wet": round(0.8 - 0.8 * x, 6), "fog": 0.2}
        features = {"indices": [0, 1], "values": [x, 1 - x]}
        yield [json.dumps({"label": label, "features": features})]


KINDS = {
    "one label": ("vw", weighted_rows, ["--model", "conditional", "--novelty", "--fast"], ""),
    "several labels": ("jsonl", tagged_rows, ["--trees", "1"], ""),
    "ratings": ("csv", rated_rows, ["--trees", "1"], "query,product,relevance\n"),
    "distributions": ("jsonl", mixed_rows, ["--fast"], ""),
}


class Doors:
    """A model that `train` measured on held-out rows, and these rows in a file."""

    def __init__(self, kind, folder, capsys):
        suffix, make, options, header = KINDS[kind]
        self.capsys, self.model, self.folder = capsys, folder / "model", folder
        rows = list(make(np.random.default_rng(0)))
        path, self.held = folder / f"train.{suffix}", folder / f"held.{suffix}"
        write(path, header, rows)
        self.told = run_json(capsys, "train", path, "-o", self.model, "-q", *options)
        ((_, held),) = splits(N_ROWS)
        write(self.held, header, [rows[row] for row in held.tolist()])

    def table(self):
        return self.told["scores"]["labeltrees"]

    def command(self, *options):
        return run_json(self.capsys, "evaluate", self.model, self.held, *options)

    def saved(self, *options):
        """What `evaluate --predictions` says of what `predict` wrote."""
        by_label = [option for option in options if option == "--labelwise"]
        top = ["--top", "20", "--json"]
        assert main(["predict", str(self.model), str(self.held), *top, *by_label]) == 0
        answers = self.folder / "answers"
        answers.write_text(self.capsys.readouterr().out)
        return run_json(self.capsys, "evaluate", answers, self.held, "--predictions", *options)

    def card(self):
        return run_json(self.capsys, "card", self.model, self.held)["quality"]["scores"]

    def truth(self):
        """Rows, labels, and weights as Python would have them, rows of one text joined."""
        stored = store.read(self.model)
        source = Input.like(stored, str(self.held), format=None).joined_as_learned(stored)
        chunk = joined(list(source.whole()))
        starts = chunk.label_starts.tolist()
        labels = chunk.labels.tolist()
        y = [labels[begin:end] for begin, end in pairwise(starts)]
        if chunk.relevance is not None:
            values = chunk.relevance.tolist()
            y = [
                dict(zip(labels[begin:end], values[begin:end], strict=True))
                for begin, end in pairwise(starts)
            ]
        return chunk.rows, y, chunk.weights

    def python(self, **options):
        rows, y, weights = self.truth()
        model = labeltrees.load_model(self.model)
        return labeltrees.evaluate(model, rows, y, sample_weight=weights, **options)


def write(path, header, rows):
    path.write_text(header + "".join(f"{line}\n" for lines in rows for line in lines))


@pytest.fixture
def doors(request, tmp_path, capsys, monkeypatch):
    # The saved model is then the one that was measured: it does not learn the held-out rows.
    monkeypatch.setattr(held_out, "MOST_ROWS_TWICE", 0)
    return Doors(request.param, tmp_path, capsys)


every_kind = pytest.mark.parametrize("doors", KINDS, indirect=True)
several = pytest.mark.parametrize("doors", ["several labels", "ratings"], indirect=True)


def assert_same(scores, expected, *names):
    """Compare scores of the same names, among which are ``names``."""
    assert set(names) <= set(scores)
    assert scores == pytest.approx({name: expected[name] for name in scores}, **EXACT)


NAMED = {
    "label": ("accuracy", "top-5 accuracy", "ECE@1"),
    "labels": ("P@1", "P@3", "P@5", "nDCG@5"),
    "distribution": ("most likely label",),
}


@every_kind
def test_every_door_says_the_same(doors):
    found = doors.python()
    names = NAMED[found.task]
    by_command = doors.command()
    assert by_command["scores"] == pytest.approx(found.scores, **EXACT)
    sizes = {name: by_command[name] for name in ("rows", "labels", "true_labels", "unseen_labels")}
    assert sizes == {
        "rows": N_ROWS // 10,
        "labels": found.n_labels,
        "true_labels": found.n_true_labels,
        "unseen_labels": len(found.unseen_labels),
    }
    assert_same(doors.table(), found.scores, *names)
    by_card = doors.card()
    assert_same({name: by_card[name] for name in by_card}, found.scores, "ECE@1")
    by_file = doors.saved()
    assert by_file["rows"] == found.n_rows
    own = {
        name: value
        for name, value in by_file["scores"].items()
        # A file has probabilities, and no expected relevance to compare with grades.
        if found.task != "labels"
        or not found.is_graded
        or name.split("@")[0] in ("P", "R", "nDCG", "WP", "WN", "ECE")
    }
    assert_same(own, found.scores, *names)


@several
def test_every_door_says_the_same_labelwise(doors):
    found = doors.python(labelwise=True)
    assert doors.command("--labelwise")["scores"] == pytest.approx(found.scores, **EXACT)
    if not found.is_graded:
        by_file = doors.saved("--labelwise")["scores"]
        assert by_file == pytest.approx(found.scores, **EXACT)


@pytest.mark.parametrize("doors", ["one label"], indirect=True)
def test_a_label_is_seen_if_it_was_learned_whatever_its_probability(doors):
    model = labeltrees.load_model(doors.model)
    rows, y, weights = doors.truth()
    labels = np.array([label for (label,) in y], dtype=object)
    p = model.label_probabilities(rows, labels)
    unseen = np.char.startswith(labels.astype(str), "rare")
    assert (p[unseen] > 0).all()  # the mass of novelty
    found = doors.python()
    assert found.unseen_labels == sorted(labels[unseen].tolist())
    share = weights[unseen].sum() / weights.sum()
    assert found.scores["rows of unseen labels"] == pytest.approx(share)
    loss = np.average(-np.log(p[~unseen]), weights=weights[~unseen])
    assert found.scores["log loss"] == pytest.approx(loss)
    assert found.scores["log loss"] != pytest.approx(-np.log(p[~unseen]).mean())  # weights count


@pytest.mark.parametrize("doors", ["ratings"], indirect=True)
def test_rows_of_ratings_are_joined_unless_one_says_no(doors):
    joins, apart = doors.saved()["scores"], doors.saved("--no-join-rows")["scores"]
    assert joins["P@1"] > 0.9 > 0.5 > apart["P@1"]
    by_model = doors.command("--no-join-rows")["scores"]
    assert by_model["P@1"] == pytest.approx(apart["P@1"], **EXACT)
    text = str(doors.command())
    assert "rows" in text


@pytest.mark.parametrize("doors", ["several labels"], indirect=True)
def test_python_reads_saved_predictions_too(doors):
    expected = doors.saved()
    _, y, _ = doors.truth()
    found = evaluate_predictions(doors.folder / "answers", y)
    assert found.scores == pytest.approx(expected["scores"], **EXACT)
    assert found.unseen_labels is None
