"""The thread that learns goes on, whatever becomes of those who asked."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import msgspec
import pytest

from labeltrees.serve.learning.folder import ModelFolder
from labeltrees.serve.learning.learner import Learner, Waiting
from labeltrees.serve.learning.log import FIRST_LINK
from labeltrees.serve.learning.new_models import new_model
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
    return Waiting(
        served, served.lesson(examples), [msgspec.json.encode(each) for each in examples]
    )


def kept(folder):
    return [
        msgspec.json.decode(each.example)["label"]
        for each in folder.log.examples(folder.ids["m"], after=0, link=FIRST_LINK)
    ]


def held_up(learner):
    """Keep the learner from its queue until the event that is returned is set."""
    event = threading.Event()
    learner.run(event.wait)
    return event


def test_a_request_given_up_while_it_waited_is_not_kept_and_others_are_learned(folder):
    learner = Learner(folder)
    go_on = held_up(learner)
    given_up = learner.put(request(folder, "given up"))
    job = learner.run(lambda: "never done")
    other = learner.put(request(folder, "other"))
    assert given_up.cancel()
    assert job.cancel()
    go_on.set()
    assert other.result(10).seq == 1
    assert learner.put(request(folder, "later")).result(10).seq == 2
    with pytest.raises(CancelledError):
        given_up.result(0)
    learner.stop()
    assert kept(folder) == ["other", "later"]


def test_a_request_is_answered_once_it_is_committed_even_if_somebody_tries_to_give_it_up(folder):
    waiting = request(folder, "a")
    tried = []

    def note(event, **facts):
        if event in ("committed", "learned"):
            tried.append(waiting.future.cancel())

    learner = Learner(folder, note=note)
    assert learner.put(waiting).result(10).seq == 1
    learner.stop()
    assert tried == [False, False]
    assert kept(folder) == ["a"]


def test_a_learner_that_fails_says_so_and_refuses_what_comes(folder):
    told = {}

    def note(event, **facts):
        if event == "learner_failed":
            told.update(facts)
        else:
            raise RuntimeError("no room to note it")

    learner = Learner(folder, note=note)
    go_on = held_up(learner)
    learner.put(request(folder, "noted badly"))
    job = learner.run(lambda: None)  # ends the group, so what follows still waits
    waits = learner.put(request(folder, "waits"))
    go_on.set()
    with pytest.raises(Problem, match="no room to note it"):
        waits.result(10)
    assert not job.done()
    assert "no room to note it" in learner.trouble
    assert "note(event" in told["error"] or "in note" in told["error"]
    with pytest.raises(Problem, match="Restart the server") as refused:
        learner.put(request(folder, "comes after"))
    assert refused.value.status == 503
    assert "comes after" not in kept(folder)
