"""tools/setup.sh: a machine that lacks something is told so in one clear sentence."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAIN = ("bash", "env", "cat", "cksum", "dirname", "find", "mktemp", "rm", "sort", "xargs")


@pytest.fixture
def machine(tmp_path):
    """A clone on a machine with nothing but the plainest programs."""
    for name in ("tools", "src", "cpp"):
        shutil.copytree(ROOT / name, tmp_path / "clone" / name)
    for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PLAIN:
        (programs / name).symlink_to(shutil.which(name))
    return tmp_path


def add_program(machine, name, script):
    path = machine / "bin" / name
    path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
    path.chmod(0o755)


def run_setup(machine, **environment):
    return subprocess.run(
        ["bash", machine / "clone" / "tools" / "setup.sh", "run"],
        env={"PATH": str(machine / "bin"), "HOME": str(machine)} | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def assert_refused(done, sentence):
    assert done.returncode == 1
    assert done.stderr.startswith("labeltrees: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_python_is_said(machine):
    assert_refused(run_setup(machine), "Python 3.11 or newer is needed and none was found")


def test_an_old_python_is_said(machine):
    add_program(machine, "python3", "exit 1")  # what a Python below 3.11 answers
    assert_refused(run_setup(machine), "Python 3.11 or newer is needed")


def test_no_compiler_is_said(machine):
    add_program(machine, "python3", "exit 0")
    assert_refused(run_setup(machine), "a C++ compiler is needed and none was found")


def test_a_compiler_that_is_named_and_missing_is_said(machine):
    add_program(machine, "python3", "exit 0")
    add_program(machine, "c++", "exit 0")
    done = run_setup(machine, CXX="no-such-compiler")
    assert_refused(done, "'no-such-compiler'")


def test_an_old_compiler_is_said(machine):
    add_program(machine, "python3", "exit 0")
    add_program(machine, "c++", "exit 1")  # what a compiler without C++20 answers
    assert_refused(run_setup(machine), "'c++' is too old: C++20 is needed")


def test_a_python_without_venv_is_said(machine):
    add_program(machine, "python3", '[ "$1" = -m ] && exit 1; exit 0')
    add_program(machine, "c++", "exit 0")
    assert_refused(run_setup(machine), "install Python's venv and pip")
    assert not (machine / "clone" / ".venv").exists()
