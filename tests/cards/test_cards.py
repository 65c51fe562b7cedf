"""Model cards: what they say is true, their YAML is YAML, and their lines of Python run.

By hand -> agreement with the metrics -> front matter -> files -> the picture -> refusals.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import labeltrees
from labeltrees import (
    ConditionalTreeClassifier,
    ExtremeRegressor,
    SelfTerminatingTreeClassifier,
    TextClassifier,
    metrics,
)
from labeltrees.cards import About, ModelCard, card, label_hash
from labeltrees.cards._markdown import code, front_matter, plain, shown
from labeltrees.cards._reliability_picture import reliability_picture
from labeltrees.errors import ArgumentError, DataError, LabelTypeError

yaml = pytest.importorskip("yaml")  # the hub's client brings it

WEATHER = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20


@pytest.fixture(scope="module")
def tree():
    """Many more rows of one label than of the others."""
    labels = ["often"] * 60 + ["some"] * 30 + [f"rare {i}" for i in range(12)]
    X = np.eye(14)[np.unique(labels, return_inverse=True)[1]]
    model = ConditionalTreeClassifier(structure="online", n_trees=1, refine=0, n_passes=1)
    return model.fit(X, labels)


@pytest.fixture(scope="module")
def regressor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)).astype(np.float32)
    Y = (X[:, :6] + 0.3 * rng.normal(size=(150, 6)) > 0.6).astype(float)
    return ExtremeRegressor(n_trees=1, random_state=0).fit(X[:100], Y[:100]), X[100:], Y[100:]


# By hand.


def test_scores_of_one_label_a_row_by_hand():
    model = ConditionalTreeClassifier().fit(*WEATHER)
    X, y = [[1, 0], [0, 1], [1, 0], [1, 0]], ["sun", "rain", "rain", "hail"]
    facts = model.card(X, y).facts
    scores, p = facts["quality"]["scores"], model.predict_label_proba(X[:3], y[:3])
    assert facts["quality"]["rows"] == 4
    assert scores["accuracy"] == 0.5
    assert scores["rows of unseen labels"] == 0.25
    assert scores["log loss"] == pytest.approx(-np.log(p).mean())
    sure = model.predict_top_k(X, 1).probabilities[:, 0]
    assert scores["Brier@1"] == pytest.approx(np.mean((sure - [1, 1, 0, 0]) ** 2))
    assert "top-5 accuracy" not in scores


def test_weights_of_rows_count():
    model = ConditionalTreeClassifier().fit(*WEATHER)
    weighed = model.card([[1, 0], [1, 0]], ["sun", "rain"], sample_weight=[3, 1])
    assert weighed.facts["quality"]["scores"]["accuracy"] == 0.75


def test_head_and_tail_of_the_labels_are_those_learned(tree):
    found = tree.card().facts["learned"]["frequencies"]
    assert found["labels"] == 14
    assert [row["label"] for row in found["most_frequent"][:2]] == ["often", "some"]
    assert [row["count"] for row in found["most_frequent"][:3]] == [60, 30, 1]
    assert found["most_frequent"][0]["share"] == pytest.approx(60 / 102)
    assert {row["count"] for row in found["rarest"]} == {1}
    assert len(found["rarest"]) == 5
    assert found["labels_with_half"] == 1


def test_a_model_that_does_not_count_is_told_what_it_learned(regressor):
    model, _, Y = regressor
    assert model.card().facts["learned"]["frequencies"] is None
    assert "does not count" in str(model.card())
    found = model.card(learned=Y).facts["learned"]["frequencies"]
    assert sum(row["count"] for row in found["most_frequent"] + found["rarest"]) == Y.sum()


def test_settings_that_differ_come_first_and_are_marked(tree):
    settings = {each["name"]: each for each in tree.card().facts["settings"]}
    changed = {name for name, each in settings.items() if each["changed"]}
    assert changed == {"structure", "n_trees", "refine", "n_passes"}
    assert (settings["refine"]["value"], settings["refine"]["default"]) == (0, "auto")
    rows = re.findall(r"^\| (\S+) \| `.*$", str(tree.card()).split("## Settings")[1], re.M)
    marked = [row.startswith("**") for row in rows[: len(settings)]]
    assert marked == sorted(marked, reverse=True)
    assert sum(marked) == 4
    usual = ConditionalTreeClassifier().fit(*WEATHER)
    assert "All settings have their defaults." in str(usual.card())


def test_the_hash_is_of_the_labels_in_any_order(tree):
    by_hand = hashlib.sha256(b'"rain"\n"sun"\n').hexdigest()
    assert label_hash(["sun", "rain"]) == label_hash(np.array(["rain", "sun"])) == by_hand
    assert label_hash([2, 10]) == hashlib.sha256(b"2\n10\n").hexdigest()
    assert tree.card().facts["label_hash"] == label_hash(tree) == label_hash(tree.classes_)
    assert label_hash(["sun"]) != label_hash(["rain"])


def test_the_author_s_words_are_there(tree):
    said = {"name": "Small | tree", "about": "It is small.", "dataset": "Made up", "license": "mit"}
    text = str(tree.card(**said, tags=["toy"]))
    for words in ("# Small | tree", "It is small.", "| data | Made up |", "license: mit", "- toy"):
        assert words in text
    assert "license" not in yaml.safe_load(str(tree.card()).split("---")[1])


# Agreement with the metrics.


def test_scores_of_several_labels_are_those_of_the_metrics(regressor):
    model, X, Y = regressor
    scores = model.card(X, Y).facts["quality"]["scores"]
    labels, p = model.predict_top_k(X, 5)
    told = metrics.label_matrix(labels, p, classes=range(6))
    for k in (1, 3, 5):
        assert scores[f"P@{k}"] == pytest.approx(metrics.precision_at_k(Y, told, k))
    assert scores["R@5"] == pytest.approx(metrics.recall_at_k(Y, told, 5))
    assert scores["nDCG@5"] == pytest.approx(metrics.ndcg_at_k(Y, told, 5))
    assert scores["ECE@1"] == pytest.approx(metrics.calibration_error_at_k(Y, told, 1))
    assert scores["ECE@5"] == pytest.approx(metrics.calibration_error_at_k(Y, told, 5))
    assert scores["Brier@5"] == pytest.approx(metrics.brier_at_k(Y, told, 5))
    assert "WP@5" not in scores


@pytest.mark.parametrize("form", ["lists", "sparse", "labels of their own"])
def test_labels_may_come_in_any_form(regressor, form):
    model, X, Y = regressor
    expected = model.card(X, Y).facts["quality"]
    if form == "sparse":
        assert model.card(X, sparse.csr_array(Y)).facts["quality"] == expected
    elif form == "lists":
        lists = [np.flatnonzero(row).tolist() for row in Y]
        assert model.card(X, lists).facts["quality"] == expected
    else:
        names = [f"column {i}" for i in range(6)]
        named = ExtremeRegressor(n_trees=1, random_state=0).fit(X, Y, classes=names)
        lists = [[names[i] for i in np.flatnonzero(row)] for row in Y]
        both = [named.card(X, Y, classes=names), named.card(X, lists)]
        ours, theirs = (each.facts["quality"]["scores"] for each in both)
        assert ours == theirs
        assert ours["P@1"] > 0.5


def test_graded_labels_add_their_share_of_the_relevance(regressor):
    _, X, Y = regressor
    ratings = Y * np.arange(1, 7)
    model = ExtremeRegressor(n_trees=1, random_state=0).fit(X, ratings)
    scores = model.card(X, ratings).facts["quality"]["scores"]
    labels, scored = model.predict_top_scores(X, 5)
    told = metrics.label_matrix(labels, scored, classes=range(6))
    expected = metrics.weighted_precision_at_k(ratings.astype(np.float32), told, 5)
    assert scores["WP@5"] == pytest.approx(expected)
    assert 0 <= scores["ECE@1"] <= 1


def test_rows_with_distributions_are_compared_as_such():
    X = np.repeat(np.eye(2), 30, axis=0)
    D = np.repeat([[0.7, 0.3], [0.1, 0.9]], 30, axis=0)
    model = SelfTerminatingTreeClassifier(penalty=0.1).fit(X, D)
    scores = model.card(X, D).facts["quality"]["scores"]
    told = model.predict_proba(X)
    assert scores["total variation"] == pytest.approx(metrics.total_variation(D, told), abs=1e-6)
    assert "accuracy" not in scores


def test_blocks_of_rows_do_not_change_scores(regressor, monkeypatch):
    model, X, Y = regressor
    whole = model.card(X, Y).facts["quality"]["scores"]
    monkeypatch.setattr("labeltrees.evaluation._measuring.ROWS_AT_ONCE", 7)
    assert model.card(X, Y).facts["quality"]["scores"] == pytest.approx(whole)


# Front matter.


VALUES = ["yes", "a: b", "- x", "#", "", "1.5", "é", 'say "so"', "new\nline", True, None, 3, 0.25]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_yaml_reads_what_was_written(value):
    facts = {"a": value, "b": [value, {"c": value, "d": [value]}], "e": {"f": {"g": value}}}
    assert yaml.safe_load(front_matter(facts).strip("-")) == facts


def test_hubs_find_library_task_and_scores(tree):
    hub = yaml.safe_load(
        str(tree.card(np.eye(14), tree.classes_, dataset="Made up")).split("---")[1]
    )
    assert hub["library_name"] == "labeltrees"
    assert hub["pipeline_tag"] == "tabular-classification"
    assert "multi-class" in hub["tags"]
    (result,) = hub["model-index"][0]["results"]
    assert result["dataset"] == {"name": "Made up", "type": "made-up"}
    assert [each["type"] for each in result["metrics"]] == hub["metrics"]
    assert "top_5_accuracy" in hub["metrics"]
    assert "rows of unseen labels" not in hub["metrics"]


def test_a_model_of_texts_is_listed_as_one():
    model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
    found = model.card(["sun", "rain"], ["dry", "dry"])
    assert found.facts["quality"]["scores"]["accuracy"] == 0.5
    hub = yaml.safe_load(str(found).split("---")[1])
    assert hub["pipeline_tag"] == "text-classification"
    assert f"| features of texts by | {type(model.vectorizer_).__name__} |" in str(found)
    assert "for each of 2 labels the probability that it is the label of a text." in str(found)


# Files.


@pytest.mark.parametrize("kind", ["rows", "texts"])
def test_the_lines_of_python_in_a_card_run(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = ConditionalTreeClassifier().fit(*WEATHER)
    if kind == "texts":
        model = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
    model.save("weather.safetensors")
    text = str(model.card(file="weather.safetensors"))
    (lines,) = re.findall(r"```python\n(.*?)```", text, re.S)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(lines, {})
    assert "TopLabels(labels=array([[" in out.getvalue()


def test_the_file_s_size_and_checksum_are_said(tree, tmp_path):
    path = tmp_path / "tree.safetensors"
    tree.save(path)
    content = path.read_bytes()
    expected = {"name": path.name, "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest()}  # fmt: skip
    assert tree.card(file=path).facts["file"] == expected
    later = tree.card().of_file(path)
    assert later.facts["file"] == expected
    assert f"{len(content):,} bytes" in str(later)
    assert tree.card().facts["file"] is None


def test_a_card_is_saved_and_its_facts_are_json(tree, tmp_path):
    bare, measured = tree.card(), tree.card(np.eye(14), tree.classes_)
    assert [path.name for path in bare.save(tmp_path / "a" / "b")] == ["README.md"]
    written = measured.save(tmp_path)
    assert [path.name for path in written] == ["README.md", "reliability.svg"]
    assert written[0].read_text("utf-8") == str(measured)
    assert "](reliability.svg)" in str(measured)
    assert json.loads(json.dumps(measured.facts)) == measured.facts


def test_a_notebook_shows_the_picture_and_no_yaml(tree):
    shown_there = tree.card(np.eye(14), tree.classes_)._repr_markdown_()
    assert shown_there.startswith("# ConditionalTreeClassifier of 14 labels")
    assert "(data:image/svg+xml;base64," in shown_there
    assert repr(tree.card()) == "ModelCard('ConditionalTreeClassifier of 14 labels')"


def test_a_loaded_model_and_its_estimator_say_the_same(tree, tmp_path):
    tree.save(tmp_path / "m")
    model = labeltrees.load_model(tmp_path / "m")
    X, y = np.eye(14), tree.classes_
    ours, theirs = card(model, X, y).facts, tree.card(X, y).facts
    differing = {name for name in ours if ours[name] != theirs[name]}
    assert differing == {"name", "about", "estimator"}


def test_a_frozen_model_cannot_go_on_learning(tree, tmp_path):
    tree.save(tmp_path / "m", keep_state=False)
    assert "| can learn further | no |" in str(labeltrees.load(tmp_path / "m").card())
    assert "| can learn further | yes |" in str(tree.card())


def test_the_card_of_a_pipeline_s_last_step(tmp_path):
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), ConditionalTreeClassifier()).fit(*WEATHER)
    found = model[-1].card(model[:-1].transform([[1, 0]]), ["sun"])
    assert found.facts["quality"]["scores"]["accuracy"] == 1


# What is shown cannot break a table.


def test_values_in_tables():
    assert plain("a|b\nc") == "a\\|b c"
    assert len(plain("x" * 99)) == 60
    assert code("`") == "`'`"
    assert [shown(each) for each in (3.0, 2.5, True, "x")] == ["3", "2.50", "True", "x"]


def test_labels_cannot_break_a_card():
    model = ConditionalTreeClassifier().fit(WEATHER[0], ["a|b\n# c", "<b>`"] * 20)
    table = str(model.card()).split("## Training data")[1].split("##")[0]
    assert [line.count(" | ") for line in table.splitlines() if "a\\|b" in line] == [2]
    assert "\n# c" not in table


# The picture.


def test_the_picture_is_svg_with_a_disc_for_each_bin():
    curve = metrics.reliability_curve([1, 2, 1, 1], [[1]] * 4, [[0.9], [0.4], [1.0], [1.0]])
    root = ElementTree.fromstring(reliability_picture(curve, "rows <of> & labels"))
    names = {"svg": "http://www.w3.org/2000/svg"}
    discs = root.findall("svg:circle", names)
    assert len(discs) == len(curve.count) == 3
    at = [(float(d.get("cx")), float(d.get("cy"))) for d in discs]
    assert at[-1] == (316.0, 34.0)  # certain, and always right
    assert at[0][1] == 294.0  # never right
    assert float(discs[-1].get("r")) > float(discs[0].get("r"))
    assert root.find("svg:title", names).text == "rows <of> & labels"


# Refusals.


def test_what_cannot_be_evaluated_is_refused(tree):
    for X, y in ((np.eye(14), None), (None, ["often"])):
        with pytest.raises(ArgumentError, match="X and y must be passed together"):
            tree.card(X, y)
    with pytest.raises(DataError, match="y has 2 rows for the 14 rows of X"):
        tree.card(np.eye(14), ["often"] * 2)
    with pytest.raises(DataError, match="14 features"):
        tree.card([[1, 0]], ["often"])
    with pytest.raises(LabelTypeError):
        tree.card(np.eye(14), np.arange(14))
    with pytest.raises(ArgumentError, match="sample_weight"):
        tree.card(np.eye(14), tree.classes_, sample_weight=[1])
    with pytest.raises(DataError, match=r"y has no label\. At least"):
        tree.card(np.eye(14), [[]] * 14)
    with pytest.raises(FileNotFoundError):
        tree.card(file="nowhere")


def test_an_estimator_that_learned_nothing_has_no_card():
    from sklearn.exceptions import NotFittedError

    for estimator in (ConditionalTreeClassifier(), TextClassifier()):
        with pytest.raises(NotFittedError):
            estimator.card()


def test_a_card_can_be_made_of_facts_alone(tree):
    assert str(ModelCard(tree.card().facts)) == str(tree.card())
    assert About().file is None
