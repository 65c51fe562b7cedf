"""VW's `--oaa` and `--multilabel_oaa` over the features of features.py; see program.py."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse import csr_array

from contact_sections import program
from contact_sections.features import Features
from contact_sections.person_files import PersonRows
from harness import peers
from online_sections.peer_runs import run_vw
from online_sections.small_sets import read_probabilities, row_words

#: Passes over rows of one label, and over rows of several.
PASSES = {False: (5, 20), True: (5,)}
RATES = (0.2, 0.5, 2.0)
FOLDER = peers.WORK / "contact" / "vw"


def train(rows: PersonRows, model: Path, settings: dict[str, Any]) -> dict[str, Any]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with program.Stopwatch() as tuning:
        learn, valid = program.apart(rows)
        features = Features.fitted(learn)
        write_rows(features, learn, FOLDER / "learn.vw", settings["several"])
        write_rows(features, valid, FOLDER / "valid.vw", settings["several"])

        def attempt(grid: tuple[int, float]) -> list[program.Answer]:
            learned(features, FOLDER / "learn.vw", settings["several"], *grid)
            return features.answers(asked(FOLDER / "valid.vw"), valid, program.N_ANSWERS)

        chosen = program.tuned(
            itertools.product(PASSES[settings["several"]], RATES), attempt, valid
        )
    features = Features.fitted(rows)
    write_rows(features, rows, FOLDER / "all.vw", settings["several"])
    learned(features, FOLDER / "all.vw", settings["several"], *chosen)
    shutil.copy(FOLDER / "model", model / "model.vw")
    joblib.dump(features, model / "features.joblib")
    return {"chosen": f"{chosen[0]} passes, `-l {chosen[1]:g}`", "tuning_s": tuning.seconds}


def write_rows(features: Features, rows: PersonRows, path: Path, several: bool) -> None:
    """Write rows with values; labels of `--oaa` start from 1, and labels of the other from 0."""
    numbers = features.label_matrix(rows)
    first = 0 if several else 1
    with path.open("w") as file:
        for row, words in enumerate(row_words(csr_array(features.of(rows)))):
            named = numbers.indices[numbers.indptr[row] : numbers.indptr[row + 1]] + first
            file.write(f"{','.join(map(str, named.tolist()))} | {words}\n")


def learned(features: Features, path: Path, several: bool, n_passes: int, rate: float) -> None:
    kind = "--multilabel_oaa" if several else "--oaa"
    run_vw(
        *("-d", str(path), kind, str(len(features.names)), "--loss_function", "logistic"),
        *("--probabilities", "-b", "24", "-l", str(rate), "--passes", str(n_passes)),
        *("--holdout_off", "--cache_file", str(FOLDER / "cache"), "-k", "--quiet"),
        *("-f", str(FOLDER / "model")),
    )


def asked(path: Path, model: Path = FOLDER / "model") -> np.ndarray:
    """Return P of all labels for each row of a file."""
    out, n_rows = FOLDER / "out", path.read_text().count("\n")
    # Its 9.11 writes answers of `--multilabel_oaa` to wrong rows once its ring of rows is full.
    ring = ("--ring_size", str(n_rows + 1))
    asking = ("-t", "-i", str(model), "--probabilities", "--quiet", "-p", str(out))
    run_vw("-d", str(path), *asking, *ring)
    return read_probabilities(out)


def predict(rows: PersonRows, model: Path, settings: dict[str, Any]) -> list[program.Answer]:
    features = joblib.load(model / "features.joblib")
    write_rows(features, rows, FOLDER / "asked.vw", settings["several"])
    p = asked(FOLDER / "asked.vw", model / "model.vw")
    return features.answers(p, rows, program.N_ANSWERS)
