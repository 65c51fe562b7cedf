"""The fitted filter tree: a tournament over a fixed pairing of labels, and its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees import _core
from labeltrees.errors import ArgumentError, TooLargeError
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    BeamLabels,
    Foreseen,
    TopLabels,
    TopRows,
    check_can_learn,
    check_dense_size,
    check_k,
    check_threshold,
    check_top_rows,
    ids_to_learn,
    learning_errors,
    names_of,
)
from labeltrees.models.online.settings import OnlineRegression

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.explanation import Explanation

__all__ = ["FilterTreeModel", "tournament_settings"]

_CHUNK_BYTES = 2**24  # of the dense answers that are looked through at a time
_BYTES_PER_ENTRY = 12
_EMPTY_ORDER = np.empty(0, dtype=np.int64)


def tournament_settings(
    *,
    structure: str = "balanced",
    loss: str = "logistic",
    optimizer: str = "adagrad",
    learning_rate: float = 1.0,
    normalize: bool = True,
    bias: float = 0.25,
    seed: int = 0,
) -> OnlineRegression:
    """Return the checked settings of a filter tree.

    >>> tournament_settings(structure="online")
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: structure must be 'balanced' or 'random', got 'online'.
    """
    if structure not in ("balanced", "random"):
        raise ArgumentError.of("structure", structure, "'balanced' or 'random'")
    return OnlineRegression(
        loss=loss,
        normalize=normalize,
        bias=bias,
        optimizer=optimizer,
        learning_rate=learning_rate,
        mixing=False,
        structure=structure,
        seed=seed,
    )


@dataclass
class FilterTreeModel(ConditionalTreeModel):
    """A conditional tree's state, learned and asked by the rules of a tournament.

    Winners cost O(depth) a row; probabilities need the sum over all labels, O(n_labels) a row.
    """

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = _EMPTY_ORDER,
        foresee: bool = True,
        foresee_top: bool = False,
        again: bool = False,
    ) -> Foreseen:
        """Learn from rows in turn (or in ``order``) and return what was foreseen of each.

        O(depth * nnz) per row; with ``foresee`` or ``foresee_top`` O(n_labels * nnz).
        """
        check_can_learn(self.frozen)
        ids = ids_to_learn(self.vocabulary, labels, weights)
        with learning_errors(self.settings):
            p_label, is_new, top, p_top = _core.learn_tournament(
                self.core, *rows.arrays, ids, weights, order, foresee_top,
                self.settings.conditional_learning(again=again), foresee,
            )  # fmt: skip
        return Foreseen(p_label, names_of(self.vocabulary, top), p_top, is_new.astype(bool))

    def winners(self, rows: Rows) -> NDArray[Any]:
        """Return the tournament's winner of every row. O(depth * nnz) a row."""
        ids = _core.tournament_winners(self.core, *rows.arrays, self.settings.reading)
        return names_of(self.vocabulary, ids)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label a row; 0 for a label never seen."""
        ids = self.vocabulary.ids(labels)
        if len(ids) != rows.n_rows:
            raise ArgumentError(f"y has {len(ids)} labels for the {rows.n_rows} rows of X.")
        return _core.tournament_probabilities(self.core, *rows.arrays, ids, self.settings.reading)

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k likeliest labels of every row, likeliest first; the winner is the first."""
        k = check_k(k, self.core.n_labels)
        ids, p = _core.tournament_top(self.core, *rows.arrays, k, self.settings.reading)
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        check_dense_size(rows.n_rows, len(self.vocabulary), max_bytes)
        return self._dense(rows)

    def _dense(self, rows: Rows) -> NDArray[np.float64]:
        n_columns = len(self.vocabulary)
        return _core.tournament_all(self.core, *rows.arrays, n_columns, self.settings.reading)

    def _dense_chunks(self, rows: Rows) -> Iterator[NDArray[np.float64]]:
        size = max(1, _CHUNK_BYTES // (8 * max(1, len(self.vocabulary))))
        for start in range(0, rows.n_rows, size):
            yield self._dense(rows.take(np.arange(start, min(start + size, rows.n_rows))))

    def beam_labels(self, rows: Rows, k: int, *, beam_width: int) -> BeamLabels:  # noqa: ARG002
        """Refuse: a tournament has no paths to give up."""
        raise ArgumentError.of("search", "beam", "'exact' for a filter tree")

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse."""
        check_threshold(threshold)
        max_entries = max(0, int(max_bytes) // _BYTES_PER_ENTRY)
        parts, n_found = [], 0
        for p in self._dense_chunks(rows):
            parts.append(sparse.csr_array(np.where(p >= threshold, p, 0.0)))
            n_found += parts[-1].nnz
            if n_found > max_entries:
                raise TooLargeError.of_threshold(rows.n_rows, max_entries, threshold, max_bytes)
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows that give each label its largest probabilities, likeliest first."""
        ids = self.vocabulary.ids(labels)
        known = _core.have_leaves(self.core, ids).astype(bool)
        k = check_top_rows(labels, known, self.core.n_labels, k, rows.n_rows, max_bytes)
        p = np.concatenate([chunk[:, ids] for chunk in self._dense_chunks(rows)]).T
        best = np.argsort(-p, axis=1, kind="stable")[:, :k]
        return TopRows(best, np.take_along_axis(p, best, axis=1))

    def sample(self, rows: Rows, uniforms: NDArray[np.float64]) -> NDArray[Any]:
        """Return a label a row, drawn from its distribution by one number in [0, 1) each."""
        ids, at = np.empty(rows.n_rows, dtype=np.int32), 0
        for p in self._dense_chunks(rows):
            sums = np.cumsum(p, axis=1)
            here = slice(at, at + len(p))
            ids[here] = (sums <= uniforms[here, np.newaxis] * sums[:, -1:]).sum(axis=1)
            at += len(p)
        return names_of(self.vocabulary, ids)

    def explain(
        self,
        rows: Rows,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return the matches on a label's way to the final: each turn, and what spoke for it."""
        reason = super().explain(rows, label, n_features=n_features, feature_names=feature_names)
        p_label = float(self.label_probabilities(rows, [label])[0])
        return replace(reason, p_label=p_label)
