"""Commands in documents run as they are printed there, and print what is printed below them.

A block marked ``console`` has lines that start with ``$``: `labeltrees` and its arguments, or
``cat > FILE <<END`` with the lines of a file. Blocks of a page run one after the other in a folder
that has the files of docs/examples. Output may be shortened by ``...``, as in doctests.
"""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from labeltrees.cli import main

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in sorted([DOCS.parent / "README.md", *DOCS.glob("*.md")])
    if BLOCK.search(page.read_text(encoding="utf-8"))
]
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(text: str) -> list[tuple[str, str]]:
    """Return each command of a page and the lines below it."""
    found = []
    for block in BLOCK.findall(text):
        found += re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)
    return found


def run(command: str, below: str, capsys: pytest.CaptureFixture[str]) -> str | None:
    """Run one command; return what is wrong with what it prints, or None."""
    words = shlex.split(command)
    if words[:2] == ["cat", ">"] and words[3:] == ["<<END"]:
        assert below.endswith("END\n"), f"{command}: there is no END"
        Path(words[2]).write_text(below.removesuffix("END\n"), encoding="utf-8")
        return None
    assert words[0] == "labeltrees", f"{command}: only labeltrees and cat > FILE <<END can be run"
    code = main(words[1:])
    said = capsys.readouterr()
    if code != 0:
        return f"{command} ended with {code}: {said.err}"
    if not CHECKER.check_output(below, said.out, FLAGS):
        return f"{command} printed\n{said.out}\nand not\n{below}"
    return None


def test_a_difference_is_seen(capsys):
    assert run("labeltrees --version", "labeltrees 99\n", capsys) is not None
    assert run("labeltrees --version", "labeltrees ...\n", capsys) is None
    assert "ended with 1" in str(run("labeltrees inspect nowhere", "", capsys))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DOCS / "examples", tmp_path / "docs/examples")
    monkeypatch.setenv("COLUMNS", "120")
    found = commands(page.read_text(encoding="utf-8"))
    assert found
    wrong = [run(command, below, capsys) for command, below in found]
    assert [each for each in wrong if each] == []
