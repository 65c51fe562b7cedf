"""Runs in fastText's environment: TRAIN TEST OUT EPOCHS RATE -> a line "label probability" each."""

import sys

import fasttext

train, test, out, epochs, rate = sys.argv[1:]
model = fasttext.train_supervised(
    train, loss="hs", epoch=int(epochs), lr=float(rate), thread=1, minCount=1, verbose=0
)
with open(test) as rows, open(out, "w") as answers:
    for row in rows:
        features = row.split(" ", 1)[1].strip()
        labels, probabilities = model.predict(features)
        answers.write(f"{labels[0].removeprefix('__label__')} {probabilities[0]:.6g}\n")
