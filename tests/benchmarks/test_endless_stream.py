"""The stream that does not end, in small."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def endless_stream(monkeypatch):
    """Return the script as a module."""
    import endless_stream

    return endless_stream


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_rows_go_through_the_command_and_memory_is_noted(endless_stream, tmp_path, monkeypatch):
    monkeypatch.setattr(endless_stream, "BLOCK_ROWS", 200)
    n_bytes = 12 * len(next(endless_stream.blocks(1)))
    lines, memory, told = endless_stream.pipe_through(n_bytes, tmp_path / "model")
    assert len(lines) == len(memory) == endless_stream.N_STEPS
    assert max(memory) > 1  # the first are of a process that has hardly begun
    assert "2,400" in told
    assert (tmp_path / "model").exists()


def test_words_are_new_in_every_block(endless_stream, monkeypatch):
    monkeypatch.setattr(endless_stream, "BLOCK_ROWS", 50)
    sent = list(endless_stream.blocks(10_000))
    words = {line.split()[-1] for block in sent for line in block.splitlines()}
    assert len(words) > 0.99 * 50 * len(sent)
