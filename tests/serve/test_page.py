"""The page without a browser: its files, their types and policy, and their shared names."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest

from labeltrees.serve.server import PAGE

SCRIPTS = sorted(PAGE.glob("*.js"))
OWN = [path for path in PAGE.rglob("*") if path.is_file() and path.parent == PAGE]
HTML = (PAGE / "index.html").read_text(encoding="utf-8")
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.headers, answer.read()


@pytest.mark.parametrize("path", ["", *(str(path.relative_to(PAGE)) for path in PAGE.rglob("*.*"))])
def test_files_have_their_type_and_a_policy(served, path):
    headers, body = get(f"{served[0]}/{path}")
    file = PAGE / (path or "index.html")
    assert body == file.read_bytes()
    if file.suffix in TYPES:
        assert headers.get_content_type() in (TYPES[file.suffix], "application/javascript")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["../server.py", "%2e%2e/server.py", "nothing.js", "vendor/"])
def test_other_files_are_not_served(served, path):
    with pytest.raises(urllib.error.HTTPError) as raised:
        get(f"{served[0]}/{path}")
    raised.value.close()
    assert raised.value.code == 404


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_id_of_a_script_is_in_the_page(script):
    ids = set(re.findall(r'\bid="([^"]+)"', HTML))
    text = script.read_text(encoding="utf-8")
    named = re.findall(r'(?:byId|getElementById)\("([^"]+)"\)', text)
    assert set(named) - ids == set()


def test_ids_are_unique_and_references_have_targets():
    ids = re.findall(r'\bid="([^"]+)"', HTML)
    assert len(ids) == len(set(ids))
    referring = r'\b(?:for|list|aria-controls|aria-labelledby|aria-describedby)="([^"]+)"'
    assert set(re.findall(referring, HTML)) - set(ids) == set()


def test_imported_names_are_exported():
    exported = {
        path.name: set(re.findall(r"^export (?:async )?\w+ (\w+)", path.read_text(), re.MULTILINE))
        for path in SCRIPTS
    }
    n_names = 0
    for path in SCRIPTS:
        for names, name in re.findall(r'import \{([^}]+)\} from "\./(\w+\.js)"', path.read_text()):
            imported = {each.split(" as ")[0].strip() for each in names.split(",")}
            assert imported - exported[name] == set(), f"{path.name} imports from {name}"
            n_names += len(imported)
    assert n_names > 50


def test_the_page_uses_no_other_hosts_and_no_inline_code():
    for path in OWN:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", text) == [], path.name
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", HTML) == []
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        assert (
            re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(|document\.write", text)
            == []
        )


def test_the_plotting_library_has_its_licence():
    assert "Permission is hereby granted" in (PAGE / "vendor/uPlot.LICENSE").read_text()
