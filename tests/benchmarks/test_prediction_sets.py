"""benchmarks/prediction_sets.py: its metrics by hand, and its tables of a small set."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array


@pytest.fixture
def script(monkeypatch):
    """Return the script as a module."""
    import prediction_sets

    return prediction_sets


def test_the_metrics_of_two_rows_by_hand(script):
    found, truth = csr_array([[1, 1, 0], [0, 0, 0]]), csr_array([[1, 0, 1], [0, 0, 0]])
    assert script.mean_f1(found, truth, 1) == (0.5 + 1) / 2
    assert script.mean_f1(found, truth, 0) == (1 + 0) / 2
    assert script.covered(found, truth, "labels") == (0.5 + 1) / 2
    assert script.covered(found, truth, "rows") == 0.5
    assert script.recalls(found, truth, 0).tolist() == [1, 0]


def test_three_tables_are_printed(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["harness.peers"], "WORK", tmp_path / "work")
    monkeypatch.setattr(script, "N_SPLITS", 2)
    folder = tmp_path / "data" / "rcv1-sub1"
    folder.mkdir(parents=True)
    label = np.random.default_rng(0).integers(0, 8, 250)
    lines = [f"{y},{(y + 1) % 8} {y}:1 {8 + y // 2}:1" for y in label]
    for name, part in (("train", lines[:200]), ("test", lines[200:])):
        with gzip.open(folder / f"{name}.txt.gz", "wt") as file:
            file.write("\n".join([f"{len(part)} 12 8", *part, ""]))
    script.BENCHMARK.main(["--data", str(tmp_path / "data"), "--only", "rcv1-sub1"])
    printed = capsys.readouterr().out
    assert printed.count("| rcv1-sub1, ") == 3 + 6 + 7
    assert "| rcv1-sub1, expected_f1_sets | 100.00 | 2.00 |" in printed
