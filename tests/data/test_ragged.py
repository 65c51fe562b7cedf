"""Starts of lists follow from their lengths, however these come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.ragged import joined_starts, starts_of

lengths = st.lists(st.integers(0, 9), max_size=8)


@given(lengths)
def test_lists_lie_one_behind_the_other(own):
    starts = starts_of(own)
    assert starts.dtype == np.int64
    assert starts.tolist() == [sum(own[:i]) for i in range(len(own) + 1)]


@pytest.mark.parametrize("dtype", [bool, np.int32, np.uint8, np.float64])
def test_lengths_may_be_of_any_type_of_number(dtype):
    starts = starts_of(np.ones(300, dtype))
    assert starts.dtype == np.int64
    assert starts.tolist() == list(range(301))


@given(st.lists(lengths, min_size=1, max_size=4))
def test_the_lists_of_all_parts_follow_each_other(parts):
    joined = joined_starts([starts_of(part) for part in parts])
    assert joined.tolist() == starts_of([n for part in parts for n in part]).tolist()
