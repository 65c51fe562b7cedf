"""The site has every page, every command and every public name, and its links lead somewhere.

Nothing is built here: `make docs` does that. What it builds from is laid out and looked at.
"""

from __future__ import annotations

import posixpath
import re
import runpy
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import pytest
from docs.site import benchmarks, commands, comparison, finished, gallery, losses, reference, stage

import labeltrees
from labeltrees.cli import command_named
from labeltrees.cli.help import paragraphs

ROOT = Path(__file__).parents[2]
MADE_BY_SPHINX = re.compile(r"^(auto_gallery|reference/generated)/")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return stage.pages()


def toctree(name: str, text: str) -> list[str]:
    """Return the pages in a page's lists of contents, without their suffixes."""
    found = []
    for block in re.findall(r"^:::\{toctree\}\n(.*?)^:::", text, flags=re.MULTILINE | re.DOTALL):
        found += [line for line in block.splitlines() if line and not line.startswith(":")]
    named = [re.sub(r".*<(.+)>", r"\1", line) for line in found]
    return [posixpath.join(posixpath.dirname(name), each) for each in named]


def test_every_page_is_in_the_contents(pages):
    stems = {name.rpartition(".")[0]: name for name in pages}
    reached, waiting = set(), ["index"]
    while waiting:
        page = waiting.pop()
        if page in reached or MADE_BY_SPHINX.match(page):
            continue
        reached.add(page)
        waiting += toctree(stems[page], pages[stems[page]])
    assert set(stems) - reached == set()
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} <= reached


def test_links_between_pages_lead_somewhere(pages):
    pictures = {f"{place}/{file.name}" for folder, place in (("docs/images", "images"),
                ("benchmarks/plots", "plots")) for file in (ROOT / folder).iterdir()}  # fmt: skip
    broken = []
    for name, text in pages.items():
        prose = re.sub(r"`[^`]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        for target in re.findall(r"\]\(([^)#\s]+)", prose):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            if not re.match(r"[a-z]+:", target) and place not in {*pages, *pictures}:
                broken.append((name, target))
    assert broken == []


@pytest.mark.parametrize("module", reference.MODULES)
def test_the_reference_has_every_public_name(pages, module):
    page = pages[f"reference/{module}.rst"]
    listed = set(re.findall(r"^   (\w+)$|^\.\. py:data:: (\w+)$", page, flags=re.MULTILINE))
    names = {first or second for first, second in listed}
    aliases = set(re.findall(r"^`labeltrees\.(\w+)` is `", page, flags=re.MULTILINE))
    assert names | aliases == set(reference.public_names(module))


def test_the_reference_has_every_module_that_names_its_public_names(pages):
    of_package = {name for name in labeltrees.__all__ if name in ("decisions", "metrics")}
    assert {f"labeltrees.{name}" for name in of_package} <= set(reference.MODULES)
    for module in reference.MODULES:
        assert f"({module}.rst)" in pages["reference/index.md"]


def test_every_public_name_says_what_it_is():
    silent = [
        f"{module}.{name}"
        for module in reference.MODULES
        for part in reference.parts(module)
        for name in part.names
        if part.title != "Constants" and not getattr(import_module(module), name).__doc__
    ]
    assert silent == []


@pytest.mark.parametrize("name", commands.command_names())
def test_a_command_s_page_has_every_option(pages, name):
    page = pages[f"command_line/{name}.rst"]
    shown = set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", page))
    for parameter in command_named(name).params:
        if parameter.param_type_name == "option":
            assert set(parameter.opts) | set(parameter.secondary_opts) <= shown
        else:
            assert re.search(rf"^``{parameter.name}\b", page, flags=re.M | re.I)


def test_every_command_is_in_the_list(pages):
    from labeltrees.cli import COMMANDS

    assert commands.command_names() == list(COMMANDS)
    assert all(f"({name}.rst)" in pages["command_line/index.md"] for name in COMMANDS)


def test_the_settings_can_be_read_and_name_this_version():
    settings = runpy.run_path(str(ROOT / "docs/site/conf.py"))
    assert settings["version"] == labeltrees.__version__
    assert (ROOT / "docs/site" / settings["html_favicon"]).is_file()


@pytest.mark.parametrize("name", benchmarks.PLOTS)
def test_every_plot_finds_its_tables_in_the_results(name):
    from matplotlib.figure import Figure

    figure = Figure()
    results = benchmarks.read(ROOT / "benchmarks/results")
    benchmarks.PLOTS[name][0](results, figure.add_subplot())
    assert f"<!-- plot: {name} -->" in (ROOT / "docs/site/pages/benchmarks.md").read_text()


def test_the_page_lists_everything_that_a_peer_wins():
    results = benchmarks.read(ROOT / "benchmarks/results")
    assert losses.losses(results) in (ROOT / "docs/site/pages/benchmarks.md").read_text()


def test_the_titles_of_plots_hold():
    results = benchmarks.read(ROOT / "benchmarks/results")

    def split(column, *where, place=0):
        found = benchmarks.table(results, *where, place=place)
        values = zip(found.rows, map(benchmarks.number, found.column(column)), strict=True)
        named = [(row[0], value) for row, value in values]
        ours = [value for name, value in named if benchmarks.is_ours(name)]
        return ours, [value for name, value in named if not benchmarks.is_ours(name)]

    stream = ("online", "End to end from one file", "First 200,000 examples")
    for column, better in (("accuracy", 1), ("CPU s", -1)):
        ours, peers = split(column, *stream)
        assert min(better * value for value in ours) > max(better * value for value in peers)
    subjects = ("batch", "Cost and quality", "yso-en")
    ours, peers = split("ECE@1", *subjects, place=1)
    assert max(ours) <= min(peers) / 3
    ours, peers = split("nDCG@5", *subjects, place=1)
    assert ours[0] > max(peers)
    ours, peers = split("train s", *subjects)
    assert ours[0] < min(peers)


def test_a_table_that_is_missing_is_an_error():
    rows = [{"benchmark": "a", "section": ["B"], "table": 0, "row": {"x": 1}}]
    assert benchmarks.table(rows, "a", "B").rows == [["1"]]
    for name, section, place in (("b", "B", 0), ("a", "C", 0), ("a", "B", 1)):
        with pytest.raises(LookupError, match=f"no table {place} of {name} > {section}"):
            benchmarks.table(rows, name, section, place=place)


def test_faults_of_a_finished_site_are_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="one"></h1><a href="#one"></a><a href="b.html#two"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#one"></a>')
    (tmp_path / "x.css").write_text("a { src: url(https://example.org/font.woff2) }")
    assert finished.faults(tmp_path) == [
        "a.html: fetches https://example.org/x.js",
        "a.html: no anchor for b.html#two",
        "a.html: no file for c.html",
        "x.css: fetches https://example.org/font.woff2",
    ]


def test_the_picture_of_the_terminal_is_a_small_svg():
    picture = ROOT / "docs/images/demo.svg"
    assert picture.stat().st_size < 200_000
    assert ET.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_picture_of_the_terminal_shows_its_last_frame_when_it_does_not_play():
    text = (ROOT / "docs/images/demo.svg").read_text()
    style = re.search("<style>(.+?)</style>", text, re.DOTALL)[1]
    outside_of_animations = re.sub(r"@keyframes \w+\{(\w+%?(,\w+%)*\{[^}]*\})+\}", "", style)
    assert "opacity" not in outside_of_animations
    # Before an animation starts, its first frame hides nothing.
    assert not re.search(r"animation[^;}]*\b(both|backwards)\b", style)
    assert "prefers-reduced-motion" in style


def test_the_chart_of_the_readme_is_drawn_from_the_results():
    results = benchmarks.read(ROOT / "benchmarks/results")
    assert comparison.CHART.read_text() == comparison.chart(results)
    assert ET.fromstring(comparison.chart(results)).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_title_of_the_chart_holds_for_the_defaults():
    for panel in comparison.panels(benchmarks.read(ROOT / "benchmarks/results")):
        ours = next(point for point in panel.points if point.name == "labeltrees")
        peers = [point for point in panel.points if not point.ours]
        assert len(peers) >= 3
        assert ours.quality > max(point.quality for point in peers)
        assert ours.seconds < min(point.seconds for point in peers)
        (fast, slow), (low, high) = panel.limits
        assert all(fast < point.seconds < slow for point in panel.points)
        assert all(low < point.quality < high for point in panel.points)


def test_pages_of_what_is_no_more_are_removed(tmp_path):
    kept = tmp_path / "reference/generated/labeltrees.load.rst", tmp_path / "auto_gallery/plot.rst"
    gone = tmp_path / "reference/generated/labeltrees.gone.rst", tmp_path / "gone.md"
    for file in (*kept, *gone):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    stage.remove_others(tmp_path, set())
    assert sorted(file for file in tmp_path.rglob("*") if file.is_file()) == sorted(kept)


@pytest.mark.parametrize("name", commands.command_names())
def test_a_command_s_page_shows_a_call_that_can_be_made(pages, name):
    call = paragraphs(command_named(name))[1].removeprefix("Example: ")
    assert call.startswith(f"labeltrees {name}")
    assert f"   $ {call}\n" in pages[f"command_line/{name}.rst"]
    assert f"{commands.GUIDES[name]}.md" in pages


def test_every_example_of_the_gallery_has_a_question():
    scripts = {file.stem for file in (ROOT / "docs/gallery").glob("plot_*.py")}
    assert set(gallery.asked()) == scripts


def test_pages_show_nothing_that_only_tests_need(pages):
    assert [name for name, text in pages.items() if "<BLANKLINE>" in text] == []


def test_a_record_s_page_names_a_function_that_returns_it():
    assert reference.maker_of("labeltrees.decisions.Threshold") == (
        "labeltrees.decisions.threshold_for"
    )
    summary = "labeltrees.metrics.ProgressiveSummary"
    assert reference.maker_of(summary) == "labeltrees.metrics.ProgressiveValidation.summary"
    assert reference.maker_of("labeltrees.ConditionalTreeClassifier") is None
