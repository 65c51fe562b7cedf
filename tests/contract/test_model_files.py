"""The contract of every model: its file is all of it, and a forged one is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tests.contract.questions import (
    differing,
    every_answer,
    learn,
    same_state,
)
from tests.contract.subjects import (
    FITTED,
    MADE,
    NAMES,
    Made,
    asked,
    every,
    of_all,
    saved,
    training,
)

import labeltrees
from labeltrees.errors import (
    FrozenModelError,
    ModelFormatError,
)


@every(MADE)
@pytest.mark.parametrize("keep_state", [True, False])
def test_tensors_and_facts_are_all_of_a_model(made, keep_state):
    if made.way == "frozen":
        keep_state = False
    model = made.model
    tensors, facts = model.to_tensors(keep_state=keep_state)
    assert json.loads(json.dumps(facts)) == facts
    again = type(model).from_tensors(tensors, facts)
    same_state(again.to_tensors(keep_state=keep_state), (tensors, facts))
    assert again.settings == model.settings
    assert again.frozen == (model.frozen or (not keep_state and made.subject.goes_on))
    if keep_state or made.way == "frozen":
        assert differing(every_answer(again, asked()), every_answer(model, asked())) == []


@every(MADE)
def test_a_saved_or_pickled_model_answers_alike(made, tmp_path):
    model = made.model
    expected = every_answer(model, asked())
    assert differing(every_answer(pickle.loads(pickle.dumps(model)), asked()), expected) == []
    model.save(tmp_path / "m", keep_state=not model.frozen)
    for mapped in (False, True):
        again = labeltrees.load_model(tmp_path / "m", mapped=mapped)
        assert again.settings == model.settings
        assert differing(every_answer(again, asked()), expected) == []
    again.save(tmp_path / "n", keep_state=not model.frozen)
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@of_all
def test_a_frozen_model_answers_nearly_the_same_and_learns_no_more(subject, tmp_path):
    model, small = Made(subject, "fitted").model, Made(subject, "frozen").model
    rows = model.rows(asked())
    # float16 weights have 11 bits, and a path some turns of them
    near = pytest.approx(model.probabilities(rows), abs=5e-3)
    assert small.probabilities(rows) == near
    assert saved(subject.name, False).stat().st_size <= saved(subject.name).stat().st_size
    small.save(tmp_path / "again", keep_state=True)
    assert (tmp_path / "again").read_bytes() == saved(subject.name, False).read_bytes()
    copy = pickle.loads(pickle.dumps(small))
    assert copy.frozen == small.frozen == subject.goes_on
    if (subject.by_itself and not subject.goes_on) or subject.model in (
        "SelfTerminatingTreeModel",
        "LomTreeModel",
    ):
        assert np.array_equal(small.probabilities(rows), model.probabilities(rows))
    if not subject.learns:
        return
    X, y = training()
    for each in (small, copy):
        with pytest.raises(FrozenModelError, match="keep_state=False"):
            learn(each, X, NAMES[y])
    assert small.describe()["can_learn"] is False
    assert model.describe()["can_learn"] is True


@every(MADE)
def test_a_description_is_json_and_a_drawing_is_dot(made):
    model = made.model
    facts = model.describe()
    assert json.loads(json.dumps(facts)) == facts
    assert facts
    names = [f'"{label}"\\' for label in model.vocabulary.labels]
    for max_nodes in (1, 3, 1000):
        drawing = model.to_dot(names, max_nodes=max_nodes)
        assert drawing.startswith("digraph")
        assert drawing.rstrip().endswith("}")
        quotes = drawing.replace("\\\\", "").replace('\\"', "").count('"')
        assert quotes % 2 == 0
        assert drawing.count("->") <= 2 * max_nodes


def with_settings(facts, change):
    """Return facts with the settings changed; those of a pool are its members'."""
    if "settings" in facts:
        return facts | {"settings": change(facts["settings"])}
    first, *others = facts["members"]
    forged = first | {"facts": with_settings(first["facts"], change)}
    return facts | {"members": [forged, *others]}


FORGERIES = {
    "nothing": lambda s: None,
    "a number": lambda s: 3,
    "a list": list,
    "no settings": lambda s: {},
    "one too many": lambda s: s | {"colour": "green"},
    "two too few": lambda s: dict(list(s.items())[2:]),  # old files have no class_weight
    "another name": lambda s: {f"{name}_": value for name, value in s.items()},
}


@every(FITTED)
def test_forged_settings_are_refused(made):
    model = made.model
    tensors, facts = model.to_tensors(keep_state=True)
    for forge in FORGERIES.values():
        with pytest.raises(ModelFormatError):
            type(model).from_tensors(tensors, with_settings(facts, forge))


@every(FITTED)
def test_a_setting_out_of_range_is_refused_in_a_file_as_well(made):
    model = made.model
    tensors, facts = model.to_tensors(keep_state=True)
    for name in model.settings.names():
        for value in ["oak"] if name == "structure" else [[[]], {"a": 1}, float("nan")]:
            forged = with_settings(facts, lambda s, n=name, v=value: s | {n: v})
            with pytest.raises(ModelFormatError):
                type(model).from_tensors(tensors, forged)


@every(FITTED)
def test_missing_facts_and_tensors_are_refused(made):
    model = made.model
    tensors, facts = model.to_tensors(keep_state=True)
    for name in facts:
        with pytest.raises(ModelFormatError):
            type(model).from_tensors(tensors, {n: v for n, v in facts.items() if n != name})
    for name in tensors:
        with pytest.raises(ModelFormatError):
            type(model).from_tensors({n: t for n, t in tensors.items() if n != name}, facts)
