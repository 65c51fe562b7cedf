"""What rows, a shuffle buffer and weights may have of the memory that is free."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.autotrain.test_held_out import clouds

from labeltrees import load_model
from labeltrees.autotrain import _memory as memory
from labeltrees.autotrain._fitting import fit
from labeltrees.autotrain._memory import buffer_rows, bytes_to_train, room_for_data
from labeltrees.autotrain._options import Recipe
from labeltrees.autotrain._streaming import learn_stream
from labeltrees.data.readers import read_svmlight
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.start import start_on_stream
from labeltrees.models.multilabel.settings import MultiLabelSettings
from labeltrees.models.registry import methods

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labeltrees.data.chunk import Chunk

GB = 2**30
LEAST = 4 * 2**20  # that the tables of a model with experts can be kept within


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Any:
    def say(n_bytes: int | None) -> None:
        monkeypatch.setattr(memory, "free_memory", lambda: n_bytes)

    return say


@pytest.mark.parametrize(
    ("n_free", "room"), [(40 * GB, 39 * GB), (GB, GB // 2), (GB // 8, 0), (0, 0), (None, 7 * GB)]
)
def test_training_may_take_what_is_free_but_for_the_program(
    n_free: int | None, room: int, free: Any
) -> None:
    free(n_free)
    assert room <= room_for_data() < room + GB


def test_rows_take_more_than_themselves() -> None:
    data = clouds(100, 5, per_row=2)
    assert bytes_to_train(data) == 100 * (12 * 40 + 2 * 64 + 400)


def test_a_buffer_holds_fewer_long_rows(free: Any) -> None:
    data = clouds(100, 5)
    free(40 * GB)
    assert buffer_rows(data, 200_000) == 200_000
    free(GB // 16)
    assert 20_000 < buffer_rows(data, 200_000) < 50_000
    free(0)
    assert buffer_rows(data, 200_000) == 1000


def pairs(n_rows: int, n_features: int) -> bytes:
    """Rows of one label and features of which few come again."""
    random = np.random.default_rng(0)
    labels, features = (
        random.integers(50, size=n_rows),
        random.integers(n_features, size=(n_rows, 4)),
    )
    rows = zip(labels, features, strict=True)
    return b"".join(
        b"%d %s\n" % (y, b" ".join(b"%d:1" % f for f in sorted(set(own)))) for y, own in rows
    )


def chunk_of(text: bytes) -> Chunk:
    (chunk,) = read_svmlight(io.BytesIO(text), chunk_rows=100_000)
    return chunk


@pytest.mark.parametrize(
    ("method", "settings"),
    [("conditional", ConditionalSettings()), ("multilabel", MultiLabelSettings())],
)
def test_a_model_that_gets_full_says_so_and_any_other_is_as_without_a_limit(
    method: str, settings: Any, free: Any, tmp_path: Path
) -> None:
    data = chunk_of(pairs(20_000, 50_000))
    recipe = Recipe(methods()[method], settings)
    saved = []
    for n_free in (None, 40 * GB, 10 * GB):
        free(n_free)
        model: Any = fit(recipe, data)
        assert model.settings.max_memory is None
        assert not model.core.is_full
        model.save(tmp_path / "model")
        saved.append((tmp_path / "model").read_bytes())
    assert saved[0] == saved[1] == saved[2]
    free(5 * LEAST)
    limited: Any = fit(recipe, data)
    limit = limited.settings.max_memory
    assert limited.core.is_full
    assert limited.core.n_bytes + limited.core.n_pair_bytes <= limit < 5 * LEAST
    limited.save(tmp_path / "limited")
    again: Any = load_model(tmp_path / "limited")
    assert again.settings.max_memory == limit
    asked = data.rows.take(np.arange(50))
    np.testing.assert_array_equal(again.probabilities(asked), limited.probabilities(asked))


def test_a_limit_that_was_asked_for_stays(free: Any) -> None:
    free(40 * GB)
    model: Any = fit(
        Recipe(methods()["conditional"], ConditionalSettings(max_memory=9 * 2**20)),
        chunk_of(pairs(50, 60)),
    )
    assert model.settings.max_memory == 9 * 2**20


def test_a_stream_is_kept_within_memory_too(free: Any) -> None:
    text = pairs(30_000, 60_000)

    def read() -> Iterator[Chunk]:
        return read_svmlight(io.BytesIO(text), chunk_rows=500)

    def start(n_features: int) -> Any:
        return start_on_stream(ConditionalSettings(), n_features)

    free(5 * LEAST)
    done = learn_stream(read, start, in_order=True)
    assert done.model.settings.max_memory is not None
    assert done.model.core.n_bytes <= 5 * LEAST
    free(40 * GB)
    assert learn_stream(read, start, in_order=True).model.settings.max_memory is None
