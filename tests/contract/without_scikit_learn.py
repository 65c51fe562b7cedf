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


def check_absent(*names):
    found = [name for name in names if name in sys.modules]
    assert not found, found


def run(*arguments):
    from labeltrees.cli import main

    code = main([*map(str, arguments)])
    assert code == 0, arguments


def ask_on_the_command_line(folder, conditional):
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
    run("predict", conditional, xc, "-q", "--top", 3)
    check_absent("scipy", "sklearn", "pandas")


def ask_every_model(folder, models, asked, later):
    from tests.contract.questions import every_answer, learn

    import labeltrees
    from labeltrees.models.capabilities import Updates, can

    given, options = {}, [["--top", 2], ["--above", 0.2], ["--labelwise"]]
    for number, (name, path) in enumerate(models.items()):
        model = labeltrees.load_model(path)
        given[name] = [every_answer(model, asked)]
        if can(model, Updates):
            learn(model, *later)
            given[name].append(every_answer(model, asked))
        # To declare its options takes 0.1 s.
        run("predict", path, folder / "data.xc", "-q", *options[number % 3])
    run("card", folder / ".xc.model", folder / "data.xc", "-q", "--json")
    run("evaluate", folder / ".xc.model", folder / "data.xc", "-q", "--json")
    first = model.vocabulary.labels[:1].tolist()
    assert labeltrees.evaluate(model, asked[:1], first).n_rows == 1
    assert labeltrees.metrics.log_loss([0.5]) > 0
    check_absent("sklearn", "pandas")
    return given


def main():
    folder = Path(sys.argv[1])
    with open(folder / "wanted.pickle", "rb") as file:
        wanted = pickle.load(file)
    ask_on_the_command_line(folder, wanted["models"]["conditional"])
    given = ask_every_model(folder, wanted["models"], wanted["asked"], wanted["later"])
    with open(folder / "given.pickle", "wb") as file:
        pickle.dump(given, file)
    json.dump(sorted(given), sys.stderr)


if __name__ == "__main__":
    main()
