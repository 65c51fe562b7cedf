"""Check that all links of the finished site work, and that it fetches nothing from elsewhere.

``python -m docs.site.finished FOLDER`` prints what is wrong, a line each, and then exits with 1.
"""

from __future__ import annotations

import posixpath
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "faults", "main", "read_page"]

_FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
    ("img", "srcset"),
}


class Page(HTMLParser):
    """What a page links to, what a browser fetches for it, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of an element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") != "canonical" and "href" in given:
            self.fetched.append(given["href"])
        self.fetched += [given[name] for kind, name in _FETCHED if kind == tag and name in given]


def read_page(file: Path) -> Page:
    """Return what a page of the site links to, fetches and has."""
    return Page(file.read_text(encoding="utf-8"))


def _is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).scheme not in ("", "data") or urlsplit(address).netloc)


def faults(site: Path) -> list[str]:
    """Return a line for each link that leads nowhere and each request to somebody else."""
    page = cache(read_page)
    found = []
    for file in sorted(site.rglob("*.html")):
        name = file.relative_to(site).as_posix()
        if name.startswith("_static/"):
            continue
        here = page(file)
        found += [f"{name}: fetches {each}" for each in here.fetched if _is_elsewhere(each)]
        for address in here.links + [each for each in here.fetched if not _is_elsewhere(each)]:
            parts = urlsplit(address)
            if _is_elsewhere(address) or parts.scheme == "data":
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
            target = site / path if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file():
                found.append(f"{name}: no file for {address}")
            elif anchor and target.suffix == ".html" and anchor not in page(target).anchors:
                found.append(f"{name}: no anchor for {address}")
    for file in sorted(site.rglob("*.css")):
        named = re.findall(r"url\(['\"]?([^'\")]+)", file.read_text(encoding="utf-8"))
        place = file.relative_to(site).as_posix()
        found += [f"{place}: fetches {each}" for each in named if _is_elsewhere(each)]
    return found


def main(site: Path) -> int:
    """Print the faults of a site; return 1 if there are any."""
    found = faults(site)
    for line in found:
        print(line)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
