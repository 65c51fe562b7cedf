"""Features as a careful person makes them with scikit-learn, and labels as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler, normalize

from contact_sections.person_files import PersonRows
from contact_sections.program import Answer

MANY_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Features:
    """Turns rows into a matrix: TF-IDF of words and bigrams, rows of length 1, or z-scores."""

    transformer: Any
    names: list[str]

    @classmethod
    def fitted(cls, rows: PersonRows) -> Features:
        transformer = None
        if rows.kind == "text":
            transformer = TfidfVectorizer(
                ngram_range=(1, 2),
                sublinear_tf=True,
                min_df=1 if len(rows) < MANY_ROWS else 2,
                dtype=np.float32,
            ).fit(rows.inputs)
        elif rows.kind == "table":
            transformer = StandardScaler().fit(_table(rows))
        return cls(transformer, rows.label_names)

    def of(self, rows: PersonRows) -> Any:
        """Return the rows as a matrix."""
        if rows.kind == "text":
            return csr_array(self.transformer.transform(rows.inputs))
        if rows.kind == "table":
            return self.transformer.transform(_table(rows))
        return csr_array(normalize(_sparse(rows)))

    def label_numbers(self, rows: PersonRows) -> np.ndarray:
        """Return the number of each row's only label; -1 where that was not learned or not one."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers.get(row[0], -1) if len(row) == 1 else -1 for row in rows.labels])

    def label_matrix(self, rows: PersonRows) -> csr_array:
        """Return the labels of each row without labels that the training rows do not have."""
        numbers = {name: number for number, name in enumerate(self.names)}
        known = [[numbers[each] for each in row if each in numbers] for row in rows.labels]
        starts = np.cumsum([0, *map(len, known)], dtype=np.int32)
        columns = np.array([each for row in known for each in row], dtype=np.int32)
        shape = (len(rows), len(self.names))
        return csr_array((np.ones(len(columns), np.float32), columns, starts), shape=shape)

    def answers(self, p: np.ndarray, rows: PersonRows, n_answers: int) -> list[Answer]:
        """Return the answers that a matrix of probabilities gives."""
        top = np.argsort(-p, axis=1, kind="stable")[:, :n_answers]
        truth = self.label_numbers(rows)
        p_truth = np.where(truth >= 0, p[np.arange(len(p)), truth], 0.0)
        return [
            {
                "labels": [self.names[each] for each in own],
                "probabilities": p[row, own].tolist(),
                "p_truth": float(p_truth[row]),
            }
            for row, own in enumerate(top.tolist())
        ]


def _table(rows: PersonRows) -> np.ndarray:
    return np.array([values.split(",") for values in rows.inputs], dtype=np.float64)


def _sparse(rows: PersonRows) -> csr_array:
    pairs = [[pair.split(":") for pair in features.split()] for features in rows.inputs]
    starts = np.cumsum([0, *map(len, pairs)], dtype=np.int32)  # for liblinear
    columns = np.array([int(column) for row in pairs for column, _ in row], dtype=np.int32)
    values = np.array([float(value) for row in pairs for _, value in row], dtype=np.float32)
    shape = (len(rows), int(rows.header.split()[0]))
    return csr_array((values, columns, starts), shape=shape)
