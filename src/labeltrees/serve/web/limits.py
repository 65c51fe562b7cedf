"""How much a request may be, and how many may come."""

from __future__ import annotations

import time
from dataclasses import dataclass

from labeltrees.serve.problems import Problem

__all__ = ["Limits", "Rate"]

_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits:
    """The largest request that is answered, and for how long."""

    body_bytes: int = 8 * 2**20
    rows: int = 10_000
    answers: int = 1_000_000
    """Labels in all rows of an answer."""
    label_characters: int = 1000
    seconds: float = 30.0
    requests_per_second: float | None = None
    """Of one client; None for as many as come."""

    def check_rows(self, n_rows: int) -> None:
        """Raise a problem if there are too many rows."""
        if n_rows > self.rows:
            raise Problem(
                413, f"A request may have {self.rows:,} rows, got {n_rows:,}.", kind="too-many-rows"
            )

    def check_labels(self, labels: list[int | str]) -> None:
        """Raise a problem if a label is too long."""
        for label in labels:
            if isinstance(label, str) and len(label) > self.label_characters:
                raise Problem(
                    413,
                    f"A label may have {self.label_characters:,} characters, got {len(label):,}.",
                    kind="label-too-long",
                )


class Rate:
    """At most so many requests per second from each client; a second's worth may come at once.

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
        """Count a request; return 0, or how many seconds are to be waited for it."""
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
        """Count a request, or raise a problem that says when to come again."""
        wait = self.take(client)
        if wait > 0:
            raise Problem(
                429,
                f"At most {self._per_second:g} requests per second; wait {wait:.2g} s.",
                kind="too-many-requests",
                headers={"Retry-After": str(int(wait) + 1)},
            )
