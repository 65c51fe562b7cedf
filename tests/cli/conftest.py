"""A small data set and a model of it."""

from __future__ import annotations

import pytest
from tests.cli.test_cli import write_tsv

from labeltrees.cli import main


@pytest.fixture
def data(tmp_path):
    return write_tsv(tmp_path / "train.tsv", 0), write_tsv(tmp_path / "test.tsv", 1, 100)


@pytest.fixture
def model(data, tmp_path, capsys):
    path = tmp_path / "model.safetensors"
    assert main(["train", str(data[0]), "--out", str(path)]) == 0
    capsys.readouterr()
    return path
