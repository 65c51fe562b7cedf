"""What a number was measured on."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path


def processor() -> str:
    facts = Path("/proc/cpuinfo")
    for line in facts.read_text().splitlines() if facts.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def described() -> str:
    """Return date, machine and versions in one line."""
    packages = ", ".join(
        f"{name} {metadata.version(name)}" for name in ("labeltrees", "numpy", "scikit-learn")
    )
    return (
        f"{datetime.datetime.now(datetime.UTC).date()}, {processor()}, {os.cpu_count()} cores, "
        f"CPython {platform.python_version()}, {packages}"
    )
