"""Measure on validation rows what each choice of the default vectoriser is worth.

    python benchmarks/text_features.py ../shared/data [--only clinc150]

One label per text with `ConditionalTreeClassifier`, several with `ExtremeRegressor`. Test rows are
never looked at: clinc150 has a validation file, of the others the last tenth of the training rows
is kept apart. Debian's short descriptions come from `apt-cache dumpavail`, in an order drawn once.
"""

from __future__ import annotations

import gzip
import subprocess
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from harness.benchmark import Benchmark
from harness.report import number, table
from labeltrees import ConditionalTreeClassifier, ExtremeRegressor
from labeltrees.metrics import log_loss
from labeltrees.transforms._words_and_pairs import WORD, WordsAndPairs


def plain(**options):
    """Return TF-IDF as scikit-learn has it, but for words of one character and sublinear counts."""
    usual = {"token_pattern": WORD, "sublinear_tf": True, "dtype": np.float32}
    return TfidfVectorizer(**usual | options)


VECTORIZERS = {
    "default": WordsAndPairs(),
    "words": plain(),
    "words and pairs alike": plain(ngram_range=(1, 2)),
    "pairs of weight 0.3": WordsAndPairs(pair_weight=0.3),
    "pairs of weight 0.7": WordsAndPairs(pair_weight=0.7),
    "pairs of one text too": WordsAndPairs(pair_min_df=1),
    "words of two characters": WordsAndPairs(token_pattern=r"(?u)\b\w\w+\b"),
    "c++ and c# are words": WordsAndPairs(token_pattern=r"(?u)\w[\w+#]*"),
    "accents stripped": WordsAndPairs(strip_accents="unicode"),
    "capitals kept": WordsAndPairs(lowercase=False),
    "no stop words": WordsAndPairs(stop_words="english"),
}


def tsv(path):
    """Yield (labels, text) of a gzipped file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            labels, text = line.rstrip("\n").split("\t", 1)
            yield labels, text


def split(rows):
    """Return texts and labels of the first nine tenths and of the last."""
    n_train = len(rows) * 9 // 10
    return *columns(rows[:n_train]), *columns(rows[n_train:])


def columns(rows):
    return [text for _, text in rows], [labels for labels, _ in rows]


def clinc150(data):
    train = list(tsv(data / "clinc150/train.tsv.gz"))
    return *columns(train), *columns(list(tsv(data / "clinc150/valid.tsv.gz")))


def yso_en(data, n_rows=30_000):
    lines = zip(range(n_rows), tsv(data / "yso-en/train.tsv.gz"), strict=False)
    return split([(labels.split(), text) for _, (labels, text) in lines])


def debian(field, n_rows):
    """Return (the field, the short description) of packages, shuffled."""
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True, text=True)
    packages = {}
    for block in text.stdout.replace("\n ", " ").split("\n\n"):
        entries = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        description = entries.get("Description-en") or entries.get("Description")
        if description and field in entries:
            packages[entries["Package"]] = (entries[field], description)
    names = sorted(packages)
    np.random.default_rng(0).shuffle(names)
    return [packages[name] for name in names[:n_rows]]


SETS = {
    "clinc150": clinc150,
    "debian sections": lambda _: split(debian("Section", 15_000)),
    "debian tags": lambda _: split(
        [(tags.replace(" ", "").split(","), text) for tags, text in debian("Tag", 20_000)]
    ),
    "yso-en": yso_en,
}


def measure(vectorizer, texts, labels, asked, truth):
    """Return the cells of one vectoriser on one set."""
    started = time.process_time()
    X = vectorizer.fit_transform(texts)
    seconds = time.process_time() - started
    one_label = isinstance(labels[0], str)
    model = (ConditionalTreeClassifier() if one_label else ExtremeRegressor()).fit(X, labels)
    total = time.process_time() - started
    asked = vectorizer.transform(asked)
    if one_label:
        right = np.mean(model.predict(asked) == np.array(truth, dtype=object))
        quality = right, log_loss(model.predict_label_proba(asked, truth))
    else:
        top = model.predict_top_k(asked, 5).labels
        hits = np.array([np.isin(row, own) for row, own in zip(top, truth, strict=True)])
        quality = hits[:, 0].mean(), model.score(asked, truth)
    return [number(X.shape[1], 0), number(seconds, 2), number(total, 2), *map(number, quality)]


def logistic(texts, labels, asked, truth):
    """Return the cells of logistic regression with the features of the default."""
    X = VECTORIZERS["default"].fit_transform(texts)
    started = time.process_time()
    learned = LogisticRegression(max_iter=1000).fit(X, labels)
    seconds = time.process_time() - started
    score = learned.score(VECTORIZERS["default"].transform(asked), truth)
    return [number(X.shape[1], 0), "-", number(seconds, 2), number(score), "-"]


def section(options):
    """Return a table for each set."""
    own = options.own
    for name in [own.only] if own.only else SETS:
        texts, labels, asked, truth = SETS[name](own.texts)
        one_label = isinstance(labels[0], str)
        rows = [
            [kind, *measure(VECTORIZERS[kind], texts, labels, asked, truth)]
            for kind in own.vectorizer or VECTORIZERS
        ]
        if one_label:
            rows.append(["logistic regression", *logistic(texts, labels, asked, truth)])
        quality = ["accuracy", "log loss"] if one_label else ["P@1", "nDCG@5"]
        yield f"### {name}"
        yield f"{len(texts):,} texts, {len(asked):,} validation texts."
        yield table(["vectoriser", "features", "words s", "CPU s", *quality], rows)


def arguments(parser):
    parser.add_argument("texts", metavar="data", type=Path, help="folder with clinc150 and yso-en")
    parser.add_argument("--only", choices=SETS, help="one of the sets")
    parser.add_argument("--vectorizer", choices=VECTORIZERS, action="append", help="some of them")


BENCHMARK = Benchmark("text_features", __doc__, {"features": section}, arguments=arguments)

if __name__ == "__main__":
    BENCHMARK.main()
