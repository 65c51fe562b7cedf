"""What models that learn row by row share: one way to learn, whatever the core."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labeltrees import _core
from labeltrees.data.rows import check_weights
from labeltrees.errors import DivergedError, FrozenModelError
from labeltrees.models.model import FittedModel, Foreseen, names_of
from labeltrees.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.online.scaling import ColumnScale
    from labeltrees.models.online.settings import PassSettings
    from labeltrees.progress import Progress

    CoreAnswers = tuple[
        NDArray[np.float64], NDArray[np.uint8], NDArray[np.int32], NDArray[np.float64]
    ]

__all__ = [
    "IN_TURN",
    "OnlineModel",
    "Teaching",
    "check_can_learn",
    "ids_to_learn",
    "learning_errors",
]

_SHOWN_PARTS = 20  # of a pass whose progress is shown
IN_TURN: NDArray[np.int64] = np.empty(0, dtype=np.int64)
"""The order of rows learned one after the other."""


class Teaching:
    """Rows to be learned, as the core takes them."""

    def __init__(
        self,
        rows: Rows,
        ids: NDArray[np.int32],
        weights: NDArray[np.float32],
        order: NDArray[np.int64],
    ) -> None:
        self.ids, self.weights, self.order = ids, weights, order
        self.progress = _core.Progress()
        self.arrays = (*rows.arrays, ids, weights, order, self.progress)

    def done(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the label ids of the rows that have been dealt with, and which were learned."""
        n_done = self.progress.n_rows
        at = self.order[:n_done] if len(self.order) else slice(n_done)
        ids = self.ids[at]
        learned = self.weights[at] > 0 if len(self.weights) else np.ones(len(ids), dtype=bool)
        return ids, learned


class OnlineModel(FittedModel):
    """A model that learns one row after the other; a subclass knows what its core is.

    Threads may learn, ask, describe and save at the same time; they take turns, and each finds the
    model as after some whole row. Learning that is cut short, by Ctrl-C or by an error, leaves it
    as after the last whole row (with ``n_jobs`` above 1: after the last batch of rows).
    """

    settings: Any
    columns: ColumnScale
    """Whether the columns of rows are standardised, and how."""
    passes_can_be_cut: ClassVar[bool] = True
    """Whether learning a pass in parts is learning it; by several threads it never is."""

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = IN_TURN,
        foresee: bool = True,
        foresee_top: bool = False,
        again: bool = False,
    ) -> Foreseen:
        """Learn from rows in turn (or in ``order``) and return what was foreseen of each.

        ``foresee=False`` says that nobody wants to know the probabilities of their labels,
        ``foresee_top`` that somebody wants their likeliest labels, ``again`` that the rows have
        been learned before: they are no new evidence.
        """
        check_can_learn(self.frozen)
        self.check_width(rows)
        check_weights(weights)
        self.columns.check(self.settings, rows)
        ids = self._ids_to_learn(labels, weights)
        with self.columns.still():
            mark = self.columns.mark()
            read = self._read(rows, weights, order, again=again)
            taught = Teaching(read, ids, weights, order)
            try:
                with learning_errors(self.settings):
                    p_label, is_new, top, p_top = self._teach(
                        taught, foresee=foresee, foresee_top=foresee_top, again=again
                    )
            except BaseException:
                self.columns.go_back(mark)
                self._read(rows, weights, order, again=again, n_rows=taught.progress.n_rows)
                self._cut_short(taught, again=again)
                raise
            seen = Foreseen(p_label, names_of(self.vocabulary, top), p_top, is_new.astype(bool))
            return self._noted(seen, taught, again=again)

    def _read(
        self,
        rows: Rows,
        weights: NDArray[np.float32],
        order: NDArray[np.int64],
        *,
        again: bool,
        n_rows: int | None = None,
    ) -> Rows:
        """Return rows as regressors see them; of new ones, the first ``n_rows`` are noted."""
        if again:
            return self.columns.seen(rows)
        if n_rows is None and not len(order):
            return self.columns.take(self.settings, rows, weights)
        noted = (order if len(order) else np.arange(rows.n_rows))[:n_rows]
        if len(noted):
            own_weights = weights[noted] if len(weights) else weights
            self.columns.take(self.settings, rows.take(noted), own_weights)
        return self.columns.seen(rows)

    def learn_in_passes(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Learn all rows ``n_passes`` times, each time in an order of its own."""
        rows = self.columns.take_all(self.settings, rows, weights)
        for number, order in enumerate(self.settings.orders(rows)):
            for part in self._parts(order, progress):
                self.learn(rows, labels, weights, order=part, foresee=False, again=number > 0)
                progress.advance(len(part))

    def n_lessons(self, rows: Rows) -> int:
        """Return how many rows `learn_in_passes` tells its ``progress`` of, each pass counted."""
        return int(rows.n_rows * self.settings.passes(rows))

    def _parts(self, order: NDArray[np.int64], progress: Progress) -> list[NDArray[np.int64]]:
        """Return the order in parts, if they are shown and learning them is the same."""
        same = self.passes_can_be_cut and getattr(self.settings, "n_threads", 1) == 1
        n_parts = _SHOWN_PARTS if progress.is_shown and same else 1
        return [part for part in np.array_split(order, n_parts) if len(part)]

    @abstractmethod
    def _teach(
        self, taught: Teaching, *, foresee: bool, foresee_top: bool, again: bool
    ) -> CoreAnswers:
        """Let the core learn; return p_label, is_new, top and p_top of each row."""

    def _noted(self, seen: Foreseen, taught: Teaching, *, again: bool) -> Foreseen:  # noqa: ARG002
        """Return what was foreseen, after whatever else is to be remembered of the rows."""
        return seen

    def _cut_short(self, taught: Teaching, *, again: bool) -> None:
        """Remember the rows that were learned before something went wrong."""

    def _ids_to_learn(
        self, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        return ids_to_learn(self.vocabulary, labels, weights)


def check_can_learn(frozen: bool) -> None:
    """Raise `FrozenModelError` if the model was saved without what learning needs."""
    if frozen:
        raise FrozenModelError(
            "this model was saved with keep_state=False and cannot learn any more."
        )


def ids_to_learn(
    vocabulary: LabelVocabulary, labels: NDArray[Any], weights: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Return the ids of labels, new ones included, unless all their rows have weight 0."""
    if not len(weights) or weights.all():
        return vocabulary.add(labels)
    vocabulary.add(labels[weights > 0])  # a row of weight 0 is as if it were not there
    return vocabulary.ids(labels)


@contextmanager
def learning_errors(settings: PassSettings) -> Iterator[None]:
    """Say which setting is to blame where the core's weights diverge."""
    try:
        yield
    except _core.Diverged as error:
        message, row = error.args
        raise DivergedError(
            f"{message}: learning_rate={settings.learning_rate:g} is too large for "
            f"optimizer={settings.optimizer!r} on this data; lower it, or scale the values of X.",
            row,
        ) from None
