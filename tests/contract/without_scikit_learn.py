"""What test_without_scikit_learn.py runs in a process of its own: a folder is its argument.

The command line first, as long as not even scipy is there; then every saved model is loaded,
answers and learns. Answers go to a file, which the test compares with its own.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

folder = Path(sys.argv[1])
with open(folder / "wanted.pickle", "rb") as file:
    wanted = pickle.load(file)
asked, later = wanted["asked"], wanted["later"]


def check_absent(*names):
    found = [name for name in names if name in sys.modules]
    assert not found, found


def run(*arguments):
    from labeltrees.cli import main

    code = main([*map(str, arguments)])
    assert code == 0, arguments


xc, svm = folder / "data.xc", folder / "data.svm"
for data in (xc, svm):
    model = folder / f"{data.suffix}.model"
    run("stream", data, "-q", "-o", model, "--jobs", 2)
    run("predict", model, data, "-q", "--top", 2)
    run("predict", model, data, "-q", "--named", "--json")
    check_absent("scipy", "sklearn", "pandas")
for method in ("lomtree", "filtertree"):
    run("stream", xc, "-q", "--model", method, "--json")
check_absent("scipy", "sklearn", "pandas")
run("predict", wanted["models"]["conditional"], xc, "-q", "--top", 3)
check_absent("scipy", "sklearn", "pandas")

from tests.contract.questions import every_answer, learn  # noqa: E402

import labeltrees  # noqa: E402
from labeltrees.models.capabilities import Learns, can  # noqa: E402

given, options = {}, [["--top", 2], ["--above", 0.2], ["--labelwise"]]
for number, (name, path) in enumerate(wanted["models"].items()):
    model = labeltrees.load_model(path)
    given[name] = [every_answer(model, asked)]
    if can(model, Learns):
        learn(model, *later)
        given[name].append(every_answer(model, asked))
    run("predict", path, xc, "-q", *options[number % 3])  # to declare its options takes 0.1 s
assert labeltrees.metrics.log_loss([0.5]) > 0
check_absent("sklearn", "pandas")
with open(folder / "given.pickle", "wb") as file:
    pickle.dump(given, file)
json.dump(sorted(given), sys.stderr)
