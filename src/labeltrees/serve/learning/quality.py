"""Progressive validation of a served model, which is kept in its snapshots."""

from __future__ import annotations

import base64
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.metrics._calibration import curve_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.metrics._calibration import ReliabilityCurve
    from labeltrees.models.model import Predictions

WINDOW = 5000
"""Number of recent examples for the windowed scores."""
_N_BINS = 10
_NEW_LABELS = 100
_FLOOR = 1e-9


class ProgressiveQuality:
    """Scores of predictions made before learning, for all examples, recent examples and each label.

    A prediction is correct if the most likely label is a label of the row. One thread observes,
    and others may read meanwhile.

    Parameters
    ----------
    several_labels : bool
        Whether rows have any number of labels.

    Examples
    --------
    >>> from labeltrees.data.labels import RaggedLabels
    >>> from labeltrees.models.model import Predictions
    >>> quality = ProgressiveQuality()
    >>> top = np.array([["a"]]), np.array([[0.5]])
    >>> predicted = Predictions(np.array([0.5]), *top, np.array([False]))
    >>> labels = RaggedLabels.of_single(["a"])
    >>> quality.observe(predicted, labels, np.array([0]), np.ones(1), seqs=np.array([1]))
    >>> quality.summary()["window"]["accuracy"]
    1.0
    """

    def __init__(self, *, several_labels: bool = False) -> None:
        self.several_labels = several_labels
        self.validation = ProgressiveValidation(
            label_sets=several_labels, block_size=100, max_points=500
        )
        self._p_label = np.zeros(WINDOW, np.float32)  # of recent labels
        self._p_top = np.zeros(WINDOW, np.float32)  # of recent rows
        self._correct = np.zeros(WINDOW, bool)
        self._n_rows = self._n_labels = 0
        self.new_labels: deque[tuple[Any, int]] = deque(maxlen=_NEW_LABELS)
        self._label_hits = np.zeros((2, 0), np.int64)  # by label id: examples, predicted ones

    def observe(
        self,
        predicted: Predictions,
        labels: RaggedLabels,
        ids: NDArray[Any],
        weights: NDArray[Any],
        *,
        seqs: NDArray[np.int64],
    ) -> None:
        """Add the predictions for the next rows; ``ids`` are the ids of all their labels."""
        self.validation.observe(predicted, labels, weights)
        row_of = labels.row_of
        top = predicted.top if labels.is_single else predicted.top[row_of]
        hits: NDArray[np.bool_] = np.asarray(top == labels.labels[:, None], dtype=bool)
        correct = hits[:, 0]
        if not labels.is_single:
            correct = np.zeros(labels.n_rows, dtype=bool)
            correct[row_of[hits[:, 0]]] = True
        self._n_labels = _add(self._p_label, self._n_labels, predicted.p_label)
        _add(self._p_top, self._n_rows, predicted.p_top[:, 0])
        self._n_rows = _add(self._correct, self._n_rows, correct)
        for i in np.flatnonzero(predicted.is_new).tolist():
            label = labels.labels[i : i + 1].tolist()[0]
            self.new_labels.append((label, int(seqs[row_of[i]])))
        self._count(ids, np.any(hits, axis=1))

    def _count(self, ids: NDArray[Any], hits_of_ids: NDArray[np.bool_]) -> None:
        known = ids >= 0
        most = int(ids.max(initial=-1)) + 1
        hits = self._label_hits
        if most > hits.shape[1]:
            hits = np.zeros((2, max(most, 2 * hits.shape[1])), np.int64)
            hits[:, : self._label_hits.shape[1]] = self._label_hits
        np.add.at(hits[0], ids[known], 1)
        np.add.at(hits[1], ids[known], hits_of_ids[known])
        self._label_hits = hits

    def label_hits(self, n_labels: int) -> NDArray[np.int64]:
        """Return the numbers of examples and of correct predictions by label id, (2, n_labels).

        A prediction is correct for a label that was the most likely one or, with several labels,
        among the five most likely.
        """
        hits = np.zeros((2, n_labels), np.int64)
        n = min(n_labels, self._label_hits.shape[1])
        hits[:, :n] = self._label_hits[:, :n]
        return hits

    def window(self) -> dict[str, Any]:
        """Return the scores of recent examples, None for scores without examples."""
        n, n_labels = min(self._n_rows, WINDOW), min(self._n_labels, WINDOW)
        if n == 0:
            unknown = dict.fromkeys(("log_loss", "accuracy", "calibration_error"))
            return {"examples": 0, **unknown}
        losses = -np.log(np.maximum(self._p_label[:n_labels], _FLOOR))
        return {
            "examples": n,
            "log_loss": float(losses.mean()) if n_labels else None,
            "accuracy": float(self._correct[:n].mean()),
            "calibration_error": self._reliability(n).expected_calibration_error,
        }

    def _reliability(self, n: int) -> ReliabilityCurve:
        p, hit = self._p_top[:n].astype(np.float64), self._correct[:n].astype(np.float64)
        return curve_of(p, hit, np.ones(n), _N_BINS)

    def reliability(self) -> list[dict[str, float]]:
        """Return the bins of a reliability diagram of the top labels of recent examples."""
        n = min(self._n_rows, WINDOW)
        if n == 0:
            return []
        curve = self._reliability(n)
        return [
            {"predicted": float(p), "observed": float(hit), "examples": int(count)}
            for p, hit, count in zip(
                curve.mean_probability, curve.frequency, curve.count, strict=True
            )
        ]

    def summary(self) -> dict[str, Any]:
        """Return the scores so far, ready for JSON."""
        return {"all": self.validation.scores().to_dict(), "window": self.window()}

    def curve(self) -> list[dict[str, Any]]:
        """Return the learning curve, with scores of consecutive blocks of examples."""
        loss, accuracy = "log_loss", "accuracy"
        if self.several_labels:
            loss, accuracy = "log_loss_seen", "precision_at_1"
        return [
            {
                "examples": each.n_rows,
                "log_loss": getattr(each, loss),
                "accuracy": getattr(each, accuracy),
            }
            for each in self.validation.curve
        ]

    def state(self) -> dict[str, Any]:
        """Return the state that `from_state` restores, as values that JSON can hold."""
        n, n_labels = min(self._n_rows, WINDOW), min(self._n_labels, WINDOW)
        counted = np.flatnonzero(self._label_hits[0])
        n_counted = int(counted[-1]) + 1 if len(counted) else 0
        return {
            "validation": self.validation.state(),
            "n": self._n_rows,
            "n_labels": self._n_labels,
            "p_label": _packed(self._p_label[:n_labels]),
            "p_top": _packed(self._p_top[:n]),
            "correct": _packed(self._correct[:n].astype(np.uint8)),
            "label_hits": _packed(self._label_hits[:, :n_counted].astype(np.int64)),
            "new_labels": [[label, seq] for label, seq in self.new_labels],
        }

    @classmethod
    def from_state(cls, state: Any, *, several_labels: bool = False) -> ProgressiveQuality:
        """Return the scores with this state, or new ones if the state is missing or invalid."""
        quality = cls(several_labels=several_labels)
        try:
            quality.validation = ProgressiveValidation.from_state(
                state["validation"], label_sets=several_labels
            )
            quality._n_rows = int(state["n"])
            quality._n_labels = int(
                state.get("n_labels", quality._n_rows)
            )  # older snapshots lack it
            n, n_labels = min(quality._n_rows, WINDOW), min(quality._n_labels, WINDOW)
            quality._p_label[:n_labels] = _unpacked(state["p_label"], np.float32, n_labels)
            quality._p_top[:n] = _unpacked(state["p_top"], np.float32, n)
            quality._correct[:n] = _unpacked(state["correct"], np.uint8, n)
            quality._label_hits = _unpacked(state["label_hits"], np.int64).reshape(2, -1).copy()
            quality.new_labels.extend((label, int(seq)) for label, seq in state["new_labels"])
        except (LookupError, TypeError, ValueError, ArgumentError):
            return cls(several_labels=several_labels)
        return quality


def _add(window: NDArray[Any], n_before: int, values: NDArray[Any]) -> int:
    """Add values to a ring of the last ones; return how many were added in all."""
    kept = slice(max(0, len(values) - WINDOW), None)
    window[(n_before + np.arange(len(values))[kept]) % WINDOW] = values[kept]
    return n_before + len(values)


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _unpacked(text: str, dtype: Any, n: int | None = None) -> NDArray[Any]:
    array = np.frombuffer(base64.b64decode(text), dtype=dtype)
    if n is not None and len(array) != n:
        raise ValueError("a window of another length")
    return array
