"""What is claimed of extreme regression, what this run reached, and the ratio of the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.benchmark import Options
from harness.report import Block, notes, number, table

ONE_TREE, ENSEMBLE = "labeltrees, 1 tree", "labeltrees, default"
HINGE, LOG = "Omikuji hinge, 1 tree", "Omikuji log, 1 tree"
PECOS, NAPKINXC = "PECOS XR-Linear", "napkinXC PLT"
SINGLE, TRIPLE = (HINGE, LOG, PECOS, NAPKINXC), ("Omikuji hinge, 3 trees", "Omikuji log, 3 trees")
RANKED = ("P@1", "P@3", "P@5", "nDCG@5")
#: The paper's bibtex numbers, rounded up.
PAPER = {
    "labeltrees, as the paper's program": {
        "PSP@1": 49.7, "PSP@3": 52.7, "PSP@5": 58.6, "AUC@5": 52.3, "nDCG@5": 55.0,
    },
    "labeltrees, as the paper's program, tail `xreg`": {
        "PSP@1": 49.9, "PSP@3": 53.0, "PSP@5": 58.8,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """A number that should be at least, or at most, another."""

    what: str
    asked: float
    reached: float
    at_most: bool = False
    digits: int = 2

    def row(self) -> list[str]:
        sign = "<=" if self.at_most else ">="
        holds = self.reached <= self.asked if self.at_most else self.reached >= self.asked
        return [
            self.what,
            f"{sign} {number(self.asked, self.digits)}",
            number(self.reached, self.digits),
            number(self.reached / self.asked, 2) if self.asked else "-",
            "yes" if holds else "**no**",
        ]


class Scores:
    """The runs of one set by contestant, peers at their better C by nDCG@5, ours at the default."""

    def __init__(self, scored: list[tuple[Any, dict[str, float]]]) -> None:
        self.facts: dict[str, dict[str, Any]] = {}
        for run, found in scored:
            name, both = run.contestant.name, run.facts | found
            known = self.facts.get(name)
            ours = name.startswith("labeltrees")
            better = known is not None and both["nDCG@5"] > known["nDCG@5"]
            if known is None or (better and not ours):
                self.facts[name] = both
        self.log_losses = [
            found["log loss"]
            for run, found in scored
            if run.contestant.program == "ovr_program" and "log loss" in found
        ]

    def best(self, names: tuple[str, ...], key: str, *, least: bool = False) -> float | None:
        """Return the best number among the named contestants that took part."""
        values = [self.facts[name][key] for name in names if name in self.facts]
        return (min(values) if least else max(values)) if values else None


def section(options: Options) -> list[Block]:
    """Return the table of all claims that the sections run speak of; nothing if there is none."""
    rows = [claim.row() for claim in all_claims(options.found)]
    if not rows:
        return []
    said = notes(
        "Peers are from this run with the better C by nDCG@5, and one-vs-rest with the C of the "
        "better log loss. Ours has the default C. Scores are in %.",
        "Of a part of the data only (`--limit`): the claims are about the whole."
        if options.limit
        else None,
    )
    header = ["claim", "asked", "reached", "reached / asked", "holds"]
    return ["### Claims", table(header, rows), said]


def all_claims(found: dict[str, Any]) -> Iterator[Claim]:
    if "yso-en" in found:
        yield from of_100_000_rows(Scores(found["yso-en"]))
    if "yso-en-full" in found:
        yield from of_all_rows(Scores(found["yso-en-full"]))
    for name in ("bibtex", "delicious", "yso-en"):
        if name in found:
            yield from of_probabilities(name, Scores(found[name]))
    yield from of_the_paper(found.get("propensity", {}))
    yield from of_other_sections(found)


def of_100_000_rows(scores: Scores) -> Iterator[Claim]:
    where = "yso-en 100k"
    if not {ONE_TREE, ENSEMBLE} <= set(scores.facts):
        return
    one, ensemble = scores.facts[ONE_TREE], scores.facts[ENSEMBLE]
    yield from faster(f"{where}, one tree", scores, {LOG: 8, PECOS: 4})
    fastest = scores.best(SINGLE, "train_s", least=True)
    if fastest is not None:
        what = f"{where}, default: fastest single-tree peer's training time / ours"
        yield Claim(what, 1, fastest / ensemble["train_s"])
    yield from as_good(f"{where}, default, best three-tree peer", scores, ENSEMBLE, TRIPLE)
    yield from as_good(f"{where}, one tree, best single-tree peer", scores, ONE_TREE, SINGLE)
    if PECOS in scores.facts:
        pecos = scores.facts[PECOS]
        times = pecos["batch_ms"] / one["batch_ms"]
        yield Claim(f"{where}, one tree: rows/s in batches / PECOS's", 2, times)
        megabytes = (pecos["model_mb"], one["model_mb"])
        yield Claim(f"{where}, one tree: MB of the file, PECOS's", *megabytes, at_most=True)
    for what, facts in (("one tree", one), ("default", ensemble)):
        p50, p99 = facts["p50_ms"], facts["p99_ms"]
        yield Claim(f"{where}, {what}: single row, p50 ms", 0.1, p50, at_most=True, digits=3)
        yield Claim(f"{where}, {what}: single row, p99 ms", 0.3, p99, at_most=True, digits=3)
        load = facts["load_s"]
        yield Claim(f"{where}, {what}: s to load, mapped", 0.05, load, at_most=True, digits=3)


def of_all_rows(scores: Scores) -> Iterator[Claim]:
    where = "all of yso-en, one tree"
    if ONE_TREE not in scores.facts:
        return
    yield from faster(where, scores, {HINGE: 3, PECOS: 5, LOG: 8})
    peak = scores.facts[ONE_TREE]["train_mb"] * 2**20 / 1e9
    yield Claim(f"{where}: GB at the peak of training, data included", 1.3, peak, at_most=True)
    yield from as_good(f"{where}, PECOS", scores, ONE_TREE, (PECOS,))


def faster(where: str, scores: Scores, times: dict[str, float]) -> Iterator[Claim]:
    ours = scores.facts[ONE_TREE]["train_s"]
    for name, asked in times.items():
        if name in scores.facts:
            reached = scores.facts[name]["train_s"] / ours
            yield Claim(f"{where}: training time of {name} / ours", asked, reached)


def as_good(where: str, scores: Scores, ours: str, peers: tuple[str, ...]) -> Iterator[Claim]:
    for key in RANKED:
        best = scores.best(peers, key)
        if best is not None:
            yield Claim(f"{where}: {key}", 100 * best, 100 * scores.facts[ours][key])


def of_probabilities(name: str, scores: Scores) -> Iterator[Claim]:
    if ENSEMBLE not in scores.facts:
        return
    ours = scores.facts[ENSEMBLE]
    if name != "delicious":
        yield Claim(f"{name}, default: ECE@1", 0.03, ours["ECE@1"], at_most=True, digits=4)
    if scores.log_losses:
        ratio = ours["log loss"] / min(scores.log_losses)
        what = f"{name}, default: log loss of all labels / one-vs-rest's"
        yield Claim(what, 1.02, ratio, at_most=True, digits=3)


def of_the_paper(found: dict[str, dict[str, float]]) -> Iterator[Claim]:
    for learner, numbers in PAPER.items():
        if learner in found:
            for key, asked in numbers.items():
                what = f"bibtex, propensities, {learner.removeprefix('labeltrees, ')}: {key}"
                yield Claim(what, asked, 100 * found[learner][key])


def of_other_sections(found: dict[str, Any]) -> Iterator[Claim]:
    if "movielens" in found:
        ratios = found["movielens"]
        what = "MovieLens, labelwise search: Rating@5 / that of"
        yield Claim(f"{what} the transposed top 10", 1.5, ratios["transposed"])
        yield Claim(f"{what} scoring all pairs", 0.99, ratios["every"], digits=3)
    if "labelwise" in found:
        yield Claim(
            "labelwise search, made-up set: times as fast as all pairs", 20, found["labelwise"]
        )
    if "growth" in found:
        growth = found["growth"]
        first, last = growth["labels"]
        for what in ("learn", "ask"):
            said = f"{first:,.0f} -> {last:,.0f} labels: cost to {what}, times; asked: log L's"
            yield Claim(said, growth["log"], growth[what], at_most=True)
