"""Replicas predict like the newest snapshot, and do not learn."""

from __future__ import annotations

import os
import time

import pytest
from tests.serve.conftest import FRUIT
from tests.serve.process import Process

from labeltrees.cli.commands.serve import serve
from labeltrees.client import Client, ServerProblem
from labeltrees.errors import ArgumentError
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.wire import NewModel


def prediction_when_learned(url, min_seq):
    """Return the prediction of a replica, after waiting until it has learned min_seq examples."""
    for _ in range(200):
        try:
            with Client(url) as client:  # a new connection, perhaps to another replica
                return client.model("m").predict([{"features": {"red": 1}}], k=3, min_seq=min_seq)
        except (ServerProblem, OSError) as problem:
            last = problem
            time.sleep(0.05)
    raise AssertionError(last)


def test_replicas_predict_after_updates_and_do_not_learn(tmp_path):
    folder = ModelFolder(tmp_path / "served")
    folder.add("m", new_model(NewModel("features")))
    folder.close()
    with Process(folder.path, "--replicas", 2, "--snapshot-seconds", 0.2) as process:
        replica = next(line for line in process.output if " replicas at " in line)
        url = replica.split(" at ")[1].split(" ")[0]
        with Client(process.url) as client:
            examples = [{"features": dict.fromkeys(e["text"].split(), 1), "label": e["label"]}
                        for e in FRUIT]  # fmt: skip
            for _ in range(3):
                seq = client.model("m").learn(examples).seq
                found = prediction_when_learned(url, seq)
                own = client.model("m").predict([{"features": {"red": 1}}], k=3)
                assert found.rows == own.rows
        with Client(url) as client, pytest.raises(ServerProblem, match="replica") as raised:
            client.model("m").learn(examples)
        assert raised.value.status == 409
        with Client(url) as client, pytest.raises(ServerProblem) as raised:
            client.model("m").predict([{"features": {"red": 1}}], min_seq=10**6)
        assert raised.value.status == 412
    for _ in range(100):  # the server was killed, so its replicas end
        try:
            with Client(url) as client:
                client.is_ready()
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("replicas run after their server has ended")


def test_a_system_without_fork_refuses_replicas(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(ArgumentError, match="--replicas must be 0 on this system, got 2"):
        serve(tmp_path / "served", replicas=2)
    assert not (tmp_path / "served").exists()
