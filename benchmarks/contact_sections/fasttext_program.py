"""fastText, with the settings that its autotune varies most; see program.py.

Texts are in small letters with punctuation apart, as its tutorial makes them; of XC's rows it gets
the features without their values, which it cannot take.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import fasttext

from contact_sections import program
from contact_sections.person_files import PersonRows

PREFIX = "__label__"
EPOCHS = (5, 25)
RATES = (0.2, 0.5, 1.0)
LEAST_RATE = 0.01
#: fastText's other losses take a step for every label, which is too slow for more of them.
MOST_LABELS = 2_000


def train(rows: PersonRows, model: Path, settings: dict[str, Any]) -> dict[str, Any]:
    file = model / "rows.txt"
    with program.Stopwatch() as tuning:
        learn, valid = program.apart(rows)
        write_words(learn, file)

        def attempt(chosen: tuple[Any, ...]) -> list[program.Answer]:
            return answers(fitted(file, *chosen)[0], valid)

        chosen = program.tuned(grid(rows), attempt, valid)
    write_words(rows, file)
    learned, rate = fitted(file, *chosen)
    learned.save_model(str(model / "model.bin"))
    loss, n_words, epochs, _ = chosen
    said = f"{loss}, {epochs} epochs, lr {rate:g}" + (", bigrams" if n_words == 2 else "")
    return {"chosen": said, "tuning_s": tuning.seconds}


def grid(rows: PersonRows) -> list[tuple[Any, ...]]:
    """Return losses, lengths of word n-grams, epochs and rates."""
    losses = ("softmax", "ova") if rows.several else ("softmax",)
    if len(rows.label_names) > MOST_LABELS:
        losses = ("hs",)
    n_words = (1, 2) if rows.kind == "text" else (1,)
    epochs = EPOCHS[-1:] if rows.several else EPOCHS
    return list(itertools.product(losses, n_words, epochs, RATES))


def fitted(file: Path, loss: str, n_words: int, epochs: int, rate: float) -> tuple[Any, float]:
    """Return a model and its rate, which is halved until fastText does not come apart."""
    options = {"loss": loss, "wordNgrams": n_words, "epoch": epochs, "lr": rate}
    try:
        model = fasttext.train_supervised(
            str(file), minCount=1, bucket=200_000, thread=1, verbose=0, **options
        )
    except RuntimeError:  # "Encountered NaN."
        if rate < LEAST_RATE:
            raise
        return fitted(file, loss, n_words, epochs, rate / 2)
    return model, rate


def write_words(rows: PersonRows, path: Path) -> None:
    """Write labels with fastText's prefix, then words."""
    with path.open("w", encoding="utf-8") as file:
        for labels, words in zip(rows.labels, words_of(rows), strict=True):
            file.write(" ".join([*(PREFIX + label for label in labels), words]) + "\n")


def words_of(rows: PersonRows) -> list[str]:
    if rows.kind == "text":
        return [
            " ".join(re.sub(r"([^\w\s])", r" \1 ", text.lower()).split()) for text in rows.inputs
        ]
    return [re.sub(r"(\d+):\S+", r"f\1", features) for features in rows.inputs]


def answers(model: Any, rows: PersonRows) -> list[program.Answer]:
    """Return the top labels; rows with one label request all labels, to get P of the true one."""
    several = rows.several
    found, p = model.predict(words_of(rows), k=program.N_ANSWERS if several else -1)
    told = []
    for named, labels, own in zip(rows.labels, found, p, strict=True):
        names = [label.removeprefix(PREFIX) for label in labels]
        values = [min(float(each), 1.0) for each in own]
        top = {"labels": names[: program.N_ANSWERS], "probabilities": values[: program.N_ANSWERS]}
        by_name = {} if several else dict(zip(names, values, strict=True))
        told.append(top if several else top | {"p_truth": by_name.get(named[0], 0.0)})
    return told


def predict(rows: PersonRows, model: Path, _: dict[str, Any]) -> list[program.Answer]:
    return answers(fasttext.load_model(str(model / "model.bin")), rows)
