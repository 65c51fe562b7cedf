"""Rows of one text that rate one label each become one row with all its labels."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.readers import profile_file, read_csv, read_svmlight
from labeltrees.data.same_rows import Ratings, join_same_rows


def table(rows):
    lines = [f"what {text} is it,{label},{grade}" for text, label, grade in rows]
    return io.BytesIO("\n".join(["query,product,relevance", *lines, ""]).encode())


RATED = [(t, label, 1 + (t + at) % 5) for t in range(10) for at, label in enumerate("abc")]


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.integers(0, 5)),
        min_size=1, max_size=20,
    ),
    st.integers(1, 20),
)  # fmt: skip
def test_joined_rows_hold_what_the_rows_held(rows, chunk_rows):
    found = join_same_rows(read_csv(table(rows), chunk_rows=chunk_rows))
    expected: dict[str, dict[str, list[int]]] = {}
    for text, label, grade in rows:
        expected.setdefault(f"what {text} is it", {}).setdefault(label, []).append(grade)
    assert found.texts == list(expected)
    for at, own in enumerate(expected.values()):
        piece = slice(found.label_starts[at], found.label_starts[at + 1])
        means = [np.mean(grades) for grades in own.values()]
        assert found.labels[piece].tolist() == list(own)
        assert found.relevance[piece] == pytest.approx(means, rel=1e-6)


def test_rows_of_features_are_joined_by_their_features():
    rows = b"3 0:1 2:5\n4 1:1\n5 2:5 0:1\n3 1:1 0:0\n"
    found = join_same_rows(read_svmlight(io.BytesIO(rows)))
    assert found.labels.tolist() == [3, 5, 4, 3]
    assert found.label_starts.tolist() == [0, 2, 4]
    assert found.relevance is None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (RATED, True),
        (RATED[:15], False),  # too few to tell
        ([(t, "a", 1) for t, _, _ in RATED], False),  # the same again and again
        ([(at, label, grade) for at, (_, label, grade) in enumerate(RATED)], False),
    ],
)
def test_ratings_are_noticed_where_it_is_sure(rows, expected):
    profile = profile_file(table(rows))
    assert profile.ratings is expected
    assert any("--join-rows" in note for note in profile.notes) is expected


def test_rows_with_one_ungraded_label_are_no_ratings():
    ratings = Ratings()
    for chunk in read_svmlight(io.BytesIO(b"1 0:1\n2 0:1\n" * 20)):
        ratings.add(chunk)
    assert not ratings.found
