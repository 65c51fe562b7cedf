"""The program on the page about model files reads them without the library, and agrees with it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import labeltrees
from labeltrees import ConditionalTreeClassifier
from labeltrees.tree import LabelTree

PAGE = Path(__file__).parents[2] / "docs/model_format.md"


def reader_code() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (code,) = [block for block in blocks if not block.startswith(">>>")]
    return code


@pytest.fixture(scope="module")
def reader() -> dict:
    names: dict = {}
    exec(compile(reader_code(), str(PAGE), "exec"), names)
    return names


def rows_and_labels(*, names: bool):
    rng = np.random.default_rng(0)
    ids = rng.zipf(1.4, size=1500) % 60
    X = np.eye(16)[ids % 16] + np.eye(16)[ids // 16] + rng.normal(0, 0.3, (1500, 16))
    X[rng.random(X.shape) < 0.3] = 0
    return X, np.array([f"label {i}" for i in ids], dtype=object) if names else ids


@pytest.mark.parametrize("keep_state", [True, False])
@pytest.mark.parametrize(
    ("names", "parameters"),
    [
        (True, {"scale": None}),
        (False, {"scale": "standard", "sharpness": 0.8}),
        (True, {"loss": "squared", "optimizer": "sgd", "balance": "labels", "scale": None}),
        (False, {"mixing": False, "normalize": False, "bias": 0.0, "structure": "random"}),
    ],
)
def test_the_reader_agrees_with_the_library(reader, tmp_path, names, parameters, keep_state):
    X, y = rows_and_labels(names=names)
    learned = ConditionalTreeClassifier(refine=0, **parameters).partial_fit(X[:1400], y[:1400])
    learned.save(tmp_path / "model.safetensors", keep_state=keep_state)
    model = labeltrees.load(tmp_path / "model.safetensors")
    tree = reader["read"](tmp_path / "model.safetensors")
    facts = tree[0]
    assert facts["frozen"] is not keep_state
    for x, expected in zip(X[1400:1420], model.predict_proba(X[1400:1420]), strict=True):
        said = reader["probabilities"](tree, x)
        assert sorted(said) == model.classes_.tolist()
        # Features are added up in 32-bit floats there, in 64-bit floats here.
        found = [said[name] for name in sorted(said)]
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-9)
        assert sum(said.values()) == pytest.approx(1)


def test_a_given_tree_with_leaves_at_many_depths(reader, tmp_path):
    X, y = rows_and_labels(names=False)
    structure = LabelTree.huffman(np.bincount(y)[np.unique(y)] ** 2)
    model = ConditionalTreeClassifier(refine=0, structure=structure).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    said = reader["probabilities"](reader["read"](tmp_path / "model.safetensors"), X[0])
    expected = model.predict_proba(X[:1])[0]
    np.testing.assert_allclose([said[name] for name in model.classes_], expected, rtol=2e-4)


def test_it_refuses_what_it_cannot_read(reader, tmp_path):
    ConditionalTreeClassifier().partial_fit([[1, 0], [0, 1]] * 9, [0, 1] * 9).save(tmp_path / "m")
    with pytest.raises(AssertionError, match="RefinedTreesModel"):
        reader["read"](tmp_path / "m")


def test_it_imports_numpy_and_the_standard_library_only():
    imported = set(re.findall(r"^(?:import|from) (\w+)", reader_code(), re.M))
    assert imported == {"json", "numpy"}


def test_it_has_the_lines_that_the_page_promises():
    (promised,) = re.findall(r"program of (\d+) lines", PAGE.read_text(encoding="utf-8"))
    assert len(reader_code().splitlines()) <= int(promised) <= 60
