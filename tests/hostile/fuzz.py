"""Random chains of damage to model files, with right checksums, until the time is over.

    python -m tests.hostile.fuzz --seconds 60 --findings build/fuzz/models
    python -m tests.hostile.fuzz --replay 1234

An input is made from its seed alone. Children do the work, so that a crash or a hang costs one
input and is known by its seed; each finding is a file, and the exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.hostile.damages import (
    FACTS,
    FLOATS,
    INTEGERS,
    array_damages,
    fact_places,
    with_fact,
    with_value,
)
from tests.hostile.exercise import exercise
from tests.hostile.files import NAMES, stored

from labeltrees.errors import ModelFormatError
from labeltrees.models.registry import model_from

if TYPE_CHECKING:
    from labeltrees.store import StoredModel

BATCH = 200
"""Inputs of one child."""
PATIENCE = 60
"""Seconds for one input: more is a hang."""
ROOM = 2**31
"""Bytes that a child may take: more is a bomb."""


def forged(seed: int) -> tuple[str, StoredModel]:
    """Return what was done to which file, and the file."""
    rng = random.Random(seed)
    name = rng.choice(NAMES)
    file, done = stored(name), [name]
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        if rng.random() < 0.75:
            tensor = rng.choice(sorted(file.tensors))
            what, damaged = _damaged(file.tensors[tensor], rng)
            file = replace(file, tensors=file.tensors | {tensor: np.array(damaged)})
        else:
            tensor, what, file = _with_other_fact(file, rng)
        done.append(f"{tensor}: {what}")
    return "; ".join(done), file


def _damaged(array: np.ndarray, rng: random.Random) -> tuple[str, np.ndarray]:
    if not array.size or array.ndim == 0 or rng.random() < 0.4:
        return rng.choice(list(array_damages(array.reshape(-1) if array.ndim == 0 else array)))
    if rng.random() < 0.3:
        data = bytearray(array.tobytes())
        for _ in range(rng.choice((1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return "random bytes", np.frombuffer(bytes(data), array.dtype).reshape(array.shape)
    what = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(array.size)
        value: Any = rng.choice(FLOATS if array.dtype.kind == "f" else INTEGERS)
        if array.dtype.kind in "iu" and rng.random() < 0.6:  # a neighbour, or another's value
            other = int(array.reshape(-1)[rng.randrange(array.size)])
            value = rng.choice((other, int(array.reshape(-1)[place]) + rng.choice((-2, -1, 1, 2))))
        array = with_value(array, place, value)
        what.append(f"{value} at {place}")
    return ", ".join(what), array


def _with_other_fact(file: StoredModel, rng: random.Random) -> tuple[str, str, StoredModel]:
    places = list(fact_places(file.facts)) if isinstance(file.facts, dict) else []
    if not places:
        return "facts", "nothing", file
    place = rng.choice(places)
    value = rng.choice((*FACTS, rng.randrange(-3, 300), rng.uniform(-2, 2)))
    facts = with_fact(file.facts, place, value)
    return ".".join(map(str, place)), f"{value!r:.40}", replace(file, facts=facts)


def outcome(seed: int) -> tuple[str, str]:
    """Return "refused", "sound" or "fault", and what the fault is."""
    _, file = forged(seed)
    try:
        model = model_from(file)
    except ModelFormatError:
        return "refused", ""
    except Exception:
        return "fault", traceback.format_exc()
    try:
        exercise(model)
    except Exception:
        return "fault", traceback.format_exc()
    return "sound", ""


def _work(seeds: range, pipe: int) -> None:
    """Try inputs in this process; say when each begins and how it ended."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "asan" not in os.environ.get("LD_PRELOAD", "") and os.path.exists("/proc/self/statm"):
        n_pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = n_pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for seed in seeds:
        os.write(pipe, json.dumps([seed]).encode() + b"\n")
        signal.alarm(PATIENCE)
        found = outcome(seed)
        os.write(pipe, json.dumps([seed, found[0], found[1][-1500:]]).encode() + b"\n")


def _fork(seeds: range) -> tuple[list[Any], int]:
    """Try inputs in a child; return what it said and how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            _work(seeds, writer)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = [json.loads(line) for line in pipe.read().splitlines()]
    return said, os.waitpid(child, 0)[1]


def lane(first: int, step: int, deadline: float, findings: Path) -> collections.Counter[str]:
    """Try batch after batch of seeds first, first + step, ...; return how many ended how."""
    counts: collections.Counter[str] = collections.Counter()
    seed = first
    while time.monotonic() < deadline:
        seeds = range(seed, seed + step * BATCH, step)
        said, status = _fork(seeds)
        for at, *result in said:
            if result:
                counts[result[0]] += 1
                if result[0] == "fault":
                    _write_finding(findings, at, result[1])
        seed = seeds[-1] + step
        if status != 0 or not said:
            begun = said[-1][0] if said else seeds[0]
            counts["fault"] += 1
            _write_finding(findings, begun, f"the process ended with status {status}")
            seed = begun + step
    return counts


def _write_finding(findings: Path, seed: int, fault: str) -> None:
    findings.mkdir(parents=True, exist_ok=True)
    text = f"seed {seed}\n{forged(seed)[0]}\n{fault}\n"
    (findings / f"seed-{seed}.txt").write_text(text, encoding="utf-8")


def fuzz(seconds: float, seed: int, findings: Path, n_lanes: int) -> collections.Counter[str]:
    """Run as many lanes at a time; return how many inputs ended how."""
    for name in NAMES:
        stored(name)  # once, for all children
    deadline = time.monotonic() + seconds
    pipes, children = [], []
    for number in range(n_lanes):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            counts = lane(seed + number, n_lanes, deadline, findings)
            os.write(writer, json.dumps(counts).encode())
            os._exit(0)
        os.close(writer)
        pipes.append(reader)
        children.append(child)
    total: collections.Counter[str] = collections.Counter()
    for reader, child in zip(pipes, children, strict=True):
        with os.fdopen(reader, "rb") as pipe:
            total.update(json.loads(pipe.read() or b'{"fault": 1}'))
        os.waitpid(child, 0)
    return total


def main() -> int:
    """Fuzz, or try one seed again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**12)
    parser.add_argument("--findings", type=Path, default=Path("build/fuzz/models"))
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=int)
    options = parser.parse_args()
    if options.replay is not None:
        result, fault = outcome(options.replay)
        sys.stdout.write(f"{forged(options.replay)[0]}\n{result}\n{fault}")
        return int(result == "fault")
    counts = fuzz(options.seconds, options.seed, options.findings, options.lanes)
    said = ", ".join(f"{n} {how}" for how, n in sorted(counts.items()))
    sys.stdout.write(f"models: {sum(counts.values())} inputs from seed {options.seed}: {said}\n")
    return int(counts["fault"] > 0)


if __name__ == "__main__":
    sys.exit(main())
