"""Operations that learn examples, write snapshots, and trim the log."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from labeltrees.serve.learning.thread import PendingRequest
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.serve.web.api.operations import Call
    from labeltrees.serve.wire import LearnRequest, LearnResponse, TrimRequest

_MOST_KEY_CHARACTERS = 200
_INLINE_EXAMPLES = 8
"""Maximum number of examples for the thread that reads requests; another thread reads more."""
_encode = msgspec.json.Encoder().encode


async def learn(call: Call) -> LearnResponse:
    """Learn examples; they are on disk and learned when the response arrives.

    The response has the prediction for each example, made just before it was learned. A request
    with the Idempotency-Key of an earlier one is not learned again.
    """
    request: LearnRequest = call.content
    server = call.server
    served = server.served(call.name)
    writer = server.writer
    examples = _examples_of(request)
    server.limits.check_rows(len(examples))
    for each in examples:
        server.limits.check_labels([each.label or "", *(each.labels or ())])
    key = _checked_key(call.header("idempotency-key"))
    if len(examples) <= _INLINE_EXAMPLES:
        batch = served.checked(examples)
    else:
        batch = await server.predictions.in_thread(lambda: served.checked(examples))
    encoded = [_encode(each) for each in examples]
    digest = b"" if key is None else hashlib.sha256(b"\n".join(encoded)).digest()
    pending = PendingRequest(served, batch, encoded, key, digest)
    return await asyncio.wrap_future(writer.put(pending))


def _examples_of(request: LearnRequest) -> Sequence[Example]:
    if request.examples is None:
        return [
            Example(request.text, request.features, request.label, request.labels, request.weight)
        ]
    own = (request.text, request.features, request.label, request.labels)
    if any(each is not None for each in own):
        raise Problem(422, "Give 'examples', or one example, not both.", kind="bad-content")
    if not request.examples:
        raise Problem(422, "'examples' is empty.", kind="bad-content")
    return request.examples


def _checked_key(key: str | None) -> str | None:
    if key is None:
        return None
    if not 1 <= len(key) <= _MOST_KEY_CHARACTERS or not key.isprintable():
        raise Problem(
            422,
            f"An Idempotency-Key must have 1 to {_MOST_KEY_CHARACTERS} printable characters, got "
            f"{len(key)}.",
            kind="bad-key",
        )
    return key


async def snapshot(call: Call) -> dict[str, Any]:
    """Write a snapshot of a model now."""
    name = call.server.served(call.name).name
    seq = await asyncio.wrap_future(call.server.writer.snapshot(name))
    return {"model": name, "seq": seq}


async def read_snapshots(call: Call) -> dict[str, Any]:
    """List the snapshots of a model, newest first."""
    served = call.server.served(call.name)
    snapshots = call.server.folder.snapshots(served.name)
    found = []
    for seq in snapshots.seqs():
        try:
            status = snapshots.path(seq).stat()
        except FileNotFoundError:  # replaced by a newer one meanwhile
            continue
        found.append({"seq": seq, "bytes": status.st_size, "written": status.st_mtime})
    return {"model": served.name, "seq": served.seq, "snapshots": found}


async def trim(call: Call) -> dict[str, Any]:
    """Delete the examples of the log up to a number; all snapshots must have learned them."""
    request: TrimRequest = call.content
    server = call.server
    served = server.served(call.name)
    writer = server.writer
    safe = min(server.folder.snapshots(served.name).seqs(), default=0)
    if request.upto > safe:
        raise Problem(
            409,
            f"All snapshots of {served.name!r} have the examples up to {safe}, but upto is "
            f"{request.upto}. Write snapshots first.",
            kind="not-in-snapshots",
        )
    folder = writer.folder
    work = writer.run(lambda: folder.log.trim(folder.ids[served.name], request.upto))
    return {"model": served.name, "forgotten": await asyncio.wrap_future(work)}
