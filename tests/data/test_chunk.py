"""Chunk.one_label: one label per row, by three rules, whatever the sizes of the chunks."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.chunk import Chunk
from labeltrees.data.readers import read_svmlight, read_vw
from labeltrees.errors import ArgumentError

TEXT = b"4,1 0:1\n\n 1:1\n2 2:1\n5,6,7 0:2 1:3\n"


def read(text=TEXT, chunk_rows=10**6):
    return list(read_svmlight(io.BytesIO(text), n_features=3, chunk_rows=chunk_rows))


def test_a_chunk_knows_its_rows_and_lines():
    (chunk,) = read(b"\n\n" + TEXT)
    assert chunk.n_rows == 4
    assert chunk.first_line == 3
    assert chunk.lines.tolist() == [3, 5, 6, 7]


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
    bare = Chunk(chunk.features, chunk.labels, chunk.label_starts, None, chunk.first_line)
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
