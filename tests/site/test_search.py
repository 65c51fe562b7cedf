"""Search results are ordered by whole words of their titles."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCORER = Path(__file__).parents[2] / "docs/site/scorer.js"
NODE = shutil.which("node")


def ordered(query: str, results: list[list[object]]) -> list[str]:
    """Return the titles of results as the site lists them, the best first."""
    program = f"""
        const search = "?q=" + encodeURIComponent({json.dumps(query)});
        global.window = {{ location: {{ search }} }};
        {SCORER.read_text(encoding="utf-8")}
        const scored = {json.dumps(results)}.map((each) => [Scorer.score(each), each[1]]);
        console.log(JSON.stringify(scored.sort((a, b) => b[0] - a[0]).map((each) => each[1])));
    """
    assert NODE is not None
    done = subprocess.run([NODE, "-e", program], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="there is no node to run the script")
def test_a_page_with_the_whole_word_comes_before_names_that_contain_its_letters():
    name = "labeltrees.OneAgainstAllClassifier"
    results = [
        ["reference/x", name, "#x", "Python class, in One against all", 21, "x.rst", "object"],
        ["install", "Install", "", None, 15, "install.md", "title"],
        ["training", "Train from a file", "", None, 5, "training.md", "text"],
    ]
    assert ordered("install", results)[0] == "Install"
    assert ordered("OneAgainstAllClassifier", results)[0] == name
    assert ordered("train file", results)[0] == "Train from a file"
