"""The sets, their training rows in one random order that all learners share."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from harness.benchmark import Options
from harness.data_sets import Split, whole, written
from labeltrees.data.python_source import PythonSource

#: The built-in stream's sets of identifiers, beside the folders of data.
STREAM = "identifiers"
MOST_ASKED = 10_000
STREAM_ROWS = 50_000
N_NEXT = 5
SEED = 0

#: Numbers of rows to train on and to query where settings are chosen.
CHOOSING = (10_000, 2_000)


def streamed(options: Options, name: str) -> Split:
    """Return a set with shuffled training rows and at most `MOST_ASKED` test rows."""
    if name == STREAM:
        split = identifier_sets(options.limit)
    else:
        assert options.data is not None
        split = whole(options.data, name, options.limit)
    random = np.random.default_rng(SEED)
    order = random.permutation(split.X.shape[0])
    asked = random.permutation(split.X_test.shape[0])[:MOST_ASKED]
    X_test, Y_test = split.X_test[asked], split.Y_test[asked]
    return written(f"{split.name}-streamed", split.X[order], split.Y[order], X_test, Y_test)


def choosing(split: Split) -> Split:
    """Return the first training rows of a set, split to train on and to choose with."""
    n_asked = min(CHOOSING[1], split.X.shape[0] // 5)
    cut = min(CHOOSING[0], split.X.shape[0] - n_asked)
    X, Y = split.X[: cut + n_asked], split.Y[: cut + n_asked]
    return written(f"{split.name}-choosing", X[:cut], Y[:cut], X[cut:], Y[cut:])


def identifier_sets(
    limit: int | None, *, n_next: int = N_NEXT, most_asked: int = MOST_ASKED
) -> Split:
    """Return the built-in stream with the set of the next five identifiers as labels.

    Test rows come after the training rows, from other files, because neighbours in a file share
    labels. A file's last four sets run on into the next file.
    """
    n_learned = min(STREAM_ROWS, limit or STREAM_ROWS)
    n_rows = n_learned + min(most_asked, n_learned * most_asked // (5 * MOST_ASKED))
    chunks = list(PythonSource(order="files", limit=n_rows + n_next - 1))
    names = np.concatenate([chunk.labels for chunk in chunks])
    _, ids = np.unique(names.astype(str), return_inverse=True)
    following = np.lib.stride_tricks.sliding_window_view(ids, n_next)
    Y = indicator(following[:n_rows], int(ids.max()) + 1)
    columns = np.concatenate([chunk.rows.arrays[1] for chunk in chunks])
    lengths = np.concatenate([np.diff(chunk.rows.arrays[0]) for chunk in chunks])[:n_rows]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    columns = columns[: starts[-1]]
    known = np.unique(columns[: starts[n_learned]])  # a model never meets the others
    places = np.searchsorted(known, columns).clip(max=len(known) - 1)
    X = csr_array(
        ((known[places] == columns).astype(np.float32), places.astype(np.int32), starts),
        shape=(n_rows, len(known)),
    )
    X.sum_duplicates()
    X.eliminate_zeros()
    X = csr_array(normalize(X))
    name = f"{STREAM}-{n_learned}" + ("" if n_next == N_NEXT else f"-next-{n_next}")
    return written(name, X[:n_learned], Y[:n_learned], X[n_learned:], Y[n_learned:])


def indicator(labels: np.ndarray, n_labels: int) -> csr_array:
    """Return rows of labels, some of them repeated, as a matrix of ones."""
    n_rows, width = labels.shape
    starts = np.arange(n_rows + 1) * width
    shape = (n_rows, n_labels)
    matrix = csr_array((np.ones(labels.size, np.float32), labels.ravel(), starts), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
