"""Errors carry what was wrong as fields, so that nobody has to parse their text.

An `ArgumentError` names its argument, the value and what is allowed; it is pickled with them and
renamed from them. A `DivergedError` names its row. No module of the library parses an error's text.
"""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labeltrees
from labeltrees import ConditionalTreeClassifier, checks
from labeltrees.cli import _as_typed
from labeltrees.errors import ArgumentError, DataFileError, DivergedError, TreeStructureError
from labeltrees.models.conditional.settings import ConditionalSettings


def test_an_argument_error_has_name_value_and_allowed_values() -> None:
    with pytest.raises(ArgumentError) as caught:
        checks.number("alpha", 2, 0, 1)
    error = caught.value
    assert (error.argument, error.value, error.allowed) == ("alpha", 2, "in [0, 1]")
    assert str(error) == "alpha must be in [0, 1], got 2."


def test_an_argument_error_may_be_a_sentence_alone() -> None:
    error = ArgumentError("q has 2 entries, u has 3.")
    assert (error.argument, error.value, error.allowed) == (None, None, None)
    assert str(error) == error.problem == "q has 2 entries, u has 3."


def test_a_renamed_error_keeps_its_class_and_all_else() -> None:
    error = TreeStructureError.of("text", 3, "a string of JSON").renamed("--tree")
    assert type(error) is TreeStructureError
    assert (error.argument, error.value, error.allowed) == ("--tree", 3, "a string of JSON")
    assert str(error) == "--tree must be a string of JSON, got 3."
    unused = ArgumentError("is not an option of the format tsv.", argument="text_column")
    assert str(unused.renamed("--text")) == "--text is not an option of the format tsv."


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_argument_error_is_pickled_with_its_fields(again: Any) -> None:
    error = TreeStructureError.of("k", 0, "an integer >= 1")
    found = again(error)
    assert type(found) is TreeStructureError
    assert str(found) == str(error)
    assert vars(found) == vars(error)


def test_a_value_that_cannot_be_pickled_is_pickled_as_its_text() -> None:
    error = ArgumentError.of("loss", lambda p: p, "a name")
    found = pickle.loads(pickle.dumps(error))
    assert str(found) == str(error)
    assert found.value == repr(error.value)


def test_a_check_with_other_values_allows_them_and_its_range() -> None:
    for check, allowed in (
        (checks.Number(0, 1, optional=True), "None or in [0, 1]"),
        (checks.Number(0, open_low=True, words=("auto",)), "'auto' or a finite number > 0"),
        (checks.Integer(1, 9, optional=True), "None or an integer in [1, 9]"),
    ):
        with pytest.raises(ArgumentError) as caught:
            check("size", ", got ")  # would have cut a message that was parsed
        assert caught.value.allowed == allowed
        assert str(caught.value) == f"size must be {allowed}, got ', got '."


def test_a_structure_error_names_all_that_a_structure_may_be() -> None:
    with pytest.raises(ArgumentError) as caught:
        ConditionalSettings(structure=", got ")
    assert str(caught.value.allowed).endswith("'kmeans', nested lists of labels, or a LabelTree")


@pytest.mark.parametrize(
    ("parameter", "shown"),
    [("n_trees", "--trees"), ("learning_rate", "--learning-rate"), ("rates", "rates")],
)
def test_an_error_names_the_option_of_the_command(parameter: str, shown: str) -> None:
    error = _as_typed(ArgumentError.of(parameter, -1, "above 0"), ["train", "x.tsv"])
    assert (error.argument, error.value) == (shown, -1)


@pytest.mark.parametrize("refine", [0, 2])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_diverged_error_names_its_row(refine: int, n_jobs: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * np.linspace(1, 1e4, 300)[:, np.newaxis]
    model = ConditionalTreeClassifier(
        loss="squared", optimizer="sgd", normalize=False, mixing=False, scale=None,
        learning_rate=1e5, refine=refine, n_jobs=n_jobs,
    )  # fmt: skip
    with pytest.raises(DivergedError) as caught:
        model.partial_fit(X, rng.integers(0, 9, 300))
    row = caught.value.row
    assert row is not None
    assert f"at row {row}:" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).row == row


def test_a_data_file_error_is_pickled_with_its_fields() -> None:
    found = pickle.loads(pickle.dumps(DataFileError("a.txt", 3, "no label.")))
    assert (found.path, found.line, found.reason) == ("a.txt", 3, "no label.")


def test_no_module_parses_the_text_of_an_error() -> None:
    parsed = {
        f"{path.name}:{node.lineno}": ast.unparse(node)
        for path in Path(labeltrees.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _takes_an_error_apart(node)
    }
    assert not parsed


def _takes_an_error_apart(node: ast.Call) -> bool:
    """Return whether a call is like ``str(error).startswith(...)``."""
    of_method = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    takes_apart = isinstance(node.func, ast.Attribute) and node.func.attr in {
        "fullmatch", "match", "partition", "removeprefix", "removesuffix", "replace", "rsplit",
        "search", "split", "startswith",
    }  # fmt: skip
    return takes_apart and any(
        ast.unparse(each) in {"str(error)", "str(e)", "str(failure)"}
        for each in [*of_method, *node.args]
    )
