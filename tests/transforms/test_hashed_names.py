"""Names of hashed columns: given ones, joined if they share a column, cut if they are long."""

from __future__ import annotations

import pytest

from labeltrees.transforms._features import HashedNames


def test_columns_have_their_names_and_others_their_number():
    names = HashedNames(10, [(3, "a"), (3, "b"), (3, "a"), (5, "c")])
    assert names[2:6] == ["hashed 2", "a or b", "hashed 4", "c"]
    assert len(names) == 10


def test_long_names_are_cut():
    assert HashedNames(1, [(0, "x" * 10_000)])[0] == "x" * 199 + "…"


@pytest.mark.parametrize("column", [-1, 4])
def test_there_is_no_name_outside_the_columns(column):
    with pytest.raises(IndexError):
        HashedNames(4, [])[column]
