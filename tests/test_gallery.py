"""The gallery's examples: each has a title, runs without a warning, and draws at least one picture.

The site's build executes all of them; here the two quickest are in every run, the others in a
thorough one. What sphinx-gallery needs of a script is checked of all.
"""

from __future__ import annotations

import ast
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest

GALLERY = Path(__file__).parent.parent / "docs/gallery"
SCRIPTS = sorted(path.name for path in GALLERY.glob("plot_*.py"))
QUICK = ("plot_frames.py", "plot_intents.py")
NEEDED = {
    "plot_frames.py": ("pandas", "polars"),
    "plot_server.py": ("msgspec", "prometheus_client", "starlette", "uvicorn"),
}


def docstring_of(name):
    return ast.get_docstring(ast.parse((GALLERY / name).read_text(encoding="utf-8")))


def headings_of(name):
    """Return the underlined lines of a script's texts, with their underlines."""
    lines = (GALLERY / name).read_text(encoding="utf-8").splitlines()
    pairs = pairwise(line.removeprefix("# ") for line in lines)
    return [(above, line) for above, line in pairs if re.fullmatch(r"[=-]{3,}", line)]


def test_there_are_examples_and_the_header_lists_all_of_them():
    header = (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8")
    listed = re.findall(r":doc:`(plot_\w+)`", header)
    assert len(listed) >= 11
    assert sorted(f"{name}.py" for name in listed) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_compiles_and_begins_with_a_title(name):
    compile((GALLERY / name).read_text(encoding="utf-8"), name, "exec")
    title, underline = docstring_of(name).splitlines()[:2]
    assert underline == "=" * len(title)
    assert all(len(below) == len(above) for above, below in headings_of(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_its_links_lead_to_pages_and_examples(name):
    for target in re.findall(r":doc:`[^<`]*<?([\w/]+)>?`", (GALLERY / name).read_text("utf-8")):
        if target.startswith("/"):
            assert (GALLERY.parent / f"{target[1:]}.md").is_file(), target
        else:
            assert f"{target}.py" in SCRIPTS, target


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in SCRIPTS],
)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_it_runs_and_draws(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    for package in NEEDED.get(name, ()):
        pytest.importorskip(package)
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    plt.close("all")
    with plt.rc_context():
        runpy.run_path(str(GALLERY / name), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        for figure in figures:
            figure.canvas.draw()  # warns, and fails, where a layout does not fit
    plt.close("all")
    assert figures
    assert all(figure.axes for figure in figures)
    assert not list(tmp_path.iterdir())
