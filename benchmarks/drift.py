"""Measure what forgetting gains on labels that trade meanings and on the built-in stream.

    python benchmarks/drift.py [--rows 20000] [--stream 100000] [--half-life 5000 20000]

The optimiser's sums, which make steps small, fade by half every half-life ("steps"), or
weights and counts of examples do as well ("steps and weights", which is `stream --forget`). Scores
are progressive log loss, over labels that had been seen.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from harness.benchmark import Benchmark, Options
from harness.report import Block, number, table
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.python_source import PythonSource
from labeltrees.data.rows import Rows, as_rows
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.several_trees import RefinedTreesModel
from labeltrees.models.conditional.start import start_on_stream
from labeltrees.models.online.online_model import faded

_HALF = 1024  # One step of the exponent in the 16-bit code of a sum.


@dataclass(frozen=True)
class Forgetting:
    """What fades by half, and after how many rows."""

    name: str
    half_life: int = 0
    weights: bool = False


@dataclass(frozen=True)
class Stream:
    """Rows and labels; from ``change`` on labels mean something else."""

    name: str
    rows: Rows
    labels: np.ndarray
    change: int


def swapped_labels(n_rows: int, n_labels: int = 100, n_words: int = 2000, seed: int = 0) -> Stream:
    """Return rows of eight words, four of them the label's own; half way labels trade those."""
    random = np.random.default_rng(seed)
    own = random.integers(n_words, size=(n_labels, 10))
    labels = random.choice(n_labels, size=n_rows, p=_zipf(n_labels))
    meaning = np.where(np.arange(n_rows) < n_rows // 2, labels, labels ^ 1)
    words = random.integers(n_words, size=(n_rows, 8))
    words[:, :4] = own[meaning][np.arange(n_rows)[:, None], random.integers(10, size=(n_rows, 4))]
    dense = np.zeros((n_rows, n_words), np.float32)
    np.put_along_axis(dense, words, 1, axis=1)
    return Stream("labels trade meanings", as_rows(dense), labels, n_rows // 2)


def _zipf(n: int) -> np.ndarray:
    share = 1 / np.arange(1, n + 1)
    return share / share.sum()


def built_in(n_rows: int) -> Stream:
    """Return the built-in stream in the order of its files; its last half is what is scored."""
    chunks = list(PythonSource(None, order="files", limit=n_rows))
    from labeltrees.data.shuffle import joined

    whole = joined(chunks)
    rows, labels, _ = whole.examples()
    return Stream("built-in, order of files", rows, labels, rows.n_rows // 2)


def run(stream: Stream, how: Forgetting, *, begin: int = 0) -> np.ndarray:
    """Return the probability that each label had before it was learned; NaN for new labels."""
    model = start_on_stream(ConditionalSettings(), stream.rows.n_features)
    n = stream.rows.n_rows
    p = np.full(n, np.nan)
    step = max(how.half_life // 2, 1) if how.half_life else n
    for start in range(begin, n, step):
        part = np.arange(start, min(start + step, n))
        labels = stream.labels[part]
        seen = model.update(
            stream.rows.take(part), RaggedLabels.of_single(labels), np.ones(len(part), np.float32)
        )
        p[part] = np.where(seen.is_new, np.nan, seen.p_label)
        if how.half_life:
            model = faded(model, 0.5**0.5) if how.weights else with_longer_steps(model)
    return p


def with_longer_steps(model: RefinedTreesModel) -> RefinedTreesModel:
    """Return the model with the optimiser's sums of half a half-life before."""
    tensors, facts = model.to_tensors(keep_state=True)
    for name, values in tensors.items():
        if name.endswith(".sums"):
            less = np.maximum(values.astype(np.int64) - _HALF // 2, 1)
            tensors[name] = np.where(values > 0, less, 0).astype(np.uint16)
    return RefinedTreesModel.from_tensors(tensors, facts)


def loss(p: np.ndarray) -> float | None:
    """Return the log loss over labels that had been seen, or None without any."""
    known = p[~np.isnan(p)]
    return float(-np.log(np.maximum(known, 1e-12)).mean()) if len(known) else None


def scored(stream: Stream, options: Options) -> list[Block]:
    """Return a table of the log loss before the change, soon after it and at the end."""
    half, tenth = stream.change, (stream.rows.n_rows - stream.change) // 10
    parts = {
        "before": slice(half // 2, half),
        "1st tenth": slice(half, half + tenth),
        "2nd, 3rd": slice(half + tenth, half + 3 * tenth),
        "last half": slice(half + 5 * tenth, None),
        "all": slice(half, None),
    }
    lives = options.own.half_life
    ways = [Forgetting("nothing is forgotten")]
    ways += [Forgetting(f"steps, half-life {life:,}", life) for life in lives]
    ways += [Forgetting(f"steps and weights, {life:,}", life, weights=True) for life in lives]
    runs = {how.name: run(stream, how) for how in ways}
    runs["a new model after the change"] = run(stream, Forgetting(""), begin=half)
    rows = [[name, *(number(loss(p[part]), 3) for part in parts.values())]
            for name, p in runs.items()]  # fmt: skip
    title = f"### {stream.name[0].upper()}{stream.name[1:]}"
    return [title, f"{stream.rows.n_rows:,} rows, log loss over", table(["", *parts], rows)]


def made(options: Options) -> list[Block]:
    return scored(swapped_labels(options.own.rows), options) if options.own.rows else []


def real(options: Options) -> list[Block]:
    return scored(built_in(options.own.stream), options) if options.own.stream else []


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=20_000, help="of the made stream; 0: none")
    parser.add_argument("--stream", type=int, default=100_000, help="of the built-in one; 0: none")
    parser.add_argument("--half-life", type=int, nargs="+", default=[5_000, 20_000])


BENCHMARK = Benchmark("drift", __doc__, {"made": made, "built-in": real}, arguments=arguments)

if __name__ == "__main__":
    BENCHMARK.main()
