"""The model that is served when none is named: which identifier comes next in Python code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.python_source import N_FEATURES, PythonSource
from labeltrees.models.conditional.settings import ConditionalSettings
from labeltrees.models.conditional.start import start_on_stream
from labeltrees.serve.learning.quality import Quality

if TYPE_CHECKING:
    from labeltrees.progress import Progress
    from labeltrees.store import StoredModel

__all__ = ["DEMO", "DEMO_EXAMPLES", "demo_model"]

DEMO = "demo"
DEMO_EXAMPLES = 200_000
"""Some seconds of learning on one core."""

_PART = 2048


def demo_model(progress: Progress, n_examples: int = DEMO_EXAMPLES) -> StoredModel:
    """Return what a file holds of a model that has learned the built-in stream's beginning."""
    model = start_on_stream(ConditionalSettings(), N_FEATURES)
    quality = Quality()
    for chunk in PythonSource(limit=n_examples, chunk_rows=_PART):
        weights = np.ones(chunk.n_rows, np.float32)
        seen = model.update(chunk.rows, RaggedLabels.of_single(chunk.labels), weights, k=1)
        ids = model.vocabulary.ids(chunk.labels)
        quality.observe(seen, chunk.labels, ids, weights, seqs=[0] * chunk.n_rows)
        window = quality.window()
        progress.advance(
            chunk.n_rows, log_loss=round(window["log_loss"], 3), labels=len(model.vocabulary)
        )
    about = {"demo": True, "quality": quality.state()}
    return model.stored(extra={"input": {"format": "python"}, "serve": about})
