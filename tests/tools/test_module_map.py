"""The module map: its picture shows the code as it is, and its measures count what they name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def module_map():
    spec = importlib.util.spec_from_file_location("module_map", ROOT / "tools" / "module_map.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["module_map"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["module_map"]


@pytest.fixture
def package(tmp_path):
    """A package of two layers whose upper module imports the lower one at run time only."""
    files = {
        "__init__.py": '"""A package."""\n',
        "low.py": '"""Low."""\n\n__all__ = ["f"]\n\n\ndef f():\n    """One."""\n    return 1\n',
        "high.py": "from typing import TYPE_CHECKING\n\nfrom labeltrees.low import f\n\n"
        "if TYPE_CHECKING:\n    from labeltrees import other\n\n\nclass A:\n    x = f\n",
        "other.py": "class A:  # a comment\n\n    y = 1\n",
    }
    folder = tmp_path / "src" / "labeltrees"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    layers = '[[tool.importlinter.contracts]]\ncontainers = ["labeltrees"]\n'
    layers += 'layers = ["high | other", "low"]\n'
    (tmp_path / "pyproject.toml").write_text(layers)
    return tmp_path


def test_the_picture_in_the_documents_is_up_to_date(module_map):
    message = "run: python tools/module_map.py"
    assert module_map.PICTURE.read_text(encoding="utf-8") == module_map.draw(), message


def test_imports_for_type_checking_are_no_arrows(module_map, package):
    modules = module_map.read_modules(package)
    assert modules["labeltrees.high"].imports == {"labeltrees.low"}
    assert module_map.edges(modules) == {("high", "low")}
    assert module_map.draw(package).count('class="arrow"') == 1


def test_an_arrow_that_a_longer_chain_implies_is_left_out(module_map, package):
    more = package / "src" / "labeltrees" / "other.py"
    more.write_text("import labeltrees.high\nimport labeltrees.low\n")
    arrows = module_map.edges(module_map.read_modules(package))
    assert arrows == {("other", "high"), ("high", "low")}


def test_measures_count_code_without_docstrings_blank_lines_and_comments(module_map, package):
    found = module_map.measure(package)
    assert found["modules"] == 4
    # low: __all__, def, return; high: 2 imports, if, import, class, assignment; other: class, y.
    assert found["lines of code without docstrings and comments"] == 3 + 6 + 2
    assert found["modules with at most one importer"] == 3
    assert found["class names used more than once"] == "1 (A)"
    # Of 3 + 6 + 2 statements and 3 docstrings, 3 are imports and 1 is __all__.
    assert found["share of imports and __all__ among statements"] == f"{4 / 14:.1%}"
