"""Rows of a file in memory: all, or as many as there is room for, and none without a label."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from labeltrees.autotrain._fitting import label_lists
from labeltrees.autotrain._memory import gather
from labeltrees.data.readers import read_svmlight, read_tsv, read_xc
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk

MUCH = 2**40


def several(n_rows: int = 3) -> Chunk:
    lines = [f"{i},{i + 1} {i}:1 9:{i + 1}" for i in range(n_rows)]
    text = f"{n_rows} 10 20\n" + "\n".join(lines) + "\n"
    gathered = gather(read_xc(io.BytesIO(text.encode()), chunk_rows=2), MUCH, name="x")
    assert gathered.rest is None
    return gathered.data


def test_rows_of_all_chunks_are_joined() -> None:
    data = several(5)
    assert data.n_rows == 5
    assert label_lists(data) == [[i, i + 1] for i in range(5)]
    assert data.rows.to_csr().toarray()[3, [3, 9]].tolist() == [1, 4]


def test_rows_without_a_label_are_counted_and_left_out() -> None:
    text = b"4 3 5\n 0:1\n2 1:1\n 2:1\n4 0:2\n"
    gathered = gather(read_xc(io.BytesIO(text)), MUCH, name="x")
    assert gathered.n_unlabelled == 2
    assert label_lists(gathered.data) == [[2], [4]]
    assert gathered.data.rows.to_csr().toarray().tolist() == [[0, 1, 0], [2, 0, 0]]


def test_a_file_without_labels_is_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"No row of tags\.xc has a label"):
        gather(read_xc(io.BytesIO(b"1 3 5\n 0:1\n")), MUCH, name="tags.xc")


def test_texts_are_kept_with_their_rows() -> None:
    text = b"a\tgood morning\n\tno label\nb\tgood night\n"
    data = gather(read_tsv(io.BytesIO(text)), MUCH, name="x").data
    assert data.texts == ["good morning", "good night"]


def test_graded_labels_are_dictionaries() -> None:
    data = several(2)
    labels = replace(data.targets, relevance=np.array([1, 2, 3, 4], np.float32))
    data = replace(data, targets=labels)
    assert label_lists(data) == [{0: 1, 1: 2}, {1: 3, 2: 4}]


def test_where_there_is_no_room_the_rest_comes_chunk_by_chunk() -> None:
    lines = b"".join(b"%d 0:1 1:1\n" % (row % 3) for row in range(100))
    gathered = gather(read_svmlight(io.BytesIO(lines), chunk_rows=10), 20_000, name="x")
    assert gathered.rest is not None
    left = sum(chunk.n_rows for chunk in gathered.rest)
    assert 0 < gathered.data.n_rows < 100
    assert gathered.data.n_rows + left == 100
