"""Models of several labels per example over HTTP: created, trained, queried, and recovered."""

from __future__ import annotations

import json
import random

import pytest
from tests.serve.conftest import serving

import labeltrees
from labeltrees import load_model
from labeltrees.cli import main
from labeltrees.client import Client, ServerProblem
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.wire import NewModel

MULTILABEL = {"learns": "text", "method": "multilabel"}
TAGS = {"sun": "bright warm", "rain": "wet grey", "wind": "loud cold", "snow": "white cold soft"}


def examples(n, seed=0):
    """Return texts with zero to three labels."""
    draws = random.Random(seed)
    found = []
    for _ in range(n):
        labels = draws.sample(sorted(TAGS), draws.choice((0, 1, 1, 2, 3)))
        words = [draws.choice(TAGS[label].split()) for label in labels]
        found.append({"text": " ".join(["day", *words]), "labels": labels})
    return found


def test_a_multi_label_model_is_created_trained_and_queried_over_http(tmp_path):
    with serving(ModelFolder(tmp_path / "folder")) as (url, _), Client(url) as client:
        model = client.model("weather")
        made = model.put(MULTILABEL)
        assert (made["kind"], made["several_labels"], made["can_learn"]) == (
            "MultiLabelTreeModel", True, True,
        )  # fmt: skip
        first = model.learn([{"text": "bright warm wet grey", "labels": ["sun", "rain", "sun"]}])
        assert first.new_labels == ["sun", "rain"]
        assert [(each.label, each.p_label, each.new) for each in first.predicted] == [
            ("sun", 0.0, True), ("rain", 0.0, True),
        ]  # fmt: skip
        for part in range(20):
            result = model.learn(examples(20, seed=part))
        assert result.seq == 401
        (row,) = model.predict([{"text": "bright warm wet grey"}], k=4).rows
        assert set(row.labels[:2]) == {"sun", "rain"}
        assert sum(row.probabilities[:2]) > 1.2  # each label has its own probability
        (named,) = model.predict([{"text": "bright"}], labels=["sun", "hail"]).rows
        assert named.probabilities[0] > 0.5
        assert named.probabilities[1] == 0.0
        (above,) = model.predict([{"text": "bright warm wet grey"}], above=0.5).rows
        assert set(above.labels) == {"sun", "rain"}
        reason = model.explain({"text": "wet grey"}, "rain")
        assert reason["label"] == "rain"
        assert reason["p_any"] > 0.5
        assert "grey" in json.dumps(reason["steps"])
        tree = client.send("GET", "/v1/models/weather/tree?levels=6")["tree"]
        assert tree["labels"] == 4
        assert [each["label"] for each in model.search("now")] == ["snow"]


def test_the_quality_of_a_multi_label_model_is_precision_and_log_loss(tmp_path):
    with serving(ModelFolder(tmp_path / "folder")) as (url, _), Client(url) as client:
        model = client.model("weather")
        model.put(MULTILABEL)
        data = examples(600)
        model.learn(data)
        quality = model.quality()
        assert quality["all"]["n_rows"] == quality["window"]["examples"] == 600
        assert quality["all"]["n_labels"] == sum(len(each["labels"]) for each in data)
        assert quality["all"]["precision_at_1"] == pytest.approx(quality["window"]["accuracy"])
        assert quality["all"]["log_loss"] == pytest.approx(quality["window"]["log_loss"], rel=1e-4)
        assert quality["window"]["accuracy"] > 0.5
        assert [each["examples"] for each in quality["curve"]] == [100 * i for i in range(1, 7)]
        assert {each["label"] for each in quality["new_labels"]} == set(TAGS)
        assert 'labeltrees_window_accuracy{model="weather"}' in client.send("GET", "/metrics")
        leaf = client.send("GET", "/v1/models/weather/tree?label=sun")["path"][-1]
        assert leaf["examples"] == sum("sun" in each["labels"] for each in data)


def test_a_restarted_multi_label_model_is_the_same_and_continues(tmp_path):
    path, data = tmp_path / "folder", examples(300)
    with serving(ModelFolder(path)) as (url, _), Client(url) as client:
        client.model("weather").put(MULTILABEL)
        for begin in range(0, 150, 30):
            client.model("weather").learn(data[begin : begin + 30])
        client.model("weather").snapshot()
        client.model("weather").learn(data[150:200])
        before = client.model("weather").predict([{"text": "loud cold wet"}], k=4).rows
        quality = client.model("weather").quality()
    with serving(ModelFolder(path)) as (url, server), Client(url) as client:
        model = client.model("weather")
        assert model.describe()["seq"] == 200
        assert model.predict([{"text": "loud cold wet"}], k=4).rows == before
        assert model.quality() == quality
        assert model.learn(data[200:]).seq == 300
        live = server.folder.models["weather"].model.stored().checksums()
    whole = ModelFolder(tmp_path / "whole")
    with serving(whole) as (url, _), Client(url) as client:
        client.model("weather").put(MULTILABEL)
        client.model("weather").learn(data)
        assert whole.models["weather"].model.stored().checksums() == live


def test_a_multi_label_model_is_recovered_from_log_and_snapshot_after_a_kill(tmp_path):
    path, data = tmp_path / "folder", examples(120)
    folder = ModelFolder(path)
    with serving(folder) as (url, server), Client(url) as client:
        client.model("weather").put(MULTILABEL)
        client.model("weather").learn(data[:70])
        client.model("weather").snapshot()
        for each in data[70:]:
            client.model("weather").learn([each])
        live = folder.models["weather"].model.stored().checksums()
        server.learning.snapshots.write_all = lambda: None  # as if the process were killed
    recovered = ModelFolder(path)
    assert recovered.snapshots("weather").seqs()[0] == 70
    assert recovered.models["weather"].seq == 120
    assert recovered.models["weather"].model.stored().checksums() == live
    recovered.close()


def test_the_log_of_a_multi_label_model_is_replayed_and_exported(tmp_path, capsys):
    path, out, lines = tmp_path / "folder", tmp_path / "again", tmp_path / "log.jsonl"
    data = examples(200)
    with serving(ModelFolder(path)) as (url, _), Client(url) as client:
        client.model("weather").put(MULTILABEL)
        client.model("weather").learn(data)
        before = client.model("weather").predict([{"text": "loud cold wet"}], k=4).rows[0]
    assert main(["replay", str(path), "weather", "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["examples"] == 200
    assert report["precision_at_1"] > 0.4
    again = labeltrees.load(out)
    labels, p = again.predict_top_k(["loud cold wet"], 4)
    assert labels[0].tolist() == before.labels
    assert p[0].tolist() == before.probabilities
    options = ["--set", "refine=0", "--set", "learning_rate=0.5"]
    assert main(["replay", str(path), "weather", "--out", str(out), "--quiet", *options]) == 0
    assert load_model(out).settings.refine == 0
    assert main(["replay", str(path), "weather", "--export", str(lines)]) == 0
    assert [json.loads(line) for line in lines.read_text().splitlines()] == data
    capsys.readouterr()


def test_a_saved_multi_label_estimator_continues_to_learn(tmp_path):
    data = [each for each in examples(100) if each["labels"]]
    words = sorted({word for each in data for word in each["text"].split()})
    rows = [[float(word in each["text"].split()) for word in words] for each in data]
    estimator = labeltrees.MultiLabelTreeClassifier().fit(rows, [e["labels"] for e in data])
    estimator.save(tmp_path / "model")
    with serving(ModelFolder(tmp_path / "folder")) as (url, _), Client(url) as client:
        model = client.model("weather")
        assert model.put((tmp_path / "model").read_bytes())["can_learn"]
        result = model.learn([{"features": rows[0], "labels": ["hail", "sun"]}])
        assert result.new_labels == ["hail"]
        assert "hail" in model.predict([{"features": rows[0]}], k=5).rows[0].labels


def test_integer_labels_survive_a_snapshot(tmp_path):
    path = tmp_path / "folder"
    folder = ModelFolder(path)
    for method in ("multilabel", "conditional"):
        folder.add(method, new_model(NewModel("features", method=method)))
    example = {"features": {"a": 1}, "labels": [7, 9]}
    with serving(folder) as (url, _), Client(url) as client:
        for method in ("multilabel", "conditional"):
            client.model(method).learn([example])
            client.model(method).learn([{**example, "labels": [9]}])
            with pytest.raises(ServerProblem, match="are int"):
                client.model(method).learn([{**example, "labels": ["nine"]}])
    with serving(ModelFolder(path)) as (url, _), Client(url) as client:
        for method in ("multilabel", "conditional"):
            (row,) = client.model(method).predict([{"features": {"a": 1}}], k=2).rows
            assert set(row.labels) == {7, 9}


def test_examples_without_labels_are_learned_only_by_multi_label_models(tmp_path):
    folder = ModelFolder(tmp_path / "folder")
    for method in ("multilabel", "conditional"):
        folder.add(method, new_model(NewModel("features", method=method)))
    example = {"features": {"a": 1}, "labels": []}
    with serving(folder) as (url, _), Client(url) as client:
        multi = client.model("multilabel")
        assert multi.learn([example] * 3).predicted == []  # also before the first label
        assert multi.learn([example, {"features": {"b": 1}, "labels": ["x"]}]).seq == 5
        assert multi.predict([{"features": {"a": 1}}]).rows[0].labels == ["x"]
        with pytest.raises(ServerProblem, match="one label per row") as raised:
            client.model("conditional").learn([example])
        assert raised.value.status == 422


@pytest.mark.parametrize("method", ["lomtree", "filtertree"])
def test_every_method_that_streams_can_be_created(tmp_path, method):
    with serving(ModelFolder(tmp_path / "folder")) as (url, _), Client(url) as client:
        model = client.model("m")
        model.put({"learns": "features", "method": method})
        model.learn([{"features": {"a": 1}, "label": "x"}, {"features": {"b": 1}, "label": "y"}])
        assert set(model.predict([{"features": {"a": 1}}], k=2).rows[0].labels) == {"x", "y"}
        with pytest.raises(ServerProblem, match="method must be 'conditional'") as raised:
            client.model("other").put({"method": "xreg"})
        assert raised.value.status == 422
