"""Reading data waits for neither scipy nor scikit-learn until something needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

TEXT_ONLY = """
import io
from labeltrees.data.readers import NoFeatures, profile_file
profile = profile_file(io.BytesIO({text!r}))
(chunk,) = profile.open(NoFeatures())
assert (chunk.texts, chunk.rows.n_rows) == (["good morning", "good night"], 2)
"""
READ = """
import io
from labeltrees.data.readers import open_reader
text = {text!r}
(chunk,) = open_reader(io.BytesIO(text), format={format!r})
drawn = chunk.with_one_label("draw", 1)
assert (drawn.n_rows, chunk.head(1).n_rows, len(drawn.labels)) == (2, 1, 2)
"""
TEXTS = {
    "xc": b"2 3 5\n4,1 0:1\n2 2:1\n",
    "svmlight": b"4,1 0:1\n2 2:1\n",
    "vw": b"a 2 |x y:1\nb |x z\n",
    "csv": b"kind,legs,colour\ncat,4,red\ncat,5,red\n",
    "jsonl": b'{"label": 4, "features": {"legs": 2}}\n{"label": 1, "features": {"tail": 1}}\n',
}
STREAM = """
from labeltrees.data.python_source import PythonSource
for order in ("files", "shuffled"):
    chunk = next(iter(PythonSource(limit=500, order=order)))
    assert chunk.with_one_label("first").rows is chunk.rows
"""
DENSE = """
import numpy as np
from labeltrees.data.rows import as_rows
from labeltrees.data.targets import check_training
rows, labels, weights = check_training([[0, 1], [2, 0]], np.array([1.0, 2.0]), None)
assert as_rows(rows).take(np.array([1])).values.tolist() == [2]
"""
WORK = {
    "rows": "import labeltrees.data.rows",
    "dense": DENSE,
    "stream": STREAM,
    "texts": TEXT_ONLY.format(text=b"a\tgood morning\nb\tgood night\n"),
    "csv texts": TEXT_ONLY.format(text=b"label,text\na,good morning\nb,good night\n"),
    **{name: READ.format(text=text, format=name) for name, text in TEXTS.items()},
}
CHECK = "\nimport sys\nassert not {'scipy', 'sklearn'} & sys.modules.keys(), 'imported'\n"


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", WORK)
def test_neither_scipy_nor_sklearn_is_imported(name):
    run(WORK[name] + CHECK)


def test_scipy_is_imported_when_the_features_are_asked_for():
    more = "\nassert chunk.features.shape == (2, 3)\nimport sys\nassert 'scipy' in sys.modules"
    run(READ.format(text=TEXTS["xc"], format="xc") + more)
