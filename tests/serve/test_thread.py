"""The thread that learns continues after cancelled requests, and reports its own failures."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import msgspec
import pytest

from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.log import FIRST_LINK
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.learning.thread import LearningThread, PendingRequest
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Example, NewModel


@pytest.fixture
def folder(tmp_path):
    made = ModelFolder(tmp_path / "served")
    made.add("m", new_model(NewModel("features")))
    yield made
    made.close()


def request(folder, label):
    served = folder.models["m"]
    examples = [Example(features={"w": 1.0}, label=label)]
    return PendingRequest(
        served, served.checked(examples), [msgspec.json.encode(each) for each in examples]
    )


def kept(folder):
    return [
        msgspec.json.decode(each.example)["label"]
        for each in folder.log.examples(folder.ids["m"], after=0, link=FIRST_LINK)
    ]


def held_up(thread):
    """Block the thread until the returned event is set."""
    event = threading.Event()
    thread.run(event.wait)
    return event


def test_a_cancelled_request_is_dropped_and_others_are_learned(folder):
    thread = LearningThread(folder)
    go_on = held_up(thread)
    cancelled = thread.put(request(folder, "cancelled"))
    job = thread.run(lambda: "never done")
    other = thread.put(request(folder, "other"))
    assert cancelled.cancel()
    assert job.cancel()
    go_on.set()
    assert other.result(10).seq == 1
    assert thread.put(request(folder, "later")).result(10).seq == 2
    with pytest.raises(CancelledError):
        cancelled.result(0)
    thread.stop()
    assert kept(folder) == ["other", "later"]


def test_a_committed_request_cannot_be_cancelled(folder):
    waiting = request(folder, "a")
    tried = []

    def note(event, **facts):
        if event in ("committed", "learned"):
            tried.append(waiting.future.cancel())

    thread = LearningThread(folder, note=note)
    assert thread.put(waiting).result(10).seq == 1
    thread.stop()
    assert tried == [False, False]
    assert kept(folder) == ["a"]


def test_a_failed_thread_reports_its_error_and_refuses_requests(folder):
    reported = {}

    def note(event, **facts):
        if event == "learning_thread_failed":
            reported.update(facts)
        else:
            raise RuntimeError("the note failed")

    thread = LearningThread(folder, note=note)
    go_on = held_up(thread)
    thread.put(request(folder, "noted badly"))
    job = thread.run(lambda: None)  # ends the group, so the next request still waits
    waits = thread.put(request(folder, "waits"))
    go_on.set()
    with pytest.raises(Problem, match="the note failed"):
        waits.result(10)
    assert not job.done()
    assert "the note failed" in thread.trouble
    assert "note(event" in reported["error"] or "in note" in reported["error"]
    with pytest.raises(Problem, match="Restart the server") as refused:
        thread.put(request(folder, "comes after"))
    assert refused.value.status == 503
    assert "comes after" not in kept(folder)
