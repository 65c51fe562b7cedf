"""What of the memory that is free goes to rows, to a shuffle buffer and to a model's weights."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labeltrees.autotrain.free_memory import free_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk

__all__ = ["buffer_rows", "bytes_to_train", "kept_within_memory", "room_for_data"]

_UNKNOWN = 2**33
"""What is taken to be free where the system does not tell."""
_PROGRAM_BYTES = 2**27
"""What the program itself takes by the time it learns."""
_ENTRY_BYTES, _LABEL_BYTES, _ROW_BYTES = 40, 64, 400
"""What training takes for each feature of a row, each label of a row, and each row: the rows, those
to learn from, and what extreme regression makes of them (docs/dask.md, memory per worker)."""
_CHARACTER_BYTES = 24
"""The same for each character of a text: as text, as features and while features are made."""
_BUFFER_SHARE = 1 / 16
"""Of a shuffle buffer, which is held up to three times while it is emptied."""
_LEAST_BUFFER = 1000
_WEIGHTS_SHARE = 0.5
"""Of weights in memory: saving them takes two thirds as much again."""
_NO_LIMIT = 2**63 - 1


def room_for_data() -> int:
    """Return how many bytes training may take with all rows in memory, as `bytes_to_train` says."""
    return max(0, _free() - _PROGRAM_BYTES)


def bytes_to_train(chunk: Chunk) -> int:
    """Return how many bytes training takes for these rows, besides the model."""
    size = _ENTRY_BYTES * len(chunk.rows.indices) + _LABEL_BYTES * len(chunk.labels)
    if chunk.texts is not None:
        size += _CHARACTER_BYTES * sum(map(len, chunk.texts))
    return size + _ROW_BYTES * chunk.n_rows


def buffer_rows(chunk: Chunk, most: int) -> int:
    """Return how many rows like these a shuffle buffer may hold, at most as many as given."""
    own = 8 * (len(chunk.rows.indices) + len(chunk.labels)) / max(chunk.n_rows, 1)
    return min(most, max(_LEAST_BUFFER, int(_BUFFER_SHARE * _free() / max(own, 8))))


@contextmanager
def kept_within_memory(model: Any) -> Iterator[None]:
    """Keep the weights that a model learns in the block within half of the memory that is free.

    A model whose settings limit them keeps its limit, and one that needs less is as it would be
    without. One that gets full has ``max_memory`` in its settings afterwards. Where the system does
    not tell what is free, there is no limit.
    """
    core: Any = getattr(model, "core", None)
    free = free_memory()
    if free is None or not hasattr(core, "is_full") or model.settings.max_memory is not None:
        yield
        return
    own = core.n_bytes + core.n_pair_bytes
    limit = max(core.least_bytes, own + int(_WEIGHTS_SHARE * free))
    core.limit_bytes(limit)
    yield
    if core.is_full:
        model.settings = replace(model.settings, max_memory=limit)
    else:
        core.limit_bytes(_NO_LIMIT)


def _free() -> int:
    free = free_memory()
    return _UNKNOWN if free is None else free
