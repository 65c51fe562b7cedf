"""Random requests get a description of the error, and never a fault of the server."""

from __future__ import annotations

import copy
import http.client
import json
import random

import pytest
from conftest import PROFILE
from tests.serve.conftest import serving

from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.learning.thread import ModelLimits
from labeltrees.serve.web.app import OPERATIONS
from labeltrees.serve.wire import NewModel

ODD = [
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 1e308, -0.0, 1e-320,
    "", "a", "\x00", "\ud800", "ü" * 50, "x" * 3000, [], {}, [[]], [[1, 2]], [{}], [None],
    {"": 1}, {"a": None}, {"indices": [1], "values": [2]}, {"indices": [0.5], "values": [1]},
    {"indices": [2**40], "values": [1]}, {"indices": "x", "values": 1}, [1e39], [0.1] * 5,
    "NaN", float("nan"), float("inf"),
]  # fmt: skip
"""Unusual values, valid and invalid."""
STARTS = {
    "predict": [
        {"text": "a", "k": 3}, {"rows": [{"features": {"a": 1}}], "labels": ["x", "y"]},
        {"features": {"indices": [0, 7], "values": [1, 2]}, "above": 0.2},
        {"features": [[0, 1], [7, 2]], "min_seq": 0},
    ],
    "learn": [
        {"text": "a b", "label": "x"}, {"examples": [{"features": {"a": 1}, "labels": ["x"]}]},
        {"features": {"indices": [3], "values": [1]}, "label": 7, "weight": 2},
        {"examples": [{"features": {"a": 1}, "labels": ["x", "y"]}, {"text": "a", "labels": []}]},
    ],
    "explain": [{"text": "a", "label": "x", "n_features": 3}, {"features": {"a": 1}}],
    "rows": [{"rows": [{"text": "a"}, {"features": {"a": 1}}], "labels": ["x"], "k": 1}],
    "complete": [{"source": "import os\nos.pa", "k": 3}],
    "infer": [{"inputs": [{"name": "t", "shape": [1], "datatype": "BYTES", "data": ["a"]}]}],
    "trim": [{"upto": 1}],
}  # fmt: skip
N_BODIES = 10_000 if PROFILE == "thorough" else 600


def changed(body, rng):
    """Return a body with some parts replaced by unusual values."""
    body = copy.deepcopy(body)
    for _ in range(rng.randrange(1, 3)):
        place, here = body, rng.random()
        while isinstance(place, (dict, list)) and place:
            key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
            if rng.random() < 0.5 or not isinstance(place[key], (dict, list)):
                break
            place = place[key]
        if not isinstance(place, (dict, list)) or not place:
            continue
        odd = copy.deepcopy(rng.choice(ODD))
        if isinstance(place, dict) and here < 0.2:
            place[rng.choice(["text", "features", "label", "labels", "k", "x"])] = odd
        elif here < 0.3:
            del place[key]
        else:
            place[key] = odd
    return body


def raw(body, rng):
    """Return a body as bytes, sometimes with a byte changed."""
    sent = json.dumps(body).encode()
    if rng.random() < 0.1:
        at = rng.randrange(len(sent) + 1)
        sent = sent[:at] + bytes([rng.randrange(256)]) + sent[at + 1 :]
    return sent


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    folder = ModelFolder(tmp_path_factory.mktemp("fuzzed") / "folder")
    for name in ("text", "features", "python"):
        folder.add(name, new_model(NewModel(name)))
    folder.add("several", new_model(NewModel("features", method="multilabel")))
    with serving(folder, model_limits=ModelLimits(labels=200), reach_seconds=0.001) as (url, _):
        yield url.removeprefix("http://")


def test_no_random_body_makes_the_server_fail(where):
    rng = random.Random(0)
    posts = [each for each in OPERATIONS if each.name in STARTS]
    connection = http.client.HTTPConnection(where)
    statuses = {}
    for _ in range(N_BODIES):
        operation = rng.choice(posts)
        body = raw(changed(rng.choice(STARTS[operation.name]), rng), rng)
        path = operation.path.replace(
            "{model}", rng.choice(["text", "features", "python", "several"])
        )
        connection.request("POST", path, body)
        answer = connection.getresponse()
        content = answer.read()
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
        assert answer.status < 500 or answer.status == 507, (path, body, content)
        assert isinstance(json.loads(content), dict)
    connection.close()
    assert statuses[200] > 0
    assert statuses[422] > 0


def test_no_random_address_makes_the_server_fail(where):
    rng = random.Random(1)
    parts = [
        "v1",
        "models",
        "text",
        "tree",
        "labels",
        "quality",
        "%00",
        "%ff",
        "..",
        "a b",
        "snapshot",
    ]
    connection = http.client.HTTPConnection(where)
    for _ in range(N_BODIES // 4):
        path = "/" + "/".join(rng.choices(parts, k=rng.randrange(6)))
        values = ["1", "-1", "x", "", "9" * 30, "%F0%9F", "1e3"]
        names = ["node", "levels", "label", "most", "containing"]
        query = "&".join(f"{rng.choice(names)}={rng.choice(values)}" for _ in range(2))
        connection.request("GET", f"{path}?{query}".replace(" ", "%20"))
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 500, (path, query, content)
    connection.close()
