"""The benchmarks' modules for their tests, and files of source code, found once."""

from __future__ import annotations

from pathlib import Path

import pytest

from labeltrees.data import python_source

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def source_files():
    """Find files once, because finding all takes longer than learning some."""
    return python_source.source_files()[:100]


@pytest.fixture(scope="module", autouse=True)
def work(tmp_path_factory):
    """Make the benchmarks' modules importable; what they write goes to a folder of their own."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS / "papers"))
        patch.syspath_prepend(str(BENCHMARKS))
        patch.setenv("LABELTREES_BENCHMARK_WORK", str(folder))
        from harness import peers

        patch.setattr(peers, "WORK", folder)
        yield folder
