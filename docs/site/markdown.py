"""Turn links to files of the repository into links to pages of the site."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["for_readers", "outside_fences", "relinked"]

_LINK = re.compile(r"(`+[^`]*`+)|(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    r"""Return a page with everything but its fenced blocks changed.

    >>> outside_fences("a\n```\na\n```\na\n", str.upper)
    'A\n```\na\n```\nA\n'
    """
    parts = re.split(r"(^(`{3,}|:{3,}).*?^\2$\n?)", text, flags=re.MULTILINE | re.DOTALL)
    # Each match has two groups, the block and its fence, and the fence is left out.
    return "".join(
        part if place % 3 == 1 else change(part)
        for place, part in enumerate(parts)
        if place % 3 != 2
    )


def relinked(text: str, file: str, places: Mapping[str, str]) -> str:
    """Return a page whose links lead to the site's pages.

    ``file`` is where the page is in the repository, and ``places`` has the place on the site of
    files of the repository. Links to other files become plain words.

    >>> places = {"docs/tree.md": "tree.md", "CHANGELOG.md": "changelog.md"}
    >>> relinked("[a](tree.md#one) [b](../CHANGELOG.md) [c](../Makefile)", "docs/x.md", places)
    '[a](tree.md#one) [b](changelog.md) c'
    """
    folder = posixpath.dirname(file)
    here = posixpath.dirname(places.get(file, "")) or "."

    def placed(found: re.Match[str]) -> str:
        code, mark, words, target = found.groups()
        if code or target.startswith("#") or re.match(r"[a-z]+:", target):
            return found[0]
        path, _, anchor = target.partition("#")
        place = places.get(posixpath.normpath(posixpath.join(folder, path)))
        if place is None:
            return words
        place = posixpath.relpath(place, here)
        return f"{mark}[{words}]({place}{'#' if anchor else ''}{anchor})"

    return outside_fences(text, lambda part: _LINK.sub(placed, part))


def for_readers(text: str) -> str:
    r"""Return a page without what only tests need in its blocks of code.

    >>> for_readers("```console\n$ a\n<BLANKLINE>\nb\n\n```\n")
    '```console\n$ a\n\nb\n```\n'
    """

    def shown(found: re.Match[str]) -> str:
        fence, language, code = found.groups()
        code = re.sub(r"^<BLANKLINE>$", "", code, flags=re.MULTILINE).rstrip("\n")
        return f"{fence}{language}\n{code}\n{fence}"

    return _FENCED.sub(shown, text)
