"""What is in a source distribution: all that building, testing and reading need, and no more."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("scikit_build_core")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The files of a source distribution, relative to its folder."""
    folder = tmp_path_factory.mktemp("sdist")
    program = (
        "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", program, folder], cwd=ROOT, check=True)
    (made,) = folder.iterdir()
    version = re.search('__version__ = "(.*)"', (ROOT / "src/labeltrees/__init__.py").read_text())
    home = f"labeltrees-{version[1]}"
    assert made.name == f"{home}.tar.gz"
    with tarfile.open(made) as archive:
        return {Path(name).relative_to(home).as_posix() for name in archive.getnames()}


@pytest.mark.parametrize(
    "name",
    [
        "LICENSE",
        "src/labeltrees/serve/web/page/vendor/uPlot.LICENSE",
        "src/labeltrees/py.typed",
        "pyproject.toml",
        "CMakeLists.txt",
        "cpp/src/platform/system.cpp",
        "cpp/src/extreme/lockstep_kernels.inc",
        "README.md",
        "CHANGELOG.md",
        "docs/store.md",
        "docs/examples/intents.tsv",
        "conftest.py",
        "tests/test_store.py",
        "tests/files_of_0_1_0/last/lom.safetensors",
        "tools/test.sh",
    ],
)
def test_what_is_needed_is_in_it(names, name):
    assert name in names


def test_neither_benchmarks_nor_what_is_built_nor_hidden_files_are_in_it(names):
    top = {name.partition("/")[0] for name in names}
    assert top & {"benchmarks", "build", "dist"} == set()
    assert not any(name.startswith(".") or "__pycache__" in name for name in names)
    assert not any(name.startswith("tests/benchmarks") for name in names)
    assert not any(name.endswith((".so", ".pyd", ".pyc")) for name in names)
