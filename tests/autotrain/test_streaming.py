"""Files learned row by row: mixed unless their order is to be kept, measured on rows kept apart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labeltrees.autotrain._streaming import learn_stream
from labeltrees.data.readers import read_svmlight
from labeltrees.errors import DataError
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.start import start_on_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk

N_ROWS, N_LABELS = 4000, 20


def sorted_file() -> bytes:
    """Rows sorted by label; a label's rows have its own feature and a noisy one."""
    noise = np.random.default_rng(0).integers(100, 140, N_ROWS)
    labels = np.repeat(np.arange(N_LABELS), N_ROWS // N_LABELS)
    return b"".join(b"%d %d:1 %d:1\n" % (y, y, z) for y, z in zip(labels, noise, strict=True))


def chunks() -> Iterator[Chunk]:
    return read_svmlight(io.BytesIO(sorted_file()), chunk_rows=500)


def start(n_features: int) -> Any:
    return start_on_stream(ConditionalSettings(), n_features)


def test_a_sorted_file_is_mixed_and_learned_well() -> None:
    done = learn_stream(chunks, start, in_order=False)
    assert done.measured is not None
    assert 100 < done.measured.n_rows < 300
    assert done.measured.table["the model"]["accuracy"] > 0.95
    assert done.progressive.n_rows + done.measured.n_rows == N_ROWS


def test_in_the_order_of_the_file_all_rows_are_learned() -> None:
    done = learn_stream(chunks, start, in_order=True)
    assert done.measured is None
    assert done.progressive.n_rows == N_ROWS
    assert done.model.vocabulary.labels.tolist() == list(range(N_LABELS))


def test_further_passes_teach_the_same_rows_again() -> None:
    once = learn_stream(chunks, start, in_order=False)
    twice = learn_stream(chunks, start, in_order=False, n_passes=2)
    assert once.measured is not None
    assert twice.measured is not None
    assert twice.measured.n_rows == once.measured.n_rows
    assert twice.progressive.log_loss_seen == once.progressive.log_loss_seen
    assert (
        twice.measured.table["the model"]["log loss"] < once.measured.table["the model"]["log loss"]
    )


def test_rows_without_a_label_are_counted() -> None:
    def some_without() -> Iterator[Chunk]:
        return read_svmlight(io.BytesIO(b"1 0:1\n 1:1\n2 1:1\n"))

    assert learn_stream(some_without, start, in_order=True).n_unlabelled == 1


def test_a_file_without_labels_is_refused() -> None:
    with pytest.raises(DataError, match="No row of the data has a label"):
        learn_stream(lambda: read_svmlight(io.BytesIO(b" 1:1\n")), start, in_order=True)
