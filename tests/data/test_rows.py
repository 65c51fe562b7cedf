"""as_rows: any matrix becomes the same checked sparse rows, or an error naming the row.

And what `Rows` can do: become a scipy array, give some of their rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from labeltrees.data.rows import Rows, as_rows, as_weights
from labeltrees.errors import ArgumentError, DataError

matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5, 1e-3]),
)


def dense(rows):
    out = np.zeros((rows.n_rows, rows.n_features), np.float32)
    for r in range(rows.n_rows):
        part = slice(rows.starts[r], rows.starts[r + 1])
        out[r, rows.indices[part]] += rows.values[part]
    return out


@given(matrices)
def test_every_container_gives_the_same_rows(X):
    expected = X.astype(np.float32)
    for made in (X, X.tolist(), sparse.csr_array(X), sparse.csc_matrix(X), sparse.coo_array(X)):
        rows = as_rows(made)
        assert np.array_equal(dense(rows), expected)
        assert rows.starts.dtype == np.int64
        assert rows.indices.dtype == np.int32


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0]))))
def test_unsorted_indices_and_duplicates_are_put_in_order(entries):
    entries.sort(key=lambda e: e[0])
    starts = np.searchsorted([e[0] for e in entries], np.arange(5))
    X = sparse.csr_array(
        (np.array([e[2] for e in entries], "f4"), np.array([e[1] for e in entries], "i8"), starts),
        shape=(4, 6),
    )
    rows = as_rows(X)
    assert np.array_equal(dense(rows), X.toarray())
    for r in range(4):
        assert np.all(np.diff(rows.indices[rows.starts[r] : rows.starts[r + 1]]) > 0)


@given(matrices)
def test_rows_become_the_scipy_array_they_were_made_of(X):
    rows = as_rows(X)
    matrix, expected = rows.to_csr(), sparse.csr_array(X.astype(np.float32))
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.shape == rows.shape == X.shape
    assert (matrix.indptr.dtype, matrix.indices.dtype) == (np.int32, np.int32)
    assert matrix.indptr.tolist() == expected.indptr.tolist()
    assert matrix.indices.tolist() == expected.indices.tolist()
    assert matrix.data.tolist() == expected.data.tolist()
    matrix.check_format(full_check=True)
    assert matrix.has_canonical_format
    assert np.shares_memory(matrix.data, rows.values) or not matrix.nnz


@given(matrices, st.data())
def test_taken_rows_are_those_of_scipy(X, data):
    rows = as_rows(X)
    numbers = st.integers(-len(X), len(X) - 1)
    chosen = np.array(data.draw(st.lists(numbers, max_size=12)), dtype=np.intp)
    for some in (chosen, np.isin(np.arange(len(X)), chosen)):
        taken = rows.take(some)
        expected = sparse.csr_array(X.astype(np.float32))[some]
        assert taken.shape == expected.shape
        assert taken.starts.tolist() == expected.indptr.tolist()
        assert taken.indices.tolist() == expected.indices.tolist()
        assert taken.values.tolist() == expected.data.tolist()
        assert [array.dtype for array in taken.arrays] == [np.int64, np.int32, np.float32]
    with pytest.raises(IndexError):
        rows.take(np.array([len(X)]))


@given(matrices, st.data())
def test_the_head_is_the_first_rows(X, data):
    n_rows = data.draw(st.integers(0, len(X)))
    head = as_rows(X).head(n_rows)
    assert head.shape == (n_rows, X.shape[1])
    assert np.array_equal(dense(head), X[:n_rows].astype(np.float32))


def test_a_dense_matrix_keeps_all_but_its_zeros():
    X = np.array([[-0.0, 1e-60, 0.0], [2.0, 0.0, -3.0]])  # 1e-60 is 0 in 32 bits, but was not 0
    for dtype in (np.float64, np.longdouble):
        for layout in (np.ascontiguousarray, np.asfortranarray):
            rows = as_rows(layout(X.astype(dtype)))
            assert rows.starts.tolist() == [0, 1, 3]
            assert rows.indices.tolist() == [1, 0, 2]
            assert rows.values.tolist() == [0.0, 2.0, -3.0]
    for dtype in (np.int8, np.uint64, bool, np.float16, object):
        assert as_rows(np.eye(3).astype(dtype)).values.tolist() == [1, 1, 1]


def test_missing_values_of_a_dense_matrix_are_kept_where_they_are_allowed():
    X = np.array([[0.0, np.nan], [1.0, 0.0]])
    rows = as_rows(X, missing=True)
    assert rows.starts.tolist() == [0, 2, 4]
    np.testing.assert_array_equal(rows.values, X.ravel().astype(np.float32))
    with pytest.raises(DataError, match="row 0 of X has inf or a number past float32: inf"):
        as_rows([[np.inf, np.nan]], missing=True)


def test_rows_are_returned_as_they_are_if_their_width_fits():
    rows = as_rows(np.eye(3))
    assert as_rows(rows) is rows
    assert as_rows(rows, n_features=3, missing=True) is rows
    with pytest.raises(DataError, match="X must have 4 features, got 3"):
        as_rows(rows, n_features=4)
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        as_rows(rows.head(0))
    with pytest.raises(DataError, match="at most 2147483647 features, got 2147483648"):
        as_rows(Rows(*rows.arrays, 2**31))


def test_a_matrix_that_is_right_already_is_not_copied():
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    rows = as_rows(X)
    assert np.shares_memory(rows.values, X.data)
    assert np.shares_memory(rows.indices, X.indices)


def test_the_users_matrix_is_left_as_it_was():
    X = sparse.csr_array((np.ones(2, "f4"), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    as_rows(X)
    assert X.indices.tolist() == [1, 0]


@pytest.mark.parametrize("row", [0, 3, 6])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_bad_row_is_named(row, value, container):
    X = np.zeros((7, 3))
    X[row, 1] = value
    with pytest.raises(DataError, match=f"row {row} of X has NaN, inf or a number past float32"):
        as_rows(container(X))


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_outside_is_named_with_its_row(index):
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    X.indices[1] = index
    with pytest.raises(
        DataError, match=rf"row 1 of X has a feature index outside \[0, 3\): {index}"
    ):
        as_rows(X)


def test_duplicates_that_overflow_are_refused():
    big = np.full(2, 3e38, "f4")
    X = sparse.csr_array((big, np.zeros(2, "i4"), np.array([0, 2])), shape=(1, 1))
    with np.errstate(over="ignore"), pytest.raises(DataError, match="row 0 of X has duplicates"):
        as_rows(X)


def test_broken_row_pointers_are_refused():
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    X.indptr[1] = 9
    with pytest.raises(DataError, match="row pointers"):
        as_rows(X)
    X.indptr[:] = [0, 1, 2, 9]
    with pytest.raises(DataError, match="past its 3 entries"):
        as_rows(X)


def test_the_expected_width_is_checked():
    with pytest.raises(DataError, match="X must have 4 features, got 3"):
        as_rows(np.eye(3), n_features=4)


def test_a_matrix_wider_than_32_bits_is_refused():
    X = sparse.csr_array((np.ones(1), np.array([2**40]), np.array([0, 1])), shape=(1, 2**41))
    with pytest.raises(DataError, match="at most 2147483647 features"):
        as_rows(X)


def test_one_weight_for_all_is_spread():
    assert as_weights(2, 3).tolist() == [2, 2, 2]
    assert as_weights(None, 3).size == 0
    with pytest.raises(ArgumentError, match="sample_weight"):
        as_weights([1e39, 1], 2)


def test_a_feature_that_a_row_has_twice_is_summed():
    # As the core takes them: float32 values and int32 indices, which are checked in one pass.
    parts = np.array([1.0, 2.0, 4.0], np.float32), np.array([1, 1, 0], np.int32)
    rows = as_rows(sparse.csr_array((*parts, np.array([0, 2, 3], np.int32)), shape=(2, 2)))
    assert rows.starts.tolist() == [0, 1, 2]
    assert (rows.indices.tolist(), rows.values.tolist()) == ([1, 0], [3.0, 4.0])


def test_more_rows_than_can_be_numbered_are_refused(monkeypatch):
    monkeypatch.setattr("labeltrees.data.rows.MAX_ROWS", 3)
    assert as_rows(np.ones((3, 1))).n_rows == 3
    with pytest.raises(DataError, match="at most 3 rows, got 4"):
        as_rows(np.ones((4, 1)))
