"""Progressive validation of a served model, which is kept in its snapshots."""

from __future__ import annotations

import base64
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.errors import ArgumentError
from labeltrees.metrics import ProgressiveValidation
from labeltrees.metrics.calibration import curve_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.metrics.calibration import ReliabilityCurve
    from labeltrees.models.model import Predictions

__all__ = ["ProgressiveQuality"]

WINDOW = 5000
"""Number of recent examples for the windowed scores."""
_N_BINS = 10
_NEW_LABELS = 100
_FLOOR = 1e-9


class ProgressiveQuality:
    """Scores of predictions made before learning: of all examples, of recent ones, and by label.

    One thread observes, and others may read meanwhile.

    Examples
    --------
    >>> from labeltrees.models.model import Predictions
    >>> quality = ProgressiveQuality()
    >>> top = np.array([["a"]]), np.array([[0.5]])
    >>> predicted = Predictions(np.array([0.5]), *top, np.array([False]))
    >>> quality.observe(predicted, np.array(["a"]), np.array([0]), np.ones(1), seqs=[1])
    >>> quality.summary()["window"]["accuracy"]
    1.0
    """

    def __init__(self) -> None:
        self.validation = ProgressiveValidation(block_size=100, max_points=500)
        self._p_label = np.zeros(WINDOW, np.float32)
        self._p_top = np.zeros(WINDOW, np.float32)
        self._correct = np.zeros(WINDOW, bool)
        self._n = 0
        self.new_labels: deque[tuple[Any, int]] = deque(maxlen=_NEW_LABELS)
        self._label_hits = np.zeros((2, 0), np.int64)  # by label id: examples, correct predictions

    def observe(
        self,
        predicted: Predictions,
        labels: NDArray[Any],
        ids: NDArray[Any],
        weights: NDArray[Any],
        *,
        seqs: list[int],
    ) -> None:
        """Add the predictions for the next examples."""
        correct = np.asarray(predicted.top[:, 0] == labels, dtype=bool)
        p_top = predicted.p_top[:, 0]
        self.validation.update(
            predicted.p_label, correct, p_top, is_new=predicted.is_new, sample_weight=weights
        )
        kept = slice(max(0, len(labels) - WINDOW), None)
        at = (self._n + np.arange(len(labels))[kept]) % WINDOW
        self._p_label[at] = predicted.p_label[kept]
        self._p_top[at] = p_top[kept]
        self._correct[at] = correct[kept]
        self._n += len(labels)
        for i in np.flatnonzero(predicted.is_new).tolist():
            self.new_labels.append((labels[i], seqs[i]))
        self._count(ids, correct)

    def _count(self, ids: NDArray[Any], correct: NDArray[np.bool_]) -> None:
        known = ids >= 0
        most = int(ids.max(initial=-1)) + 1
        hits = self._label_hits
        if most > hits.shape[1]:
            hits = np.zeros((2, max(most, 2 * hits.shape[1])), np.int64)
            hits[:, : self._label_hits.shape[1]] = self._label_hits
        np.add.at(hits[0], ids[known], 1)
        np.add.at(hits[1], ids[known], correct[known])
        self._label_hits = hits

    def label_hits(self, n_labels: int) -> NDArray[np.int64]:
        """Return the numbers of examples and of correct predictions by label id, (2, n_labels)."""
        hits = np.zeros((2, n_labels), np.int64)
        n = min(n_labels, self._label_hits.shape[1])
        hits[:, :n] = self._label_hits[:, :n]
        return hits

    def window(self) -> dict[str, Any]:
        """Return the scores of recent examples, None for scores without examples."""
        n = min(self._n, WINDOW)
        if n == 0:
            unknown = dict.fromkeys(("log_loss", "accuracy", "calibration_error"))
            return {"examples": 0, **unknown}
        log_loss = -np.log(np.maximum(self._p_label[:n], _FLOOR)).mean()
        return {
            "examples": n,
            "log_loss": float(log_loss),
            "accuracy": float(self._correct[:n].mean()),
            "calibration_error": self._reliability(n).expected_calibration_error,
        }

    def _reliability(self, n: int) -> ReliabilityCurve:
        p, hit = self._p_top[:n].astype(np.float64), self._correct[:n].astype(np.float64)
        return curve_of(p, hit, np.ones(n), _N_BINS)

    def reliability(self) -> list[dict[str, float]]:
        """Return the bins of a reliability diagram of the top labels of recent examples."""
        n = min(self._n, WINDOW)
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
        """Return the learning curve: scores of consecutive blocks of examples."""
        return [
            {"examples": each.n_rows, "log_loss": each.log_loss, "accuracy": each.accuracy}
            for each in self.validation.curve
        ]

    def state(self) -> dict[str, Any]:
        """Return the state that `from_state` restores, as values that JSON can hold."""
        n = min(self._n, WINDOW)
        n_labels = int(np.flatnonzero(self._label_hits[0])[-1]) + 1 if self._n else 0
        return {
            "validation": self.validation.state(),
            "n": self._n,
            "p_label": _packed(self._p_label[:n]),
            "p_top": _packed(self._p_top[:n]),
            "correct": _packed(self._correct[:n].astype(np.uint8)),
            "label_hits": _packed(self._label_hits[:, :n_labels].astype(np.int64)),
            "new_labels": [[label, seq] for label, seq in self.new_labels],
        }

    @classmethod
    def from_state(cls, state: Any) -> ProgressiveQuality:
        """Return the scores with this state, or new ones if the state is missing or invalid."""
        quality = cls()
        try:
            quality.validation = ProgressiveValidation.from_state(state["validation"])
            quality._n = int(state["n"])
            n = min(quality._n, WINDOW)
            quality._p_label[:n] = _unpacked(state["p_label"], np.float32, n)
            quality._p_top[:n] = _unpacked(state["p_top"], np.float32, n)
            quality._correct[:n] = _unpacked(state["correct"], np.uint8, n)
            quality._label_hits = _unpacked(state["label_hits"], np.int64).reshape(2, -1).copy()
            quality.new_labels.extend((label, int(seq)) for label, seq in state["new_labels"])
        except (LookupError, TypeError, ValueError, ArgumentError):
            return cls()
        return quality


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _unpacked(text: str, dtype: Any, n: int | None = None) -> NDArray[Any]:
    array = np.frombuffer(base64.b64decode(text), dtype=dtype)
    if n is not None and len(array) != n:
        raise ValueError("a window of another length")
    return array
