"""The page without a browser: its files, their types and policy, and their shared names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

import labeltrees
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


NODE = shutil.which("node")
PATHS = """
import { paths } from "%s";
let text = "";
process.stdin.on("data", (part) => (text += part));
process.stdin.on("end", () => console.log(JSON.stringify(paths(JSON.parse(text)))));
"""


def paths_of(explanation, tmp_path):
    """Return an explanation in the form in which the page draws it."""
    copy = tmp_path / "page"
    copy.mkdir()
    (copy / "package.json").write_text('{"type": "module"}')
    for name in ("reasons.js", "numbers.js"):
        shutil.copy(PAGE / name, copy / name)
    (copy / "paths.js").write_text(PATHS % "./reasons.js")
    done = subprocess.run(
        [NODE, copy / "paths.js"], input=json.dumps(explanation.to_dict()),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("method", ["conditional", "multilabel"])
def test_the_page_draws_steps_with_the_signs_and_probabilities_of_the_explanation(method, tmp_path):
    X, y = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 20, ["a", "b", "c"] * 20
    if method == "conditional":
        model = labeltrees.ConditionalTreeClassifier(refine=0).fit(X, y)
    else:
        model = labeltrees.MultiLabelTreeClassifier(refine=2).fit(X, [[label] for label in y])
    reason = model.explain([[0, 1, 0]], "b")
    (path,) = paths_of(reason, tmp_path)
    p_path = getattr(reason, "p_any", 1.0)
    for drawn, step in zip(path["steps"], reason.steps, strict=True):
        p_path *= drawn["p"]
        margin = sum(amount for _, amount in drawn["support"])
        assert (margin > 0) == (drawn["p"] > 0.5) or abs(margin) < 0.1, (drawn, step)
        assert "NaN" not in drawn["note"]
    p_tree = getattr(reason, "p_tree", reason.p_label)
    assert p_path == pytest.approx(p_tree, rel=1e-3)
    if method == "multilabel":
        assert "The tree predicts" in path["reranker"]["text"]
