"""benchmarks/multilabel_baselines.py: the table, and the choice of settings without test rows."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest


@pytest.fixture
def script(monkeypatch):
    """Return the script as a module."""
    import multilabel_baselines

    yield multilabel_baselines
    sys.modules.pop("multilabel_baselines", None)


@pytest.fixture
def data(tmp_path):
    """Return a folder with a small set, whose labels follow from features."""
    rng = np.random.default_rng(0)
    (tmp_path / "bibtex").mkdir()
    for part, n in (("train", 120), ("test", 40)):
        labels = rng.integers(6, size=n)
        lines = [f"{y},{(y + 1) % 6} {y}:1 {6 + rng.integers(4)}:1" for y in labels]
        text = "\n".join([f"{n} 10 6", *lines]) + "\n"
        (tmp_path / "bibtex" / f"{part}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_the_table_has_our_numbers_beside_the_paper_s(script, data, capsys):
    script.BENCHMARK.main(["--data", str(data), "--only", "LeastSquaresRegressor"])
    line = capsys.readouterr().out.rstrip().splitlines()[-1].split(" | ")
    assert "LeastSquaresRegressor(relevance='propensity', cost=1.0)" in line[0]
    assert [line[i] for i in (2, 4, 6)] == ["53.50", "55.10", "60.14"]
    assert float(line[1]) == 100  # the rows are easy


def test_settings_are_chosen_without_the_test_rows(script, data, capsys):
    (data / "bibtex" / "test.txt.gz").unlink()
    script.BENCHMARK.main(["--data", str(data), "--only", "LeastSquaresRegressor", "--choose"])
    said = capsys.readouterr().out
    assert "LeastSquaresRegressor: {'relevance': 'propensity', 'cost': " in said
    assert said.count("'cost'") == 1 + 4
