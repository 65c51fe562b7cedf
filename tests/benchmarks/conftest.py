"""Files of source code, found once: finding all takes longer than learning some."""

from __future__ import annotations

import pytest

from labeltrees.data import python_source


@pytest.fixture(scope="session")
def source_files():
    return python_source.source_files()[:100]
