"""All contestants on one set, whose files are written first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contact_sections import contestants, person_files, tables
from contact_sections.contestants import FOLDER, Run
from contact_sections.data_sets import MissingSetError, split_of
from contact_sections.person_files import ORDERS
from contact_sections.tables import Compared, percent
from harness.benchmark import say
from harness.peers import noting
from harness.report import LeftOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.benchmark import Options
    from harness.report import Block


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
    return tables.of_set(found, lines)


def attempt(lines: list[str], name: str, learn: Callable[..., Run], *arguments: Any) -> list[Run]:
    """Return a run, or none and a line more that says why."""
    with noting(lines, name):
        run = learn(*arguments)
        say(f"  {name}: {percent(run.score.main)} % in {run.seconds:.1f} s, {run.chosen}")
        return [run]
    return []
