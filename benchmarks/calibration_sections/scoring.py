"""Calibration of the first k labels of each row, raw and after an isotonic map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.isotonic import IsotonicRegression

from harness.contestants import as_matrix
from labeltrees.metrics import (
    ReliabilityCurve,
    brier_at_k,
    calibration_error_at_k,
    precision_at_k,
    reliability_curve_at_k,
)

KS = (1, 3, 5)
N_BINS = 15
N_WIDE_BINS = 20
N_DRAWS = 20


@dataclass(frozen=True, eq=False)
class Top:
    """The top labels of each row in order, with probabilities; label -1 fills short rows."""

    labels: np.ndarray
    p: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, scores: np.ndarray) -> Top:
        """Return at most `KS[-1]` labels of each row; scores above 1 count as 1."""
        none = np.where(labels < 0, -np.inf, scores)
        order = np.argsort(-none, axis=1, kind="stable")[:, : KS[-1]]
        labels, scores = (np.take_along_axis(each, order, axis=1) for each in (labels, scores))
        return cls(labels, np.clip(scores.astype(np.float64), 0, 1))

    def cut(self, begin: int, end: int | None) -> Top:
        """Return some of the rows."""
        return Top(self.labels[begin:end], self.p[begin:end])

    def hits(self, truth: csr_array) -> np.ndarray:
        """Return whether each label is true."""
        rows = np.repeat(np.arange(len(self.labels)), self.labels.shape[1])
        true = np.asarray(truth[rows, self.labels.ravel()]).ravel() > 0
        return true.reshape(self.labels.shape) & (self.labels >= 0)

    def first(self, k: int, n_labels: int) -> csr_array:
        """Return the first k labels of each row as a matrix.

        Ties made by a map do not change which labels come first, as others are not in it.
        """
        return as_matrix(self.labels[:, :k], self.p[:, :k], n_labels)

    def mapped(self, isotonic: IsotonicRegression) -> Top:
        """Return the same labels with other probabilities."""
        return Top(self.labels, isotonic.predict(self.p.ravel()).reshape(self.p.shape))


def isotonic_map(held: Top, truth: csr_array) -> IsotonicRegression:
    """Return one map for all labels, by the first labels of the rows held out."""
    used = held.labels >= 0
    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    return fitted.fit(held.p[used], held.hits(truth)[used])


def calibration(told: Top, truth: csr_array) -> dict[str, float]:
    """Return ECE@k and Brier@k."""
    found = {}
    for k in KS:
        top = told.first(k, truth.shape[1])
        found[f"ECE@{k}"] = calibration_error_at_k(truth, top, k, n_bins=N_BINS)
        found[f"Brier@{k}"] = brier_at_k(truth, top, k)
        wide = calibration_error_at_k(truth, top, k, n_bins=N_WIDE_BINS, bins="width")
        found[f"wide ECE@{k}"] = wide
    return found


def precision(told: Top, truth: csr_array) -> dict[str, float]:
    """Return P@k in percent."""
    return {f"P@{k}": 100 * precision_at_k(truth, told.first(k, truth.shape[1]), k) for k in KS}


def curve(told: Top, truth: csr_array) -> ReliabilityCurve:
    """Return the reliability curve of all first labels."""
    k = KS[-1]
    return reliability_curve_at_k(truth, told.first(k, truth.shape[1]), k, n_bins=N_BINS)


def errors_by_chance(told: Top, truth: csr_array) -> dict[int, float]:
    """Return what ECE@k is on average if the probabilities are right, as rows are finite."""
    random, n_labels = np.random.default_rng(0), truth.shape[1]
    found: dict[int, list[float]] = {k: [] for k in KS}
    for _ in range(N_DRAWS):
        drawn = Top(told.labels, (random.random(told.p.shape) < told.p).astype(float))
        for k in KS:
            top, came_true = told.first(k, n_labels), drawn.first(k, n_labels)
            found[k].append(calibration_error_at_k(came_true, top, k, n_bins=N_BINS))
    return {k: float(np.mean(values)) for k, values in found.items()}
