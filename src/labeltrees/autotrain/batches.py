"""Batches that a model learns row by row, and the scores of its predictions for them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.autotrain.gathering import labelled, weights_of
from labeltrees.data.labels import RaggedLabels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.data.rows import Rows
    from labeltrees.models.model import Predictions
    from labeltrees.models.settings import Settings

__all__ = ["Batch", "PredictedRow", "batch_of", "predicted_rows", "scored_k"]

PredictedRow = tuple[int, Any, Any, list[Any], list[float]]
"""The line of a row, its label (or labels) and their probability, the most likely labels and
their probabilities."""

_N_SCORED = 5
"""Number of most likely labels that are scored where rows have several labels."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows for an update, each with its line in the file."""

    rows: Rows
    labels: RaggedLabels
    weights: NDArray[np.float32]
    lines: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows.n_rows


def batch_of(chunk: Chunk, one_label: OneLabel | None, *, seed: int = 0, path: str = "") -> Batch:
    r"""Return the rows of a chunk that have labels, as a model takes them.

    Parameters
    ----------
    chunk : Chunk
    one_label : {"each", "draw", "first"} or None
        What a model of one label per row learns of a row with several: each in turn, one drawn, or
        the first. None: all labels of a row together (`FittedModel.takes_label_sets`).
    seed : int
        Seed of the draws.
    path : str
        The file, for errors.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_xc
    >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
    >>> list(batch_of(chunk, "each").labels.lists()), list(batch_of(chunk, None).labels.lists())
    ([[4], [1], [2]], [[4, 1], [2]])
    """
    lines = chunk.first_line + np.arange(chunk.n_rows) if chunk.lines is None else chunk.lines
    n_labels = np.diff(chunk.label_starts)
    if one_label is None:
        known = labelled(chunk)
        labels = RaggedLabels.of_chunk(known, path)
        return Batch(known.rows, labels, weights_of(known), lines[n_labels > 0])
    rows, own, weights = chunk.examples(one_label, seed)
    chosen = np.flatnonzero(n_labels)
    if one_label == "each":
        chosen = np.repeat(chosen, n_labels[chosen])
    return Batch(rows, RaggedLabels.of_single(own), weights, lines[chosen])


def scored_k(settings: Settings, n_top: int) -> int:
    """Return the ``k`` of `update` that finds ``n_top`` labels, and those that are scored if cheap.

    >>> from labeltrees.models.multilabel.settings import MultiLabelSettings
    >>> [scored_k(MultiLabelSettings(refine=16), n_top) for n_top in (0, 1, 20)]
    [0, 5, 20]
    """
    most = settings.batch_k
    return min(max(n_top, _N_SCORED), most) if 0 < n_top <= most else n_top


def predicted_rows(batch: Batch, predicted: Predictions, *, single: bool) -> Iterator[PredictedRow]:
    """Yield what was predicted for each row; of several labels, lists."""
    starts = batch.labels.starts.tolist()
    p_label = predicted.p_label.tolist()
    tops = zip(predicted.top.tolist(), predicted.p_top.tolist(), strict=True)
    each = zip(batch.lines.tolist(), batch.labels.lists(), pairwise(starts), tops, strict=True)
    for line, own, (begin, end), (top, p_top) in each:
        n = next((place for place, label in enumerate(top) if label is None), len(top))
        if single:
            yield line, own[0], p_label[begin], top[:n], p_top[:n]
        else:
            yield line, own, p_label[begin:end], top[:n], p_top[:n]
