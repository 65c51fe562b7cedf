"""Quality and cost of every contestant on each set."""

from __future__ import annotations

from collections.abc import Iterator

from harness.benchmark import Options, say
from harness.peers import noting, versions
from harness.report import Block, notes, number, table
from multilabel_sections.contestants import (
    BATCH,
    OURS,
    OURS_IN_PASSES,
    VW_TREE,
    Run,
    n_sampled,
    run,
    taking_part,
)
from multilabel_sections.data_sets import CHOOSING, streamed

DIGITS = {
    "P@1": 2, "P@3": 2, "P@5": 2, "nDCG@5": 2, "label log loss": 3,
    "of labels learned": 3, "ECE@1": 3, "rows/s": 0, "top 5 µs/row": 1, "MB": 0,
}  # fmt: skip
LESS_IS_BETTER = ("label log loss", "of labels learned", "ECE@1", "top 5 µs/row", "MB")

#: A run's scores, by column.
Scored = list[tuple[Run, dict[str, float | None]]]


def section(options: Options) -> Iterator[Block]:
    """Return a table for each set, and where the goals stand."""
    yield "### One pass over each set"
    yield notes(*explanations(options))
    for name in options.sets:
        say(f"  {name}")
        yield from one_set(options, name)


def one_set(options: Options, name: str) -> list[Block]:
    split = streamed(options, name)
    scored: Scored = []
    missing: list[str] = []
    for contestant in taking_part(split, with_peers=options.with_peers):
        say(f"  {contestant.name}")
        with noting(missing, contestant.name):
            found = run(contestant, split)
            scored.append((found, found.scores(split)))
    rows = [row(*each) for each in scored]
    return [
        f"#### {name}",
        f"{split.described}; every label's probability of {n_sampled(split):,} rows.",
        table(["learner", "rate", *DIGITS], rows),
        notes(*goals(scored), *missing),
    ]


def row(found: Run, scores: dict[str, float | None]) -> list[str]:
    cells = [number(scores[name], digits) for name, digits in DIGITS.items()]
    name = found.contestant.name if found.contestant.online else f"*{found.contestant.name}*"
    return [name, "-" if found.rate is None else f"{found.rate:g}", *cells]


def goals(scored: Scored) -> list[str]:
    """Return how one pass stands to the online peers, and three passes to the batch model."""
    by_name = {found.contestant.name: scores for found, scores in scored}
    ours, said = by_name.get(OURS.name), []
    for found, scores in scored:
        if ours is None or found.contestant.peer is None or not found.contestant.online:
            continue
        ahead = [name for name in DIGITS if is_better(name, scores[name], ours[name])]
        said.append(f"{found.contestant.name} is ahead of our one pass in: {listed(ahead)}.")
    if ours is not None and VW_TREE.name in by_name:
        ratio = (ours["rows/s"] or 0) / (by_name[VW_TREE.name]["rows/s"] or 1)
        said.append(f"Our one pass learns {ratio:.2f} times the rows/s of {VW_TREE.name}.")
    if OURS_IN_PASSES.name in by_name and BATCH.name in by_name:
        gap = (by_name[OURS_IN_PASSES.name]["P@1"] or 0) - (by_name[BATCH.name]["P@1"] or 0)
        said.append(f"P@1 of three passes minus P@1 of our batch model is {gap:+.2f} points.")
    return said


def is_better(column: str, theirs: float | None, ours: float | None) -> bool:
    """Return whether a peer's number beats ours as it is printed."""
    if theirs is None or ours is None:
        return False
    sign = -1 if column in LESS_IS_BETTER else 1
    return sign * round(theirs - ours, DIGITS[column]) > 0


def listed(names: list[str]) -> str:
    return ", ".join(names) or "nothing"


def explanations(options: Options) -> list[str]:
    """Return what a reader must know of the tables."""
    return [
        versions("napkinxc", "vw", "omikuji") if options.with_peers else "",
        "All learn from the same rows of length 1 in the same random order, with one thread, in "
        "separate processes. Learners in italics do not learn online, because they see all rows "
        "before they begin, or several times.",
        f"Rates of peers have the best nDCG@5 when up to {CHOOSING[0]:,} training rows are learned "
        f"and {CHOOSING[1]:,} others predicted. Ours are the defaults everywhere.",
        "P and nDCG in %. Label log loss is, for each row, the sum over all labels of -log of the "
        "probability given to the truth, with floor 1e-9. To save time it is computed for the "
        "number of rows named. The next column leaves out labels without training rows. VW knows "
        "the number of labels before, the others give those labels 0. VW prints six decimals, so "
        "its 0 counts as 5e-7. ECE@1 has 15 bins of equal mass.",
        "rows/s of learning without reading, and µs, are in seconds of the processor, because "
        "other programs may be running. VW reads text, so the time to read the file without "
        "learning is not counted. MB is the peak of the learning process minus its memory before "
        "reading.",
    ]
