"""One logistic regression for each label, by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn.linear_model import LogisticRegression


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """A row of weights for each label; one that was never seen has probability 0."""

    weights: np.ndarray
    biases: np.ndarray

    @classmethod
    def fitted(cls, X: csr_array, Y: csr_array, cost: float) -> OneVsRest:
        """Return the regressions of the columns of Y."""
        weights, biases = (
            np.zeros((Y.shape[1], X.shape[1]), np.float32),
            np.full(Y.shape[1], -np.inf),
        )
        columns = csc_array(Y)
        for label in np.flatnonzero(np.diff(columns.indptr)):
            y = np.zeros(Y.shape[0])
            y[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
            one = LogisticRegression(C=cost, solver="liblinear").fit(X, y)
            weights[label], biases[label] = one.coef_[0], one.intercept_[0]
        return cls(weights, biases)

    def predict_proba(self, X: csr_array) -> np.ndarray:
        """Return P of all labels; they do not sum to 1."""
        return 1 / (1 + np.exp(-(X @ self.weights.T + self.biases)))
