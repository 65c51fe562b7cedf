"""benchmarks/relevance_default.py: the rule, and the table it judges."""

from __future__ import annotations

import gzip
import re
import sys

import numpy as np
import pytest


@pytest.fixture
def script(monkeypatch):
    """Return the script as a module."""
    import relevance_default

    return relevance_default


def test_the_default_changes_only_if_nothing_is_lost(script):
    usual, better, worse = (np.array([60.0, 40.0, 30.0]) * factor for factor in (1, 1.005, 0.98))
    won = {"a": {None: usual, "propensity": better}, "b": {None: usual, "propensity": usual}}
    assert 'the default is relevance="propensity"' in script.verdict(won)
    lost = won | {"b": {None: usual / 10, "propensity": worse / 10}}
    said = script.verdict(lost)
    assert "worse on b. By the rule the default is relevance=None" in said
    less = {"a": {None: usual, "propensity": usual - [0.1, -1, -1]}}
    assert "no set. By the rule the default is relevance=None" in script.verdict(less)


def test_the_table_is_of_the_last_fifth_of_the_training_rows(script, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    folder = tmp_path / "bibtex"
    folder.mkdir()
    label = np.arange(400) % 8
    label[320:] = 7  # what is asked about has one label, which is easily learned
    lines = [f"{y},{(y + 1) % 8} {y}:1 {8 + rng.integers(4)}:0.3" for y in label]
    with gzip.open(folder / "train.txt.gz", "wt") as file:
        file.write("\n".join(["400 12 8", *lines, ""]))
    arguments = ["relevance_default.py", "--data", str(tmp_path), "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", arguments)
    script.BENCHMARK.main()
    said = capsys.readouterr().out
    assert re.search(r"^\| bibtex \| None \| 100.00 \| 66.67 \| 40.00 \|", said, re.MULTILINE)
    assert "By the rule the default is" in said
