"""Folders: damage is detected, older snapshots are used, and logs are replayed."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest

from labeltrees import load_model, store
from labeltrees.cli import main
from labeltrees.errors import ArgumentError
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.log import FIRST_LINK, NewExamples, link_after
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.learning.thread import LearningThread, PendingRequest
from labeltrees.serve.problems import DamagedLogError, ServeError
from labeltrees.serve.wire import Example, NewModel


def learn(thread, n, first=0):
    served = thread.folder.models["m"]
    for i in range(first, first + n):
        examples = [Example(features={f"w{i % 7}": 1.0, f"own{i}": 1.0}, label=f"l{i % 5}")]
        kept = [msgspec.json.encode(each) for each in examples]
        thread.put(PendingRequest(served, served.checked(examples), kept)).result(10)


@pytest.fixture
def path(tmp_path):
    """A folder with 30 examples: snapshots after 10 and 20, and ten more in the log alone."""
    folder = ModelFolder(tmp_path / "served")
    folder.add("m", new_model(NewModel("features")))
    thread = LearningThread(folder)
    for first in (0, 10):
        learn(thread, 10, first)
        thread.snapshot("m").result(10)
    learn(thread, 10, 20)
    found = tmp_path / "checksums.json"
    found.write_text(json.dumps(folder.models["m"].model.stored().checksums()))
    folder.close()  # without stop(), as if the process were killed
    return folder.path


def checksums(folder):
    return folder.models["m"].model.stored().checksums()


def test_recovery_restores_the_same_model(path):
    folder = ModelFolder(path)
    assert folder.models["m"].seq == 30
    assert checksums(folder) == json.loads((path.parent / "checksums.json").read_text())
    assert folder.models["m"].quality.summary()["all"]["n_rows"] == 30
    folder.close()


def test_a_damaged_snapshot_is_replaced_by_the_previous_one(path):
    newest = ModelFolder(path)
    file = newest.snapshots("m").path(20)
    newest.close()
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    messages = []
    folder = ModelFolder(path, report=messages.append)
    assert "damaged" in messages[0]
    assert folder.models["m"].seq == 30
    assert checksums(folder) == json.loads((path.parent / "checksums.json").read_text())
    folder.close()


def test_a_model_without_a_complete_snapshot_is_an_error(path):
    for file in (path / "models" / "m").iterdir():
        file.write_bytes(b"gone")
    with pytest.raises(ServeError, match="no complete snapshot"):
        ModelFolder(path)


DAMAGE = {
    "changed": "UPDATE examples SET example = '{}' WHERE seq = 25",
    "missing": "DELETE FROM examples WHERE seq = 25",
    "swapped": "UPDATE examples SET seq = 1000 + 51 - seq WHERE seq IN (25, 26)",
    "cut off": "DELETE FROM examples WHERE seq > 15",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_log_is_refused_with_a_clear_error(path, damage):
    with sqlite3.connect(path / "log.sqlite") as connection:
        connection.execute(DAMAGE[damage])
    connection.close()
    with pytest.raises(DamagedLogError, match=r"is damaged|do not fit"):
        ModelFolder(path)


def open_files():
    """Return the paths of open files, an empty list where /proc does not exist."""
    found = []
    for each in Path("/proc/self/fd").glob("*"):
        with suppress(FileNotFoundError):  # the handle of the folder itself
            found.append(os.readlink(each))
    return found


@pytest.mark.parametrize("damage", ["missing", "no database"])
def test_a_refused_folder_is_released(path, damage):
    if damage == "missing":
        with closing(sqlite3.connect(path / "log.sqlite")) as connection, connection:
            connection.execute(DAMAGE[damage])
    else:
        no_database(path)
    with pytest.raises(DamagedLogError) as caught:  # keeps the frames alive
        ModelFolder(path)
    assert [each for each in open_files() if str(path) in each] == []
    assert caught.traceback


def no_database(path):
    for name in ("log.sqlite-wal", "log.sqlite-shm"):
        (path / name).unlink(missing_ok=True)
    (path / "log.sqlite").write_bytes(b"not a database despite its name" * 100)


def test_a_log_that_is_not_a_database_is_refused(path):
    no_database(path)
    with pytest.raises(DamagedLogError, match="damaged"):
        ModelFolder(path)


def test_without_its_log_a_model_continues_from_the_snapshot(path):
    for file in path.glob("log.sqlite*"):
        file.unlink()
    folder = ModelFolder(path)
    assert folder.models["m"].seq == 20
    thread = LearningThread(folder)
    learn(thread, 1)
    thread.stop()
    folder.close()
    again = ModelFolder(path)
    assert again.models["m"].seq == 21
    again.close()


def test_a_second_server_cannot_open_the_folder(path):
    folder = ModelFolder(path)
    with pytest.raises(ServeError, match="another process"):
        ModelFolder(path)
    folder.close()
    ModelFolder(path).close()


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a" * 65, "ä"])
def test_a_name_that_is_not_a_file_name_is_refused(tmp_path, name):
    folder = ModelFolder(tmp_path / "served")
    with pytest.raises(ArgumentError, match="the name of a model"):
        folder.add(name, new_model(NewModel("features")))
    folder.close()


def test_replay_of_the_log_gives_the_same_model(path, tmp_path, capsys):
    out = tmp_path / "again.safetensors"
    assert main(["replay", str(path), "m", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 30
    assert store.read(out).checksums() == json.loads((path.parent / "checksums.json").read_text())


def test_replay_learns_with_other_settings(path, tmp_path, capsys):
    out = tmp_path / "other.safetensors"
    options = ["--set", "learning_rate=0.5", "--set", "refine=0"]
    assert main(["replay", str(path), "m", "--out", str(out), *options]) == 0
    model = load_model(out)
    assert model.settings.learning_rate == 0.5
    assert len(model.vocabulary) == 5
    assert main(["replay", str(path), "m", "--out", str(out), "--set", "alpha=7"]) == 2
    assert main(["replay", str(path), "other", "--out", str(out)]) == 2
    capsys.readouterr()


def test_the_exported_log_is_read_by_stream(path, tmp_path, capsys):
    lines, out = tmp_path / "log.jsonl", tmp_path / "streamed"
    assert main(["replay", str(path), "m", "--export", str(lines)]) == 0
    assert len(lines.read_text().splitlines()) == 30
    assert main(["stream", str(lines), "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert set(load_model(out).vocabulary.labels) == {f"l{i}" for i in range(5)}


OLD_EXAMPLES = [
    b'{"features":{"a":1.0,"b":2.5},"label":"x"}',
    b'{"features":{"indices":[1.0,5.0],"values":[1.0,2.0]},"labels":["x","y"],"weight":0.5}',
    b'{"features":[[3.0,1.0]],"label":"z"}',
]
"""Examples as version 0.2 wrote them to its log."""


def test_the_log_of_an_older_server_is_learned(tmp_path):
    folder = ModelFolder(tmp_path / "served")
    folder.add("m", new_model(NewModel("features")))
    links = []
    for example in OLD_EXAMPLES:
        links.append(link_after(links[-1] if links else FIRST_LINK, example))
    folder.log.append([NewExamples(folder.ids["m"], 1, links, OLD_EXAMPLES)])
    folder.close()
    again = ModelFolder(tmp_path / "served")
    assert again.models["m"].seq == 3
    assert again.models["m"].model.vocabulary.labels.tolist() == ["x", "y", "z"]
    again.close()


def test_trimming_keeps_the_examples_that_recovery_needs(path):
    folder = ModelFolder(path)
    model = folder.ids["m"]
    assert folder.log.trim(model, 10) == 10
    assert folder.log.trimmed(model)[0] == 10
    folder.close()
    again = ModelFolder(path)
    assert checksums(again) == json.loads((path.parent / "checksums.json").read_text())
    again.close()
