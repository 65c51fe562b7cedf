"""Cost and quality of every contestant on each set, at its defaults and at its best C."""

from __future__ import annotations

from collections.abc import Iterator

from batch_sections.contestants import (
    COSTS,
    MOST_LABELS_NAMED,
    ONE_VS_REST,
    OURS,
    PEERS,
    Run,
    chosen_cost,
    default_cost,
    measured,
    quality,
)
from harness.benchmark import Options, say
from harness.contestants import Contestant
from harness.data_sets import Split, whole
from harness.peers import noting, versions
from harness.report import Block, notes, number, table

COST_COLUMNS = {
    "reading s": ("reading_s", 2),
    "train s": ("train_s", 2),
    "CPU s": ("train_cpu_s", 2),
    "peak MB": ("train_mb", 0),
    "model MB": ("model_mb", 1),
    "load s": ("load_s", 3),
    "batch ms/row": ("batch_ms", 4),
    "batch CPU ms/row": ("batch_cpu_ms", 4),
    "single p50 ms": ("p50_ms", 3),
    "p99 ms": ("p99_ms", 3),
}
SCORES = ("P@1", "P@3", "P@5", "nDCG@1", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "PSnDCG@5")
FRACTIONS = {"XMAD@1": 3, "XMAD@3": 3, "XMAD@5": 3, "ECE@1": 3, "ECE@5": 3, "log loss": 5}
#: Three trees of all of yso-en take each peer many minutes and several GB.
FULL_PEERS = tuple(each for each in PEERS if each.sibling is None)
FULL_OURS = tuple(each for each in OURS if "hinge" not in each.name)


def section(options: Options) -> Iterator[Block]:
    """Return two tables for each set."""
    yield "### Cost and quality"
    yield notes(*explanations(options))
    names = [*options.sets, *(["yso-en-full"] if options.full and "yso-en" in options.sets else [])]
    for name in names:
        say(f"  {name}")
        yield from one_set(options, name)


def one_set(options: Options, name: str) -> list[Block]:
    split = whole(options.data, name, options.limit)
    runs: list[Run] = []
    missing: list[str] = []
    for contestant in taking_part(options, name, split):
        with noting(missing, contestant.name):
            runs += both_costs(contestant, options, name, split)
    scored = [(run, quality(run, split)) for run in runs]
    options.found[name] = scored
    cost_rows = [[*title(run, split), *costs(run)] for run in runs]
    quality_rows = [[*title(run, split), *shown(run, found)] for run, found in scored]
    return [
        f"#### {name}",
        f"{split.described}.",
        table(["contestant", "C", *COST_COLUMNS], cost_rows),
        table(["contestant", "C", *SCORES, *FRACTIONS], quality_rows),
        notes(*missing),
    ]


def taking_part(options: Options, name: str, split: Split) -> list[Contestant]:
    ours, peers = (FULL_OURS, FULL_PEERS) if name.endswith("-full") else (OURS, PEERS)
    small = split.Y.shape[1] <= MOST_LABELS_NAMED
    return [*ours, *(peers if options.with_peers else ()), *([ONE_VS_REST] if small else [])]


def both_costs(contestant: Contestant, options: Options, name: str, split: Split) -> list[Run]:
    """Return the run at the default C and, where another C is chosen, that run as well."""
    named = split.Y.shape[1] <= MOST_LABELS_NAMED
    contestant.python()  # or raise before anything is measured
    costs = [None, best_cost(contestant, options, name)]
    if f"{costs[1]:.3g}" == default_cost(contestant, split):
        costs = costs[:1]
    runs = []
    for cost in costs:
        said = "default" if cost is None else f"C={cost:g}"
        say(f"  {contestant.name}, {said}")
        runs.append(measured(contestant, split, cost, threads=options.threads, named=named))
    return runs


def best_cost(contestant: Contestant, options: Options, name: str) -> float:
    """Return the C chosen for it, or for the single tree that it has several of."""
    by_name = {each.name: each for each in (*PEERS, *OURS, ONE_VS_REST)}
    chooser = by_name[contestant.sibling] if contestant.sibling else contestant
    name = name.removesuffix("-full")
    return chosen_cost(chooser, options.data, name, options.limit, options.threads)


def title(run: Run, split: Split) -> list[str]:
    default = f"{default_cost(run.contestant, split)} (default)"
    return [run.contestant.name, default if run.cost is None else f"{run.cost:g}"]


def costs(run: Run) -> list[str]:
    return [number(run.facts[key], digits) for key, digits in COST_COLUMNS.values()]


def shown(run: Run, found: dict[str, float]) -> list[str]:
    texts = [number(100 * found[name], 2) for name in SCORES]
    for name, digits in FRACTIONS.items():
        text = number(found.get(name), digits)
        probable = run.contestant.probabilities or name == "log loss"
        texts.append(text if probable else f"({text})")
    return texts


def explanations(options: Options) -> list[str]:
    """Return what a reader must know of the tables."""
    return [
        versions("omikuji", "pecos", "napkinxc") if options.with_peers else "",
        f"All contestants train with {options.threads} threads and predict with one, on the same "
        "rows of length 1, each in a separate process. CPU s and peak MB are of training, with all "
        "threads and the data. Omikuji reads a text file, the others read arrays.",
        f"C is the default, and the one of {COSTS} with the best nDCG@5 on a held-out tenth (at "
        "most 5,000) of the training rows. Three trees take the C of their single tree. To save "
        "hours, all of yso-en takes the C of its first 100,000 rows. A contestant has one row if "
        "the default was best.",
        "Times of prediction are for 10 labels per row, quality is measured with 100. Omikuji has "
        "no batches, so its rows are predicted one by one. Loading ends with the prediction of a "
        "first row.",
        "P, nDCG and PSP in %. ECE has 15 bins of equal mass. Log loss is the mean over all rows "
        "and labels, if a probability of every label can be computed. Scores in brackets do not "
        "claim to be probabilities.",
    ]
