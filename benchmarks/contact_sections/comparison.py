"""All contestants on one set, whose files are written first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from batch_sections.comparison import reason
from contact_sections import contestants, person_files, tables
from contact_sections.contestants import FOLDER, Run
from contact_sections.data_sets import MissingSetError, split_of
from contact_sections.person_files import ORDERS
from contact_sections.tables import Compared, percent
from peers import MissingPeerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from contact_sections.options import Options


def section(name: str, options: Options) -> tuple[str, Compared | None]:
    """Return the section of a set and what it compared, if the set can be had."""
    try:
        train, test = split_of(name, options)
    except MissingSetError as error:
        return f"### {name}\n\n{error}\n", None
    folder = FOLDER / "sets" / name
    question = contestants.Question(
        person_files.write(test, folder / "test"), test, several=train.several or test.several
    )
    files = {
        order: person_files.write(train.ordered(order), folder / order.replace(" ", "-"))
        for order in ORDERS
    }
    runs, lines = [], []
    for order, path in files.items():
        runs += attempt(lines, f"labeltrees, {order}", contestants.ours, path, order, question)
    if options.with_peers:
        peers, reasons = contestants.taking_part(train)
        lines += reasons
        for each in peers:
            runs += attempt(lines, each.title, each.run, files["as found"], question)
    found = Compared(name, train, question, runs)
    return tables.of_set(found, lines), found


def attempt(lines: list[str], name: str, learn: Callable[..., Run], *arguments: Any) -> list[Run]:
    """Return a run, or none and a line more that says why."""
    try:
        run = learn(*arguments)
    except MissingPeerError as error:
        lines += [str(error)] * (str(error) not in lines)
        return []
    except RuntimeError as error:
        lines.append(f"{name} failed: {reason(error)}")
        return []
    said = f"  {name}: {percent(run.score.main)} % in {run.seconds:.1f} s, {run.chosen}"
    print(said, file=sys.stderr, flush=True)
    return [run]
