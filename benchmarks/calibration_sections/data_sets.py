"""Sets split into rows to train on, held-out rows to calibrate with, and test rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from harness.benchmark import Options
from harness.data_sets import Split, whole, written
from multilabel_sections.data_sets import identifier_sets

#: The built-in stream, beside the folders of data.
STREAM = "next identifier"
QUICK_ROWS = 500
HELD_SHARE = 0.2
MOST_HELD = MOST_TESTED = 10_000
SEED = 0


@dataclass(frozen=True, eq=False)
class Parts:
    """A set whose queried rows are the ``n_held`` held-out rows followed by the test rows."""

    split: Split
    n_held: int

    @property
    def held(self) -> csr_array:
        """The labels of the rows held out."""
        return self.split.Y_test[: self.n_held]

    @property
    def tested(self) -> csr_array:
        """The labels of the test rows."""
        return self.split.Y_test[self.n_held :]

    @property
    def described(self) -> str:
        """The sizes, in words."""
        X, Y = self.split.X, self.split.Y
        return (
            f"{X.shape[0]:,} rows to learn, {self.n_held:,} held out, {self.tested.shape[0]:,} to "
            f"test, {X.shape[1]:,} features, {Y.shape[1]:,} labels, "
            f"{Y.nnz / X.shape[0]:.2f} a row"
        )


def parts(options: Options, name: str) -> Parts:
    """Return a set in three; of the stream the parts are from different files, in order."""
    limit = options.rows(QUICK_ROWS) if options.quick else options.limit
    if name == STREAM:
        asked = identifier_sets(limit, n_next=1, most_asked=MOST_HELD + MOST_TESTED)
        return Parts(asked, asked.X_test.shape[0] // 2)
    assert options.data is not None
    split = whole(options.data, name, limit)
    random = np.random.default_rng(SEED)
    order = random.permutation(split.X.shape[0])
    n_held = min(MOST_HELD, int(HELD_SHARE * len(order)))
    held, learned = order[:n_held], order[n_held:]
    tested = random.permutation(split.X_test.shape[0])[:MOST_TESTED]
    X = vstack([split.X[held], split.X_test[tested]], format="csr")
    Y = vstack([split.Y[held], split.Y_test[tested]], format="csr")
    name = f"{split.name}-calibration"
    return Parts(written(name, split.X[learned], split.Y[learned], X, Y), n_held)
