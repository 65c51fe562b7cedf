"""Candidates of an extreme regressor, and label-wise linear experts that refine them.

Candidate c of row x has the probability sigmoid(v0 logit p_c + v1 f_c(x) + v2), where p_c is the
trees' and f_c a linear regressor of the label's own. f_c learns from the rows that have c as a
candidate, by the logistic loss of offset logit p_c + f_c(x).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A weight takes 2 bytes and names its feature with 4.
BYTES_PER_WEIGHT = 6
MIN_P = 1e-6
N_STEPS, N_CORRECTIONS = 40, 6


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of a row and a label, what the trees say of them, and whether they are true."""

    row: NDArray[np.int64]
    label: NDArray[np.int64]
    p: NDArray[np.float64]
    true: NDArray[np.bool_]

    @classmethod
    def proposed(cls, model: Any, X: csr_array, Y: csr_array, k: int) -> Candidates:
        """The k best labels of each row by the model's own search."""
        labels, p = model.predict_top_k(X, min(k, len(model.classes_)))
        found = np.not_equal(labels, None)  # a beam may find fewer than k
        row, label = np.nonzero(found)[0], labels[found].astype(np.int64)
        rows_of_truth = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        true = np.isin(row * Y.shape[1] + label, rows_of_truth * Y.shape[1] + Y.indices)
        return cls(row, label, np.clip(p[found].astype(float), MIN_P, 1 - MIN_P), true)

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        names = [each.name for each in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def of(self, chosen: NDArray[np.bool_]) -> Candidates:
        return Candidates(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @property
    def log_odds(self) -> NDArray[np.float64]:
        return logit(self.p)


@dataclass(frozen=True, eq=False)
class Experts:
    """The weights of all labels' regressors, by label and feature; the last feature is constant."""

    keys: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def fitted(
        cls, X: csr_array, pairs: Candidates, *, offset: float, cost: float, min_weight: float
    ) -> Experts:
        """All experts at once: their losses share no weight, so the sum's minimum is each one's."""
        keys, values, starts = _inputs(X, pairs)
        known, columns = np.unique(keys, return_inverse=True)
        A = csr_array((values, columns, starts), shape=(len(pairs.row), len(known)))
        weights = _logistic(A, pairs.true, offset * pairs.log_odds, cost)
        kept = np.abs(weights) > min_weight
        return cls(known[kept], weights[kept])

    def ask(self, X: csr_array, pairs: Candidates) -> NDArray[np.float64]:
        """Return f of each candidate."""
        keys, values, starts = _inputs(X, pairs)
        if not len(self.keys):
            return np.zeros(len(pairs.row))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        parts = np.where(self.keys[place] == keys, self.weights[place], 0) * values
        return np.add.reduceat(parts, starts[:-1]) if len(parts) else np.zeros(0)

    @property
    def n_bytes(self) -> int:
        return BYTES_PER_WEIGHT * len(self.keys)


def mixture(inputs: NDArray[np.float64], true: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return v, the logistic regression of the truth on the inputs and 1."""
    A = _with_ones(inputs)
    return _logistic(A, true, np.zeros(len(A)), cost=1e6 / len(A))


def mixed(inputs: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities."""
    return expit(_with_ones(inputs) @ v)


def _with_ones(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([inputs, np.ones(len(inputs))])


def _logistic(
    A: Any, true: NDArray[np.bool_], offset: NDArray[np.float64], cost: float
) -> NDArray[np.float64]:
    """Return the w with the least w.w / 2 + cost * sum of the log losses of offset + A w."""
    sign = np.where(true, 1.0, -1.0)
    transposed = A.T.tocsr() if hasattr(A, "tocsr") else A.T

    def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (offset + A @ w)
        slopes = -cost * sign * expit(-margin)
        return w @ w / 2 + cost * np.logaddexp(0, -margin).sum(), w + transposed @ slopes

    options = {"maxiter": N_STEPS, "maxcor": N_CORRECTIONS}
    start = np.zeros(A.shape[1])
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


def _inputs(X: csr_array, pairs: Candidates) -> tuple[NDArray[Any], ...]:
    """Return key and value of every feature of every pair, and where each pair's start."""
    n_keys = X.shape[1] + 1
    sizes = np.diff(X.indptr)[pairs.row] + 1
    starts = np.concatenate(([0], np.cumsum(sizes)))
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    is_last = place == np.repeat(sizes, sizes) - 1
    at = np.where(is_last, 0, np.repeat(X.indptr[pairs.row], sizes) + place)
    feature = np.where(is_last, X.shape[1], X.indices[at])
    return (
        np.repeat(pairs.label, sizes) * n_keys + feature,
        np.where(is_last, 1.0, X.data[at].astype(float)),
        starts,
    )
