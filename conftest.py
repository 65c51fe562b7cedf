"""What every test shares: the same random cases in every run, doctests in a folder of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pathlib import Path


settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def own_folder(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Run doctests in an empty folder."""
    if request.node.__class__.__name__ == "DoctestItem":
        request.getfixturevalue("monkeypatch").chdir(tmp_path)
