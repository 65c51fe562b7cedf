"""`train --model`: every registered method, and every one of its settings, by itself."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from tests.cli.test_cli import run_json

import labeltrees
from labeltrees.autotrain._options import streaming_methods
from labeltrees.cli import main
from labeltrees.cli.commands.stream import stream
from labeltrees.cli.commands.train import train
from labeltrees.cli.method_options import option_of, options_of, settings_help
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.registry import methods, model_class


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of two features out of six; the first names the label, the second a further one."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("rows")
    pairs = [(a, b) for a in range(3) for b in (3, 4, 5)] * 4
    one, several = [], []
    for a, b in rng.permutation(pairs).tolist():
        one.append(f"{a} {a}:1 {b}:1\n")
        several.append(f"{a},{b} {a}:1 {b}:1\n")
    (folder / "one.svm").write_text("".join(one))
    (folder / "several.svm").write_text("".join(several))
    return folder


def test_a_record_agrees_with_the_classes_that_it_names():
    for method in methods().values():
        kinds = [model_class(name) for name in method.model_names]
        assert {kind.settings_class for kind in kinds} == {method.settings_class}
        assert method.estimator_class._model_class is method.model_class
        assert {kind.takes_label_sets for kind in kinds} == {method.several_labels}
        from_nothing = hasattr(method.model_class, "empty") and can(method.model_class, Updates)
        assert method.streams == from_nothing
        for changes in (*method.effort_settings.values(), *method.variants, method.base_settings):
            assert set(changes) <= set(method.settings_class.names())
    made = [method.settings_class for method in methods().values()]
    assert len(set(made)) == len(made)  # a form of another method's model has none of its own


@pytest.mark.parametrize("name", list(methods()))
def test_every_method_is_trained_measured_and_loaded(rows, tmp_path, capsys, name):
    path = rows / ("several.svm" if methods()[name].several_labels else "one.svm")
    told = run_json(capsys, "train", path, "--model", name, "-o", tmp_path / "m", "-q")
    assert told["method"] == name
    scores = told["scores"]["labeltrees"]
    assert next(iter(scores.values())) > 0.9  # accuracy or P@1
    found = run_json(capsys, "evaluate", tmp_path / "m", path)
    scores = found["scores"]
    assert scores.get("accuracy", scores.get("P@1")) > 0.9
    loaded = labeltrees.load(tmp_path / "m")
    assert loaded.predict_top_k(np.eye(6)[[0]] + np.eye(6)[[4]], 1).labels.tolist() in (
        [[0]],
        [[4]],
    )
    assert main(["inspect", str(tmp_path / "m")]) == 0


@pytest.mark.parametrize("name", streaming_methods())
def test_every_method_that_learns_row_by_row_has_a_stream(rows, tmp_path, capsys, name):
    told = run_json(capsys, "stream", rows / "one.svm", "--model", name, "-o", tmp_path / "m")
    assert told["n_rows"] == 36
    found = run_json(capsys, "train", rows / "one.svm", "--online", "--model", name,
                     "-o", tmp_path / "m")  # fmt: skip
    assert found["method"] == name


@pytest.mark.parametrize("command", [train, stream])
def test_no_option_stands_twice(command):
    options = [
        option
        for parameter in inspect.signature(command).parameters.values()
        for option in _declared(parameter)
    ]
    assert len(options) == len(set(options))


def _declared(parameter):
    named = getattr(parameter.annotation, "__metadata__", ())
    declared = [text for info in named for text in getattr(info, "param_decls", None) or ()]
    return [part for text in declared for part in text.split("/")] or [option_of(parameter.name)]


@pytest.mark.parametrize("name", list(methods()))
def test_every_setting_of_a_method_is_an_option_with_a_help(name):
    command = inspect.signature(train).parameters
    left_out = {"random_state", "n_jobs", "verbose", "warm_start"}
    for parameter in methods()[name].settable - left_out:
        assert parameter in command
        assert len(settings_help(parameter, list(methods()))) > 20, parameter


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--model", "self-terminating", "--penalty", "2,1.5", "--no-split-terminated"],
         {"penalty": [2.0, 1.5], "split_terminated": False}),
        (["--model", "one-against-all", "--class-weight", "balanced", "--scale", "none"],
         {"class_weight": "balanced", "scale": None}),
        (["--model", "frequency-table", "--back-off", "0"], {"back_off": 0.0}),
        (["--fast", "--max-memory", "2MB", "--novelty", "--seed", "7"],
         {"max_memory": 2_000_000, "novelty": True, "random_state": 7}),
    ],
)  # fmt: skip
def test_options_become_settings(rows, tmp_path, capsys, options, expected):
    run_json(capsys, "train", rows / "one.svm", "-o", tmp_path / "m", "-q", *options)
    settings = run_json(capsys, "inspect", tmp_path / "m")["settings"]
    assert {name: settings[name] for name in expected} == expected


def test_adacond_has_the_options_of_what_it_boosts(rows, tmp_path, capsys):
    line = ["train", str(rows / "one.svm"), "--model", "adacond", "-o", str(tmp_path / "m"), "-q"]
    assert main([*line, "--base", "self-terminating", "--norm", "linf", "--rounds", "2"]) == 0
    base = labeltrees.load(tmp_path / "m").base
    assert (type(base).__name__, base.norm) == ("SelfTerminatingTreeClassifier", "linf")
    capsys.readouterr()
    assert main([*line, "--base", "tree", "--penalty", "1"]) == 2
    err = capsys.readouterr().err
    assert "--penalty is not a setting of the method adacond with base='tree'." in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trees", "many"], "--trees must be"),
        (["--model", "self-terminating", "--criterion", "chance"],
         "--criterion must be 'gini' or 'entropy', got 'chance'."),
        (["--model", "frequency-table", "--trees", "3"],
         "--trees is not a setting of the method frequency-table."),
        (["--model", "frequency-table", "--fast"], "--fast is not available for"),
        (["--model", "self-terminating", "--online"], "--model must be one of conditional"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named_as_typed(rows, tmp_path, capsys, options, message):
    assert main(["train", str(rows / "one.svm"), "-o", str(tmp_path / "m"), *options]) == 2
    assert message in capsys.readouterr().err


def test_the_help_of_train_begins_with_what_is_needed_most(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["train", "--help-all"]) == 0
    out = capsys.readouterr().out
    panels = re.findall(r"^([A-Z].+):$", out, re.MULTILINE)
    assert panels.pop(0) == "Example"
    assert panels[:5] == ["Arguments", "Options", "Input", "Model", "Output"]
    assert panels[5] == "Settings of several models"
    assert {f"Settings of --model {name}" for name in ("conditional", "xreg", "adacond")} < {
        *panels
    }
    first = out[out.index("\nOptions:") : out.index("\nInput:")]
    assert 3 < len(re.findall(r"^  --", first, re.MULTILINE)) <= 10


def test_options_are_of_the_methods_that_are_asked_for():
    assert "alpha" in options_of(["conditional"])
    assert "alpha" not in options_of(["lomtree"])
    assert "n_passes" in options_of(["lomtree"])
    assert "n_passes" not in options_of(["lomtree"], stream=True)
