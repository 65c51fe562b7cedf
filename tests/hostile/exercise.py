"""All that can be done with a model from a file, and what must hold of its answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from labeltrees.data.labels import RaggedLabels
from labeltrees.errors import LabelTreesError
from labeltrees.estimators import estimator_of
from labeltrees.models.capabilities import (
    Above,
    BeamSearch,
    BestRows,
    Explains,
    Samples,
    SamplesSets,
    Updates,
    can,
)

if TYPE_CHECKING:
    from labeltrees.models.model import FittedModel

N_ROWS = 6
MAX_BYTES = 2**24
NO_WEIGHTS = np.empty(0, dtype=np.float32)


def exercise(model: FittedModel, *, learn: bool = True) -> None:
    """Ask, describe, copy and teach a model; raise if an answer is unsound.

    The library's own errors are fine where a question cannot be answered; anything else is not.
    """
    rows = model.rows(questions(model.n_features))
    known = _ask(model, rows)
    facts = model.describe()
    assert json.loads(json.dumps(facts)) is not None
    names = [str(label) for label in model.vocabulary.labels]
    assert model.to_dot(names, max_nodes=9).startswith("digraph")
    keep_state = not model.frozen
    type(model).from_tensors(*model.to_tensors(keep_state=keep_state))
    estimator_of(model).around(model)
    if learn and can(model, Updates) and not model.frozen:
        labels = RaggedLabels.of_single(_labels(model, known))
        if model.takes_label_sets:
            own = labels.labels.tolist()
            labels = RaggedLabels.of_lists([[label, own[-1]] for label in own[:-1]] + [[]])
        _allowed(model.update, rows, labels, NO_WEIGHTS, k=2 if model.takes_label_sets else 0)
        _ask(model, rows)
        _allowed(model.to_tensors, keep_state=False)


def questions(n_features: int) -> sparse.csr_array:
    """Return rows with few features, the first and the last of so many among them."""
    rng = np.random.default_rng(0)
    columns = np.unique([*range(min(n_features, 6)), *([n_features - 1] if n_features else [])])
    dense = rng.normal(size=(N_ROWS, len(columns))) * (rng.random((N_ROWS, len(columns))) < 0.7)
    dense[0], dense[1] = 0, 9
    coo = sparse.coo_array(dense.astype(np.float32))
    return sparse.csr_array((coo.data, (coo.row, columns[coo.col])), shape=(N_ROWS, n_features))


def _allowed(ask: Any, *arguments: Any, **options: Any) -> Any:
    """Return an answer, or None if the library refuses to give one."""
    try:
        return ask(*arguments, **options)
    except LabelTreesError:
        return None


def _ask(model: FittedModel, rows: Any) -> np.ndarray:
    """Ask every question; return the likeliest label of each row, if there is one."""
    whole = _allowed(model.probabilities, rows, max_bytes=MAX_BYTES)
    if whole is not None:
        _check_probabilities(whole)
        _check_sums(model, whole.sum(axis=1))
    top = _allowed(model.top_labels, rows, 1)
    if top is None:
        return np.empty(0, dtype=object)
    _check_probabilities(top.probabilities)
    likely = top.labels[:, 0]
    if None in likely.tolist():
        return np.empty(0, dtype=object)
    _check_probabilities(model.label_probabilities(rows, likely))
    every = _allowed(model.top_labels, rows, len(model.vocabulary))
    if every is not None:
        _check_probabilities(every.probabilities)
    if can(model, Above):
        for threshold in (1e-3, 0.5):
            found = _allowed(model.labels_above, rows, threshold, max_bytes=MAX_BYTES)
            if found is not None:
                _check_probabilities(found.data)
    if can(model, BestRows):
        options: list[dict[str, Any]] = [{}]
        if type(model).__name__ == "ExtremeModel":
            options.append({"exact": True})
        for option in options:
            _check_probabilities(model.top_rows(rows, likely[:2], 3, **option)[1])
    if can(model, Samples):
        uniforms = np.linspace(0, 1 - 1e-12, rows.n_rows)
        drawn = model.sample(rows, uniforms)
        assert set(drawn.tolist()) <= set(model.vocabulary.labels.tolist())
    if can(model, SamplesSets):
        drawn = model.sample_sets(rows, np.arange(rows.n_rows, dtype=np.uint64))
        _check_probabilities(drawn.data)
        assert np.isfinite(model.expected_counts(rows)).all()
    if can(model, Explains):
        reason = _allowed(model.explain, rows.take(np.array([2])), likely.tolist()[2])
        if reason is not None:
            assert reason.to_text()
    if can(model, BeamSearch):
        _check_probabilities(model.beam_labels(rows, 1, beam_width=2).probabilities)
    return likely


def _check_probabilities(p: np.ndarray) -> None:
    assert np.isfinite(p).all(), p
    assert p.min(initial=0) >= 0, p.min()
    assert p.max(initial=0) <= 1 + 1e-6, p.max()


def _check_sums(model: FittedModel, sums: np.ndarray) -> None:
    """Distributions sum to 1, or to 0 where nothing was learned; extreme regression has none.

    A LOMtree's counts are floats that stop growing, so its sums are at most about 1.
    """
    if hasattr(model, "scale") or can(model, SamplesSets):
        return
    if type(model).__name__ == "LomTreeModel":
        assert sums.max(initial=0) < 2 + 1e-6, sums
        return
    whole = 1 - getattr(model, "novelty_mass", 0.0)
    assert np.isclose(sums, whole, atol=1e-4).all() or not sums.any(), sums


def _labels(model: FittedModel, known: np.ndarray) -> np.ndarray:
    """Return labels to learn: those known, and new ones for every other row."""
    if model.vocabulary.is_text:
        labels = np.array([f"new {i % 3}" for i in range(N_ROWS)], dtype=object)
    else:
        labels = np.arange(N_ROWS) % 3 + 10**12
    if len(known) == N_ROWS:
        labels[::2] = known[::2]
    return labels
