"""Runs in PyTorch's environment: TRAIN ASKED OUT EPOCHS RATE -> "label p_top p_label" per row.

Adaptive softmax (Grave et al., "Efficient softmax approximation for GPUs", ICML 2017) over a sum of
feature vectors, on one thread. TRAIN and ASKED are VW text. Prints its costs as JSON; they are of
rows in memory, as ours are.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections import Counter

import numpy as np
import torch

#: Chosen on the first 20,000 examples of the stream, shuffled, by the log loss of the last fifth
#: at the better of the rates 0.1 and 0.2, one thing at a time. Width 64 / 128 / 256: 3.40 / 3.38 /
#: 3.25 (1.2 / 2 / 2.5 s to learn). Batches of 16 / 64 / 256: 3.40 / 3.38 / 3.49 (4.7 / 2 / 0.7 s).
#: A head of 1,000 / 2,000 labels: 3.38 / 3.33. div_value 4 / 2: 3.38 / 3.39. With a tanh of the
#: vectors 3.34, without 3.38.
WIDTH = 256
BATCH = 64
ASKED_BATCH = 256
MOST_WHOLE = 2_001  # labels that need no clusters
CUTOFFS = (2_000, 10_000)
CONSTANT = 0  # id of the feature that every row has


class Rows:
    """Rows of a file; features are known by their place in ``ids``, which learning adds to."""

    def __init__(self, path: str, ids: dict[str, int], *, learn: bool) -> None:
        labels, starts, features, values = array("q"), array("q"), array("q"), array("f")
        with open(path) as lines:
            for line in lines:
                label, words = line.split(" |", 1)
                labels.append(int(label))
                starts.append(len(features))
                features.append(CONSTANT)
                values.append(1.0)
                for word in words.split():
                    name, _, value = word.partition(":")
                    known = ids.setdefault(name, len(ids)) if learn else ids.get(name)
                    if known is not None:
                        features.append(known)
                        values.append(float(value or 1))
        self.labels = np.frombuffer(labels, np.int64)
        self.starts = np.append(np.frombuffer(starts, np.int64), len(features))
        self.features = np.frombuffer(features, np.int64)
        self.values = scaled(np.frombuffer(values, np.float32), self.starts)

    def bags(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the features of some rows, where each row starts, and the values."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        stops = sizes.cumsum()
        begins = stops - sizes
        places = np.arange(stops[-1]) + np.repeat(self.starts[rows] - begins, sizes)
        parts = (self.features[places], begins, self.values[places])
        return tuple(torch.from_numpy(part) for part in parts)


def scaled(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the rows with Euclidean length 1."""
    lengths = np.sqrt(np.add.reduceat(values.astype(np.float64) ** 2, starts[:-1]))
    return (values / np.repeat(lengths, np.diff(starts))).astype(np.float32)


class Model(torch.nn.Module):
    def __init__(self, n_features: int, n_labels: int) -> None:
        super().__init__()
        self.bag = torch.nn.EmbeddingBag(n_features, WIDTH, mode="sum", sparse=True)
        torch.nn.init.uniform_(self.bag.weight, -1 / WIDTH, 1 / WIDTH)  # as fastText starts
        if n_labels <= MOST_WHOLE:
            cutoffs = [
                n_labels - 1
            ]  # All labels but one are in the head, which is a whole softmax.
        else:
            cutoffs = [cutoff for cutoff in CUTOFFS if cutoff < n_labels - 1]
        self.softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(
            WIDTH, n_labels, cutoffs=cutoffs, div_value=4.0, head_bias=True
        )

    def vectors(self, features, starts, values) -> torch.Tensor:
        return self.bag(features, starts, per_sample_weights=values)


def learn(model: Model, optimizer, rows: Rows, truth: np.ndarray, n_epochs: int) -> None:
    """Learn minibatches, in the file's order first, then in random ones."""
    random = np.random.default_rng(0)
    order = np.arange(len(truth))
    for _ in range(n_epochs):
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            optimizer.zero_grad()
            model.softmax(
                model.vectors(*rows.bags(batch)), torch.from_numpy(truth[batch])
            ).loss.backward()
            optimizer.step()
        order = random.permutation(len(truth))


def main() -> None:
    train, asked, out, n_epochs, rate = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ids = {"": CONSTANT}
    rows = Rows(train, ids, learn=True)
    # Clusters are made of labels by frequency, so all labels have to be known before learning.
    labels = np.array([label for label, _ in Counter(rows.labels.tolist()).most_common()])
    places = {label: place for place, label in enumerate(labels.tolist())}
    model = Model(len(ids), len(labels))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=float(rate))
    truth = np.array([places[label] for label in rows.labels.tolist()])
    started = time.perf_counter()
    learn(model, optimizer, rows, truth, int(n_epochs))
    facts = {"train_seconds": time.perf_counter() - started}
    # Every weight has a sum of squared gradients beside it.
    facts["megabytes"] = sum(2 * 4 * each.numel() for each in model.parameters()) / 1e6

    rows = Rows(asked, ids, learn=False)
    truth = np.array([places.get(label, -1) for label in rows.labels.tolist()])
    top_seconds = label_seconds = 0.0
    with open(out, "w") as answers, torch.inference_mode():
        for start in range(0, len(truth), ASKED_BATCH):
            batch = np.arange(start, min(start + ASKED_BATCH, len(truth)))
            bags, target = rows.bags(batch), torch.from_numpy(truth[batch])
            began = time.perf_counter()
            top = model.softmax.predict(model.vectors(*bags))
            searched = time.perf_counter()
            vectors = model.vectors(*bags)
            p_label = model.softmax(vectors, target.clamp(min=0)).output.exp()
            label_seconds += time.perf_counter() - searched
            top_seconds += searched - began
            p_top = model.softmax(vectors, top).output.exp()
            p_label[target < 0] = 0
            told = zip(labels[top.numpy()], p_top.tolist(), p_label.tolist(), strict=True)
            answers.writelines(f"{label} {p:.9g} {q:.9g}\n" for label, p, q in told)
    facts["top_us"] = top_seconds / len(truth) * 1e6
    facts["label_us"] = label_seconds / len(truth) * 1e6
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
