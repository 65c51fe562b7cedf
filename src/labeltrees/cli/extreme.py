"""`labeltrees train --model xreg`: learn an extreme regressor from a whole file."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.errors import DataError
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.cli.inputs import Input

__all__ = ["stacked", "train_on_file"]


def train_on_file(
    source: Input, out: Path, params: dict[str, Any], *, quiet: bool
) -> dict[str, Any]:
    """Read the file, train, save; return what there is to say. Holds all rows in memory."""
    from labeltrees.estimators import ExtremeRegressor

    learner = ExtremeRegressor(**params)
    learner.check_parameters()
    parts: list[Any] = []
    labels: list[list[Any]] = []
    with Progress("reading", enabled=not quiet) as progress:
        for chunk in source.chunks():
            parts.append(chunk.features)
            labels += [
                chunk.labels[begin:end].tolist() for begin, end in pairwise(chunk.label_starts)
            ]
            progress.advance(chunk.n_rows)
    if not any(labels):
        raise DataError(f"{source.path} has no row with a label.")
    started = time.perf_counter()
    learner.fit(stacked(parts), labels)
    seconds = time.perf_counter() - started
    learner.save(out, extra=source.facts())
    facts = learner.model_.describe()
    return {
        "model": str(out),
        "examples": len(labels),
        "labels": len(learner.classes_),
        "trees": facts["trees"],
        "depth": facts["depth"],
        "weights": facts["weights"],
        "seconds": round(seconds, 3),
        "file_bytes": out.stat().st_size,
    }


def stacked(parts: list[Any]) -> sparse.csr_array:
    """Return the parts one below the other; parts of files without a width may differ in theirs."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.shape[1] for part in parts)
    offsets = np.cumsum([0, *(part.nnz for part in parts)])
    starts = [part.indptr[1:].astype(np.int64) + offset
              for part, offset in zip(parts, offsets[:-1], strict=True)]  # fmt: skip
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    shape = (sum(part.shape[0] for part in parts), width)
    return sparse.csr_array((data, indices, np.concatenate([[0], *starts])), shape=shape)
