"""Measured numbers, one JSON object per line, written at once so that a cut-off run has some."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


def append(path: Path, **facts: Any) -> None:
    """Write one record, with the time of day and how many programs wanted a core."""
    path.parent.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    with path.open("a") as file:
        file.write(json.dumps(facts | {"at": now, "load": load}) + "\n")


def forget(path: Path, sections: tuple[str, ...]) -> None:
    """Take out the records of earlier runs of these sections."""
    kept = [each for each in read(path) if each["section"] not in sections]
    if path.exists():
        path.write_text("".join(json.dumps(each) + "\n" for each in kept))


def read(path: Path, **wanted: Any) -> list[dict[str, Any]]:
    """Return the records that have these values."""
    if not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [each for each in records if all(each.get(k) == v for k, v in wanted.items())]
