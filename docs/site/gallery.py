"""Order the gallery's examples like the questions on its first page."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["Order", "asked"]

_HEADER = Path(__file__).resolve().parents[1] / "gallery/GALLERY_HEADER.rst"


def asked() -> list[str]:
    """Return the examples in the order of their questions."""
    return re.findall(r":doc:`(\w+)`", _HEADER.read_text(encoding="utf-8"))


class Order:
    """Sort key of an example for sphinx-gallery."""

    def __init__(self, folder: str) -> None:  # noqa: ARG002 - sphinx-gallery's
        self.names = asked()

    def __call__(self, file: str) -> int:
        """Return the place of a script; `tests/site` looks that every one has a question."""
        return self.names.index(Path(file).stem)
