"""How a model is taught, and its lessons kept: examples, snapshots, the log."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from labeltrees.serve.learning.learner import Waiting
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.serve.web.api.operations import Call
    from labeltrees.serve.wire import LearnAnswer, LearnRequest, TrimRequest

__all__ = ["learn", "read_snapshots", "snapshot", "trim"]

_MOST_KEY = 200
_HERE = 8
"""So few examples are read by the thread that reads requests; more go to another thread."""
_encode = msgspec.json.Encoder().encode


async def learn(call: Call) -> LearnAnswer:
    """Learn examples; they are on disk and learned when the answer comes.

    What the model foresaw of each is in the answer. A request with an Idempotency-Key that came
    before is not learned again.
    """
    asked: LearnRequest = call.content
    server = call.server
    served = server.served(call.name)
    writer = server.writer
    examples = _examples_of(asked)
    server.limits.check_rows(len(examples))
    for each in examples:
        server.limits.check_labels([each.label or "", *(each.labels or ())])
    key = _key(call.header("idempotency-key"))
    if len(examples) <= _HERE:
        lesson = served.lesson(examples)
    else:
        lesson = await server.questions.elsewhere(lambda: served.lesson(examples))
    kept = [_encode(each) for each in examples]
    digest = b"" if key is None else hashlib.sha256(b"\n".join(kept)).digest()
    return await asyncio.wrap_future(writer.put(Waiting(served, lesson, kept, key, digest)))


def _examples_of(asked: LearnRequest) -> Sequence[Example]:
    if asked.examples is None:
        return [Example(asked.text, asked.features, asked.label, asked.labels, asked.weight)]
    own = (asked.text, asked.features, asked.label, asked.labels)
    if any(each is not None for each in own):
        raise Problem(422, "Give 'examples', or one example, not both.", kind="bad-content")
    if not asked.examples:
        raise Problem(422, "'examples' is empty.", kind="bad-content")
    return asked.examples


def _key(key: str | None) -> str | None:
    if key is None:
        return None
    if not 1 <= len(key) <= _MOST_KEY or not key.isprintable():
        raise Problem(
            422, f"An Idempotency-Key has 1 to {_MOST_KEY} printable characters.", kind="bad-key"
        )
    return key


async def snapshot(call: Call) -> dict[str, Any]:
    """Write a snapshot of a model now."""
    name = call.server.served(call.name).name
    seq = await asyncio.wrap_future(call.server.writer.snapshot(name))
    return {"model": name, "seq": seq}


async def read_snapshots(call: Call) -> dict[str, Any]:
    """Tell which snapshots of a model there are, newest first."""
    served = call.server.served(call.name)
    snapshots = call.server.folder.snapshots(served.name)
    found = []
    for seq in snapshots.seqs():
        try:
            status = snapshots.path(seq).stat()
        except FileNotFoundError:  # a newer one took its place meanwhile
            continue
        found.append({"seq": seq, "bytes": status.st_size, "written": status.st_mtime})
    return {"model": served.name, "seq": served.seq, "snapshots": found}


async def trim(call: Call) -> dict[str, Any]:
    """Forget the examples of the log up to a number; both snapshots must have learned them."""
    asked: TrimRequest = call.content
    server = call.server
    served = server.served(call.name)
    writer = server.writer
    safe = min(server.folder.snapshots(served.name).seqs(), default=0)
    if asked.upto > safe:
        raise Problem(
            409,
            f"Only the examples up to {safe} are in all snapshots of {served.name!r}, got upto="
            f"{asked.upto}: write snapshots first.",
            kind="not-in-snapshots",
        )
    folder = writer.folder
    work = writer.run(lambda: folder.log.trim(folder.ids[served.name], asked.upto))
    return {"model": served.name, "forgotten": await asyncio.wrap_future(work)}
