"""Bearer keys with rights, and a maximum rate of requests for each client."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from labeltrees import checks
from labeltrees.errors import ArgumentError
from labeltrees.serve.problems import Problem, ServeError

Right = Literal["read", "learn", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
"""Rights in increasing order; each includes all before it."""

_FILE = "keys.json"
_PREFIX = "lt_"
_FAILURES = 10
_FAILURE_SECONDS = 60.0
_MOST_ADDRESSES = 10_000
_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Key:
    """The name and right of a key, and its hash."""

    name: str
    right: Right
    sha256: str

    def may(self, right: Right) -> bool:
        """Return whether the key has a right.

        >>> Key("page", "learn", "").may("read"), Key("page", "learn", "").may("admin")
        (True, False)
        """
        return RIGHTS.index(self.right) >= RIGHTS.index(right)


class Keys:
    """The keys of a folder. Without keys every request from this machine is allowed.

    Only hashes are stored. A key is 256 random bits, so a plain SHA-256 cannot be guessed.

    Examples
    --------
    >>> keys = Keys(".")
    >>> secret = keys.add("page", "read")
    >>> keys.check(f"Bearer {secret}", "read", "127.0.0.1").name
    'page'
    >>> keys.remove("page")
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / _FILE
        self.keys = self._read()
        self._failures: dict[str, list[float]] = {}

    def _read(self) -> list[Key]:
        if not self.path.exists():
            return []
        try:
            found = json.loads(self.path.read_text())
            keys = [Key(**each) for each in found]
            for key in keys:
                checks.choice("right", key.right, RIGHTS)
                bytes.fromhex(key.sha256)
        except (ValueError, TypeError, AttributeError) as error:
            raise ServeError(f"{self.path} is not a valid file of keys: {error}.") from None
        return keys

    def _write(self, keys: list[Key]) -> None:
        temporary = self.path.with_suffix(".new")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump([asdict(key) for key in keys], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        self.keys = keys

    def add(self, name: str, right: Right) -> str:
        """Add a key and return its secret, of which only the hash is stored."""
        checks.choice("right", right, RIGHTS)
        if any(key.name == name for key in self.keys):
            raise ArgumentError.of("name", name, "a name that is not in use")
        secret = _PREFIX + secrets.token_urlsafe(32)
        self._write([*self.keys, Key(name, right, _hashed(secret))])
        return secret

    def remove(self, name: str) -> None:
        """Remove a key."""
        if all(key.name != name for key in self.keys):
            raise ArgumentError.of("name", name, "the name of an existing key")
        self._write([key for key in self.keys if key.name != name])

    def check(self, authorization: str | None, right: Right, address: str) -> Key | None:
        """Return the key of a request, or raise a problem unless it has the right.

        Returns None if there are no keys. An address that sends wrong keys has to wait.
        """
        if not self.keys:
            return None
        self._check_failures(address)
        key = self._known(authorization)
        if key is None:
            self._note_failure(address)
            raise Problem(
                401,
                "This server needs a key. Send it as 'Authorization: Bearer KEY'."
                if authorization is None
                else "This key is unknown.",
                kind="no-key",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if not key.may(right):
            raise Problem(
                403,
                f"This key has the right {key.right!r}, but the right {right!r} is needed.",
                kind="no-right",
            )
        return key

    def _known(self, authorization: str | None) -> Key | None:
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        hashed = _hashed(secret.strip())
        found = None
        for key in self.keys:  # all keys, so that the time does not reveal which one
            if hmac.compare_digest(key.sha256, hashed):
                found = key
        return found

    def _check_failures(self, address: str) -> None:
        now = time.monotonic()
        recent = [at for at in self._failures.get(address, ()) if now - at < _FAILURE_SECONDS]
        if len(recent) >= _FAILURES:
            wait = int(_FAILURE_SECONDS - (now - recent[0])) + 1
            raise Problem(
                429,
                "This address has sent too many wrong keys. Wait before you try again.",
                kind="too-many-failures",
                headers={"Retry-After": str(wait)},
            )

    def _note_failure(self, address: str) -> None:
        now = time.monotonic()
        if len(self._failures) >= _MOST_ADDRESSES:
            self._failures = {
                each: times
                for each, times in self._failures.items()
                if now - times[-1] < _FAILURE_SECONDS
            }
        times = self._failures.setdefault(address, [])
        times.append(now)
        del times[:-_FAILURES]


class Rate:
    """Maximum number of requests per second from each client; one second's worth may come at once.

    Examples
    --------
    >>> rate = Rate(2.0)
    >>> rate.take("a", now=0.0), rate.take("a", now=0.0)
    (0.0, 0.0)
    >>> rate.take("a", now=0.1)  # seconds to wait
    0.4
    """

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._room = max(1.0, per_second)
        self._clients: dict[str, tuple[float, float]] = {}

    def take(self, client: str, now: float | None = None) -> float:
        """Count a request; return 0, or the seconds that the client has to wait."""
        now = time.monotonic() if now is None else now
        left, before = self._clients.get(client, (self._room, now))
        left = min(self._room, left + (now - before) * self._per_second)
        if len(self._clients) >= _MOST_CLIENTS and client not in self._clients:
            self._clients.clear()
        if left < 1.0:
            self._clients[client] = (left, now)
            return round((1.0 - left) / self._per_second, 6)
        self._clients[client] = (left - 1.0, now)
        return 0.0

    def check(self, client: str) -> None:
        """Count a request, or raise a problem with the time to wait."""
        wait = self.take(client)
        if wait > 0:
            raise Problem(
                429,
                f"At most {self._per_second:g} requests per second are allowed. Wait {wait:.2g} s.",
                kind="too-many-requests",
                headers={"Retry-After": str(int(wait) + 1)},
            )


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
