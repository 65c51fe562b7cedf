"""Results as JSON lines, a file for each benchmark, and the pages that are rendered from them.

A line is one of three records. All have the name of the ``benchmark`` and the ``section``, which is
the path of headings that leads to it.

run    date, machine, versions and command of the run that measured the section
text   a paragraph of the section
row    a row of a table by column, with the number of the ``table`` in the section

A run replaces the sections that it measured and keeps all other sections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from harness.report import Block, LeftOut, Table, heading

BENCHMARKS = Path(__file__).parents[1]
RESULTS = BENCHMARKS / "results"

Titles = tuple[str, ...]
Record = dict[str, Any]
Sections = dict[Titles, list[Record]]

#: The order of the pages in the index, and the question that each of them answers.
PAGES = {
    "parsing": "How fast are files parsed?",
    "stream_generation": "How fast is the built-in stream made?",
    "stream_learning": "How good and how fast are conditional trees on the built-in stream?",
    "online": "How do online trees compare with VW, fastText, River and PyTorch?",
    "online_multilabel": "How do online trees for several labels per row compare with peers?",
    "batch": "How does extreme regression compare with Omikuji, PECOS and napkinXC?",
    "first_contact": "How good is `labeltrees train FILE` without any option?",
    "calibration": "How reliable are the probabilities?",
    "scale": "What do tens of millions of rows and a million labels cost?",
    "self_terminating": "How do self-terminating trees compare with pruned trees?",
    "boosting": "What does boosting add to a single tree?",
    "papers/paper1": "Conditional probability trees: the paper's experiments",
    "papers/paper2": "LOMtree: the paper's experiments",
    "papers/paper3": "Self-terminating trees: the abstract's claims",
    "papers/paper4": "Extreme regression: the paper's experiments",
    "papers/paper5": "Boosting: the paper's bounds",
    "levers": "What does each setting of conditional trees change?",
    "structures": "How do tree structures compare?",
    "tabular": "How good are the defaults on tables of numbers?",
    "text_features": "Which features of texts are worth their time?",
    "drift": "What does forgetting gain on a stream that changes?",
    "multilabel_baselines": "How do the baselines compare with published numbers?",
    "extreme_presets": "How do the presets of extreme regression compare?",
    "extreme_refinement": "What do rerankers add to the candidates of extreme regression?",
    "relevance_default": "Which relevance should be the default?",
    "prediction_sets": "Do prediction sets keep their guarantees?",
    "self_terminating_defaults": "How were the defaults of self-terminating trees chosen?",
    "training_estimate": "How good are estimates of training time and memory?",
    "larger_than_memory": "What does training from files take under a memory limit?",
    "endless_stream": "Does the memory of a stream's model stay level?",
    "dask_training": "What does a cluster add?",
    "turns": "How do threads share a model, and how soon are calls interrupted?",
}


def by_section(blocks: Iterable[Block]) -> Iterator[tuple[Titles, list[Block]]]:
    """Return the blocks below each heading, with the path of headings that leads there."""
    titles: dict[int, str] = {}
    content: list[Block] = []
    for block in blocks:
        found = (3, block.title) if isinstance(block, LeftOut) else heading(block)
        if found is None:
            content.append(block)
            continue
        if titles or content:
            yield tuple(titles.values()), content
        level, title = found
        titles = {above: name for above, name in titles.items() if above < level} | {level: title}
        content = [block] if isinstance(block, LeftOut) else []
    if titles or content:
        yield tuple(titles.values()), content


def records_of(benchmark: str, section: Titles, content: list[Block], run: Record) -> list[Record]:
    """Return a section as records."""
    where = {"benchmark": benchmark, "section": list(section)}
    records: list[Record] = [where | {"run": run}]
    n_tables = 0
    for block in content:
        if isinstance(block, Table):
            rows = (dict(zip(block.columns, row, strict=True)) for row in block.rows)
            records += [where | {"table": n_tables, "row": row} for row in rows]
            n_tables += 1
        elif block:
            records.append(where | {"text": str(block).strip("\n")})
    return records


def file_of(folder: Path, benchmark: str) -> Path:
    return folder / f"{benchmark.rpartition('/')[2]}.jsonl"


def read(path: Path) -> Sections:
    """Return the records of a file by section; no file is an empty one."""
    sections: Sections = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        record = json.loads(line, parse_float=Decimal)
        sections.setdefault(tuple(record["section"]), []).append(record)
    return sections


def store(folder: Path, benchmark: str, section: Titles, content: list[Block], run: Record) -> None:
    """Replace a section of a benchmark, or add it behind its neighbours."""
    if any(isinstance(block, LeftOut) for block in content):
        return
    path = file_of(folder, benchmark)
    sections = read(path)
    if not content and section in sections:  # a heading above other sections
        return
    sections = with_section(sections, section, records_of(benchmark, section, content, run))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{dumped(record)}\n" for records in sections.values() for record in records]
    path.write_text("".join(lines), encoding="utf-8")


def with_section(sections: Sections, section: Titles, records: list[Record]) -> Sections:
    """Return the sections with one more or another in its place.

    A new section follows the last one below the same heading; where there is none, it is the last.
    """
    if section in sections:
        return sections | {section: records}
    paths = list(sections)
    beside = [
        i for i, path in enumerate(paths) if section and path[: len(section) - 1] == section[:-1]
    ]
    place = (max(beside) + 1 if beside else len(paths)) if section else 0
    paths.insert(place, section)
    return {path: sections.get(path, records) for path in paths}


def dumped(value: Any) -> str:
    """Return a value as JSON in which numbers keep their digits.

    >>> dumped({"a": [Decimal("0.50"), None, "x"]})
    '{"a": [0.50, null, "x"]}'
    """
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dumped(key)}: {dumped(value[key])}" for key in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dumped, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def page(benchmark: str, sections: Sections) -> str:
    """Return the page of a benchmark with the run and the content of each section."""
    parts: list[str] = [f"# {benchmark}.py"]
    above: Titles = ()
    told: Record = {}
    for section, records in sections.items():
        parts += headings(section, above)
        above, run = section, records[0]["run"]
        if run != told:
            parts += run_lines(run)
        told = run
        parts += content_of(records[1:])
    return "\n\n".join(parts) + "\n"


def headings(section: Titles, above: Titles) -> list[str]:
    """Return the headings of a section that the section above it does not share.

    >>> headings(("Quality", "bibtex"), ("Quality", "delicious"))
    ['### bibtex']
    """
    known = 0
    while known < min(len(section), len(above)) and section[known] == above[known]:
        known += 1
    return [f"{'#' * level} {title}" for level, title in enumerate(section[known:], 2 + known)]


def run_lines(run: Record) -> list[str]:
    """Return the machine and the command of a run as paragraphs."""
    facts = [run[name] for name in ("date", "machine", "versions") if run.get(name)]
    where = ", ".join(facts) + "." + (f" {run['note']}" if run.get("note") else "")
    return [where, *([f"`{run['command']}`"] if run.get("command") else [])]


def content_of(records: list[Record]) -> Iterator[str]:
    """Return the paragraphs and tables of a section in Markdown."""
    rows: list[Record] = []
    for place, record in enumerate(records):
        if "text" in record:
            yield record["text"]
            continue
        rows.append(record["row"])
        following = records[place + 1] if place + 1 < len(records) else {}
        if following.get("table") != record["table"]:
            yield str(Table(list(rows[0]), [list(row.values()) for row in rows]))
            rows = []


def render(folder: Path) -> None:
    """Write the page of every benchmark that has results, and the index beside the folder."""
    lines = []
    for name, question in PAGES.items():
        sections = read(file_of(folder, name))
        if not sections:
            continue
        file = file_of(folder, name).with_suffix(".md")
        file.write_text(page(name, sections), encoding="utf-8")
        dates = sorted({each[0]["run"]["date"] for each in sections.values()})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        lines.append(f"| [{name}.py]({folder.name}/{file.name}) | {question} | {when} |")
    index = [
        "# Results",
        "`make bench` measures and renders these pages from the records in "
        f"`{folder.name}/*.jsonl`. They are not edited by hand.",
        "\n".join(["| benchmark | question | measured |", "| --- | --- | --- |", *lines]),
    ]
    folder.with_name("RESULTS.md").write_text("\n\n".join(index) + "\n", encoding="utf-8")
