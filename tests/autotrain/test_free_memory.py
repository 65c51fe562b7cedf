"""How much memory is free, by the files in which Linux says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from labeltrees.autotrain import _memory as module
from labeltrees.autotrain._memory import free_memory

if TYPE_CHECKING:
    from pathlib import Path

GB = 2**30


def write(root: Path, **files: str) -> Path:
    """Write files whose names have two underscores for a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    about = f"MemTotal: 100 kB\nMemFree: 7 kB\nMemAvailable: {8 * GB // 1024} kB\n"
    return write(tmp_path, proc__meminfo=about)


def limit(root: Path, group: str, most: str, used: int, given_up: int = 0) -> None:
    group = f"{root}/sys/fs/cgroup/{group}"
    for name, text in {
        "memory.max": f"{most}\n",
        "memory.current": f"{used}\n",
        "memory.stat": f"anon 5\ninactive_file {given_up}\nactive_file 3\n",
    }.items():
        write(type(root)(group), **{name: text})


def test_pages_of_files_are_free(machine: Path) -> None:
    assert free_memory(machine) == 8 * GB


def test_the_limit_of_a_control_group_counts_and_those_that_hold_it(machine: Path) -> None:
    write(machine, proc__self__cgroup="0::/box/own\n")
    limit(machine, "box/own", "max", GB)
    assert free_memory(machine) == 8 * GB
    limit(machine, "box", str(4 * GB), 3 * GB, given_up=GB // 2)
    assert free_memory(machine) == 3 * GB // 2
    limit(machine, "box/own", str(2 * GB), GB)
    assert free_memory(machine) == GB
    limit(machine, "", str(GB), 2 * GB)
    assert free_memory(machine) == 0


def test_so_does_one_of_the_first_version(machine: Path) -> None:
    write(machine, proc__self__cgroup="3:cpu,cpuacct:/x\n2:memory,other:/box\n1:name=systemd:/y\n")
    unlimited = 2**63 - 4096
    for group, most in (("memory", unlimited), ("memory/box", 2 * GB)):
        root = machine / "sys/fs/cgroup" / group
        write(root, **{
            "memory.limit_in_bytes": f"{most}", "memory.usage_in_bytes": f"{GB}",
            "memory.stat": f"inactive_file 1\ntotal_inactive_file {GB // 4}\n",
        })  # fmt: skip
    assert free_memory(machine) == GB + GB // 4


def test_a_group_that_is_not_to_be_seen_is_none(machine: Path) -> None:
    write(machine, proc__self__cgroup="0::/somewhere/else\n")
    limit(machine, "", str(GB), GB // 2)
    assert free_memory(machine) == GB // 2


def test_where_the_system_says_nothing_there_is_a_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.os, "sysconf", lambda _: 1000)
    assert free_memory(tmp_path) == 1_000_000

    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(module.os, "sysconf", unknown)
    assert free_memory(tmp_path) is None


def test_odd_names_of_groups_are_no_failure(machine: Path) -> None:
    path = machine / "proc/self/cgroup"
    path.parent.mkdir()
    path.write_bytes(b"no colon\n0::/b\xf6x:1\n\n")
    limit(machine, "", str(GB), GB // 2)
    assert free_memory(machine) == GB // 2
