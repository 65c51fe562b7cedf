"""The glossary, made from ARCHITECTURE.md's table."""

from __future__ import annotations

import re

__all__ = ["glossary_page", "terms"]


def terms(architecture: str) -> list[tuple[str, str]]:
    r"""Return the words of the glossary and what they mean, as ARCHITECTURE.md has them.

    >>> terms("## Glossary\n\n| word | meaning |\n|---|---|\n| bank | regressors |\n\n## End")
    [('bank', 'regressors')]
    """
    found = re.search(r"^## Glossary\n(.*?)(?=^## |\Z)", architecture, re.MULTILINE | re.DOTALL)
    assert found is not None, "ARCHITECTURE.md has no glossary"
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", found[1], flags=re.MULTILINE)
    return [row for row in rows if row != ("word", "meaning")]


def glossary_page(architecture: str) -> str:
    """Return the page of the glossary."""
    lines = ["# Glossary", "", "A word means the same in the code, the documents and messages.", "",
             ":::{glossary}", ""]  # fmt: skip
    for word, meaning in terms(architecture):
        lines += [word, f"  {meaning}", ""]
    return "\n".join([*lines, ":::", ""])
