"""Runs one contestant's program, in its environment; it needs NumPy alone.

    python program.py PROGRAM train FOLDER MODEL SETTINGS
    python program.py PROGRAM predict FOLDER MODEL SETTINGS OUT

PROGRAM is a module of this folder, of batch_sections/ or of calibration_sections/ without its
ending, FOLDER has the matrices of a set, SETTINGS are JSON, OUT gets the predictions. The last line
printed is JSON: what was measured.
"""

import importlib
import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "batch_sections"))
sys.path.append(str(Path(__file__).parents[1] / "calibration_sections"))

import measuring

N_TOP = 5


def main():
    name, action, folder, model, settings, *out = sys.argv[1:]
    program = importlib.import_module(name)
    settings = json.loads(settings)
    if action == "train":
        before = measuring.peak_mb()
        _, learning = program.train(folder, model, settings)
        facts = {"train_s": learning.cpu, "added_mb": measuring.peak_mb() - before}
    else:
        facts = predict(program, folder, model, settings, out[0])
    print(json.dumps(facts))


def predict(program, folder, model, settings, out):
    """Ask for the top labels of all rows, and for every label of the first few."""
    X = measuring.read(folder, "test_X")
    loaded = program.load(model, settings)
    rows = program.rows_of(X)[0]
    n_labels = int(X["n_labels"])
    program.top(loaded, program.rows_of(measuring.first_rows(X, 1))[0], 1, False)  # warm
    with measuring.Stopwatch() as asking:
        top = program.top(loaded, rows, min(N_TOP, n_labels), False)
    answers = measuring.padded(top)
    answers |= {f"all_{name}": array[:0] for name, array in answers.items()}
    if settings["n_sample"]:
        sample = program.rows_of(measuring.first_rows(X, settings["n_sample"]))[0]
        every = measuring.padded(program.top(loaded, sample, n_labels, True))
        answers |= {f"all_{name}": array for name, array in every.items()}
    np.savez(out, **answers)
    return {"ask_us": 1e6 * asking.cpu / X["shape"][0]}


if __name__ == "__main__":
    main()
