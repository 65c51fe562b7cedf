"""The rooms of the core: which may include which, and no header that includes itself in the end."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

CORE = Path(__file__).parent.parent / "cpp"
INCLUDE = re.compile(r'^#include "labeltrees/([a-z_]+)/([a-z_]+\.hpp)"', re.MULTILINE)

# A room may include itself and these.
BELOW: dict[str, set[str]] = {
    "platform": set(),
    "rows": {"platform"},
    "text": {"platform"},
    "python_source": {"platform"},
    "tree": {"platform", "rows"},
    "online": {"platform", "rows", "tree"},
    "conditional": {"platform", "rows", "tree", "online"},
    "filter": {"platform", "rows", "tree", "online", "conditional"},
    "refined": {"platform", "rows", "tree", "online", "conditional"},
    "multilabel": {"platform", "rows", "tree", "online", "conditional", "refined"},
    "lom": {"platform", "rows", "tree", "online"},
    "baselines": {"platform", "rows", "tree", "online", "extreme"},
    "self_terminating": {"platform", "rows", "tree"},
    "extreme": {"platform", "rows", "tree"},
}


def includes(path: Path) -> set[tuple[str, str]]:
    return set(INCLUDE.findall(path.read_text()))


@cache
def headers_reached(room: str, name: str) -> frozenset[tuple[str, str]]:
    """The headers that a header includes, directly or not."""
    reached: set[tuple[str, str]] = set()
    waiting = [(room, name)]
    while waiting:
        for header in includes(CORE / "include" / "labeltrees" / Path(*waiting.pop())) - reached:
            reached.add(header)
            waiting.append(header)
    return frozenset(reached)


def test_every_room_of_the_core_has_its_place():
    for part in ("include/labeltrees", "src"):
        assert {folder.name for folder in (CORE / part).iterdir()} == set(BELOW)


@pytest.mark.parametrize("room", BELOW)
def test_a_room_includes_only_rooms_below_it(room):
    files = [*(CORE / "include" / "labeltrees" / room).iterdir(), *(CORE / "src" / room).iterdir()]
    assert files
    for path in files:
        wrong = {other for other, _ in includes(path)} - BELOW[room] - {room}
        assert not wrong, f"{path.name} of {room} includes headers of {wrong}"


def test_no_header_includes_itself_in_the_end():
    for path in (CORE / "include" / "labeltrees").glob("*/*.hpp"):
        here = (path.parent.name, path.name)
        assert here not in headers_reached(*here)


LIBM = re.compile(
    r"\b(?:std::|::)?(?:exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|tanh|sinh|cosh|sin|cos|tan|"
    r"asin|acos|atan|atan2|erf|erfc|tgamma|lgamma|hypot)[fl]?\("
)
OWN = re.compile(r"elementary::\w+\(|e::\w+\(")


def test_no_room_calls_the_c_librarys_transcendental_functions():
    # Their last bits differ from machine to machine; sqrt is exact everywhere.
    for part in ("include", "src", "bindings"):
        for path in (CORE / part).rglob("*.*pp"):
            if path.name == "elementary.hpp":
                continue
            code = OWN.sub("", re.sub(r"//.*", "", path.read_text()))
            assert not LIBM.findall(code), path


SYSTEM = re.compile(
    r"#include <(?:sys/|unistd|pthread|fcntl|signal|dlfcn|sched|poll|mach/|[wW]indows|io\.h)"
)


def test_only_one_file_of_the_core_knows_the_operating_system():
    knowing = {
        path.relative_to(CORE).as_posix()
        for part in ("include", "src", "bindings")
        for path in (CORE / part).rglob("*.*")
        if SYSTEM.search(path.read_text())
    }
    assert knowing == {"src/platform/system.cpp"}
