"""Documented examples write their files into a folder of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_folder(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Run doctests in an empty folder."""
    if request.node.__class__.__name__ == "DoctestItem":
        request.getfixturevalue("monkeypatch").chdir(tmp_path)
