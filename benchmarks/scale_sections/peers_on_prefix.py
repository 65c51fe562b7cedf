"""VW and fastText on as much of a stream as they can manage, beside ours, from one text file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness import peers
from harness.benchmark import Options
from harness.peers import MissingPeerError
from harness.processes import Measured, run_measured
from online_sections import peer_runs
from online_sections.stream_file import StreamFile, write_vw
from scale_sections import measurements

PREFIXES = (200_000, 1_000_000)
QUICK_PREFIX = 3_000
#: Processor seconds after which a program is stopped, and not tried with more rows.
MOST_SECONDS = 900
VW_BITS = 26  # 1 GB; online.py has what 24 and 28 bits do
FASTTEXT = (5, 0.5)  # the best epochs and rate on the built-in stream in the order of files


def run(kind: str, chunks: Callable[[int], Iterator[Any]], options: Options) -> None:
    """Run every program on every prefix, from the shortest; write down what each took."""
    programs: dict[str, Callable[[StreamFile], tuple[Measured, float]]] = {"labeltrees": ours}
    if options.with_peers:
        programs |= {"VW --log_multi -b 26": vw, "fastText hs": fasttext}
    prefixes = (QUICK_PREFIX,) if options.quick else PREFIXES
    out = set()
    for n_rows in sorted({options.rows(most) for most in prefixes}):
        file = prefix_file(kind, chunks, n_rows)
        for name, program in programs.items():
            if name in out:
                continue
            print(f"  {kind}, {n_rows:,} rows, {name}", file=sys.stderr, flush=True)
            facts = {"section": f"{kind}-prefix", "name": name}
            facts |= {"rows": file.n_examples, "labels": file.n_labels}
            try:
                measured, accuracy = program(file)
            except (MissingPeerError, RuntimeError) as error:
                said = str(error).rpartition(" failed: ")[2]
                measurements.append(options.own.measured, **facts, left_out=said)
                out.add(name)
                continue
            measurements.append(options.own.measured, **facts, accuracy=accuracy, **costs(measured))


def prefix_file(kind: str, chunks: Callable[[int], Iterator[Any]], n_rows: int) -> StreamFile:
    """Return the first rows as text that all programs can read."""
    path = peers.WORK / f"scale-{kind}-{n_rows}.vw"
    path.parent.mkdir(parents=True, exist_ok=True)
    return StreamFile(str(path), "files", *write_vw(chunks(n_rows), path))


def ours(file: StreamFile) -> tuple[Measured, float]:
    """Predict, then learn, each line with our command."""
    command = [sys.executable, "-m", "labeltrees", "stream", file.path, "--model", "conditional"]
    measured = run_measured([*command, "--limit", str(file.n_examples), "--json", "--quiet"])
    return measured, json.loads(measured.output)["tail"]["accuracy"]


def vw(file: StreamFile) -> tuple[Measured, float]:
    """VW predicts, then learns, each line."""
    answers: Path = peers.WORK / "scale-vw.txt"
    options = peer_runs.vw_learner("log_multi", file, VW_BITS)
    command = [peers.peer("vw").python, "-m", "vowpalwabbit", "-d", file.path, *options]
    measured = run_measured([*command, "--quiet", "-p", str(answers)], MOST_SECONDS)
    correct = peer_runs.read_labels(answers) == file.labels()
    return measured, float(correct[file.tail_start :].mean())


def fasttext(file: StreamFile) -> tuple[Measured, float]:
    """Train fastText on the first four fifths, and predict the last."""
    told = peer_runs.fasttext_frozen(file, *FASTTEXT)
    return told.measured, float(np.mean(told.answers.correct))


def costs(measured: Measured) -> dict[str, float]:
    return {
        "wall_s": measured.wall_seconds,
        "cpu_s": measured.cpu_seconds,
        "peak_mb": measured.peak_mb,
    }
