"""Predictions for rows with known labels, gathered part by part and scored together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from labeltrees import checks, metrics
from labeltrees.data.ragged import starts_of
from labeltrees.data.rows import stacked
from labeltrees.data.shuffle import joined
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.evaluation._scores import (
    Evaluation,
    GatheredPredictions,
    Ranked,
    reliability_of,
    scores_of,
)
from labeltrees.evaluation._truth import (
    ROWS_TO_DECIDE,
    Task,
    is_graded,
    labelled_rows,
    labels_of_rows,
    task_of,
)
from labeltrees.metrics._propensity import PROPENSITY_A, PROPENSITY_B
from labeltrees.models.capabilities import BestRows, demand
from labeltrees.models.model import FittedModel
from labeltrees.models.settings import ClassifierSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from labeltrees.data.chunk import Chunk
    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows

ROWS_AT_ONCE = 4096
"""Number of rows that a model predicts for at a time."""
LEAST_PREDICTED = 20
"""Smallest number of predictions per row where labels beyond the first k count as errors."""
_ENTRIES_AT_ONCE = 2**22
"""Number of entries of whole distributions that are compared at a time."""


class Predictor(Protocol):
    """What an evaluation needs of a model. Every `FittedModel` has it."""

    vocabulary: LabelVocabulary

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids belong to learned labels."""

    def top_labels(self, rows: Rows, k: int) -> Any:
        """Return the k most likely labels of every row and their probabilities."""

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of one label per row."""

    def probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """Return the probability of every label, (n_rows, n_labels)."""


@runtime_checkable
class HasModel(Protocol):
    """An estimator, which has a fitted model and makes its rows."""

    def _model_and_rows(self, X: Any) -> tuple[FittedModel, Rows | None, str | None]:
        """Return the model, checked rows if X is not None, and the name of the vectoriser."""


def evaluate(
    model: FittedModel | HasModel,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    k: int = 5,
    task: Task | None = None,
    labelwise: bool = False,
    learned: Any = None,
    propensity_a: float = PROPENSITY_A,
    propensity_b: float = PROPENSITY_B,
) -> Evaluation:
    """Return the scores of a model on rows with known labels.

    `labeltrees evaluate`, the table of `labeltrees train` and model cards show the same scores.

    Parameters
    ----------
    model : estimator of this library, or a model that `labeltrees.load_model` returned
        It predicts every row once.
    X : rows, as the model's ``predict`` takes them
        Rows that the model has not learned from.
    y : labels, lists of labels, dicts from label to relevance, or a matrix
        The true labels of every row. If the relevances of each row sum to 1, they are taken for
        the probabilities of its labels.
    sample_weight : array of shape (n_rows,), optional
        Weights >= 0 of the rows, for every score but coverage@k, which is a share of labels.
    classes : array of labels, optional
        The names of the columns of ``y`` if it is a matrix.
    k : int >= 1, default 5
        The largest k of the metrics at k.
    task : {"label", "labels", "distribution"}, optional
        Whether rows have one label each, any number of labels, or a probability of each label. By
        default ``y`` decides. With "label", each label of a row counts with its share of the row.
    labelwise : bool, default False
        Whether rows are ranked for each label, in place of labels for each row. Rows of weight 0
        are then left out, and other weights have no effect.
    learned : labels as ``y``, optional
        The labels of the training rows. They add PSP@k and PSnDCG@k, and make "labels" the task.
    propensity_a, propensity_b : float, default 0.55 and 1.5
        The constants of `labeltrees.metrics.propensities`.

    Returns
    -------
    Evaluation
        ``scores`` by name, and the numbers of rows and labels. ``print`` shows a table.

    Examples
    --------
    >>> import labeltrees
    >>> X, y = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20
    >>> tree = labeltrees.ConditionalTreeClassifier().fit(X, y)
    >>> found = labeltrees.evaluate(tree, [[1, 0], [0, 1], [0, 1]], ["sun", "rain", "fog"])
    >>> round(found.scores["accuracy"], 3), found.unseen_labels
    (0.667, ['fog'])
    >>> tags = [["sun"], ["rain", "wind"]] * 20
    >>> regressor = labeltrees.ExtremeRegressor(n_trees=1).fit(X, tags)
    >>> labeltrees.evaluate(regressor, X, tags, k=2).scores["P@1"]
    1.0
    """
    core, rows = _model_and_rows(model, X)
    task = "labels" if task is None and learned is not None else task
    evaluator = Evaluator(k=k, task=task, labelwise=labelwise)
    evaluator.add(core, labelled_rows(rows, y, sample_weight, classes))
    counted = None if learned is None else labels_of_rows(learned, classes)
    return evaluator.evaluation(learned=counted, a=propensity_a, b=propensity_b)


def _model_and_rows(model: Any, X: Any) -> tuple[FittedModel, Rows]:
    if isinstance(model, FittedModel):
        return model, model.rows(X)
    if not isinstance(model, HasModel):
        raise ArgumentError.of(
            "model", type(model).__name__, "an estimator or a model of labeltrees"
        )
    core, rows, _ = model._model_and_rows(X)
    assert rows is not None
    return core, rows


class Evaluator:
    r"""Gather predictions for rows with known labels, and score them together.

    Parts of the rows may be predicted by different models, for example in cross-validation.

    Parameters
    ----------
    k, task, labelwise
        The arguments of `evaluate`.

    Attributes
    ----------
    n_rows : int
        The number of rows that were predicted so far.
    seconds : float
        The time that predictions took.

    Examples
    --------
    >>> import io
    >>> from labeltrees import ConditionalTreeClassifier
    >>> from labeltrees.data.readers import read_svmlight
    >>> from labeltrees.evaluation import Evaluator
    >>> tree = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, [7, 8] * 20)
    >>> evaluator = Evaluator()
    >>> for chunk in read_svmlight(io.BytesIO(b"7 0:1\n8 1:1\n"), n_features=2):
    ...     evaluator.add(tree.model_, chunk)
    >>> evaluator.evaluation().scores["accuracy"]
    1.0
    """

    def __init__(self, *, k: int = 5, task: Task | None = None, labelwise: bool = False) -> None:
        self.k = checks.integer("k", k, 1)
        self.labelwise = checks.flag("labelwise", labelwise)
        if task is not None:
            checks.choice("task", task, ("label", "labels", "distribution"))
        self.task: Task | None = "labels" if self.labelwise else task
        self.n_rows = 0
        self._graded = False
        self._names = LabelVocabulary()
        self._unseen: set[Any] | None = set()
        self._parts: list[GatheredPredictions] = []
        self._ranked_later: tuple[Any, list[Rows]] = (None, [])
        self._undecided: list[tuple[Predictor, Chunk]] | None = []
        self.seconds = 0.0

    def add(self, model: Predictor, chunk: Chunk) -> None:
        """Let a model predict for rows that it has not learned from.

        The first rows are held back until there are enough to decide about the task.
        """
        if self._undecided is None:
            self._predict(model, chunk)
            return
        self._undecided.append((model, chunk))
        if sum(held.n_rows for _, held in self._undecided) >= ROWS_TO_DECIDE:
            self._predict_undecided()

    def _predict_undecided(self) -> None:
        if not self._undecided:
            return
        held, self._undecided = self._undecided, None
        self._decide(joined([chunk for _, chunk in held]))
        for model, chunk in held:
            self._predict(model, chunk)

    def _decide(self, chunk: Chunk) -> None:
        """Let the first rows decide about the task and whether labels are graded."""
        self._undecided = None
        self._graded = is_graded(chunk.head(min(chunk.n_rows, ROWS_TO_DECIDE)))
        if self.task is None:
            self.task = task_of(chunk)

    def _predict(self, model: Predictor, chunk: Chunk) -> None:
        started = time.perf_counter()
        chunk, _ = self._counted(chunk)
        for start in range(0, chunk.n_rows, ROWS_AT_ONCE):
            end = min(start + ROWS_AT_ONCE, chunk.n_rows)
            self._add(model, chunk.take(np.arange(start, end)))
        self.seconds += time.perf_counter() - started

    def _add(self, model: Predictor, chunk: Chunk) -> None:
        rows, labels = chunk.rows, chunk.labels
        more: dict[str, Any] = {}
        if self.task == "label":
            single = chunk.with_one_label("each")
            rows, labels = single.rows, single.labels
            more["p_label"] = model.label_probabilities(rows, labels)
        learned = model.has_learned(model.vocabulary.ids(labels))
        if self._unseen is not None:
            self._unseen.update(labels[~learned].tolist())
        if self.task == "label":
            more["learned"] = learned
        if self.task == "distribution":
            more["distances"] = _distances(model, chunk)
        if self.labelwise:
            self._ranked_later = (model, [*self._ranked_later[1], rows])
            found = _by_row(rows.n_rows, *[np.empty(0)] * 5)
        else:
            found = self._top(model, rows)
        settings = getattr(model, "settings_class", None)
        more["sums_to_one"] = settings is not None and issubclass(settings, ClassifierSettings)
        self._keep(chunk, found, **more)

    def add_predictions(
        self, chunk: Chunk, labels: Sequence[Sequence[Any]], scores: Sequence[Sequence[float]]
    ) -> None:
        """Add the predictions of somebody else for rows, best first."""
        self._unseen = None
        self._decide(chunk)
        chunk, numbers = self._counted(chunk)
        if self.task == "label":
            numbers = np.repeat(numbers, np.diff(chunk.label_starts))
        counts = [len(labels[row]) for row in numbers.tolist()]
        flat = [label for row in numbers.tolist() for label in labels[row]]
        columns = self._columns(np.fromiter(flat, dtype=object, count=len(flat)))
        p = np.array([p for row in numbers.tolist() for p in scores[row]], dtype=np.float64)
        ranks = np.array([rank for n in counts for rank in range(n)], dtype=np.int64)
        if self.labelwise:
            ranks = _ranks_by_label(columns, p)
        self._keep(chunk, Ranked(starts_of(counts), columns, p, p, ranks))

    def add_best_rows(
        self, chunk: Chunk, answers: Iterable[tuple[Any, Sequence[int], Sequence[float]]]
    ) -> None:
        """Add the rows that somebody else ranks first for each label, with their scores."""
        self._unseen = None
        self._decide(chunk)
        place = np.full(chunk.n_rows, -1)
        chunk, numbers = self._counted(chunk)
        place[numbers] = np.arange(chunk.n_rows)
        lists = [_in_places(answer, place) for answer in answers]
        counts = [len(rows) for _, rows, _ in lists]
        labels = np.empty(len(lists), dtype=object)
        labels[:] = [label for label, _, _ in lists]
        rows = np.array([row for _, own, _ in lists for row in own], dtype=np.int64)
        p = np.array([p for *_, own in lists for p in own], dtype=np.float64)
        ranks = np.array([rank for n in counts for rank in range(n)], dtype=np.int64)
        columns = np.repeat(self._columns(labels), counts)
        self._keep(chunk, _by_row(chunk.n_rows, rows, columns, p, p, ranks))

    def _counted(self, chunk: Chunk) -> tuple[Chunk, NDArray[np.int64]]:
        """Return the rows that count, and their numbers. Rows of one label need a label."""
        numbers = np.arange(chunk.n_rows)
        if self.task != "labels":
            numbers = np.flatnonzero(np.diff(chunk.label_starts))
        elif self.labelwise and chunk.weights is not None:
            numbers = np.flatnonzero(chunk.weights)
        self.n_rows += len(numbers)
        return chunk if len(numbers) == chunk.n_rows else chunk.take(numbers), numbers

    def _top(self, model: Predictor, rows: Rows) -> Ranked:
        """Return the model's first labels of rows."""
        n_wanted = max(2 * self.k, LEAST_PREDICTED) if self.task == "labels" else self.k
        n_labels = getattr(model, "n_tree_labels", len(model.vocabulary))
        labels, p_top = model.top_labels(rows, min(n_wanted, n_labels))[:2]
        used = np.not_equal(labels.astype(object), np.array(None)) & np.isfinite(p_top)
        names, p = labels[used], np.clip(p_top[used], 0, 1)
        values = self._values(model, rows, np.nonzero(used)[0], names, p)
        ranks = (np.cumsum(used, axis=1) - 1)[used]
        return Ranked(starts_of(used.sum(axis=1)), self._columns(names), p, values, ranks)

    def _values(
        self, model: Any, rows: Rows, numbers: Any, labels: NDArray[Any], p: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return expected relevances for graded truth if the model has them, else probabilities."""
        if not self._graded or not hasattr(model, "label_relevances"):
            return p
        own = labels if model.vocabulary.is_text else labels.astype(np.int64)
        return np.asarray(model.label_relevances(rows.take(numbers), own), dtype=np.float64)

    def _columns(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        return self._names.add(labels).astype(np.int64)

    def _keep(self, chunk: Chunk, found: Ranked, **more: Any) -> None:
        self._columns(chunk.labels)
        if self.task == "label":
            chunk = chunk.with_one_label("each")
        truth, weights = _matrix(chunk.targets, self._names), chunk.row_weights
        assert self.task is not None
        more["labelwise"] = self.labelwise
        self._parts.append(
            GatheredPredictions(self.task, self.k, truth, found, weights.astype(np.float64), **more)
        )

    def evaluation(
        self,
        *,
        learned: RaggedLabels | None = None,
        a: float = PROPENSITY_A,
        b: float = PROPENSITY_B,
    ) -> Evaluation:
        """Return the scores of all rows so far.

        ``learned`` has the labels of the training rows. They add PSP@k and PSnDCG@k, with the
        constants ``a`` and ``b`` of propensities.
        """
        self._predict_undecided()
        if not any(part.truth.nnz for part in self._parts):
            raise DataError("No row has a label, so there is nothing to evaluate.")
        ranked = self._best_rows() if self._ranked_later[1] else None
        gathered = GatheredPredictions.joined(self._parts, len(self._names), ranked)
        if not gathered.weight.any():
            raise ArgumentError("sample_weight must have a weight above zero, got none.")
        propensity = None
        if learned is not None:
            named = metrics.label_matrix(
                learned.labels, learned.relevance, classes=self._names.labels, starts=learned.starts
            )
            propensity = metrics.propensities(named, a=a, b=b)
        curve, k = (None, 1) if self.labelwise else reliability_of(gathered)
        return Evaluation(
            scores=scores_of(gathered, propensity),
            task=gathered.task,
            n_rows=self.n_rows,
            n_labels=len(np.unique(gathered.truth.indices)),
            n_true_labels=gathered.truth.nnz,
            n_predictions=len(gathered.found.columns),
            unseen_labels=None if self._unseen is None else sorted(self._unseen),
            labelwise=self.labelwise,
            is_graded=gathered.is_graded,
            reliability=curve,
            reliability_k=k,
        )

    def _best_rows(self) -> Ranked:
        """Return the best rows of each label that the model has learned."""
        model, parts = self._ranked_later
        demand(model, BestRows, "labelwise")
        rows = stacked(parts)
        known = np.arange(len(model.vocabulary), dtype=np.int32)
        labels = model.vocabulary.labels[known[model.has_learned(known)]]
        n_wanted = min(max(2 * self.k, LEAST_PREDICTED), rows.n_rows)
        best, p_best = model.top_rows(rows, labels, n_wanted)[:2]
        used = (best >= 0) & np.isfinite(p_best)
        places = np.nonzero(used)[0]
        numbers, p = best[used], np.clip(p_best[used], 0, 1)
        values = self._values(model, rows, numbers, labels[places], p)
        ranks = (np.cumsum(used, axis=1) - 1)[used]
        columns = self._columns(labels)[places]
        return _by_row(rows.n_rows, numbers, columns, p, values, ranks)


def _in_places(
    answer: tuple[Any, Sequence[int], Sequence[float]], place: NDArray[np.int64]
) -> tuple[Any, list[int], list[float]]:
    """Return a label's best rows by their new numbers, without rows that do not count."""
    label, rows, scores = answer
    pairs = [(int(place[row]), p) for row, p in zip(rows, scores, strict=True) if place[row] >= 0]
    return label, [row for row, _ in pairs], [p for _, p in pairs]


def _by_row(
    n_rows: int,
    rows: NDArray[Any],
    columns: NDArray[Any],
    p: NDArray[np.float64],
    values: NDArray[np.float64],
    ranks: NDArray[Any],
) -> Ranked:
    """Return predictions that come in any order, row by row."""
    order = np.argsort(rows, kind="stable")
    starts = starts_of(np.bincount(rows.astype(np.int64), minlength=n_rows))
    whole = (each[order].astype(np.int64) for each in (columns, ranks))
    return Ranked(starts, next(whole), p[order], values[order], next(whole))


def _ranks_by_label(columns: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the place of each row in the ranking of its label. Equal scores keep their order.

    >>> _ranks_by_label(np.array([0, 1, 0]), np.array([0.5, 0.25, 0.75])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((-p, columns))
    ranks = np.empty(len(order), dtype=np.int64)
    starts = starts_of(np.bincount(columns)) if len(columns) else np.zeros(1, np.int64)
    ranks[order] = np.arange(len(order)) - starts[columns[order]]
    return ranks


def _matrix(labels: RaggedLabels, names: LabelVocabulary) -> csr_array:
    """Return the relevance of labels, whose columns are their ids."""
    from scipy.sparse import csr_array

    starts, ids, relevance = labels.to_ids(names)[0].arrays
    return csr_array((relevance.astype(np.float64), ids, starts), shape=(labels.n_rows, len(names)))


def _distances(model: Predictor, chunk: Chunk) -> NDArray[np.float64]:
    """Return total variation and KL divergence of each row from its true distribution.

    Predictions are scaled to sum to 1 over the labels that the model knows.
    """
    names = LabelVocabulary(model.vocabulary.labels)
    n_known = len(names)
    names.add(chunk.labels)
    truth = _matrix(chunk.targets, names)
    n_parts = 1 + chunk.n_rows * len(names) // _ENTRIES_AT_ONCE
    found = []
    for part in np.array_split(np.arange(chunk.n_rows), min(n_parts, chunk.n_rows)):
        predicted = np.zeros((len(part), len(names)))
        predicted[:, :n_known] = model.probabilities(chunk.rows.take(part))
        sums = predicted.sum(axis=1, keepdims=True)
        np.divide(predicted, sums, out=predicted, where=sums > 0)
        shares = truth[part].toarray()
        shares /= shares.sum(axis=1, keepdims=True)
        variation = metrics.total_variation_by_row(shares, predicted)
        found.append(np.column_stack([variation, metrics.kl_divergence_by_row(shares, predicted)]))
    return np.concatenate(found)
