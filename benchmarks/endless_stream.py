"""Does `labeltrees stream` keep within its memory, however much comes through the pipe?

Pipes gigabytes of synthetic rows in VW's format into `labeltrees stream - --max-memory 200MB`
with a checkpoint every minute, and prints as Markdown what memory the process has after every
tenth. Every row has a word that was never seen before, so the table is full early and stays so.

    python benchmarks/endless_stream.py                     # 10 GB: half an hour
    python benchmarks/endless_stream.py --gigabytes 0.1

Exits with 1 if memory at the end is more than a tenth above that after the first tenth. Linux only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import numpy as np

from harness.benchmark import Benchmark, Options
from harness.report import Block, table

N_LABELS = 2_000
N_TELLING, N_NOISE = 4, 7
KNOWN_FEATURES = 20_000
BLOCK_ROWS = 40_000
N_STEPS = 10
MOST_GROWTH = 1.1


def first_block(rng: np.random.Generator) -> bytes:
    """Return lines with features that tell the label, noise, and a word of letters."""
    labels = rng.integers(N_LABELS, size=BLOCK_ROWS)
    told = 7 * labels[:, np.newaxis] + rng.integers(7, size=(BLOCK_ROWS, N_TELLING))
    noise = rng.integers(KNOWN_FEATURES, size=(BLOCK_ROWS, N_NOISE))
    features = np.hstack([told % KNOWN_FEATURES, noise])
    values = rng.uniform(0.5, 1, size=features.shape)
    pairs = (zip(*row, strict=True) for row in zip(features.tolist(), values.tolist(), strict=True))
    letters = np.frombuffer(ascii_lowercase.encode(), dtype="S1")
    words = rng.choice(letters, size=(BLOCK_ROWS, 9)).view("S9")[:, 0]
    return b"".join(
        b"%d | %s %s\n" % (label, b" ".join(b"%d:%.6f" % pair for pair in row), word)
        for label, row, word in zip(labels.tolist(), pairs, words.tolist(), strict=True)
    )


def blocks(n_bytes: int) -> Iterator[bytes]:
    """Yield ``n_bytes`` of lines; the letters of the words change places from block to block."""
    rng = np.random.default_rng(0)
    first, sent = first_block(rng), 0
    alphabet = ascii_lowercase.encode()
    while sent < n_bytes:
        mixed = bytes(rng.permutation(np.frombuffer(alphabet, dtype=np.uint8)))
        yield first.translate(bytes.maketrans(alphabet, mixed))
        sent += len(first)


def resident_megabytes(pid: int) -> float:
    """Return the memory that a process has now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def pipe_through(n_bytes: int, model: Path) -> tuple[list[list[str]], list[float], str]:
    """Return a line for every tenth, the memory then, and the end of what the command said."""
    command = [
        sys.executable, "-m", "labeltrees", "stream", "-", "--format", "vw",
        "--max-memory", "200MB", "--out", str(model), "--checkpoint-every", "60s",
    ]  # fmt: skip
    lines, memory, sent, started = [], [], 0, time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018
        for block in blocks(n_bytes):
            process.stdin.write(block)
            sent += len(block)
            if sent * N_STEPS >= n_bytes * (len(lines) + 1):
                memory.append(resident_megabytes(process.pid))
                seconds = time.perf_counter() - started
                lines.append([f"{sent / 1e9:.2f}", f"{memory[-1]:,.0f}", f"{seconds:,.0f}"])
                sys.stderr.write(f"  {' '.join(lines[-1])}\n")
        process.stdin.close()
        told = process.stdout.read().decode()
    if process.returncode != 0:
        raise SystemExit(f"labeltrees stream ended with {process.returncode}:\n{told}")
    return lines, memory, told


def section(options: Options) -> list[Block]:
    """Return a table of memory by what was sent, and what the command printed."""
    with tempfile.TemporaryDirectory() as folder:
        n_bytes = int(options.own.gigabytes * 1e9)
        lines, memory, printed = pipe_through(n_bytes, Path(folder) / "model.safetensors")
    options.found["grew"] = memory[-1] > MOST_GROWTH * memory[0]
    rows = table(["GB sent", "resident MB", "s"], lines)
    return [rows, "".join(f"    {line}\n" for line in printed.splitlines())]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gigabytes", type=float, default=10.0)


BENCHMARK = Benchmark("endless_stream", __doc__, {"stream": section}, arguments=arguments)

if __name__ == "__main__":
    if BENCHMARK.main().found["grew"]:
        raise SystemExit("The memory of the process grew with the length of the stream.")
