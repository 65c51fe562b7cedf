"""Models that learn row by row and may forget: one method `update`, whatever the core is."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labeltrees import _core, checks
from labeltrees.data.rows import check_weights
from labeltrees.errors import ArgumentError, DataError, DivergedError, FrozenModelError
from labeltrees.models.model import FittedModel, Predictions, names_of
from labeltrees.progress import SILENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.models.online.scaling import ColumnScale
    from labeltrees.models.online.settings import PassSettings
    from labeltrees.progress import Progress

    CoreAnswers = tuple[
        NDArray[np.float64], NDArray[np.uint8], NDArray[np.int32], NDArray[np.float64]
    ]

_SHOWN_PARTS = 20
"""Number of parts of a pass whose progress is shown."""
IN_TURN: NDArray[np.int64] = np.empty(0, dtype=np.int64)
"""The order of rows learned one after the other."""
_EXPONENT = 1024
"""A factor of two in the 16-bit code of an optimiser's sum."""
_COUNTS = ("left", "right", "own", "others")


class CoreBatch:
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

    Threads may update, query, describe and save it at the same time. They take turns, and each
    finds the model as after some whole row. An update that is interrupted, by Ctrl-C or by an
    error, leaves it as after the last whole row (with ``n_jobs`` above 1: the last batch of rows).
    """

    settings: Any
    core: Any
    columns: ColumnScale
    """Whether the columns of rows are standardised, and how."""
    passes_can_be_cut: ClassVar[bool] = True
    """Whether learning a pass in parts is learning it; by several threads it never is."""

    def update(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        *,
        order: NDArray[np.int64] = IN_TURN,
        predict: bool = True,
        k: int = 0,
        pass_number: int = 0,
    ) -> Predictions:
        """Learn rows in turn (or in ``order``) and return what was predicted for each before.

        Parameters
        ----------
        rows : Rows
        labels : RaggedLabels
            Exactly one label per row.
        weights : ndarray of float32 of shape (n_rows,)
            The weight of each row; empty: all are 1.
        order : ndarray of int64
            The numbers of the rows to learn, in order; empty: all in turn.
        predict : bool
            Whether the probabilities of the rows' labels are needed. If not, they may be empty.
        k : int
            How many of the most likely labels to find for each row. Above ``settings.batch_k``
            rows are learned one by one, which is slower.
        pass_number : int
            How often these rows were learned before; above 0 they are no new evidence.
        """
        if k > self.settings.batch_k:
            return update_one_by_one(self, rows, labels, weights, order, k, pass_number)
        check_can_learn(self.frozen)
        self.check_width(rows)
        check_weights(weights)
        again = pass_number > 0
        self.columns.check(self.settings, rows)
        ids = self._ids_to_learn(single_labels(self, rows, labels), weights)
        with self.columns.still():
            mark = self.columns.mark()
            read = self._read(rows, weights, order, again=again)
            batch = CoreBatch(read, ids, weights, order)
            try:
                with learning_errors(self.settings):
                    found = self._update_core(batch, predict=predict, top=k > 0, again=again)
            except BaseException:
                self.columns.go_back(mark)
                self._read(rows, weights, order, again=again, n_rows=batch.progress.n_rows)
                self._cut_short(batch, again=again)
                raise
            p_label, is_new, top, p_top = found
            shape = (-1, 1) if k else (len(is_new), 0)
            names = names_of(self.vocabulary, top).reshape(shape)
            predicted = Predictions(p_label, names, p_top.reshape(shape), is_new.astype(bool))
            return self._noted(predicted, batch, again=again)

    @property
    def n_tree_labels(self) -> int:
        """How many labels have been learned: as many can be among the most likely ones."""
        return int(self.core.n_labels)

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
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Learn all rows ``n_passes`` times, each time in another order."""
        rows = self.columns.take_all(self.settings, rows, weights)
        for number, order in enumerate(self.settings.orders(rows)):
            for part in self._parts(order, progress):
                self.update(rows, labels, weights, order=part, predict=False, pass_number=number)
                progress.advance(len(part))

    def n_steps(self, rows: Rows) -> int:
        """Return by how many rows `learn_in_passes` advances ``progress``, in all passes."""
        return int(rows.n_rows * self.settings.passes(rows))

    def _parts(self, order: NDArray[np.int64], progress: Progress) -> list[NDArray[np.int64]]:
        """Return the order in parts, if they are shown and learning them is the same."""
        same = self.passes_can_be_cut and getattr(self.settings, "n_threads", 1) == 1
        n_parts = _SHOWN_PARTS if progress.is_shown and same else 1
        return [part for part in np.array_split(order, n_parts) if len(part)]

    @abstractmethod
    def _update_core(
        self, batch: CoreBatch, *, predict: bool, top: bool, again: bool
    ) -> CoreAnswers:
        """Let the core learn; return p_label, is_new, and the most likely label with its p."""

    def _noted(self, predicted: Predictions, batch: CoreBatch, *, again: bool) -> Predictions:  # noqa: ARG002
        """Return the predictions, after noting what else the model remembers of the rows."""
        return predicted

    def _cut_short(self, batch: CoreBatch, *, again: bool) -> None:
        """Remember the rows that were learned before something went wrong."""

    def _ids_to_learn(
        self, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> NDArray[np.int32]:
        return ids_to_learn(self.vocabulary, labels, weights)


def single_labels(model: FittedModel, rows: Rows, labels: RaggedLabels) -> NDArray[Any]:
    """Return the label of each row, or raise `DataError` unless each row has exactly one."""
    if labels.n_rows != rows.n_rows:
        raise DataError(f"y has {labels.n_rows} rows for the {rows.n_rows} rows of X.")
    if not labels.is_single:
        row = int(np.argmax(labels.counts != 1))
        raise DataError(
            f"row {row} has {labels.counts[row]} labels, but {type(model).__name__} learns exactly "
            "one per row. Use MultiLabelTreeModel, or repeat the row with one label each."
        )
    return labels.labels


def update_one_by_one(
    model: Any,
    rows: Rows,
    labels: RaggedLabels,
    weights: NDArray[np.float32],
    order: NDArray[np.int64],
    k: int,
    pass_number: int,
) -> Predictions:
    """Learn rows one by one, each after a search for its k most likely labels."""
    parts = []
    for row in order if len(order) else np.arange(rows.n_rows):
        one = np.array([row])
        own = rows.take(one)
        n = min(k, model.n_tree_labels)
        top, p_top = np.full((1, k), None, dtype=object), np.zeros((1, k))
        if n:
            top[:, :n], p_top[:, :n] = model.top_labels(own, n)
        weight = weights[one] if len(weights) else weights
        seen = model.update(own, labels.take(one), weight, pass_number=pass_number)
        parts.append(seen._replace(top=top, p_top=p_top))
    return Predictions.joined(parts)


def check_can_learn(frozen: bool) -> None:
    """Raise `FrozenModelError` if the model was saved without what learning needs."""
    if frozen:
        raise FrozenModelError(
            "this model was saved with keep_state=False, so it cannot continue learning."
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
            f"optimizer={settings.optimizer!r} on this data. Lower it, or scale the values of X.",
            row,
        ) from None


def faded(model: Any, share: float) -> Any:
    """Return the model with weights and counts of examples times a share, and longer steps.

    Labels, tree and mixtures stay. The optimiser's sums are multiplied as well, so that steps are
    as long as they were before. O(size of the model).

    Parameters
    ----------
    model : FittedModel
        One that ``fades`` and has its state.
    share : float in (0, 1]
        What is left.

    Examples
    --------
    >>> import labeltrees
    >>> tree = labeltrees.ConditionalTreeClassifier(refine=0, n_trees=1, structure="online")
    >>> tree = tree.partial_fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> before, after = tree.model_, faded(tree.model_, 0.5)
    >>> row = before.rows([[1, 0]])
    >>> p, less = (float(model.label_probabilities(row, ["a"])[0]) for model in (before, after))
    >>> p > less > 0.5
    True
    """
    share = checks.number("share", share, 0, 1, open_low=True)
    if not model.fades or model.frozen:
        raise ArgumentError.of("model", type(model).__name__, "a conditional tree with its state")
    tensors, facts = model.to_tensors(keep_state=True)
    less = round(-_EXPONENT * np.log2(share))
    for name, values in tensors.items():
        last = name.rsplit(".", 1)[-1]
        if last == "sums":
            left = np.maximum(values.astype(np.int64) - less, 1)
            tensors[name] = np.where(values > 0, left, 0).astype(values.dtype)
        elif last in _COUNTS:
            tensors[name] = np.floor(values * share).astype(values.dtype)
        elif last == "weights":
            tensors[name] = (values * np.float32(share)).astype(values.dtype)
    return type(model).from_tensors(tensors, facts)
