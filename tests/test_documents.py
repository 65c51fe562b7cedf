"""Documents say what is there: the files, names and links that they mention exist.

ARCHITECTURE.md and CONTRIBUTING.md are maps of the tree. What they put in code font is a path or
made of words of the code; commands and drawings stand in fenced blocks, which are not looked at.
"""

from __future__ import annotations

import importlib.metadata
import re
from functools import cache
from pathlib import Path

import pytest
from docs.site import guide, stage

import labeltrees

ROOT = Path(__file__).parent.parent
MAPS = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/development/decisions.md"]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/development/*.md",
        "benchmarks/*.md",
        "benchmarks/results/*.md",
        ".github/**/*.md",
    )
    for page in ROOT.glob(pattern)
)
# Where a path that a map mentions may start.
STARTS = ["", "src/labeltrees", "cpp", "cpp/include/labeltrees", "cpp/src", "tests", "docs"]
CODE = ["src/**/*.py", "cpp/**/*.[hc]pp", "cpp/**/*.inc", "tools/*", "benchmarks/**/*.py"]
CODE += ["Makefile", "CMakeLists.txt", "pyproject.toml", "conftest.py"]
SUFFIX = re.compile(r"\.(py|js|hpp|cpp|inc|md|toml|txt|sh|cff|yaml)$")


@cache
def words_of_the_code() -> frozenset[str]:
    files = [file for pattern in CODE for file in ROOT.glob(pattern) if file.is_file()]
    return frozenset(
        word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))
    )


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def code_spans(text: str) -> list[str]:
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(text))]


def missing_from(span: str) -> list[str]:
    """Return the parts of a span in code font that are nowhere in the tree."""
    if (ROOT / span).exists():
        return []
    if " " not in span and ("/" in span or SUFFIX.search(span)):
        pattern = re.sub(r"<\w+>", "*", span.rstrip("/"))
        found = [path for start in STARTS for path in (ROOT / start).glob(pattern)]
        if "/" not in span:  # a file of a folder named beside it
            found += [path for room in ("src", "cpp") for path in (ROOT / room).rglob(span)]
        return [] if found else [span]
    return sorted(set(re.findall(r"\b[A-Za-z_]\w*", span)) - words_of_the_code())


def headings(text: str) -> set[str]:
    """Return the anchors of a page, as the usual renderers make them."""
    titles = re.findall(r"^#+ +(.+)$", prose(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def broken_links(page: str, text: str) -> list[str]:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if file.is_file() and anchor:
            there = anchor in headings(file.read_text(encoding="utf-8") if path else text)
        else:
            there = file.exists()
        if not there:
            broken.append(target)
    return broken


def test_a_wrong_name_is_found():
    assert missing_from("models/nowhere/model.py") == ["models/nowhere/model.py"]
    assert missing_from("models/<method>/model.py") == []
    assert missing_from("LabelTree.no_such_name") == ["no_such_name"]


def test_a_broken_link_is_found():
    text = "# One\n[a](#one) [b](#two) [c](docs/tree.md#make-one) [d](docs/none.md)\n"
    assert broken_links("README.md", text) == ["#two", "docs/none.md"]


@pytest.mark.parametrize("page", MAPS)
def test_what_a_map_mentions_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = {span: missing_from(span) for span in code_spans(text)}
    assert {span: parts for span, parts in missing.items() if parts} == {}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert broken_links(page, (ROOT / page).read_text(encoding="utf-8")) == []


def test_every_page_is_in_a_section_of_the_site():
    assert set(stage.documents()) - set(guide.placed()) == set()


def test_sections_of_the_site_name_pages_that_exist_and_say_what_they_are():
    pages = {file.rpartition(".")[0]: text for file, text in stage.pages().items()}
    assert set(guide.placed()) - set(pages) == set()
    silent = [name for name in guide.placed() if not guide.first_sentence(pages[name])]
    assert silent == []


def test_every_model_folder_has_its_room_in_the_map():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = [path for path in (ROOT / "src/labeltrees/models").iterdir() if path.is_dir()]
    rooms = {f"`models/{path.name}/`" for path in folders if not path.name.startswith("_")}
    assert {room for room in rooms if room not in text} == set()


def test_the_version_is_that_of_the_package():
    assert importlib.metadata.version("labeltrees") == labeltrees.__version__
