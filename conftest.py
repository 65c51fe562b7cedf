"""What every test shares: the same random cases in every run, doctests in a folder of their own.

That folder has the files of docs/examples, so that documents can name them as in a clone.

Runs are quick unless the environment says LABELTREES_TESTS=thorough: then every property is tried
on four times as many cases, and tests marked as thorough are run too.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

# Matrices are small here: more threads cost many times what they gain, and there are workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Doctests are looked for in modules, which are imported: those of the gallery learn and draw.
collect_ignore_glob = ["docs/gallery/*.py"]
# What forks, starts and signals processes, or needs pipes with names.
if sys.platform == "win32":
    collect_ignore_glob += [
        f"tests/{name}/*" for name in ("benchmarks", "cli", "hostile", "serve", "tools")
    ]
    collect_ignore_glob += ["tests/contract/test_interpreter.py", "tests/data/test_pipes.py"]

EXAMPLES = Path(__file__).parent / "docs/examples"
PROFILE = os.environ.get("LABELTREES_TESTS", "quick")

for profile in ("quick", "thorough"):
    settings.register_profile(profile, derandomize=True, deadline=None, max_examples=50)
settings.load_profile(PROFILE)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Give each property four times its examples in a thorough run."""
    test = getattr(item, "function", None)
    if PROFILE != "thorough" or not is_hypothesis_test(test) or hasattr(test, "_is_scaled"):
        return
    # Hypothesis has no public way to change a test's settings once they are given.
    wanted = test._hypothesis_internal_use_settings
    test._hypothesis_internal_use_settings = settings(wanted, max_examples=4 * wanted.max_examples)
    test._is_scaled = True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is marked as thorough unless the run is."""
    if PROFILE == "thorough":
        return
    left_out = pytest.mark.skip(reason="only with LABELTREES_TESTS=thorough")
    for item in items:
        if item.get_closest_marker("thorough"):
            item.add_marker(left_out)


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of the garbage collector's rounds."""
    gc.freeze()


@pytest.fixture(autouse=True)
def own_folder(request: pytest.FixtureRequest) -> None:
    """Run doctests in a folder with nothing but the examples of the documents."""
    if request.node.__class__.__name__ == "DoctestItem":
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)
        if str(request.node.path).endswith(".md"):
            shutil.copytree(EXAMPLES, folder / "docs/examples")
