"""Reading ahead: the same items, the same exceptions, no thread left behind."""

import os
import threading

import pytest

from labeltrees.data.ahead import read_ahead
from labeltrees.errors import ArgumentError


def threads():
    return [t for t in threading.enumerate() if t.name == "labeltrees-read-ahead"]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 50])
def test_the_items_come_in_their_order(n):
    assert list(read_ahead(iter(range(n)))) == list(range(n))
    assert not threads()


def test_an_exception_comes_where_its_item_would_have():
    def items():
        yield 1
        yield 2
        raise ValueError("line 3 is bad")

    ahead = read_ahead(items())
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="line 3 is bad"):
        next(ahead)
    assert not threads()


def test_leaving_early_ends_the_thread():
    made = []

    def items():
        for i in range(1000):
            made.append(i)
            yield i

    ahead = read_ahead(items(), n_ahead=2)
    assert next(ahead) == 0
    ahead.close()
    assert not threads()
    assert len(made) <= 6


@pytest.mark.parametrize("n_ahead", [0, -1, 1.0])
def test_nothing_ahead_is_refused(n_ahead):
    with pytest.raises(ArgumentError, match="n_ahead must be an integer >= 1"):
        next(read_ahead(range(3), n_ahead))


def test_an_item_is_made_while_another_is_used():
    started = threading.Event()

    def items():
        yield "first"
        started.set()
        yield "second"

    ahead = read_ahead(items())
    assert next(ahead) == "first"
    assert started.wait(5)  # nobody has asked for the second
    assert list(ahead) == ["second"]


def test_the_caller_is_woken_while_nothing_comes():
    go = threading.Event()

    def items():
        yield "first"
        go.wait(5)
        yield "second"

    ahead = read_ahead(items(), tick=0.01)
    assert next(ahead) == "first"
    assert next(ahead) is None
    go.set()
    assert [item for item in ahead if item is not None] == ["second"]


def test_a_reader_that_waits_for_a_silent_pipe_is_left_alone():
    reading, writing = os.pipe()
    ahead = read_ahead((os.read(reading, 1) for _ in range(2)), tick=0.01)
    assert next(ahead) is None
    ahead.close()
    (waiting,) = threads()
    assert waiting.daemon
    os.close(writing)
    waiting.join(5)
    assert not threads()
    os.close(reading)
