"""Runs in fastText's environment: TRAIN ASKED OUT EPOCHS RATE LOSS -> "label p_top p_label" each.

LOSS is hs or softmax. fastText computes P of a chosen label only together with all other labels.
So P of hs is computed along the label's path in the Huffman tree, which is built as
``buildTree`` does, and checked against the most likely labels. Prints the costs as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import fasttext
import numpy as np

PREFIX = "__label__"


def huffman_paths(counts: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Return for each label the rows of the output matrix from leaf to root, and their signs."""
    n_labels = len(counts)
    n_nodes = 2 * n_labels - 1
    mass = [*counts, *[10**15] * (n_labels - 1)]
    parent, is_right = [-1] * n_nodes, [False] * n_nodes
    leaf, inner = n_labels - 1, n_labels
    for node in range(n_labels, n_nodes):
        pair = []
        for _ in range(2):
            if leaf >= 0 and mass[leaf] < mass[inner]:
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(inner)
                inner += 1
        mass[node] = mass[pair[0]] + mass[pair[1]]
        parent[pair[0]] = parent[pair[1]] = node
        is_right[pair[1]] = True
    paths, signs = [], []
    for node in range(n_labels):
        path, sign = [], []
        while parent[node] >= 0:
            path.append(parent[node] - n_labels)
            sign.append(1 if is_right[node] else -1)
            node = parent[node]
        paths.append(path)
        signs.append(sign)
    return paths, signs


class PathProbabilities:
    """P(label given a row) by hierarchical softmax."""

    def __init__(self, model) -> None:
        labels, counts = model.get_labels(include_freq=True)
        self.model, self.output = model, model.get_output_matrix()
        self.places = {label: place for place, label in enumerate(labels)}
        self.paths, self.signs = huffman_paths([int(count) for count in counts])

    def __call__(self, row: str, label: str) -> float:
        place = self.places.get(label)
        if place is None:
            return 0.0
        margins = self.output[self.paths[place]] @ self.model.get_sentence_vector(row)
        return float(np.prod(1 / (1 + np.exp(-np.array(self.signs[place]) * margins))))


class ListedProbabilities:
    """P(label given a row) from the list of all labels."""

    def __init__(self, model) -> None:
        self.model = model

    def __call__(self, row: str, label: str) -> float:
        labels, p = self.model.predict(row, k=-1)
        return float(dict(zip(labels, p, strict=True)).get(label, 0.0))


def main() -> None:
    train, asked, out, epochs, rate, loss = sys.argv[1:]
    started = time.perf_counter()
    model = fasttext.train_supervised(
        train, loss=loss, epoch=int(epochs), lr=float(rate), thread=1, minCount=1, verbose=0
    )
    facts = {"train_seconds": time.perf_counter() - started}
    matrices = (model.get_input_matrix(), model.get_output_matrix())
    facts["megabytes"] = sum(each.nbytes for each in matrices) / 1e6
    with open(asked) as lines:
        labels, rows = zip(*(line.rstrip("\n").split(" ", 1) for line in lines), strict=True)
    started = time.perf_counter()
    tops, p_tops = model.predict(list(rows))
    facts["top_us"] = (time.perf_counter() - started) / len(rows) * 1e6
    p_of = (PathProbabilities if loss == "hs" else ListedProbabilities)(model)
    with open(out, "w") as answers:
        for row, label, top, p_top in zip(rows, labels, tops, p_tops, strict=True):
            # It adds 1e-5 to every node's probability before it takes the logarithm.
            if abs(p_of(row, top[0]) - p_top[0]) > 1e-3:
                raise SystemExit(f"P({top[0]}) is {p_of(row, top[0])}, fastText says {p_top[0]}")
            p_label = min(p_of(row, label), 1.0)
            answers.write(f"{top[0].removeprefix(PREFIX)} {p_top[0]:.9g} {p_label:.9g}\n")
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
