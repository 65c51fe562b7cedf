"""The HTTP interface: predictions, learning, trees, quality, problems, and other protocols."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.serve.conftest import FRUIT, serving

import labeltrees
from labeltrees.cli import main
from labeltrees.client import Client, ServerProblem
from labeltrees.serve.learning.folder import ModelFolder, replay
from labeltrees.serve.learning.log import FIRST_LINK, ExampleLog
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.learning.thread import ModelLimits
from labeltrees.serve.web.api.operations import Limits
from labeltrees.serve.web.app import OPERATIONS
from labeltrees.serve.wire import NewModel


def status_of(call, *arguments, **named):
    with pytest.raises(ServerProblem) as raised:
        call(*arguments, **named)
    return raised.value.status


def test_a_model_predicts_the_labels_that_it_learned(text):
    answer = text.predict([{"text": "red round"}, {"text": "long"}], k=2)
    assert [row.labels[0] for row in answer.rows] == ["apple", "banana"]
    for row in answer.rows:
        assert row.probabilities == sorted(row.probabilities, reverse=True)
    assert answer.seq >= 30


def test_named_labels_and_thresholds_agree_with_the_top_labels(text):
    (top,) = text.predict([{"text": "blue"}], k=3).rows
    (named,) = text.predict([{"text": "blue"}], labels=[*top.labels, "never"]).rows
    assert named.probabilities == [*top.probabilities, 0.0]
    (above,) = text.predict([{"text": "blue"}], above=top.probabilities[1]).rows
    assert above.labels == top.labels[:2]


def test_concurrent_predictions_equal_single_ones(served):
    texts = [f"{color} {shape}" for color in ("red", "blue") for shape in ("round", "long")] * 10

    def predict(text):
        with Client(served[0]) as client:
            return client.model("text").predict([{"text": text}], k=3).rows[0]

    alone = {text: predict(text) for text in set(texts)}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(predict, texts)) == [alone[text] for text in texts]


def test_learning_returns_predictions_and_new_labels(client):
    model = client.model("features")
    first = model.learn([{"features": {"height": 2.0}, "label": "tree"}])
    assert first.new_labels == ["tree"]
    assert first.predicted[0].p_label == 0.0
    again = model.learn([{"features": {"height": 2.0}, "label": "tree"}])
    assert again.first_seq == again.seq == first.seq + 1
    assert again.predicted[0].top == "tree"
    assert not again.predicted[0].new
    assert model.predict([{"features": {"height": 2.0}}], min_seq=again.seq).seq >= again.seq


def test_an_example_with_several_labels_is_learned_once_per_label(client):
    found = client.model("features").learn([{"features": {"x": 1}, "labels": ["p", "q", "p"]}])
    assert [each.label for each in found.predicted] == ["p", "q"]
    assert found.seq == found.first_seq


def test_a_request_with_a_known_key_is_not_learned_again(text):
    first = text.learn(FRUIT, idempotency_key="once")
    again = text.learn(FRUIT, idempotency_key="once")
    assert again.repeated
    assert (again.first_seq, again.seq) == (first.first_seq, first.seq)
    assert status_of(text.learn, FRUIT[:1], idempotency_key="once") == 422
    assert text.learn(FRUIT[:1]).seq == first.seq + 1


def test_rows_may_be_sparse_dense_or_pairs(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    X[np.arange(60), y] += 4
    tree = labeltrees.ConditionalTreeClassifier().fit(X, y)
    tree.save(tmp_path / "model")
    folder = ModelFolder(tmp_path / "folder")
    with serving(folder) as (url, _), Client(url) as client:
        model = client.model("table")
        model.put((tmp_path / "model").read_bytes())
        row = [0.5, 0.0, 4.0, -1.0]
        sparse = {"indices": [0, 2, 3], "values": [0.5, 4.0, -1.0]}
        pairs = [[3, -1.0], [0, 0.5], [2, 4.0]]
        answers = model.predict([{"features": each} for each in (row, sparse, pairs)], k=3).rows
        labels, p = tree.predict_top_k([row], 3)
        for answer in answers:
            assert answer.labels == labels[0].tolist()
            assert answer.probabilities == p[0].tolist()
        assert status_of(model.predict, [{"features": [1.0]}]) == 422
        assert status_of(model.predict, [{"features": {"height": 1}}]) == 422
        assert status_of(model.predict, [{"text": "red"}]) == 422
        assert status_of(model.learn, [{"features": row, "label": "zero"}]) == 422


def test_a_model_without_updates_predicts_and_does_not_learn(tmp_path):
    X, Y = np.eye(6), [["a"], ["b"], ["a", "b"]] * 2
    labeltrees.ExtremeRegressor().fit(X, Y).save(tmp_path / "model")
    folder = ModelFolder(tmp_path / "folder")
    with serving(folder) as (url, _), Client(url) as client:
        model = client.model("batch")
        assert not model.put((tmp_path / "model").read_bytes())["can_learn"]
        assert set(model.predict([{"features": [1, 0, 0, 0, 0, 0]}]).rows[0].labels) <= {"a", "b"}
        assert status_of(model.learn, [{"features": [1, 0, 0, 0, 0, 0], "label": "a"}]) == 409


def test_a_text_model_of_the_command_line_takes_texts_and_explains_words(tmp_path):
    texts, labels = ["light and warm", "drops and wet"] * 30, ["sun", "rain"] * 30
    labeltrees.TextClassifier().fit(texts, labels).save(tmp_path / "model")
    folder = ModelFolder(tmp_path / "folder")
    with serving(folder) as (url, _), Client(url) as client:
        model = client.model("weather")
        model.put((tmp_path / "model").read_bytes())
        own = labeltrees.load(tmp_path / "model").predict_top_k(["wet drops"], 2)
        (answer,) = model.predict([{"text": "wet drops"}], k=2).rows
        assert answer.labels == own[0][0].tolist()
        assert answer.probabilities == own[1][0].tolist()
        assert "drops" in json.dumps(model.explain({"text": "wet drops"}))


def test_explanations_name_hashed_features(client):
    code = "import os\nimport sys\nfrom x import y\nimport "
    client.model("python").learn([{"text": code, "label": each} for each in ("os", "sys") * 3])
    assert "import just before" in json.dumps(client.model("python").explain({"text": code}))
    model = client.model("features")
    model.learn(
        [{"features": {"tall": 1}, "label": "tree"}, {"features": {"low": 1}, "label": "bush"}]
    )
    assert '"feature": "low"' in json.dumps(model.explain({"features": {"low": 1.0}}))


def test_a_model_of_a_table_lists_its_columns(tmp_path):
    lines = [
        "height,width,kind",
        *(f"{i % 2 * 9},{i},{'tall' if i % 2 else 'low'}" for i in range(40)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert main(["train", str(tmp_path / "t.csv"), "-o", str(tmp_path / "model"), "--fast"]) == 0
    folder = ModelFolder(tmp_path / "folder")
    with serving(folder) as (url, _), Client(url) as client:
        model = client.model("table")
        model.put((tmp_path / "model").read_bytes())
        assert client.send("GET", "/v1/models/table")["columns"] == ["height", "width"]
        assert model.predict([{"features": {"height": 9, "width": 3}}]).rows[0].labels[0] == "tall"


def test_code_is_completed_within_an_identifier(client):
    code = "import os\nimport sys\nfrom x import y\nimport "
    client.model("python").learn([{"text": code, "label": each} for each in ("os", "sys") * 5])
    why = json.dumps(client.model("python").explain({"text": code}))
    assert "import just before" in why
    body = {"source": code + "s", "k": 5}
    found = client.send("POST", "/v1/models/python/complete", body)
    assert (found["beginning"], found["labels"]) == ("s", ["sys"])
    assert client.send("POST", "/v1/models/python/complete", {"source": code})["beginning"] == ""
    assert status_of(client.send, "POST", "/v1/models/text/complete", {"source": ""}) == 409


def test_the_tree_can_be_read_from_the_root_to_a_label(client, text):
    root = client.send("GET", "/v1/models/text/tree?levels=6")["tree"]
    assert root["labels"] == 3
    assert root["share"] == 1.0
    assert sum(each["mass"] for each in root["below"]) == pytest.approx(root["mass"])
    path = client.send("GET", "/v1/models/text/tree?label=plum")["path"]
    assert path[0]["node"] == 0
    assert path[-1]["label"] == "plum"
    assert [each["label"] for each in text.search("AN")] == ["banana"]
    assert status_of(client.send, "GET", "/v1/models/text/tree?label=lime") == 404
    assert status_of(client.send, "GET", "/v1/models/text/tree?node=999") == 404
    assert status_of(client.send, "GET", "/v1/models/text/tree?levels=x") == 422


def test_quality_counts_every_predicted_example(text):
    before = text.quality()
    text.learn(FRUIT)
    after = text.quality()
    assert after["all"]["n_rows"] == before["all"]["n_rows"] + 3
    assert after["window"]["examples"] == sum(b["examples"] for b in after["reliability"])
    assert after["curve"][-1]["examples"] == after["all"]["n_rows"]
    assert {each["label"] for each in after["new_labels"]} == {"apple", "banana", "plum"}


def test_the_best_rows_of_a_label_are_found(client):
    rows = [{"text": "long"}, {"text": "red"}]
    body = {"rows": rows, "labels": ["apple", "banana"], "k": 1}
    found = client.send("POST", "/v1/models/text/rows", body)["labels"]
    assert [each["rows"] for each in found] == [[1], [0]]


def test_the_log_is_trimmed_only_up_to_the_older_snapshot(client, text):
    seq = text.learn(FRUIT).seq
    assert text.snapshot() == seq
    text.learn(FRUIT)
    text.snapshot()
    listed = client.send("GET", "/v1/models/text/snapshot")["snapshots"]
    assert [each["seq"] for each in listed] == [seq + 3, seq]
    assert status_of(client.send, "POST", "/v1/models/text/trim", {"upto": seq + 1}) == 409
    done = client.send("POST", "/v1/models/text/trim", {"upto": seq - 1})
    assert done["forgotten"] > 0
    assert text.learn(FRUIT).seq == seq + 6


def test_requests_of_annif_work(served):
    connection = http.client.HTTPConnection(served[0].removeprefix("http://"))
    form = "text=red+round&limit=2"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/v1/projects/text/suggest", form, headers)
    results = json.loads(connection.getresponse().read())["results"]
    assert results[0]["uri"] == "apple"
    assert len(results) == 2
    connection.request("GET", "/v1/projects/text")
    assert json.loads(connection.getresponse().read())["is_trained"] is True
    connection.close()


def test_the_open_inference_protocol_works(client, text):
    assert client.send("GET", "/v2/health/ready") == {"ready": True}
    tensor = {"name": "text", "shape": [2], "datatype": "BYTES", "data": ["red", "long"]}
    body = {"id": "7", "inputs": [tensor], "parameters": {"k": 1}}
    found = client.send("POST", "/v2/models/text/infer", body)
    assert found["id"] == "7"
    assert found["outputs"][0] == {
        "name": "labels", "datatype": "BYTES", "shape": [2, 1], "data": ["apple", "banana"]
    }  # fmt: skip
    own = text.predict([{"text": "red"}, {"text": "long"}], k=1).rows
    assert found["outputs"][1]["data"] == [row.probabilities[0] for row in own]


BAD = [
    ("predict", {"k": 0, "text": "a"}, 422),
    ("predict", {"k": 5}, 422),
    ("predict", {"text": "a", "rows": []}, 422),
    ("predict", {"text": "a", "labels": ["x"], "above": 0.5}, 422),
    ("predict", {"text": "a", "labels": [1]}, 422),
    ("predict", {"text": "a", "above": 0}, 422),
    ("predict", {"text": "a", "unknown": 1}, 422),
    ("predict", {"text": "\ud800"}, 400),
    ("predict", {"features": {"indices": [1], "values": []}}, 422),
    ("predict", {"features": {"indices": [-1], "values": [1]}}, 422),
    ("predict", {"features": [[1, 2, 3]]}, 422),
    ("predict", {"features": [1, [1, 2]]}, 422),
    ("predict", {"text": "a", "min_seq": 10**9}, 412),
    ("learn", {"text": "a"}, 422),
    ("learn", {"text": "a", "label": "x", "labels": ["y"]}, 422),
    ("learn", {"text": "a", "labels": []}, 422),
    ("learn", {"text": "a", "label": 5}, 422),
    ("learn", {"text": "a", "label": 10**30}, 422),
    ("learn", {"text": "a", "labels": ["x", 5]}, 422),
    ("learn", {"examples": []}, 422),
    ("learn", {"text": "a", "label": "x", "weight": -1}, 422),
    ("learn", {"text": "a", "label": "x" * 2000}, 413),
    ("explain", {"text": "a", "label": "lime"}, 422),
    ("rows", {"rows": [{"text": "a"}], "labels": ["lime"]}, 422),
    ("trim", {"upto": 0}, 422),
]


@pytest.mark.parametrize(("what", "body", "status"), BAD)
def test_bad_requests_get_a_problem_and_do_not_change_the_model(
    client, text, served, what, body, status
):
    served[1].reach_seconds = 0.01
    before = text.describe()["seq"]
    assert status_of(client.send, "POST", f"/v1/models/text/{what}", body) == status
    assert text.describe()["seq"] == before


def test_problems_have_the_form_of_rfc_9457(served):
    connection = http.client.HTTPConnection(served[0].removeprefix("http://"))
    connection.request("POST", "/v1/models/none/predict", "{}")
    answer = connection.getresponse()
    body = json.loads(answer.read())
    assert answer.headers["content-type"] == "application/problem+json"
    assert body == {
        "type": "urn:labeltrees:problem:no-such-model", "title": "Not Found", "status": 404,
        "detail": "There is no model 'none'.",
    }  # fmt: skip
    for path, method, status in (("/nowhere", "GET", 404), ("/livez", "POST", 405)):
        connection.request(method, path)
        answer = connection.getresponse()
        assert json.loads(answer.read())["status"] == answer.status == status
    connection.close()


def test_the_document_has_every_operation_and_the_page_uses_no_other_host(served, client):
    document = client.send("GET", "/openapi.json")
    for each in OPERATIONS:
        assert each.method.lower() in document["paths"][each.path]
    connection = http.client.HTTPConnection(served[0].removeprefix("http://"))
    for path in ("/", "/docs"):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert b"http" not in answer.read()
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    connection.close()


def test_metrics_count_requests_and_examples(client, text):
    text.learn(FRUIT)
    metrics = client.send("GET", "/metrics")
    assert 'labeltrees_requests_total{operation="learn",status="200"}' in metrics
    assert f'labeltrees_model_examples{{model="text"}} {text.describe()["seq"]}' in metrics
    assert 'labeltrees_window_log_loss{model="text"}' in metrics


def test_models_are_added_and_removed(client):
    extra = client.model("extra")
    extra.put({"learns": "text"})
    assert status_of(extra.put, {"learns": "text"}) == 409
    assert status_of(client.model("a b").put, {"learns": "text"}) == 422
    assert status_of(client.model("other").put, {"learns": "music"}) == 422
    assert status_of(client.model("other").put, {"settings": {"alpha": 7}}) == 422
    assert status_of(client.model("other").put, b"not a model") == 422
    extra.learn(FRUIT)
    extra.delete()
    assert status_of(extra.describe) == 404
    extra.put({"learns": "features"})
    assert extra.describe()["seq"] == 0
    assert extra.learn([{"features": {"a": 1}, "label": "x"}]).seq == 1
    assert extra.snapshot() == 1
    extra.delete()


def learned_again(folder, request):
    """Return a model that has learned the whole log of a closed folder."""
    log = ExampleLog(folder.path / "log.sqlite", read_only=True)
    served = ServedModel("m", new_model(request))
    replay(served, log.examples(log.model_id("m"), after=0, link=FIRST_LINK))
    log.close()
    return served


def test_recovery_also_refuses_an_example_that_cannot_be_learned(tmp_path):
    request = NewModel("features", {"scale": "standard", "refine": 0})
    folder = ModelFolder(tmp_path / "folder")
    folder.add("m", new_model(request))
    rows = [{"features": {"a": 1}, "label": "x"}, {"features": {"b": 1}, "label": "y"}]
    with serving(folder) as (url, _), Client(url) as client:
        assert client.model("m").learn(rows).refused == [0, 1]  # scaling would need 2**30 columns
        assert client.is_ready()
    assert learned_again(folder, request).seq == 2


def test_an_example_that_diverges_is_refused_and_the_others_are_learned(tmp_path):
    settings = {"optimizer": "sgd", "learning_rate": 1e6, "loss": "squared", "refine": 0}
    request = NewModel("features", settings | {"mixing": False, "normalize": False, "scale": None})
    folder = ModelFolder(tmp_path / "folder")
    folder.add("m", new_model(request))
    rows = [{"features": {f"w{i % 3}": 1e15}, "label": f"l{i % 4}"} for i in range(40)]
    with serving(folder) as (url, _), Client(url) as client:
        refused = client.model("m").learn(rows[:20]).refused
        for row in rows[20:]:
            refused += client.model("m").learn([row]).refused
        assert 0 < len(refused) < 40
        live = folder.models["m"].model.stored().checksums()
    assert learned_again(folder, request).model.stored().checksums() == live


def test_limits_return_413_and_429(tmp_path):
    folder = ModelFolder(tmp_path / "folder")
    folder.add("m", new_model(NewModel("features")))
    limits = Limits(body_bytes=1000, rows=2, response_labels=10, requests_per_second=20)
    with serving(folder, limits=limits) as (url, _), Client(url) as client:
        model = client.model("m")
        row = {"features": {"a": 1}}
        assert status_of(model.predict, [row] * 3) == 413
        assert status_of(model.predict, [{"features": {"a" * 2000: 1}}]) == 413
        assert status_of(model.predict, [row], k=11) == 413
        with pytest.raises(ServerProblem) as raised:
            list(map(model.predict, [[row]] * 100))
        assert raised.value.status == 429
        assert raised.value.retry_after == 1


def test_a_model_learns_labels_up_to_its_limit(tmp_path):
    folder = ModelFolder(tmp_path / "folder")
    folder.add("m", new_model(NewModel("features")))
    with serving(folder, model_limits=ModelLimits(labels=2)) as (url, _), Client(url) as client:
        model = client.model("m")
        examples = [{"features": {"a": 1}, "label": label} for label in "abc"]
        assert status_of(model.learn, examples) == 507
        assert model.learn(examples[:2]).seq == 2
        assert status_of(model.learn, examples[2:]) == 507
        assert model.learn(examples[:1]).seq == 3
