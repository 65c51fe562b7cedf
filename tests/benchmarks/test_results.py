"""benchmarks/harness: sections become records, a run replaces only what it measured, and pages show
what the records say.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RUN = {"date": "2026-01-02", "machine": "M", "versions": "V", "command": "python x.py"}


@pytest.fixture
def stored(tmp_path):
    """Return a function that stores blocks and returns the page of the benchmark."""
    from harness import results

    def store(*blocks, run=RUN, name="batch"):
        for titles, content in results.by_section(blocks):
            results.store(tmp_path, name, titles, content, run)
        return results.page(name, results.read(results.file_of(tmp_path, name)))

    return store


def test_a_page_shows_the_headings_tables_and_text_of_its_records(stored):
    from harness.report import notes, table

    some = table(["set", "rows", "P@1"], [["a", "1,234", "0.50"], ["b", "-", "3 / 1"]])
    page = stored("### Cost", "Words.", some, "#### bibtex", notes("one", None, "two"), some)
    lines = "| set | rows | P@1 |\n| --- | ---: | ---: |\n| a | 1,234 | 0.50 |\n| b | - | 3 / 1 |"
    assert page == (
        "# batch.py\n\n## Cost\n\n2026-01-02, M, V.\n\n`python x.py`\n\nWords.\n\n"
        f"{lines}\n\n### bibtex\n\n- one\n- two\n\n{lines}\n"
    )


def test_a_number_is_a_json_number_with_the_digits_that_were_printed(stored, tmp_path):
    from harness.report import table

    stored(table(["a", "b", "c", "d"], [["x", "12,345", "0.10", "-"]]))
    line = (tmp_path / "batch.jsonl").read_text().splitlines()[-1]
    assert '"row": {"a": "x", "b": 12345, "c": 0.10, "d": null}' in line
    record = json.loads(line)
    assert (record["benchmark"], record["section"], record["table"]) == ("batch", [], 0)


def test_a_run_replaces_its_sections_and_keeps_all_others_in_their_order(stored):
    later = RUN | {"date": "2026-02-03"}
    stored("### One", "#### a", "old a", "#### b", "old b", "### Two", "old two")
    page = stored("### One", "#### a", "new a", "#### c", "new c", run=later)
    words = [line for line in page.splitlines() if line.startswith(("#", "old", "new", "2026"))]
    first, second = "2026-01-02, M, V.", "2026-02-03, M, V."
    assert words[:4] == ["# batch.py", "## One", first, "### a"]
    assert words[4:] == [
        *(second, "new a", "### b", first, "old b", "### c", second, "new c"),
        *("## Two", first, "old two"),
    ]


def test_a_section_that_cannot_run_keeps_its_earlier_results(stored, capsys):
    from harness.benchmark import printed
    from harness.report import left_out

    before = stored("### One", "measured", "### Two", "also")
    blocks = list(printed([*left_out("### One", "folder with bibtex"), "### Two", "also"]))
    assert stored(*blocks) == before
    said = "### One\n\nLeft out: no folder with bibtex was given (`--data DIR`).\n"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("columns", "rows", "wrong"),
    [
        (["a", "b", "a"], [], "columns must differ"),
        (["a", "b"], [["1"]], "every row must have 2 cells"),
    ],
)
def test_tables_that_records_cannot_hold_are_refused(columns, rows, wrong):
    from harness.report import table

    with pytest.raises(ValueError, match=wrong):
        table(columns, rows)


@pytest.mark.parametrize("value", [0, 1234567, Decimal("-0.0012"), Decimal("1234.50"), None, "a"])
def test_values_are_read_back_from_their_text(value):
    from harness.report import text_of, value_of

    assert value_of(text_of(value)) == value


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Return a function that runs `benchmarks/run.py` into a copy of the committed results."""
    import run

    folder = tmp_path / "results"
    folder.mkdir()
    for file in (BENCHMARKS / "results").glob("*.jsonl"):
        (folder / file.name).write_bytes(file.read_bytes())
    monkeypatch.setenv("LABELTREES_BENCHMARK_WORK", str(tmp_path / "work"))

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["run.py", "--results", str(folder), *arguments])
        run.main()
        return folder

    return call


def test_the_committed_pages_are_what_the_records_render_to(bench):
    from harness.results import PAGES, file_of

    folder = bench("--render")
    pages = {file.name for file in folder.glob("*.md")}
    assert {file.stem for file in folder.glob("*.jsonl")} == {Path(page).stem for page in pages}
    assert pages <= {file_of(folder, name).with_suffix(".md").name for name in PAGES}
    for page in pages:
        assert (folder / page).read_text() == (BENCHMARKS / "results" / page).read_text()
    assert (folder / "../RESULTS.md").read_text() == (BENCHMARKS / "RESULTS.md").read_text()


def test_a_run_of_some_benchmarks_loses_no_other_results(bench, monkeypatch, capsys):
    import run

    tiny = ["--only", "queries", "small_sets", "--limit", "500", "--no-peers"]
    usual = run.command
    monkeypatch.setattr(run, "command", lambda *given: [*usual(*given), *tiny])
    folder = bench("--only", "online", "batch", "papers/paper1")  # two of them need --data
    assert "batch is left out: it needs --data" in capsys.readouterr().out
    for file in (BENCHMARKS / "results").glob("*.jsonl"):
        was, now = ((each / file.name).read_text().splitlines() for each in (file.parent, folder))
        new = [line for line in now if '["Queries"]' in line] if file.stem == "online" else []
        lost = [line for line in was if line not in now]
        assert all('["Queries"]' in line for line in lost)
        assert [line for line in now if line not in was] == new
    assert "Learned 400 examples" in (folder / "online.md").read_text()
