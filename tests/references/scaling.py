"""Columns of mean 0 and deviation 1, in plain NumPy: the moments from all rows each time."""

from __future__ import annotations

import numpy as np


class ReferenceScaling:
    """Remembers every row, and scales by the weighted moments of those it remembers."""

    def __init__(self):
        self.rows, self.weights = [], []

    def observe(self, x, weight=1.0):
        if weight > 0:
            self.rows.append(np.asarray(x, dtype=np.float64))
            self.weights.append(float(weight))

    def scaled(self, x):
        x = np.asarray(x, dtype=np.float64)
        if not self.rows:
            return np.zeros(len(x), np.float32)
        rows = np.array(self.rows)
        mean = np.average(rows, axis=0, weights=self.weights)
        deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=self.weights))
        is_constant = (rows == rows[0]).all(axis=0)
        deviation[is_constant] = 1.0
        scaled = np.clip((x - mean) / deviation, -1e9, 1e9)
        return np.where(is_constant, 0.0, scaled).astype(np.float32)

    def scaled_then_observed(self, x, weight=1.0):
        scaled = self.scaled(x)
        self.observe(x, weight)
        return scaled
