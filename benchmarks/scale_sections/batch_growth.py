"""Label trees learned in batch on made-up sets of up to a million labels, beside their peers."""

from __future__ import annotations

import functools
import sys
from typing import Any

from batch_sections import contestants
from batch_sections.synthetic import made_up
from harness.benchmark import Options
from harness.data_sets import Split, written
from harness.peers import MissingPeerError
from labeltrees.metrics import precision_at_k
from scale_sections import measurements

SECTION = "batch"
SIZES = (64_000, 256_000, 1_000_000)
QUICK_SIZES = (200, 400)
MOST_ROWS = 256_000
N_ASKED = 2_000
THREADS = 2
#: Processor seconds after which a program is stopped; what took longer is said to have.
MOST_SECONDS = 2_400
OURS = ("labeltrees, 1 tree", "labeltrees, hinge, 1 tree")
PEERS = ("PECOS XR-Linear", "Omikuji log, 1 tree")  # PECOS learns by squared hinge loss


def run(options: Options) -> None:
    """Train and query each contestant at each size, and record the cost.

    A contestant that was stopped, or would need more than its time by its growth so far, is not
    tried with more labels.
    """
    everyone = {each.name: each for each in (*contestants.OURS, *contestants.PEERS)}
    names = OURS + PEERS if options.with_peers else OURS
    out = set()
    for n_labels in QUICK_SIZES if options.quick else SIZES:
        split = made(options.rows(min(n_labels, MOST_ROWS)), n_labels)
        for name in names:
            if name not in out and not one(everyone[name], split, options):
                out.add(name)


def one(contestant: contestants.Contestant, split: Split, options: Options) -> bool:
    """Write down one run; return whether it came to its end."""
    n_labels = split.Y.shape[1]
    facts: dict[str, Any] = {
        "section": SECTION,
        "name": contestant.name,
        "labels": n_labels,
        "rows": split.X.shape[0],
        "entries_per_row": split.X.nnz / split.X.shape[0],
        "threads": THREADS,
    }
    print(f"  {contestant.name}, {n_labels:,} labels", file=sys.stderr, flush=True)
    try:
        done = contestants.measured(
            contestant, split, None, threads=THREADS, most_seconds=MOST_SECONDS
        )
    except MissingPeerError as error:
        measurements.append(options.own.measured, **facts, left_out=str(error))
        return False
    except RuntimeError as error:
        measurements.append(
            options.own.measured, **facts, left_out=str(error).rpartition(" failed: ")[2]
        )
        return False
    found = {f"P@{k}": precision_at_k(split.Y_test, done.scores, k) for k in (1, 3, 5)}
    measurements.append(options.own.measured, **facts, **done.facts, **found)
    return True


@functools.cache
def made(n_rows: int, n_labels: int) -> Split:
    """Return rows of three labels each, written where all programs find them."""
    points = made_up(n_rows, min(N_ASKED, n_rows), n_labels)
    name = f"scale-{n_labels}-{n_rows}"
    return written(name, points.X, points.Y, points.X_test, points.Y_test)
