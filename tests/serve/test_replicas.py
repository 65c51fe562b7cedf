"""Replicas answer as the newest snapshot does, share its memory, and do not learn."""

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


def answer_when_learned(url, min_seq):
    """Return the answer of a replica that has learned so much, waiting for its snapshot."""
    for _ in range(200):
        try:
            with Client(url) as client:  # a connection of its own: perhaps to another replica
                return client.model("m").predict([{"features": {"red": 1}}], k=3, min_seq=min_seq)
        except (ServerProblem, OSError) as problem:
            last = problem
            time.sleep(0.05)
    raise AssertionError(last)


def test_replicas_answer_what_was_taught_and_do_not_learn(tmp_path):
    folder = ModelFolder(tmp_path / "served")
    folder.add("m", new_model(NewModel("features")))
    folder.close()
    with Process(folder.path, "--replicas", 2, "--snapshot-seconds", 0.2) as process:
        replica = next(line for line in process.said if "replicas answer at" in line)
        url = replica.split(" at ")[1].split(",")[0]
        with Client(process.url) as client:
            examples = [{"features": dict.fromkeys(e["text"].split(), 1), "label": e["label"]}
                        for e in FRUIT]  # fmt: skip
            for _ in range(3):
                seq = client.model("m").learn(examples).seq
                answer = answer_when_learned(url, seq)
                own = client.model("m").predict([{"features": {"red": 1}}], k=3)
                assert answer.rows == own.rows
        with Client(url) as client, pytest.raises(ServerProblem, match="replica") as raised:
            client.model("m").learn(examples)
        assert raised.value.status == 409
        with Client(url) as client, pytest.raises(ServerProblem) as raised:
            client.model("m").predict([{"features": {"red": 1}}], min_seq=10**6)
        assert raised.value.status == 412
    for _ in range(100):  # the server was killed: nobody answers any more
        try:
            with Client(url) as client:
                client.is_ready()
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("replicas outlive their server")


def test_a_system_without_fork_refuses_replicas(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(ArgumentError, match="--replicas must be 0 on this system, got 2"):
        serve(tmp_path / "served", replicas=2)
    assert not (tmp_path / "served").exists()
