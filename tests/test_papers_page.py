"""docs/papers.md has every numbered thing of the papers; its files, tests and commands exist."""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
STARTS = ("", "src/labeltrees", "cpp/include/labeltrees", "cpp/src")


def numbered(word, *ranges):
    return {f"{word} {n}" for first, last in ranges for n in range(first, last + 1)}


#: What the papers number.
ITEMS = {
    1: numbered("Equation", (1, 5)) | numbered("Algorithm", (1, 3)) | {
        "Theorem 1", "Lemma 2", "Theorem 3", "Lemma 4", "Claim 5", "Claim 6", "Theorem 7",
        "Definition 8", "Theorem 9", "Figure in section 3.2", "Table in section 4.3.1",
        "Table in section 4.3.2",
    },
    2: numbered("Equation", (1, 2)) | numbered("Definition", (1, 3)) | numbered("Lemma", (1, 3))
    | numbered("Table", (1, 4)) | numbered("Figure", (1, 3)) | {"Theorem 1", "Algorithm 1"},
    3: numbered("Equation", (1, 4)),
    4: numbered("Equation", (1, 66)) | numbered("Table", (1, 7)) | {
        "Lemma 3.1", "Theorem 4.1", "Lemma 4.2", "Theorem 4.3", "Lemma A.1", "Theorem A.2",
        "Lemma A.3", "Theorem A.4", "Algorithm 1", "Figure 1",
    },
    5: numbered("Equation", (1, 11)) | {
        "Figure 1", "Theorem 1", "Lemma 2", "Corollary 3", "Theorem 4", "Lemma 5", "Theorem 6",
        "Theorem 7", "Theorem 8",
    },
}  # fmt: skip


def rows_of(paper):
    """The cells of each row of a paper's table."""
    (part,) = re.findall(rf"^## Paper {paper}:.*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def named(cell):
    """The items that a first cell names; "Equations 1-3" are three."""
    found = set()
    for part in cell.split(", "):
        whole = re.fullmatch(r"Equations (\d+)-(\d+)", part)
        found |= numbered("Equation", tuple(map(int, whole.groups()))) if whole else {part}
    return found


def spans(cell):
    return re.findall(r"`([^`]+)`", cell)


ROWS = [(paper, row) for paper in ITEMS for row in rows_of(paper)]
ids = pytest.mark.parametrize(
    ("paper", "row"), ROWS, ids=lambda v: v if isinstance(v, int) else v[0]
)


@pytest.mark.parametrize("paper", ITEMS)
def test_every_numbered_thing_has_its_row(paper):
    there = set().union(*(named(row[0]) for row in rows_of(paper)))
    assert ITEMS[paper] - there == set()
    assert {item for item in there - ITEMS[paper] if not item.startswith('"')} == set()


@ids
def test_files_exist(paper, row):
    files = spans(row[2])
    assert [f for f in files if not any((ROOT / start / f).is_file() for start in STARTS)] == []


@ids
def test_tests_exist(paper, row):
    for span in spans(row[3]):
        file, _, name = span.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


@ids
def test_commands_are_understood(paper, row, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "papers"))
    for span in spans(row[4]):
        if not span.startswith("python "):
            continue
        script, *words = span.removeprefix("python ").split()
        assert script == f"benchmarks/papers/paper{paper}.py"
        parser = importlib.import_module(Path(script).stem).BENCHMARK.parser()
        monkeypatch.setattr(argparse.ArgumentParser, "error", refuse)
        parser.parse_args(words)


def refuse(parser, message):
    raise AssertionError(message)


@ids
def test_whatever_has_no_test_says_why(paper, row):
    assert len(row) == 5
    assert spans(row[3]) or "cannot be had" in row[4]
