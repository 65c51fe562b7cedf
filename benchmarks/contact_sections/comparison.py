"""All contestants on one set: its table, and its line in the summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contact_sections import contestants, person_files
from contact_sections.contestants import FOLDER, REGRESSIONS, Question, Run
from contact_sections.data_sets import MissingSetError, split_of
from contact_sections.person_files import ORDERS, PersonRows
from contact_sections.program import KS
from harness.benchmark import Options, say
from harness.peers import noting
from harness.report import Block, LeftOut, notes, number, table

#: How far below the best, or from another order of the same rows, is as good.
TOLERANCE = 0.01
FOUND, SORTED, SHUFFLED = ORDERS
SUMMARY = [
    *("set", "ours", "best peer", "ours / best", "within 1 %"),
    *("sorted", "shuffled", "same", "ours s", "regression s, tuned / once", "slower"),
]


@dataclass(frozen=True, eq=False)
class Compared:
    """All runs on one set."""

    name: str
    train: PersonRows
    question: Question
    runs: list[Run]

    def ours(self, order: str) -> Run | None:
        return next((run for run in self.runs if run.order == order), None)

    @property
    def peers(self) -> list[Run]:
        return [run for run in self.runs if run.order not in ORDERS]

    @property
    def regression(self) -> Run | None:
        titles = {each.title for each in REGRESSIONS}
        return next((run for run in self.peers if run.name in titles), None)

    @property
    def share_of_best(self) -> float | None:
        """Our accuracy or P@1 of the file as found, over the best peer's."""
        best = max((run.score.main for run in self.peers), default=0.0)
        found = self.ours(FOUND)
        return found.score.main / best if found and best else None

    @property
    def order_is_harmless(self) -> bool | None:
        """Whether sorted and shuffled rows give models as good: 1 % or one row to test apart."""
        runs = [self.ours(SORTED), self.ours(SHUFFLED)]
        if None in runs:
            return None
        low, high = sorted(run.score.main for run in runs if run)
        return high - low <= max(TOLERANCE * high, 1.001 / len(self.question.rows))


def of_set(found: Compared, lines: list[str]) -> list[Block]:
    """Return the section of a set."""
    train, several = found.train, found.question.several
    size = (
        f"{len(train):,} rows to learn, {len(found.question.rows):,} to test, "
        f"{len(train.label_names):,} labels"
    )
    scores = [f"P@{k} %" for k in KS] if several else ["accuracy %", "log loss"]
    header = ["contestant", "file", "chosen", *scores, "ECE@1", "s", "of which tuning"]
    rows = [row(run, several) for run in found.runs]
    return [f"### {found.name}", f"{size}.", table(header, rows), notes(*lines)]


def row(run: Run, several: bool) -> list[str]:
    score = run.score
    scores = [percent(score.main), number(score.log_loss)]
    error = number(score.calibration_error, 3)
    return [
        run.name,
        run.order,
        run.chosen,
        *([percent(score.precision[k]) for k in KS] if several else scores),
        error if run.probabilities else f"({error})",
        number(run.seconds, 2),
        number(run.tuning_seconds, 2),
    ]


def summary(sets: list[Compared]) -> list[Block]:
    """Return a line for each set."""
    return ["### Summary", table(SUMMARY, [line(each) for each in sets])]


def line(found: Compared) -> list[str]:
    ours, regression, share = found.ours(FOUND), found.regression, found.share_of_best
    best = max(found.peers, key=lambda run: run.score.main, default=None)
    once = regression and regression.seconds - regression.tuning_seconds
    orders = [found.ours(order) for order in (SORTED, SHUFFLED)]
    return [
        found.name,
        percent(ours.score.main) if ours else "-",
        f"{percent(best.score.main)}, {best.name.split(' (')[0]}" if best else "-",
        number(share, 3),
        "-" if share is None else verdict(share >= 1 - TOLERANCE),
        *(percent(run.score.main) if run else "-" for run in orders),
        verdict(found.order_is_harmless),
        number(ours and ours.seconds, 1),
        f"{number(regression.seconds, 1)} / {number(once, 1)}" if regression else "-",
        verdict(ours.seconds > regression.seconds, wanted=False) if ours and regression else "-",
    ]


def verdict(held: bool | None, *, wanted: bool = True) -> str:
    """Return yes or no, in bold where it should be the other."""
    if held is None:
        return "-"
    said = "yes" if held else "no"
    return said if held == wanted else f"**{said}**"


def percent(value: float) -> str:
    return number(100 * value, 2)


def section(name: str, options: Options) -> list[Block]:
    """Return the section of a set, or why it is missing."""
    try:
        train, test = split_of(name, options)
    except MissingSetError as error:
        return [LeftOut(name, str(error))]
    folder = FOLDER / "sets" / name
    question = contestants.Question(
        person_files.write(test, folder / "test"), test, several=train.several or test.several
    )
    files = {
        order: person_files.write(train.ordered(order), folder / order.replace(" ", "-"))
        for order in ORDERS
    }
    runs: list[Run] = []
    lines: list[str] = []
    for order, path in files.items():
        runs += attempt(lines, f"labeltrees, {order}", contestants.ours, path, order, question)
    if options.with_peers:
        peers, reasons = contestants.taking_part(train)
        lines += reasons
        for each in peers:
            runs += attempt(lines, each.title, each.run, files["as found"], question)
    found = Compared(name, train, question, runs)
    options.found[name] = found
    return of_set(found, lines)


def attempt(lines: list[str], name: str, learn: Callable[..., Run], *arguments: Any) -> list[Run]:
    """Return a run, or none and a line more that says why."""
    with noting(lines, name):
        run = learn(*arguments)
        say(f"  {name}: {percent(run.score.main)} % in {run.seconds:.1f} s, {run.chosen}")
        return [run]
    return []
