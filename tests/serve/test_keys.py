"""Keys give rights, and clients that guess keys have to wait."""

from __future__ import annotations

import http.client
import json

import pytest
from tests.serve.conftest import serving

from labeltrees.cli import main
from labeltrees.client import Client, ServerProblem
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.web.access import RIGHTS, Keys
from labeltrees.serve.web.app import OPERATIONS
from labeltrees.serve.wire import NewModel


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """The address of a server with keys, and a key of each right."""
    folder = ModelFolder(tmp_path_factory.mktemp("guarded"))
    folder.add("m", new_model(NewModel("features")))
    secrets = {right: Keys(folder.path).add(right, right) for right in RIGHTS}
    with serving(folder) as (url, server):
        yield url, secrets, server


def status(url, operation, key):
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    path = operation.path.replace("{model}", "absent")
    body = json.dumps(operation.example or {}) if operation.method != "GET" else None
    connection.request(operation.method, path, body, headers)
    found = connection.getresponse().status
    connection.close()
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_each_operation_needs_its_right_or_a_higher_one(guarded, operation):
    url, secrets, server = guarded
    server.keys._failures.clear()
    needed = -1 if operation.right is None else RIGHTS.index(operation.right)
    assert (status(url, operation, None) == 401) == (needed >= 0)
    for place, right in enumerate(RIGHTS):
        found = status(url, operation, secrets[right])
        assert (found == 403) == (place < needed)
        assert found != 401


def test_an_address_that_sends_wrong_keys_has_to_wait(guarded):
    url, secrets, server = guarded
    server.keys._failures.clear()
    with Client(url, key="lt_wrong") as client:
        for _ in range(10):
            with pytest.raises(ServerProblem) as raised:
                client.models()
            assert raised.value.status == 401
        with pytest.raises(ServerProblem) as raised:
            client.models()
        assert raised.value.status == 429
        assert raised.value.retry_after > 0
    server.keys._failures.clear()
    with Client(url, key=secrets["read"]) as client:
        assert [each["name"] for each in client.models()] == ["m"]


def test_keys_are_stored_as_hashes_in_a_private_file(tmp_path, capsys):
    assert main(["keys", str(tmp_path), "--add", "page", "--right", "learn"]) == 0
    secret = capsys.readouterr().out.strip()
    stored = tmp_path / "keys.json"
    assert secret.removeprefix("lt_") not in stored.read_text()
    assert stored.stat().st_mode & 0o077 == 0
    assert main(["keys", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"keys": [{"name": "page", "right": "learn"}]}
    assert main(["keys", str(tmp_path), "--add", "page"]) == 2
    assert main(["keys", str(tmp_path), "--add", "other", "--right", "all"]) == 2
    assert main(["keys", str(tmp_path), "--remove", "page"]) == 0
    assert main(["keys", str(tmp_path), "--remove", "page"]) == 2
    capsys.readouterr()


def test_a_public_address_without_keys_is_refused(tmp_path, capsys):
    assert main(["serve", str(tmp_path / "new"), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "there are no keys" in capsys.readouterr().err


def test_without_keys_other_sites_and_host_names_are_refused(served):
    where = served[0].removeprefix("http://")
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        connection = http.client.HTTPConnection(where)
        connection.request("GET", "/v1/models", headers=headers)
        assert connection.getresponse().status == 403
        connection.close()
    connection = http.client.HTTPConnection(where)
    connection.request("GET", "/v1/models", headers={"Origin": served[0]})
    assert connection.getresponse().status == 200
    connection.close()
