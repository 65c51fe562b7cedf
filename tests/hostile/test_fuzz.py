"""The fuzzer of model files: inputs come from their seeds alone, and no fault goes unseen."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from tests.hostile import fuzz


def test_an_input_is_made_from_its_seed_alone():
    for seed in range(20):
        one, other = fuzz.forged(seed), fuzz.forged(seed)
        assert one[0] == other[0]
        assert one[1].tensors.keys() == other[1].tensors.keys()
        for name, tensor in one[1].tensors.items():
            assert np.array_equal(
                tensor, other[1].tensors[name], equal_nan=tensor.dtype.kind == "f"
            )


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_some_inputs_are_refused_and_some_are_sound():
    assert {fuzz.outcome(seed) for seed in range(60)} == {("refused", ""), ("sound", "")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_crash_a_fault_and_a_hang_are_found_with_their_seeds(monkeypatch, tmp_path):
    def outcome(seed):
        if seed == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 9:
            time.sleep(60)
        return ("fault", "wrong") if seed == 7 else ("sound", "")

    monkeypatch.setattr(fuzz, "outcome", outcome)
    monkeypatch.setattr(fuzz, "BATCH", 12)
    monkeypatch.setattr(fuzz, "PATIENCE", 1)
    fork, forks = fuzz._fork, []

    def counted(seeds):
        forks.append(seeds)
        return fork(seeds)

    monkeypatch.setattr(fuzz, "_fork", counted)
    monkeypatch.setattr(fuzz.time, "monotonic", lambda: len(forks))  # three forks and no more
    counts = fuzz.lane(0, 1, 3, tmp_path)
    assert counts["fault"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "seed-5.txt",
        "seed-7.txt",
        "seed-9.txt",
    ]
    assert "wrong" in (tmp_path / "seed-7.txt").read_text()
