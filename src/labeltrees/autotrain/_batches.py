"""Batches that a model learns row by row, and the scores of its predictions for them.

This module does not import scipy, because `labeltrees stream` starts without it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from labeltrees.data.labels import RaggedLabels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk, OneLabel
    from labeltrees.models.model import Predictions
    from labeltrees.models.settings import Settings

PredictedRow = tuple[int, Any, Any, list[Any], list[float]]
"""The line of a row, its label (or labels) and their probability, the most likely labels and
their probabilities."""

_N_SCORED = 5
"""Number of most likely labels that are scored where rows have several labels."""


def batch_of(chunk: Chunk, one_label: OneLabel | None, *, seed: int = 0, path: str = "") -> Chunk:
    r"""Return the rows of a chunk that have labels, as a model takes them.

    Parameters
    ----------
    chunk : Chunk
    one_label : {"each", "draw", "first"} or None
        What a model of one label per row learns of a row with several: each in turn, one drawn, or
        the first. If it is None, the model learns all labels of a row together
        (`FittedModel.takes_label_sets`).
    seed : int
        Seed of the draws.
    path : str
        The file, for errors.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_xc
    >>> (chunk,) = read_xc(io.BytesIO(b"2 3 5\n4,1 0:1\n2 2:1\n"))
    >>> [list(batch_of(chunk, how).targets.lists()) for how in ("each", None)]
    [[[4], [1], [2]], [[4, 1], [2]]]
    """
    if one_label is not None:
        return chunk.with_one_label(one_label, seed)
    known = chunk.labelled()
    labels = RaggedLabels.of_chunk(known, path)
    return replace(known, targets=labels, weights=known.row_weights)


def scored_k(settings: Settings, n_top: int) -> int:
    """Return the ``k`` of `update` that finds ``n_top`` labels and, if cheap, all that are scored.

    >>> from labeltrees.models.multilabel.settings import MultiLabelSettings
    >>> [scored_k(MultiLabelSettings(refine=16), n_top) for n_top in (0, 1, 20)]
    [0, 5, 20]
    """
    most = settings.batch_k
    return min(max(n_top, _N_SCORED), most) if 0 < n_top <= most else n_top


def predicted_rows(batch: Chunk, predicted: Predictions, *, single: bool) -> Iterator[PredictedRow]:
    """Yield what was predicted for each row; of several labels, lists."""
    starts = batch.targets.starts.tolist()
    p_label = predicted.p_label.tolist()
    tops = zip(predicted.top.tolist(), predicted.p_top.tolist(), strict=True)
    each = zip(
        batch.line_numbers.tolist(), batch.targets.lists(), pairwise(starts), tops, strict=True
    )
    for line, own, (begin, end), (top, p_top) in each:
        n = next((place for place, label in enumerate(top) if label is None), len(top))
        if single:
            yield line, own[0], p_label[begin], top[:n], p_top[:n]
        else:
            yield line, own, p_label[begin:end], top[:n], p_top[:n]
