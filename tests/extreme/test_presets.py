"""The presets are what the papers and the authors' program say, by tests/references/extreme.py.

Parameters -> regressors -> ensembles -> what makes one an other -> the command line -> errors.
"""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from tests.extreme.test_regressor import data
from tests.references.extreme import (
    ReferenceTree,
    beam,
    of_paper,
    of_parabel,
    of_release,
    propensities,
)

import labeltrees
from labeltrees import ExtremeRegressor
from labeltrees.cli import main
from labeltrees.data.readers import read_xc
from labeltrees.errors import ArgumentError
from labeltrees.metrics import label_matrix, psp_at_k
from labeltrees.metrics import propensities as propensities_of
from labeltrees.models.extreme.model import ExtremeModel
from labeltrees.models.extreme.settings import ExtremeSettings

# The solver's own accuracy is not what is compared: it runs on until nothing changes.
SOLVED = {"tolerance": 0.0, "max_epochs": 400}
CONSTANTS = ["--propensity-a", "0.6", "--propensity-b", "2.6"]
REGRESSORS = {
    "paper": of_paper(10.0),
    "release": of_release(10.0, 0.05),
    "parabel": of_parabel(1.0, 0.1),
}


@pytest.fixture(scope="module")
def graded():
    X, Y = data(3, n_rows=60, n_features=6, n_labels=14, graded=True)
    return X, Y


@pytest.fixture(scope="module", params=list(REGRESSORS))
def fitted(request, graded):
    """A preset's name, a model with leaves of 3 labels and beams of 2, and its trees solved."""
    X, Y = graded
    model = ExtremeRegressor.preset(request.param, n_trees=2, max_leaf=3, beam_width=2, **SOLVED)
    model.fit(X, Y)
    truth = (Y > 0).astype(float) if request.param == "parabel" else Y / Y.max()
    trees = [
        ReferenceTree(
            tree.tree.parents(), tree.tree.labels(), X.astype(float), truth,
            REGRESSORS[request.param], hinge=request.param == "parabel",
        )
        for tree in model.model_.trees
    ]  # fmt: skip
    return request.param, model, trees


def test_hyperparameters_are_those_of_section_5():
    for name, cost in {"paper": 10, "release": 10, "parabel": 1}.items():
        model = ExtremeRegressor.preset(name)
        found = (model.n_trees, model.beam_width, model.max_leaf, model.arity, model.cost)
        assert found == (3, 10, 100, 2, cost)
        assert (model.inner_power, model.calibrate, model.tail) == (1, False, None)
        clone(model)
        ExtremeSettings(**model.get_params())
    assert ExtremeRegressor.preset("paper").min_weight == 0


def test_every_regressor_is_that_of_the_paper(fitted, graded):
    name, model, trees = fitted
    X, Y = graded
    scale = 1 if name == "parabel" else Y.max()
    expected = np.mean([tree.probabilities(X.astype(float), 14) for tree in trees], axis=0)
    # Weights have 16 bits; one at the bound of being dropped may fall on either side of it.
    assert model.predict_relevance(X) / scale == pytest.approx(expected, abs=0.01)


def test_ensembles_average_what_the_paper_says(fitted, graded):
    name, model, trees = fitted
    X, Y = graded
    scale, agreed = 1 if name == "parabel" else Y.max(), 0
    labels, scores = model.predict_top_scores(X, 14)
    for row in range(len(X)):
        x = X[row : row + 1].astype(float)
        met = [beam(tree.parent, tree.label, partial(answer, tree, x), 2) for tree in trees]
        found = set().union(*met)
        if name == "paper":  # all trees' predictions are averaged
            whole = np.mean([tree.probabilities(x, 14)[0] for tree in trees], axis=0)
            expected = {label: whole[label] for label in found}
        else:  # a tree that does not meet the label has 0
            expected = {label: sum(m.get(label, 0) for m in met) / len(trees) for label in found}
        answered = {
            label: score / scale
            for label, score in zip(labels[row].tolist(), scores[row], strict=True)
            if label is not None and Y[:, label].any()
        }
        if set(answered) == set(expected):  # two nodes may be about as likely, and either kept
            agreed += 1
            assert answered == pytest.approx(expected, abs=0.01)
    assert agreed >= 0.9 * len(X)


def answer(tree, x, node):
    return tree.answer(node, x)[0]


def test_missing_labels_of_a_tree_count_as_zero_for_labels_too(graded):
    X, Y = graded
    given = {"n_trees": 2, "arity": 2, "max_leaf": 3, "calibrate": False}
    zero = ExtremeRegressor(missing="zero", **given).fit(X, Y)
    rows, scores = zero.top_row_scores(X, k=3, factor=0.2)
    exact = zero.top_row_scores(X, k=3, exact=True)
    p = zero.predict_relevance(X)
    for label in np.flatnonzero(Y.any(axis=0)):
        # A tree's share may be missing; there is never more.
        assert (scores[label] <= p[rows[label], label] + 1e-9).all()
        assert exact.scores[label] == pytest.approx(np.sort(p[:, label])[::-1][:3])
    assert (scores < np.take_along_axis(p.T, rows, axis=1) - 1e-6).any()


def test_weights_below_a_share_of_the_largest_are_dropped(graded):
    X, Y = graded
    given = {"n_trees": 1, "min_weight": 0.0, "calibrate": False}
    all_, some, none = (
        ExtremeRegressor(min_weight_share=share, **given).fit(X, Y).model_.describe()["weights"]
        for share in (0.0, 0.5, 1.0)
    )
    assert all_ > some > none


def test_a_mean_objective_does_not_depend_on_how_often_rows_come():
    X, Y = data(4, n_rows=80, n_features=6, n_labels=8)
    once, twice = (
        ExtremeRegressor.preset("paper", n_trees=1, **SOLVED).fit(
            np.tile(X, (n, 1)), np.tile(Y, (n, 1))
        )
        for n in (1, 2)
    )
    assert once.predict_proba(X) == pytest.approx(twice.predict_proba(X), abs=1e-3)


# Relevance.


def test_binary_relevance_is_that_of_the_labels_alone(graded):
    X, Y = graded
    given = {"n_trees": 1, "max_leaf": 4, "arity": 3}
    binary = ExtremeRegressor(relevance="binary", **given).fit(X, Y)
    plain = ExtremeRegressor(**given).fit(X, (Y > 0).astype(float))
    assert np.array_equal(binary.predict_relevance(X), plain.predict_relevance(X))
    assert binary.model_.scale == 1


@pytest.mark.parametrize(("a", "b"), [(0.55, 1.5), (0.5, 0.4), (0.6, 2.6)])
def test_propensities_of_training_have_the_constants_asked_for(a, b, tmp_path):
    X, Y = data(6, n_rows=120, n_features=6, n_labels=9)
    given = {"n_trees": 1, "calibrate": False}
    model = ExtremeRegressor(relevance="propensity", propensity_a=a, propensity_b=b, **given)
    model.fit(X, Y)
    weighted = Y / propensities(Y, a, b)
    plain = ExtremeRegressor(**given).fit(X, weighted)
    assert model.predict_relevance(X) == pytest.approx(plain.predict_relevance(X), rel=1e-5)
    model.save(tmp_path / "m")
    settings = labeltrees.load(tmp_path / "m").model_.settings
    assert (settings.propensity_a, settings.propensity_b) == (a, b)


def test_files_from_before_these_parameters_load(graded):
    X, Y = graded
    model = ExtremeRegressor(n_trees=1, tail="xreg").fit(X, Y).model_
    tensors, facts = model.to_tensors(keep_state=False)
    for name in ("objective", "missing", "min_weight_share", "propensity_a", "propensity_b"):
        del facts["settings"][name]
    again = ExtremeModel.from_tensors(tensors, facts)
    assert again.settings == model.settings


# The command line.


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A file of rows, the words that train from it, and where they save a released XReg."""
    X, Y = data(6, n_rows=120, n_features=6, n_labels=9)
    lines = [
        f"{','.join(map(str, np.flatnonzero(y)))} "
        + " ".join(f"{i}:{x[i]:.9g}" for i in np.flatnonzero(x))
        for x, y in zip(X, Y, strict=True)
        if y.any() and x.any()
    ]
    folder = tmp_path_factory.mktemp("presets")
    path, out = folder / "train.txt", str(folder / "m")
    path.write_text("\n".join([f"{len(lines)} 6 9", *lines]) + "\n")
    words = ["train", str(path), "--format", "xc", "--out", out]
    options = ["--preset", "release", "--trees", "1", "--relevance", "propensity", *CONSTANTS]
    assert main([*words, "--model", "xreg", *options]) == 0
    return path, words, out


def test_the_command_line_trains_presets_with_other_values(trained):
    settings = labeltrees.load(trained[2]).model_.settings
    expected = ExtremeRegressor.preset(
        "release", n_trees=1, relevance="propensity", propensity_a=0.6, propensity_b=2.6
    ).get_params()
    assert {name: getattr(settings, name) for name in expected} == expected | {"n_jobs": 1}


def test_the_command_line_evaluates_with_the_constants_of_propensities(trained, capsys):
    path, _, out = trained
    (chunk,) = read_xc(path)
    classes = np.arange(9)
    truth = label_matrix(chunk.labels, classes=classes, starts=chunk.label_starts)
    top = labeltrees.load(out).predict_top_scores(chunk.features, 5)
    scores = label_matrix(*top, classes=classes)
    capsys.readouterr()
    for given, p in (
        ([], propensities_of(truth)),
        (CONSTANTS, propensities_of(truth, a=0.6, b=2.6)),
    ):
        assert main(["evaluate", out, str(path), "--train", str(path), "--json", *given]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["scores"]["PSP@1"] == pytest.approx(psp_at_k(truth, scores, 1, p))


def test_the_command_line_names_wrong_options_as_typed(trained, capsys):
    path, words, out = trained
    asked = ["evaluate", out, str(path)]
    for line, message in (
        ([*words, "--model", "xreg", "--preset", "pecos"], "--preset must be 'paper'"),
        ([*words, "--model", "xreg", "--propensity-b", "0"], "--propensity-b must be in"),
        ([*words, "--model", "conditional", "--preset", "paper"], "--preset is not a setting of"),
        ([*asked, "--train", str(path), "--propensity-a", "-1"], "--propensity-a must be"),
        ([*asked, "--propensity-a", "0.5"], "--propensity-a needs --train"),
    ):
        assert main(line) == 2
        assert message in capsys.readouterr().err


# Errors.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "median"}, "objective must be 'sum' or 'mean'"),
        ({"missing": "one"}, "missing must be 'fill' or 'zero'"),
        ({"relevance": "graded"}, "relevance must be"),
        ({"min_weight_share": 1.5}, "min_weight_share must be in"),
        ({"propensity_a": -1}, "propensity_a must be in"),
        ({"propensity_b": 0}, "propensity_b must be in"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ArgumentError, match=message):
        ExtremeRegressor(**parameters).fit([[1.0], [0.5]], [["a"], ["b"]])


def test_an_unknown_preset_is_named():
    with pytest.raises(ArgumentError, match="preset must be 'paper', 'release' or 'parabel'"):
        ExtremeRegressor.preset("pecos")
