"""Model files of version 0.1.0 are loaded, answer as they did there, and go on learning.

tests/files_of_0_1_0 holds small files of every model in two folders: `first`, of a commit when the
format had just got its present version, and `last`, of the last commit of 0.1.0. make.py, with
which they were made, says what is in them.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import labeltrees
from labeltrees import store
from labeltrees.errors import ModelFormatError
from labeltrees.models.registry import model_names

HOME = Path(__file__).with_name("files_of_0_1_0")
FILES = sorted(path.relative_to(HOME).as_posix() for path in HOME.glob("*/*.safetensors"))
# What files of extreme regression hold has changed since then; LOMtrees learn more rows otherwise.
REFUSED = "first/extreme.safetensors"
LEARNS_OTHERWISE = "first/lom.safetensors"
# Some answers are sums that NumPy makes, in another order with another version of it.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


@cache
def maker():
    spec = importlib.util.spec_from_file_location("files_of_0_1_0", HOME / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def said(folder):
    return json.loads((HOME / folder / "answers.json").read_text(encoding="utf-8"))


def assert_says(model, X, wanted):
    assert [str(label) for label in model.classes_] == wanted["classes"]
    np.testing.assert_allclose(model.predict_proba(X), wanted["predict_proba"], **CLOSE)


def test_there_are_files_of_every_kind_of_model():
    kinds = {store.read(HOME / file).model for file in FILES}
    assert kinds == set(model_names()) - {"MultiLabelTreeModel"}  # which came with 0.2.0
    assert {store.read(HOME / file).library_version for file in FILES} == {"0.1.0"}
    assert len(FILES) == len(said("first")) + len(said("last"))


@pytest.mark.parametrize("file", [file for file in FILES if file != REFUSED])
def test_a_file_of_0_1_0_answers_as_it_did(file):
    folder, name = Path(file).parent.name, Path(file).stem
    wanted = said(folder)[name]
    model = labeltrees.load(HOME / file)
    make = maker()
    X, y = make.rows()
    assert_says(model, wanted.get("texts", X[: make.N_ASKED]), wanted)
    if "later" in wanted and file != LEARNS_OTHERWISE:
        more = y[make.N_ROWS :]
        has_sets = make.MODELS[name][2]
        model.partial_fit(X[make.N_ROWS :], make.label_sets(more) if has_sets else more)
        assert_says(model, X[: make.N_ASKED], wanted["later"])


def test_files_of_extreme_regression_from_before_are_refused_with_a_reason():
    with pytest.raises(ModelFormatError, match="settings do not belong to ExtremeSettings"):
        labeltrees.load(HOME / REFUSED)


def test_mapped_files_of_0_1_0_answer_as_well():
    make = maker()
    X, _ = make.rows()
    for file in FILES:
        if file.startswith("last/") and "text" not in file:
            model = labeltrees.load(HOME / file, mapped=True)
            assert_says(model, X[: make.N_ASKED], said("last")[Path(file).stem])
