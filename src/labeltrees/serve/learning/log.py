"""The log of examples: one SQLite file with every acknowledged example, in order.

The examples of each model are numbered from 1. A row holds the example as JSON, and a *link*: a
hash of the example and of the previous link. Changed, lost or swapped rows are therefore detected
when the log is read. The keys of idempotent requests are written in the same transaction as their
examples. The file is in WAL mode with ``synchronous=FULL``, so committed examples survive a loss of
power if the disk keeps what it has flushed.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from labeltrees.serve.problems import DamagedLogError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FIRST_LINK = b"\0" * 8
"""Link before the first example."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    trimmed INTEGER NOT NULL DEFAULT 0,
    trimmed_link BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS examples (
    model INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    link BLOB NOT NULL,
    example BLOB NOT NULL,
    PRIMARY KEY (model, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    model INTEGER NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    first_seq INTEGER NOT NULL,
    n_examples INTEGER NOT NULL,
    PRIMARY KEY (model, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
"""
_ROWS_PER_QUERY = 1000


class LoggedExample(NamedTuple):
    """An example of the log."""

    seq: int
    link: bytes
    example: bytes


class KnownRequest(NamedTuple):
    """An acknowledged request, found by its idempotency key."""

    digest: bytes
    first_seq: int
    n_examples: int


@dataclass(frozen=True)
class NewExamples:
    """The examples of one request, to be appended after ``first_seq - 1``."""

    model: int
    first_seq: int
    links: Sequence[bytes]
    examples: Sequence[bytes]
    key: str | None = None
    digest: bytes = b""


def link_after(previous: bytes, example: bytes) -> bytes:
    """Return the link of an example, given the previous link.

    >>> link_after(FIRST_LINK, b"{}") == link_after(FIRST_LINK, b"{ }")
    False
    """
    return hashlib.blake2b(example, digest_size=8, key=previous).digest()


class ExampleLog:
    """One SQLite file of examples; one thread writes, any thread may read.

    Parameters
    ----------
    path : path
        The file. It is created if it does not exist.
    read_only : bool
        Whether the file is only read, for example because another process writes it.

    Examples
    --------
    >>> from pathlib import Path
    >>> log = ExampleLog(Path("log.sqlite"))
    >>> model = log.add_model("fruit")
    >>> link = link_after(FIRST_LINK, b'{"text":"red","label":"plum"}')
    >>> log.append([NewExamples(model, 1, [link], [b'{"text":"red","label":"plum"}'])])
    >>> [each.seq for each in log.examples(model, after=0, link=FIRST_LINK)]
    [1]
    >>> log.close()
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self._damage_errors():
            self._connection = self._connect(path, read_only=read_only)

    @staticmethod
    def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
        if read_only:
            uri = f"{path.resolve().as_uri()}?mode=ro"
            return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _damage_errors(self) -> Iterator[None]:
        """Raise `DamagedLogError` for a damaged file; failures of the disk pass unchanged."""
        try:
            yield
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise DamagedLogError(
                f"{self.path} is damaged: {error}. Restore a copy of it, or move it away to "
                "restart from the snapshots."
            ) from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._damage_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def add_model(self, name: str, seq: int = 0, link: bytes = FIRST_LINK) -> int:
        """Return the id of a model in the log, which is added if it is missing.

        The examples of an added model continue after ``seq``, whose link is given.
        """
        known = self.model_id(name)
        if known is not None:
            return known
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO models (name, trimmed, trimmed_link) VALUES (?, ?, ?)",
                (name, seq, link),
            )
        found = self.model_id(name)
        assert found is not None
        return found

    def model_id(self, name: str) -> int | None:
        """Return the id of a model in the log, None if it has none."""
        with self._lock, self._damage_errors():
            row = self._connection.execute(
                "SELECT id FROM models WHERE name = ?", (name,)
            ).fetchone()
        return None if row is None else int(row[0])

    def model_names(self) -> list[str]:
        """Return the names of all models of the log."""
        with self._lock, self._damage_errors():
            rows = self._connection.execute("SELECT name FROM models ORDER BY id").fetchall()
        return [row[0] for row in rows]

    def remove_model(self, name: str) -> None:
        """Delete the examples and keys of a model."""
        known = self.model_id(name)
        if known is None:
            return
        with self._transaction() as connection:
            for table, column in (("examples", "model"), ("requests", "model"), ("models", "id")):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (known,))  # noqa: S608

    def append(self, requests: Sequence[NewExamples]) -> None:
        """Write the examples of several requests in one transaction: all of them, or none."""
        rows = [
            (each.model, each.first_seq + i, link, example)
            for each in requests
            for i, (link, example) in enumerate(zip(each.links, each.examples, strict=True))
        ]
        keys = [
            (each.model, each.key, each.digest, each.first_seq, len(each.examples))
            for each in requests
            if each.key is not None
        ]
        with self._transaction() as connection:
            connection.executemany("INSERT INTO examples VALUES (?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO requests VALUES (?, ?, ?, ?, ?)", keys)

    def probe(self) -> None:
        """Commit a small change, to find out whether the disk accepts it."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO probe VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET n = n + 1"
            )

    def find_request(self, model: int, key: str) -> KnownRequest | None:
        """Return the acknowledged request with this key, None if the key is new."""
        with self._lock, self._damage_errors():
            row = self._connection.execute(
                "SELECT digest, first_seq, n_examples FROM requests WHERE model = ? AND key = ?",
                (model, key),
            ).fetchone()
        return None if row is None else KnownRequest(*row)

    def last(self, model: int) -> tuple[int, bytes]:
        """Return the number and link of the last example, or of the last trimmed one."""
        with self._lock, self._damage_errors():
            row = self._connection.execute(
                "SELECT seq, link FROM examples WHERE model = ? ORDER BY seq DESC LIMIT 1", (model,)
            ).fetchone()
        return self.trimmed(model) if row is None else (int(row[0]), row[1])

    def trimmed(self, model: int) -> tuple[int, bytes]:
        """Return the number and link of the last trimmed example; 0 without trimming."""
        with self._lock, self._damage_errors():
            seq, link = self._connection.execute(
                "SELECT trimmed, trimmed_link FROM models WHERE id = ?", (model,)
            ).fetchone()
        return int(seq), link

    def examples(self, model: int, *, after: int, link: bytes) -> Iterator[LoggedExample]:
        """Yield the examples that follow number ``after``, whose link is given.

        A missing or changed row raises `DamagedLogError`.
        """
        while True:
            with self._lock, self._damage_errors():
                rows = self._connection.execute(
                    "SELECT seq, link, example FROM examples WHERE model = ? AND seq > ? "
                    "ORDER BY seq LIMIT ?",
                    (model, after, _ROWS_PER_QUERY),
                ).fetchall()
            for row in rows:
                found = LoggedExample(*row)
                self._check(found, after, link)
                after, link = found.seq, found.link
                yield found
            if len(rows) < _ROWS_PER_QUERY:
                return

    def _check(self, found: LoggedExample, after: int, link: bytes) -> None:
        if found.seq != after + 1:
            raise DamagedLogError(
                f"{self.path} is damaged: example {after + 1} is missing, the next is {found.seq}."
            )
        is_bytes = isinstance(found.example, bytes) and isinstance(found.link, bytes)
        if not is_bytes or link_after(link, found.example) != found.link:
            raise DamagedLogError(
                f"{self.path} is damaged: example {found.seq} was changed after it was written."
            )

    def trim(self, model: int, upto: int) -> int:
        """Delete the examples up to a number and the keys of their requests; return the count."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT link FROM examples WHERE model = ? AND seq = ?", (model, upto)
            ).fetchone()
            if row is None:
                return 0
            done = connection.execute(
                "DELETE FROM examples WHERE model = ? AND seq <= ?", (model, upto)
            )
            connection.execute(
                "DELETE FROM requests WHERE model = ? AND first_seq + n_examples - 1 <= ?",
                (model, upto),
            )
            connection.execute(
                "UPDATE models SET trimmed = ?, trimmed_link = ? WHERE id = ?",
                (upto, row[0], model),
            )
            return done.rowcount
