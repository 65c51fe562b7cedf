"""The shuffle buffer: the same rows, well mixed, at bounded memory."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from labeltrees.data.readers import read_svmlight, read_vw, read_xc
from labeltrees.data.shuffle import shuffled
from labeltrees.errors import ArgumentError


def sorted_file(n_labels, per_label):
    rows = [f"{label} {i % 7}:{i + 1}" for label in range(n_labels) for i in range(per_label)]
    return io.BytesIO("\n".join(rows).encode())


def contents(chunks):
    """Each row as (line, labels, features), in their order."""
    found = []
    for chunk in chunks:
        starts = chunk.label_starts
        for row, line in enumerate(chunk.lines.tolist()):
            own = tuple(chunk.labels[starts[row] : starts[row + 1]].tolist())
            x = chunk.features[[row]].tocoo()
            found.append((line, own, tuple(x.col.tolist()), tuple(x.data.tolist())))
    return found


@pytest.mark.parametrize("buffer_rows", [2, 3, 50, 99, 100, 1000])
@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_the_rows_are_the_same_ones(buffer_rows, chunk_rows):
    before = contents(read_svmlight(sorted_file(4, 25)))
    after = contents(
        shuffled(read_svmlight(sorted_file(4, 25), chunk_rows=chunk_rows), buffer_rows)
    )
    assert sorted(after) == before
    assert after != before


def test_rows_with_many_labels_or_none_keep_them():
    text = b"5 9 6\n1,2 0:1\n 1:2\n3 2:3\n4,5,0 3:4 4:5\n 8:1\n"
    before = contents(read_xc(io.BytesIO(text)))
    assert sorted(contents(shuffled(read_xc(io.BytesIO(text), chunk_rows=2), 4))) == before


def test_weights_stay_with_their_rows():
    text = b"\n".join(b"%d %d |f x%d" % (i, i + 1, i) for i in range(40))
    chunks = list(shuffled(read_vw(io.BytesIO(text), chunk_rows=9), 16))
    labels = np.concatenate([chunk.labels for chunk in chunks])
    weights = np.concatenate([chunk.weights for chunk in chunks])
    assert sorted(labels) == list(range(40))
    assert np.array_equal(weights, labels + 1)


def test_the_order_depends_on_rows_and_seed_only():
    one = contents(shuffled(read_svmlight(sorted_file(4, 25), chunk_rows=3), 20, seed=5))
    other = contents(shuffled(read_svmlight(sorted_file(4, 25), chunk_rows=64), 20, seed=5))
    assert one == other
    assert one != contents(shuffled(read_svmlight(sorted_file(4, 25)), 20, seed=6))


def test_sorted_labels_are_well_mixed():
    """With a buffer of ten runs, neighbours seldom have the same label."""
    labels = np.concatenate(
        [c.labels for c in shuffled(read_svmlight(sorted_file(100, 50), chunk_rows=64), 500)]
    )
    assert np.mean(labels[1:] == labels[:-1]) < 0.2  # in the file .98; a perfect mix of 10 has .1
    positions = np.argsort(labels, kind="stable").reshape(100, 50)
    spread = positions[20:80].std(axis=1)
    assert spread.min() > 100  # of rows that stood within 50
    everything = np.concatenate(
        [c.labels for c in shuffled(read_svmlight(sorted_file(100, 50)), 5000)]
    )
    assert np.mean(everything[1:] == everything[:-1]) < 0.03


def test_no_more_rows_are_held_than_the_buffer_has():
    read = 0

    def chunks():
        nonlocal read
        for chunk in read_svmlight(sorted_file(10, 100), chunk_rows=10):
            read += chunk.n_rows
            yield chunk

    given = 0
    for chunk in shuffled(chunks(), 100):
        assert read - given <= 100
        given += chunk.n_rows
    assert given == 1000


@pytest.mark.parametrize("buffer_rows", [1, 0, 2.0, "many"])
def test_a_buffer_holds_two_rows_at_least(buffer_rows):
    with pytest.raises(ArgumentError, match="buffer_rows must be an integer >= 2"):
        shuffled([], buffer_rows)


def test_relevance_and_texts_stay_with_their_rows():
    (chunk,) = read_xc(io.BytesIO(b"3 9 6\n1,2 0:1\n 1:2\n3 2:3\n"))
    labels = replace(chunk.targets, relevance=chunk.labels.astype(np.float32))
    graded = replace(chunk, targets=labels, texts=["one two", "", "three"])
    plain = replace(graded, targets=chunk.targets)
    (mixed,) = shuffled([graded, plain], 8, seed=1)
    assert sorted(mixed.texts) == ["", "", "one two", "one two", "three", "three"]
    assert sorted(mixed.relevance) == [1, 1, 1, 1, 2, 3]
    for row, text in enumerate(mixed.texts):
        own = mixed.labels[mixed.label_starts[row] : mixed.label_starts[row + 1]].tolist()
        assert own == {"one two": [1, 2], "": [], "three": [3]}[text]
