"""A server in a thread of this process, with models of every kind of input."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from labeltrees.client import Client
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.server import LOCAL, Server, config_of
from labeltrees.serve.web.access import Keys
from labeltrees.serve.wire import NewModel

FRUIT = [
    {"text": "red and round", "label": "apple"},
    {"text": "yellow and long", "label": "banana"},
    {"text": "small, blue and round", "label": "plum"},
]


@contextmanager
def serving(folder, **options):
    """Yield the address of a server of this folder, and the server."""
    keys = Keys(folder.path)
    options = {"hosts": frozenset() if keys.keys else LOCAL} | options
    server = Server(folder, keys, **options)
    web = uvicorn.Server(config_of(server, host="127.0.0.1", port=0))
    thread = threading.Thread(target=web.run)
    thread.start()
    while not web.started:
        time.sleep(0.005)
    try:
        port = web.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", server
    finally:
        web.should_exit = True
        thread.join()
        server.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return the address of a server with a trained model, and the server."""
    folder = ModelFolder(tmp_path_factory.mktemp("served") / "folder")
    for name in ("text", "features", "python"):
        folder.add(name, new_model(NewModel(name)))
    with serving(folder) as found:
        with Client(found[0]) as client:
            client.model("text").learn(FRUIT * 10)
        yield found


@pytest.fixture
def client(served):
    with Client(served[0]) as made:
        yield made


@pytest.fixture
def text(client):
    return client.model("text")
