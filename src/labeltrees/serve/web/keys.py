"""Bearer keys: who may read, learn and administer. Only their hashes are stored."""

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

__all__ = ["RIGHTS", "Key", "Keys", "Right"]

Right = Literal["read", "learn", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
"""Each right includes those before it."""

_FILE = "keys.json"
_PREFIX = "lt_"
_FAILURES = 10
_FAILURE_SECONDS = 60.0
_MOST_ADDRESSES = 10_000


@dataclass(frozen=True)
class Key:
    """A key's name, what it may do, and the hash by which it is known again."""

    name: str
    right: Right
    sha256: str

    def may(self, right: Right) -> bool:
        """Return whether it has a right.

        >>> Key("page", "learn", "").may("read"), Key("page", "learn", "").may("admin")
        (True, False)
        """
        return RIGHTS.index(self.right) >= RIGHTS.index(right)


class Keys:
    """The keys of a folder; without any, everything is allowed, and only from this machine.

    A key is 256 random bits, so its SHA-256 can be stored as it is: there is nothing to guess.

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
            raise ServeError(f"{self.path} is not a file of keys: {error}.") from None
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
        """Return a new key, which is stored only as its hash."""
        checks.choice("right", right, RIGHTS)
        if any(key.name == name for key in self.keys):
            raise ArgumentError.of("name", name, "one that no key has yet")
        secret = _PREFIX + secrets.token_urlsafe(32)
        self._write([*self.keys, Key(name, right, _hashed(secret))])
        return secret

    def remove(self, name: str) -> None:
        """Forget a key."""
        if all(key.name != name for key in self.keys):
            raise ArgumentError.of("name", name, "the name of a key")
        self._write([key for key in self.keys if key.name != name])

    def check(self, authorization: str | None, right: Right, address: str) -> Key | None:
        """Return whose key was sent, or raise a problem unless it has the right.

        None if there are no keys. An address that sends wrong keys has to wait.
        """
        if not self.keys:
            return None
        self._check_failures(address)
        key = self._known(authorization)
        if key is None:
            self._note_failure(address)
            raise Problem(
                401,
                "Send a key as 'Authorization: Bearer KEY'."
                if authorization is None
                else "This key is not known.",
                kind="no-key",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if not key.may(right):
            raise Problem(
                403, f"This key may {key.right}; the right {right!r} is needed.", kind="no-right"
            )
        return key

    def _known(self, authorization: str | None) -> Key | None:
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        hashed = _hashed(secret.strip())
        found = None
        for key in self.keys:  # all of them, so that the time does not tell which
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
                "Too many wrong keys came from this address.",
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


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
