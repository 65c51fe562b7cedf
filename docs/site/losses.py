"""The comparisons of benchmarks/results/*.jsonl that a peer wins, for the benchmarks page."""

from __future__ import annotations

import re
from typing import NamedTuple

from docs.site.benchmarks import FIRST_CONTACT_SETS, ONLINE_SETS, Records, is_ours, number, table

__all__ = ["Comparison", "losses"]


class Comparison(NamedTuple):
    """A column of a table, and who is compared in it."""

    where: tuple[str, ...]
    place: int
    column: str
    ours: str
    higher: bool = True
    #: Whether learners in italics, which see all rows before they begin, are left out.
    online: bool = False


def _comparisons() -> list[Comparison]:
    found = []
    for name in FIRST_CONTACT_SETS:
        score = "P@1 %" if name in ("bibtex", "rcv1-sub1", "debian", "delicious") else "accuracy %"
        found.append(Comparison(("first_contact", name), 0, score, "labeltrees"))
    for name in ("bibtex", "delicious", "yso-en", "yso-en-full"):
        where = ("batch", "Cost and quality", name)
        found += [Comparison(where, 1, score, "labeltrees, default") for score in ("P@1", "nDCG@5")]
        found.append(Comparison(where, 1, "ECE@1", "labeltrees, default", higher=False))
        costs = ("train s", "peak MB", "model MB", "batch ms/row", "single p50 ms", "p99 ms")
        found += [Comparison(where, 0, cost, "labeltrees, default", higher=False) for cost in costs]
    for name in ONLINE_SETS:
        where = ("online_multilabel", "One pass over each set", name)
        ours = "labeltrees, one pass"
        found += [Comparison(where, 0, score, ours, online=True) for score in ("P@1", "nDCG@5")]
        found += [
            Comparison(where, 0, score, ours, higher=False, online=True)
            for score in ("of labels learned", "ECE@1")
        ]
    where = ("online_multilabel", "One pass over each set", "bibtex")
    found.append(Comparison(where, 0, "rows/s", "labeltrees, one pass", online=True))
    for name in ("bibtex", "delicious", "yso-en", "next identifier"):
        where = ("calibration", "Before → after isotonic calibration", name)
        found.append(Comparison(where, 0, "ECE@1", "labeltrees, ExtremeRegressor", higher=False))
    where = ("online", "End to end from one file", "First 200,000 examples")
    found.append(Comparison(where, 0, "accuracy", "labeltrees, default"))
    costs = ("CPU s", "peak MB")
    found += [Comparison(where, 0, cost, "labeltrees, default", higher=False) for cost in costs]
    return found


_MEASURES = {
    "of labels learned": "label log loss",
    "train s": "training, s",
    "peak MB": "memory of training, MB",
    "model MB": "model file, MB",
    "batch ms/row": "prediction in batches, ms per row",
    "single p50 ms": "prediction of one row, median ms",
    "p99 ms": "prediction of one row, 99th percentile, ms",
}


def losses(results: Records) -> str:
    """Return a sentence and a Markdown table about what a peer does better than our default."""
    lines = [line for each in _comparisons() if (line := _loss(results, each))]
    count = f"{len(lines)} of {len(_comparisons())}"
    return (
        f"The best peer is ahead of labeltrees with its defaults in {count} comparisons:\n\n"
        "| results | measure | labeltrees | best peer | which |\n"
        "| --- | --- | ---: | ---: | --- |\n" + "\n".join(lines)
    )


def _loss(results: Records, compared: Comparison) -> str:
    """Return the line of a comparison that a peer wins, or ""."""
    names, cells = _columns(results, compared)
    ours = next(cell for name, cell in zip(names, cells, strict=True) if name == compared.ours)
    sign = 1 if compared.higher else -1
    peers = [
        (sign * number(cell), cell, name.strip("_"))
        for name, cell in zip(names, cells, strict=True)
        if not is_ours(name.strip("_")) and not (compared.online and name.startswith("_"))
    ]
    value, cell, peer = max(each for each in peers if each[0] == each[0])
    if value <= sign * number(ours):
        return ""
    page, anchor = compared.where[0], compared.where[-1].lower().replace(" ", "-").replace(",", "")
    link = f"[{page}, {compared.where[-1]}](../../../benchmarks/results/{page}.md#{anchor})"
    shown = [text.partition(" →")[0] for text in (ours, cell)]
    measure = _MEASURES.get(compared.column, compared.column)
    peer = re.sub(r" \(.*\)", "", peer)
    return f"| {link} | {measure} | {shown[0]} | {shown[1]} | {peer} |"


def _columns(results: Records, wanted: Comparison) -> tuple[list[str], list[str]]:
    """Return the names of learners, those in italics between underscores, and their cells."""
    benchmark, *section = wanted.where
    found = table(results, benchmark, *section, place=wanted.place)
    raw = [
        str(next(iter(each["row"].values())))
        for each in results
        if each["benchmark"] == benchmark
        and each["section"] == section
        and each.get("table") == wanted.place
    ]
    names = [
        f"_{name}_" if text.startswith("*") else name
        for name, text in zip((row[0] for row in found.rows), raw, strict=True)
    ]
    return names, found.column(wanted.column)
