"""Two real streams, one of next identifiers in many packages and one of Debian's paths."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.benchmark import Options
from labeltrees import ConditionalTreeClassifier
from labeltrees.data.python_source import PythonSource
from scale_sections import debian_files, growing, measurements, packages, peers_on_prefix

PROGRAM = Path(__file__).with_name("stream_program.py")
IDENTIFIERS, DEBIAN = "identifiers", "debian"
MOST_IDENTIFIERS = 45_000_000
ALL_PATHS = sys.maxsize
#: Rows between two lines of the results.
WINDOWS = {IDENTIFIERS: 500_000, DEBIAN: 250_000}
QUICK_WINDOW, QUICK_ROWS = 4_000, 8_000


@dataclass(frozen=True)
class Stream:
    """Source of a stream's rows; None is the standard library, for ``--quick``."""

    kind: str
    source: Path | None

    def chunks(self, limit: int | None) -> Iterator[Any]:
        """Return the first rows in chunks that have ``features`` and ``labels``."""
        if self.kind == DEBIAN and self.source is not None:
            return debian_files.chunks(self.source, limit)
        if self.kind == DEBIAN:
            return debian_files.own_files(limit)
        chunk_rows = growing.CHUNK_ROWS if self.source else growing.QUICK_CHUNK_ROWS
        return iter(PythonSource(self.source, limit=limit, chunk_rows=chunk_rows))


def identifiers(options: Options) -> None:
    """Run the stream of identifiers, then its peers, and write everything down."""
    if options.quick:
        stream = Stream(IDENTIFIERS, None)
    else:
        source, refused = packages.source_folder(needed(options))
        for each in refused:
            measurements.append(
                options.own.measured, section=IDENTIFIERS, left_out=f"{each} was refused"
            )
        stream = Stream(IDENTIFIERS, source)
    one_pass(stream, options.rows(MOST_IDENTIFIERS), options)
    peers_on_prefix.run(stream.kind, stream.chunks, options)


def debian(options: Options) -> None:
    """Run the stream of paths, then its peers, and write everything down."""
    try:
        stream = Stream(DEBIAN, None if options.quick else debian_files.rows_file(needed(options)))
    except debian_files.NoListsError as error:
        measurements.append(options.own.measured, section=DEBIAN, left_out=str(error))
        return
    one_pass(stream, options.rows(ALL_PATHS), options)
    peers_on_prefix.run(stream.kind, stream.chunks, options)


def one_pass(stream: Stream, limit: int, options: Options) -> None:
    """Learn the stream in a separate process, so that its memory is the model's."""
    settings = {"max_memory": options.own.max_memory}
    if options.quick:
        model = ConditionalTreeClassifier(**settings)
        chunks = stream.chunks(min(limit, QUICK_ROWS))
        growing.grow(chunks, model, recorder(stream.kind, options.own.measured), QUICK_WINDOW)
        return
    command = [sys.executable, str(PROGRAM), stream.kind, str(stream.source), str(limit)]
    command += [str(WINDOWS[stream.kind]), json.dumps(settings), str(options.own.measured)]
    subprocess.run(command, check=True)


def recorder(kind: str, path: Path) -> Any:
    """Return what writes a window's facts down."""
    return lambda facts: measurements.append(path, section=kind, name="refined", **facts)


def needed(options: Options) -> Path:
    if options.data is None:
        raise SystemExit("scale.py: without --quick, --data must name a folder for the data")
    return options.data
