"""What a number was measured on."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path


def processor() -> str:
    """Return the name of the processor."""
    facts = Path("/proc/cpuinfo")
    for line in facts.read_text().splitlines() if facts.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def facts() -> dict[str, str]:
    """Return the date, the machine, and the versions of Python and the main packages."""
    packages = [
        f"{name} {metadata.version(name)}" for name in ("labeltrees", "numpy", "scikit-learn")
    ]
    return {
        "date": str(datetime.datetime.now(datetime.UTC).date()),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "versions": ", ".join([f"CPython {platform.python_version()}", *packages]),
    }


def described() -> str:
    """Return date, machine and versions in one line."""
    return ", ".join(facts().values())
