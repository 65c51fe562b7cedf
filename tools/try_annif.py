"""Ask a server of ours through Annif's own `http` backend: suggest, and evaluate.

    python -m venv annif && annif/bin/pip install annif
    .venv/bin/python tools/try_annif.py annif/bin/annif

Annif is not changed and trains nothing: it loads a vocabulary, and its backend asks the server.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import labeltrees

SUBJECTS = {
    "http://example.org/astronomy": ("astronomy", "stars planets telescope galaxy orbit light"),
    "http://example.org/cooking": ("cooking", "bread oven flour butter recipe salt"),
    "http://example.org/sailing": ("sailing", "boat wind harbour sail knots sea"),
    "http://example.org/law": ("law", "court judge contract rights statute trial"),
    "http://example.org/music": ("music", "violin melody concert rhythm choir notes"),
}
CONFIG = """[ours]
name=Our server
language=en
backend=http
vocab=subjects
endpoint={url}/v1/projects/subjects/suggest
"""


def documents(n: int, seed: int) -> list[tuple[str, str]]:
    """Return texts with the address of their subject."""
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        uri = rng.choice(list(SUBJECTS))
        other = rng.choice(list(SUBJECTS))
        words = rng.choices(SUBJECTS[uri][1].split(), k=6) + rng.choices(
            SUBJECTS[other][1].split(), k=2
        )
        made.append((" ".join(words), uri))
    return made


def start(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Train a model of the texts and serve it; return the process and its address."""
    texts, labels = zip(*documents(400, 0), strict=True)
    labeltrees.TextClassifier().fit(list(texts), list(labels)).save(folder / "model")
    command = [sys.executable, "-m", "labeltrees", "serve", str(folder / "served"), "--port", "0"]
    child = subprocess.Popen(
        [*command, "--quiet", "--model", f"subjects={folder / 'model'}"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    for line in child.stdout:
        found = re.search(r"Serving at (http://[\d.:]+)/", line.decode())
        if found:
            return child, found[1]
    raise RuntimeError("the server did not start")


def main(annif: str) -> None:
    """Let Annif load the vocabulary, suggest and evaluate."""
    annif = os.path.abspath(annif)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        child, url = start(folder)
        (folder / "projects.cfg").write_text(CONFIG.format(url=url))
        lines = [f"<{uri}>\t{name}\n" for uri, (name, _) in SUBJECTS.items()]
        (folder / "subjects.tsv").write_text("".join(lines))
        tests = [f"{text}\t<{uri}>\n" for text, uri in documents(200, 1)]
        (folder / "test.tsv").write_text("".join(tests))

        def run(*arguments: str, said: str = "") -> str:
            done = subprocess.run(
                [annif, *arguments], cwd=folder, input=said, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"annif {' '.join(arguments)}: {done.stderr}")
            return done.stdout

        try:
            run("load-vocab", "--language", "en", "subjects", "subjects.tsv")
            text = documents(1, 2)[0][0]
            print(f"annif suggest ours: {text}")
            print(run("suggest", "ours", said=text))
            run("eval", "--metrics-file", "metrics.json", "--limit", "3", "ours", "test.tsv")
            metrics = json.loads((folder / "metrics.json").read_text())
            wanted = ("Precision@1", "NDCG", "F1@5", "Documents_evaluated")
            print("annif eval ours:", {name: metrics[name] for name in wanted if name in metrics})
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(60)


if __name__ == "__main__":
    main(sys.argv[1])
