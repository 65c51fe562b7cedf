"""What users read of the public classes: every parameter with its default, every method whole."""

from __future__ import annotations

import inspect
import re

import pytest

import labeltrees

CLASSES = [getattr(labeltrees, name) for name in labeltrees.__all__ if name[0].isupper()]
NO_ESTIMATORS = (labeltrees.LabelTree, labeltrees.TrainingReport)
ESTIMATORS = [cls for cls in CLASSES if cls not in NO_ESTIMATORS]
OF_SCIKIT_LEARN = {"get_params", "set_params", "get_metadata_routing"}


def methods_of(cls):
    """The public methods that are the library's own, by their names."""
    for name in dir(cls):
        static = inspect.getattr_static(cls, name)
        if name.startswith("_") or isinstance(static, property) or name in OF_SCIKIT_LEARN:
            continue
        function = getattr(static, "fn", None) or getattr(cls, name, None)
        if not hasattr(function, "__qualname__"):
            continue  # a cached_property, which is a routine from Python 3.14 on
        if inspect.isroutine(function) and function.__module__.startswith("labeltrees"):
            yield function


METHODS = {f.__qualname__: f for cls in CLASSES for f in methods_of(cls)}


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_parameter_is_described_with_its_default(cls):
    text = inspect.getdoc(cls)
    for parameter in inspect.signature(cls).parameters.values():
        value = parameter.default
        shown = f'"{value}"' if isinstance(value, str) else repr(value)
        assert re.search(rf"^{parameter.name} : .*, default {re.escape(shown)}$", text, re.M), (
            f"{cls.__name__} does not say that {parameter.name} is {shown} by default"
        )


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_parameters_returns_and_an_example(name):
    function = METHODS[name]
    text = inspect.getdoc(function) or ""
    arguments = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
    if arguments:
        assert "Parameters\n---" in text
        named = re.search(r"Parameters\n-+\n(.*?)(\n\n[A-Z]\w+\n---|\Z)", text, re.S)[1]
        for argument in arguments:
            assert re.search(rf"\b{argument}\b", named), f"{argument} is not described"
    assert re.search(r"(Returns|Yields)\n---", text)
    assert ">>> " in text


def test_there_are_methods_to_look_at():
    assert len(METHODS) > 40
