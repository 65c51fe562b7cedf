"""Examples of the log as JSON lines, which `labeltrees train` and `stream` read."""

from __future__ import annotations

import msgspec

from labeltrees.serve.wire import Example

__all__ = ["as_json_line"]

_decode = msgspec.json.Decoder(Example).decode


def as_json_line(example: bytes) -> str:
    """Return an example of the log as a line; dense rows and pairs become indices and values.

    >>> as_json_line(b'{"features": [0, 2.5], "label": "plum"}')
    '{"features":{"indices":[1],"values":[2.5]},"label":"plum"}'
    """
    found = _decode(example)
    features = found.features
    if isinstance(features, list):
        pairs = [each if isinstance(each, list) else [i, each] for i, each in enumerate(features)]
        kept = [(int(index), value) for index, value in pairs if value != 0]
        sparse = {"indices": [i for i, _ in kept], "values": [value for _, value in kept]}
        rest = msgspec.to_builtins(found) | {"features": sparse}
        return msgspec.json.encode(rest).decode()
    return msgspec.json.encode(found).decode()
