"""The registry: every model of the package by its class's name, and nothing else."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest
from tests.contract.subjects import CAN, SUBJECTS

import labeltrees.models
from labeltrees import estimators, store
from labeltrees.errors import ArgumentError, ModelFormatError
from labeltrees.models.model import FittedModel
from labeltrees.models.registry import (
    load_model,
    methods,
    model_class,
    model_from,
    model_names,
    register,
)


def classes_of_the_package():
    """Return every class of a model that can be made, and its module."""
    found = {}
    for module in pkgutil.walk_packages(labeltrees.models.__path__, "labeltrees.models."):
        for name, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            own = kind.__module__ == module.name and not name.startswith("_")
            if own and issubclass(kind, FittedModel) and not inspect.isabstract(kind):
                found[name] = module.name
    return found


def test_every_model_class_is_registered_and_nothing_else():
    listed = [path.split(":") for method in methods().values() for path in method.models]
    assert classes_of_the_package() == {name: module for module, name in listed}


@pytest.mark.parametrize("name", model_names())
def test_a_name_is_that_of_the_class(name):
    kind = model_class(name)
    assert kind.__name__ == name
    assert kind.settings_class.names()


@pytest.mark.parametrize("name", model_names())
def test_every_model_has_a_subject_and_an_estimator_of_its_own(name):
    assert set(CAN) == set(model_names())
    of_it = [subject for subject in SUBJECTS if subject.model == name]
    assert of_it
    kind = estimators.estimator_of(object.__new__(model_class(name)))
    assert {type(subject.estimator) for subject in of_it} == {kind}
    assert kind._model_class.settings_class is model_class(name).settings_class


def test_every_estimator_has_a_subject():
    public = {
        kind
        for kind in (getattr(estimators, name) for name in estimators.__all__)
        if inspect.isclass(kind) and not inspect.isabstract(kind) and hasattr(kind, "_model_class")
    }
    assert {type(subject.estimator) for subject in SUBJECTS} == public


@pytest.mark.parametrize("name", ["Forest", "", "FittedModel", "lomtreemodel", 3, None, ["x"]])
def test_an_unknown_name_is_refused_and_known_ones_are_told(name, tmp_path):
    with pytest.raises(ModelFormatError, match=r"has a .*, but this library knows .*LomTreeModel"):
        model_class(name)
    with pytest.raises(ModelFormatError):
        model_from(store.StoredModel(name, {}, {}))
    store.write(tmp_path / "m", store.StoredModel(name, {}, {}))
    with pytest.raises(ModelFormatError):
        load_model(tmp_path / "m")


def test_something_else_has_no_estimator():
    with pytest.raises(ArgumentError, match=r"model must be one of .*, got 'dict'"):
        estimators.estimator_of({})


def test_one_model_is_imported_without_the_others():
    code = (
        "import sys\n"
        "from labeltrees.models.registry import methods, model_class\n"
        "known = list(methods())\n"
        "assert not any(name.endswith('.model') for name in sys.modules if '.models.' in name)\n"
        "model_class('LomTreeModel')\n"
        "loaded = {name.split('.')[2] for name in sys.modules\n"
        "          if name.startswith('labeltrees.models.') and name.count('.') == 3}\n"
        "assert loaded == {'lom', 'online'}, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_name_is_registered_once():
    with pytest.raises(ArgumentError, match="method must be a new name, got 'lomtree'"):
        register(methods()["lomtree"])
