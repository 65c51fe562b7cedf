"""Labels with a relevance or a probability, in every format that has them."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.readers import open_reader, profile_file, read_jsonl, read_npz, read_xc
from labeltrees.data.shuffle import joined
from labeltrees.errors import DataFileError


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return io.BytesIO(file.getvalue())


def jsonl(*labels):
    rows = ({**each, "features": {"indices": [0], "values": [1]}} for each in labels)
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


SAME = {
    "xc": lambda: b"2 1 8\n3:2.5,7:0.5 0:1\n7:4 0:1\n",
    "svmlight": lambda: b"3:2.5,7:0.5 0:1\n7:4 0:1 # a comment\n",
    "jsonl": lambda: jsonl(
        {"labels": [{"label": 3, "relevance": 2.5}, {"label": 7, "relevance": 0.5}]},
        {"labels": [{"label": 7, "relevance": 4}]},
    ).getvalue(),
    "npz": lambda: npz(
        X=np.ones((2, 1)), y=[[0, 0, 0, 2.5, 0, 0, 0, 0.5], [0, 0, 0, 0, 0, 0, 0, 4]]
    ).getvalue(),
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_grades_in_every_format(kind):
    for named in (None, kind):  # by content, and by name
        chunk = joined(list(open_reader(io.BytesIO(SAME[kind]()), format=named)))
        assert chunk.labels.tolist() == [3, 7, 7]
        assert chunk.label_starts.tolist() == [0, 2, 3]
        assert chunk.relevance.tolist() == [2.5, 0.5, 4.0]
        assert (chunk.rows.indices.tolist(), chunk.rows.values.tolist()) == ([0, 0], [1, 1])
        assert not chunk.is_distribution
    assert profile_file(io.BytesIO(SAME[kind]())).graded


def test_labels_of_a_map_or_a_struct_of_parquet_are_graded():
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    features = [{"indices": [0], "values": [1.0]}] * 2
    struct = [{"a": 0.25, "b": 0.75}, {"a": 1.0}]
    for key, value in (("labels", struct), ("label", struct)):
        file = io.BytesIO()
        parquet.write_table(pyarrow.table({key: value, "features": features}), file)
        (chunk,) = open_reader(io.BytesIO(file.getvalue()), format="parquet")
        assert chunk.labels.tolist() == ["a", "b", "a"]
        assert chunk.relevance.tolist() == [0.25, 0.75, 1.0]
        assert chunk.is_distribution is (key == "label")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (b"3:2.5 0:1\n4 0:1\n", ":2: the label '4' has no relevance >= 0"),
        (b"3:-1,4:2 0:1\n", ":1: the label '3:-1' has no relevance >= 0"),
        (b"0:1 2:3\n1:1 2:5\n", ":1: the first word '0:1' looks like a feature"),
        (b"4:1 0:1\n4 0:2:1 1:1\n", "the label '4' has no"),
    ],
)
def test_wrong_grades_of_svmlight_are_named_with_their_line(rows, message):
    with pytest.raises(DataFileError, match=message):
        list(open_reader(io.BytesIO(rows), format="svmlight"))


def test_rows_of_features_alone_are_not_taken_for_graded_labels():
    with pytest.raises(DataFileError, match="looks like a feature"):
        profile_file(io.BytesIO(b"0:1 2:3\n1:1 2:5\n0:4 1:2\n"), format="svmlight")


# Distributions


def test_an_object_under_label_is_a_distribution():
    source = jsonl({"label": {"a": 0.7, "b": 0.3, "c": 0}}, {"label": "b"}, {})
    (chunk,) = read_jsonl(source)
    assert chunk.is_distribution
    assert chunk.labels.tolist() == ["a", "b", "b"]
    assert chunk.relevance.tolist() == pytest.approx([0.7, 0.3, 1])
    assert chunk.label_starts.tolist() == [0, 2, 3, 3]
    source.seek(0)
    profile = profile_file(source)
    assert profile.distributions
    assert profile.graded


def test_an_array_of_distributions_is_one():
    file = npz(X=np.eye(2), distributions=[[0.25, 0.75], [1, 0]], label_names=["a", "b"])
    (chunk,) = read_npz(file)
    assert chunk.is_distribution
    assert chunk.labels.tolist() == ["a", "b", "a"]
    assert chunk.relevance.tolist() == [0.25, 0.75, 1.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"label": {"a": 0.7, "b": 0.2}}], "sum to 0.9, not to 1. Use 'labels' for relevances"),
        ([{"label": {}}], "sum to 0"),
        ([{"label": {"a": -0.5, "b": 1.5}}], "the relevance -0.5 of 'a' is not a number >= 0"),
        ([{"label": {"a": "x"}}], "expected a number, got 'x'"),
        ([{"label": {"a": 1}}, {"labels": ["a"]}], ":2: the row has 'labels', but a row before"),
        ([{"labels": [{"label": 3}]}], "must have 'label' and 'relevance'"),
        ([{"labels": [{"label": [3], "relevance": 1}]}], "a label must be a string or an integer"),
        ([{"labels": [["a"]]}], "a label must be a string or an integer"),
    ],
)
def test_wrong_distributions_are_named_with_their_line(rows, message):
    with pytest.raises(DataFileError, match=message):
        list(read_jsonl(jsonl(*rows)))


def test_an_array_of_distributions_that_are_none_is_refused():
    with pytest.raises(DataFileError, match=r"row 1 of distributions sums to 0.5, not to 1."):
        list(read_npz(npz(X=np.eye(2), distributions=[[0.5, 0.5], [0.5, 0]])))


# One label per row


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=6))
def test_each_label_has_the_share_of_its_relevance(grades):
    rows = "".join(
        ",".join(f"{label}:{grade}" for label, grade in enumerate(own)) + " 0:1\n" for own in grades
    )
    (chunk,) = read_xc(io.BytesIO(f"{len(grades)} 1 3\n{rows}".encode()))
    _, labels, weights = chunk.one_label("each")
    expected = [grade / max(sum(own), 1) for own in grades for grade in own]
    assert weights == pytest.approx(expected)
    assert labels.tolist() == [label for own in grades for label in range(len(own))]


def test_shares_do_not_depend_on_the_rows_before():
    (chunk,) = read_xc(io.BytesIO(b"2 1 3\n0:1e30 0:1\n1:1e-9,2:3e-9 0:1\n"))
    assert chunk.one_label("each")[2].tolist() == [1.0, 0.25, 0.75]


def test_a_draw_goes_by_relevance():
    rows = "2000 1 3\n" + "0:1,1:0,2:3 0:1\n" * 1999 + "0:0,1:0 0:1\n"
    chunk = joined(list(read_xc(io.BytesIO(rows.encode()))))
    _, labels, weights = chunk.one_label("draw", seed=3)
    assert np.mean(labels[:-1] == 2) == pytest.approx(0.75, abs=0.03)
    assert not (labels[:-1] == 1).any()
    assert weights.tolist() == [1.0] * 1999 + [0.0]  # nothing is relevant to the last row
