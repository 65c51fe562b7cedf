"""Writes small files of every model with whatever version of the library is installed.

`python tests/files_of_0_1_0/make.py FOLDER` was run with version 0.1.0, once when the file format
had just got its second version (commit 36f48db) and once at the last commit before 0.2.0 (e148833).
`answers.json` has what the models said, also after the file was loaded and had learned more. Tests
load these files; they are never made anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import labeltrees

LABELS = ("ant", "bee", "café", "dog", "elk")
N_ROWS, N_ASKED, N_LATER = 40, 4, 8


def numbers(n: int, n_columns: int) -> np.ndarray:
    """Return numbers that depend on no generator's version: multiples of 1/8, most of them zero."""
    i = np.arange(n)[:, None] * 7 + np.arange(n_columns) * 13
    return (np.maximum(0, (i * i + 3 * i) % 17 - 9) / 8).astype(np.float32)


def rows() -> tuple[np.ndarray, np.ndarray]:
    X = numbers(N_ROWS + N_LATER, 6)
    label = np.argmax(X[:, : len(LABELS)] + 0.01 * np.arange(len(LABELS)), axis=1)
    return X, np.array(LABELS)[label]


def label_sets(y: np.ndarray) -> list[list[str]]:
    """Return two labels for every row: its own, and the next in the list."""
    place = {name: i for i, name in enumerate(LABELS)}
    return [[name, LABELS[(place[name] + 1) % len(LABELS)]] for name in y.tolist()]


#: By name of the file: the estimator's class, its parameters, and whether rows have label sets.
MODELS = {
    "conditional_alone": ("ConditionalTreeClassifier", {"structure": "online", "refine": 0}, False),
    "conditional_refined": ("ConditionalTreeClassifier", {}, False),
    "conditional_paper_1": (
        "ConditionalTreeClassifier",
        {"loss": "squared", "optimizer": "sgd", "balance": "labels", "refine": 0},
        False,
    ),
    "pecoc": ("ConditionalTreeClassifier", {"arity": 4, "structure": "random"}, False),
    "pool": (
        "ConditionalTreeClassifier",
        {"structure": "random", "n_trees": 2, "refine": 0},
        False,
    ),
    "filter": ("FilterTreeClassifier", {}, False),
    "lom": ("LOMTreeClassifier", {}, False),
    "self_terminating": ("SelfTerminatingTreeClassifier", {"penalty": 0.5}, False),
    "boosting": ("AdacondClassifier", {"n_rounds": 2}, False),
    "one_against_all": ("OneAgainstAllClassifier", {}, False),
    "frequency_table": ("FrequencyTableClassifier", {}, False),
    "extreme": ("ExtremeRegressor", {"n_trees": 2}, True),
    "extreme_tail": ("ExtremeRegressor", {"n_trees": 1, "tail": "xreg"}, True),
    "least_squares": ("LeastSquaresRegressor", {}, True),
    "leml": ("LemlRegressor", {"rank": 2}, True),
    "pfastrexml": ("PfastreXmlRanker", {"n_trees": 2}, True),
    "bm25": ("Bm25Ranker", {}, True),
    "dismec": ("DismecRanker", {}, True),
    "proxml": ("ProxmlRanker", {}, True),
    "rank_svm": ("RankSvmRanker", {}, True),
    "xlr": ("XlrRanker", {}, True),
}


def fitted(kind: str, parameters: dict, has_sets: bool, X: np.ndarray, y: np.ndarray):
    """Return the estimator, or None if this version has none of that name or parameters."""
    cls = getattr(labeltrees, kind, None)
    if cls is None:
        return None
    known = cls().get_params()
    wanted = {name: value for name, value in parameters.items() if name in known}
    if parameters.keys() - wanted.keys() - {"refine"}:
        return None
    return cls(**wanted).fit(X, label_sets(y) if has_sets else y)


def answers(model, X: np.ndarray) -> dict:
    """Return what a model says of the rows that are asked about."""
    return {
        "classes": [str(label) for label in model.classes_],
        "predict_proba": np.asarray(model.predict_proba(X[:N_ASKED])).tolist(),
    }


def said_of_a_file(path: Path, X: np.ndarray, y: np.ndarray, *, has_sets: bool) -> dict:
    """Return what a loaded model says, and what it says after some rows more if it can learn."""
    model = labeltrees.load(path)
    found = answers(model, X)
    if hasattr(model, "partial_fit") and not path.stem.endswith("frozen"):
        more = label_sets(y[N_ROWS:]) if has_sets else y[N_ROWS:]
        found["later"] = answers(model.partial_fit(X[N_ROWS:], more), X)
    return found


def write_texts(folder: Path) -> dict:
    """Write a model with a vectoriser in front, if this version has that."""
    if not hasattr(labeltrees, "TextClassifier"):
        return {}
    _, y = rows()
    texts = [f"{label} {label} or {LABELS[i % len(LABELS)]}" for i, label in enumerate(y.tolist())]
    model = labeltrees.TextClassifier().fit(texts[:N_ROWS], y[:N_ROWS])
    model.save(folder / "text.safetensors")
    again = labeltrees.load(folder / "text.safetensors")
    asked = texts[:N_ASKED]
    return {
        "text": {
            "texts": asked,
            "classes": [str(label) for label in again.classes_],
            "predict_proba": np.asarray(again.predict_proba(asked)).tolist(),
        }
    }


def main() -> None:
    """Write all files and answers into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    X, y = rows()
    said: dict[str, dict] = {}
    for name, (kind, parameters, has_sets) in MODELS.items():
        model = fitted(kind, parameters, has_sets, X[:N_ROWS], y[:N_ROWS])
        if model is None:
            sys.stdout.write(f"not there: {name}\n")
            continue
        path = folder / f"{name}.safetensors"
        model.save(path)
        said[name] = said_of_a_file(path, X, y, has_sets=has_sets)
        if name in ("conditional_alone", "lom"):
            path = folder / f"{name}_frozen.safetensors"
            model.save(path, keep_state=False)
            said[path.stem] = said_of_a_file(path, X, y, has_sets=has_sets)
    said |= write_texts(folder)
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in said.items()]
    (folder / "answers.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    sys.stdout.write(f"version {labeltrees.__version__}: {len(said)} files in {folder}\n")


if __name__ == "__main__":
    main()
