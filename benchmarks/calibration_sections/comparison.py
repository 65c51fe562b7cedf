"""A table for each set, with every contestant before and after isotonic calibration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from calibration_sections import scoring
from calibration_sections.contestants import FASTTEXT_RATES, asked, taking_part
from calibration_sections.data_sets import HELD_SHARE, MOST_HELD, Parts, parts
from calibration_sections.plots import FILE, reliability
from calibration_sections.scoring import KS, N_BINS, N_DRAWS, N_WIDE_BINS, Top
from harness.benchmark import Options, say
from harness.peers import noting, versions
from harness.report import Block, notes, number, table
from multilabel_sections.contestants import Contestant
from multilabel_sections.data_sets import CHOOSING

ERRORS = [f"{name}@{k}" for name in ("ECE", "Brier") for k in KS]
SHOWN_WIDE = f"wide ECE@{KS[-1]}"
HEADER = ["learner", "rate", "train s", "P@1", "P@5", *ERRORS, f"ECE@{KS[-1]}, equal width"]


@dataclass(frozen=True, eq=False)
class Result:
    """One contestant's answers about the test rows, as they came and after the map."""

    contestant: Contestant
    rate: float | None
    train_s: float
    raw: Top
    mapped: Top


def section(options: Options) -> Iterator[Block]:
    """Return a table for each set, and draw the picture of all."""
    yield "### Before → after isotonic calibration"
    yield notes(*explanations(options))
    if not options.quick:
        yield f"![reliability before and after isotonic calibration](../plots/{FILE})"
    curves = {}
    for name in options.sets:
        say(f"  {name}")
        found = parts(options, name)
        results, missing = run_all(options, name, found)
        yield from one_set(name, found, results, missing)
        curves[name] = {
            each.contestant.name: (
                scoring.curve(each.raw, found.tested),
                scoring.curve(each.mapped, found.tested),
            )
            for each in results
        }
    if not options.quick:
        reliability(curves, options.plots / FILE)


def run_all(options: Options, name: str, found: Parts) -> tuple[list[Result], list[str]]:
    """Return the results of contestants that could take part, and a sentence for each other one."""
    results: list[Result] = []
    missing: list[str] = []
    for contestant in taking_part(found.split, name, options):
        say(f"  {contestant.name}")
        with noting(missing, contestant.name):
            results.append(result(contestant, found))
    return results, missing


def result(contestant: Contestant, found: Parts) -> Result:
    rate, answers = asked(contestant, found.split)
    told = Top.of(answers.labels, answers.scores)
    held, raw = told.cut(0, found.n_held), told.cut(found.n_held, None)
    isotonic = scoring.isotonic_map(held, found.held)
    return Result(contestant, rate, answers.train_s, raw, raw.mapped(isotonic))


def one_set(name: str, found: Parts, results: list[Result], missing: list[str]) -> list[Block]:
    rows = [row(each, found) for each in results]
    said = notes(*by_chance(found, results), *missing)
    return [f"#### {name}", f"{found.described}.", table(HEADER, rows), said]


def row(each: Result, found: Parts) -> list[str]:
    before, after = (scoring.calibration(told, found.tested) for told in (each.raw, each.mapped))
    quality = scoring.precision(each.raw, found.tested)
    return [
        each.contestant.name,
        "-" if each.rate is None else f"{each.rate:g}",
        number(each.train_s, 1),
        *(number(quality[f"P@{k}"], 2) for k in (1, 5)),
        *(f"{before[name]:.3f} → {after[name]:.3f}" for name in (*ERRORS, SHOWN_WIDE)),
    ]


def by_chance(found: Parts, results: list[Result]) -> Iterator[Block]:
    """Say how large errors are of probabilities that are right."""
    if results:
        errors = scoring.errors_by_chance(results[0].mapped, found.tested)
        said = ", ".join(number(errors[k], 3) for k in KS)
        yield (
            f"Test rows are finite: where labels are drawn with the probabilities that "
            f"{results[0].contestant.name} gives after the map, ECE@1, 3, 5 are {said} on average "
            f"({N_DRAWS} draws). Less than that is luck."
        )


def explanations(options: Options) -> list[str]:
    """Return what a reader must know of the tables."""
    names = ("omikuji", "pecos", "napkinxc", "vw", "fasttext")
    return [
        versions(*(names if options.with_peers and not options.quick else ())),
        f"ECE@k has the first k labels of all rows in {N_BINS} bins of equal mass. The last column "
        f"has {N_WIDE_BINS} bins of equal width instead. Brier@k is the mean of (y - p)^2 over the "
        "same labels. P in %. A score above 1 counts as 1.",
        f"{HELD_SHARE:.0%} of the training rows, at most {MOST_HELD:,}, are held out, and no "
        f"contestant is trained on them. Their first {KS[-1]} labels, pooled, fit one isotonic map "
        "per contestant (scikit-learn's IsotonicRegression), for all labels and all k. On the "
        "stream, the training rows, the held-out rows and the test rows follow each other and come "
        "from different files.",
        "train s are of the processor, with one thread and without reading. Settings are defaults, "
        "with two exceptions. The rates of VW and OPLT are the choices of online_multilabel.py. "
        f"fastText has 25 epochs and the rate of {FASTTEXT_RATES} with the best nDCG@5 when up to "
        f"{CHOOSING[0]:,} training rows are learned and {CHOOSING[1]:,} others predicted, `ova` if "
        "labels are few and else `hs`. If its weights become NaN, the rate is halved until they do "
        "not.",
        "Left out on sets with many labels, because they have a predictor for each label, are one "
        "logistic regression per label and VW `--multilabel_oaa` on yso-en and the stream; VW "
        "`--oaa --probabilities` prints all labels of each row.",
    ]
