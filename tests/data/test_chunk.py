"""Chunks: their first rows, and one label per row by three rules, at any size of chunk."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.chunk import Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers import read_svmlight, read_vw
from labeltrees.data.rows import Rows
from labeltrees.errors import ArgumentError

TEXT = b"4,1 0:1\n\n 1:1\n2 2:1\n5,6,7 0:2 1:3\n"


def read(text=TEXT, chunk_rows=10**6):
    return list(read_svmlight(io.BytesIO(text), n_features=3, chunk_rows=chunk_rows))


def test_a_chunk_knows_its_rows_and_lines():
    (chunk,) = read(b"\n\n" + TEXT)
    assert chunk.n_rows == 4
    assert chunk.first_line == 3
    assert chunk.lines.tolist() == [3, 5, 6, 7]


def test_features_are_the_rows_as_a_canonical_csr_array_made_once():
    (chunk,) = read()
    assert chunk.features.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 3, 0]]
    assert chunk.features is chunk.features
    assert chunk.features.has_canonical_format
    assert np.shares_memory(chunk.features.indices, chunk.rows.indices)
    assert np.shares_memory(chunk.features.data, chunk.rows.values)


@pytest.mark.parametrize("n_rows", range(5))
def test_the_head_of_a_chunk_is_the_chunk_of_its_first_lines(n_rows):
    weighed = b"\n".join(b"%d,%d %d |a:%d b" % (i, i + 1, i + 1, i) for i in range(4))
    (chunk,) = read_vw(io.BytesIO(b"\n" + weighed))
    head = chunk.head(n_rows)
    assert head.n_rows == n_rows
    assert head.first_line == 2
    assert head.features.shape == (n_rows, chunk.features.shape[1])
    assert (head.features != chunk.features[:n_rows]).nnz == 0
    assert head.labels.tolist() == chunk.labels[: 2 * n_rows].tolist()
    assert head.label_starts.tolist() == list(range(0, 2 * n_rows + 1, 2))
    assert head.weights.tolist() == list(range(1, n_rows + 1))
    assert head.lines.tolist() == list(range(2, n_rows + 2))
    assert head.one_label("draw", 5)[1].tolist() == chunk.one_label("draw", 5)[1].tolist()[:n_rows]


@pytest.mark.parametrize("n_rows", [-1, 5, 1.0, True])
def test_a_head_longer_than_the_chunk_is_refused(n_rows):
    (chunk,) = read()
    with pytest.raises(ArgumentError, match=r"n_rows must be an integer in \[0, 4\], got"):
        chunk.head(n_rows)


@pytest.mark.parametrize("how", ["each", "draw", "first"])
@pytest.mark.parametrize("text", [TEXT, b"1 0:1\n2 1:1\n", b" 0:1\n"])
def test_a_chunk_with_one_label_has_the_rows_of_one_label(how, text):
    (chunk,) = read(text)
    found = chunk.with_one_label(how, 7)
    rows, rest = found.rows, (found.labels, found.row_weights)
    features, *expected = chunk.one_label(how, 7)
    assert isinstance(rows, Rows)
    assert rows.shape == features.shape
    assert (rows.to_csr() != features).nnz == 0
    for found, wanted in zip(rest, expected, strict=True):
        assert found.tolist() == wanted.tolist()


def test_rows_with_one_label_each_are_not_copied():
    (chunk,) = read(b"1 0:1\n2 1:1\n")
    for how in ("each", "draw", "first"):
        assert chunk.with_one_label(how).rows is chunk.rows
        assert chunk.one_label(how)[0] is chunk.features


def test_each_repeats_a_row_for_every_label_and_shares_its_weight():
    (chunk,) = read()
    features, labels, weights = chunk.one_label("each")
    assert labels.tolist() == [4, 1, 2, 5, 6, 7]
    np.testing.assert_array_equal(weights, np.float32([0.5, 0.5, 1, 1 / 3, 1 / 3, 1 / 3]))
    expected = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [2, 3, 0], [2, 3, 0], [2, 3, 0]]
    assert features.toarray().tolist() == expected
    assert (features.dtype, features.indices.dtype) == (np.float32, np.int32)


def test_first_takes_the_label_named_first():
    (chunk,) = read()
    features, labels, weights = chunk.one_label("first")
    assert labels.tolist() == [4, 2, 5]
    assert weights.tolist() == [1, 1, 1]
    assert features.toarray().tolist() == [[1, 0, 0], [0, 0, 1], [2, 3, 0]]


def test_weights_of_the_file_are_kept():
    (chunk,) = read_vw(io.BytesIO(b"a,b 3 |x\n|x\nc 0.5 |x\n"), multilabel=True)
    assert chunk.one_label("each")[2].tolist() == [1.5, 1.5, 0.5]
    assert chunk.one_label("first")[2].tolist() == [3, 0.5]


@given(
    n_labels=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    seed=st.integers(-(2**70), 2**70),
    chunk_rows=st.integers(1, 7),
    blanks=st.integers(0, 3),
)
def test_a_draw_depends_on_seed_and_line_only(n_labels, seed, chunk_rows, blanks):
    rows = [",".join(str(10 * i + j) for j in range(n)) + " 1:1" for i, n in enumerate(n_labels)]
    text = ("\n" * (blanks + 1)).join(rows).encode()
    (whole,) = read(text)
    parts = [chunk.one_label("draw", seed)[1] for chunk in read(text, chunk_rows)]
    drawn = whole.one_label("draw", seed)[1]
    assert drawn.tolist() == np.concatenate(parts).tolist()
    assert [label // 10 for label in drawn] == [i for i, n in enumerate(n_labels) if n]
    assert all(label % 10 < n for label, n in zip(drawn, filter(None, n_labels), strict=True))


def test_draws_are_uniform_and_differ_between_seeds():
    (chunk,) = read(b"0,1,2 1:1\n" * 30_000)
    first, second = (chunk.one_label("draw", seed)[1] for seed in (0, 1))
    # 5 standard deviations of a count of 30,000 draws with probability 1/3
    assert np.abs(np.bincount(first) - 10_000).max() < 5 * np.sqrt(30_000 * 2 / 9)
    assert abs(np.mean(first == second) - 1 / 3) < 5 * np.sqrt(2 / 9 / 30_000)


def test_without_lines_rows_are_consecutive():
    (chunk,) = read(b"1,2,3 1:1\n" * 50)
    bare = Chunk(chunk.rows, RaggedLabels(chunk.labels, chunk.label_starts), None, chunk.first_line)
    assert bare.one_label("draw", 3)[1].tolist() == chunk.one_label("draw", 3)[1].tolist()


def test_rows_without_any_label_leave_nothing():
    (chunk,) = read(b" 1:1\n 2:1\n")
    for how in ("each", "draw", "first"):
        features, labels, weights = chunk.one_label(how)
        assert (features.shape, len(labels), len(weights)) == ((0, 3), 0, 0)


def test_an_unknown_rule_is_refused():
    (chunk,) = read()
    with pytest.raises(ArgumentError, match="how must be 'each', 'draw' or 'first', got 'all'"):
        chunk.one_label("all")


def graded_texts():
    rows = Rows(
        np.array([0, 1, 1, 3]), np.array([0, 0, 2], np.int32), np.array([1, 2, 3], np.float32), 3
    )
    return Chunk(
        rows,
        RaggedLabels(
            np.array(["a", "b", "c", "a"], np.object_),
            np.array([0, 2, 2, 4]),
            np.array([3, 1, 0.5, 2], np.float32),
        ),
        np.array([1, 2, 3], np.float32),
        5,
        np.array([5, 7, 9]),
        ["one", "two", "three"],
    )


def test_heads_carry_relevance_and_texts():
    head = graded_texts().head(2)
    assert head.relevance.tolist() == [3, 1]
    assert head.texts == ["one", "two"]
    assert head.n_unlabelled == 1


@pytest.mark.parametrize("rows", [[], [2, 0], [1, 1, 2], [0, 1, 2]])
def test_taken_rows_carry_everything(rows):
    chunk = graded_texts()
    taken = chunk.take(np.array(rows, np.int64))
    starts = chunk.label_starts
    entries = [e for row in rows for e in range(starts[row], starts[row + 1])]
    assert taken.labels.tolist() == [chunk.labels[e] for e in entries]
    assert taken.relevance.tolist() == [chunk.relevance[e] for e in entries]
    assert taken.texts == [chunk.texts[row] for row in rows]
    assert taken.weights.tolist() == [row + 1 for row in rows]
    assert taken.lines.tolist() == [5 + 2 * row for row in rows]
    assert np.diff(taken.label_starts).tolist() == [[2, 0, 2][row] for row in rows]
    assert np.array_equal(taken.features.toarray(), chunk.features.toarray()[rows])


def test_a_bare_chunk_can_be_taken_from():
    chunk = graded_texts()
    labels = RaggedLabels(chunk.labels, chunk.label_starts)
    bare = Chunk(chunk.rows, labels, None, 5).take(np.array([2, 1]))
    assert (bare.weights, bare.relevance, bare.texts) == (None, None, None)
    assert bare.lines.tolist() == [7, 6]
