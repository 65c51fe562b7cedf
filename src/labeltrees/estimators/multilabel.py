"""Online label trees for rows with many labels, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from labeltrees import checks
from labeltrees.data.labels import ALLOWED_RELEVANCE, RaggedLabels
from labeltrees.data.rows import as_rows, as_weights
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.contract import uniforms_of
from labeltrees.estimators.online import OnlineEstimator
from labeltrees.estimators.several_labels import MultilabelEstimator, form_of, relevance_of
from labeltrees.models.model import ScoredLabels
from labeltrees.models.multilabel.model import MultiLabelTreeModel
from labeltrees.models.multilabel.settings import MultiLabelSettings as Default
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelSorting
    from labeltrees.models.model import FormName, Predictions
    from labeltrees.models.multilabel.settings import SetStructureName
    from labeltrees.models.online.scaling import ScaleName
    from labeltrees.models.online.settings import OptimizerName
    from labeltrees.tree import LabelTree


@dataclass(kw_only=True, eq=False, repr=False)
class MultiLabelTreeClassifier(OnlineEstimator, MultilabelEstimator):
    """A probabilistic label tree for rows with any number of labels, learned row by row.

    Every node estimates P(some label below it is relevant, given that one below its parent is). The
    product along a path is the probability that the label is relevant to the row, independent of
    other labels. **Probabilities of a row do not sum to one.** You need not know labels in advance.
    A new label joins the tree next to the other labels of its row, or where the tree predicts a
    high probability for the row. The tree is then the same as if all labels had been known from the
    beginning. Separate regressors, the rerankers, refine the most likely labels.

    Learning a row costs O(labels per row * log(n_labels) * features), and a prediction about the
    same.

    Parameters
    ----------
    structure : {"kmeans", "online"}, default "kmeans"
        How `fit` builds the tree. "kmeans" puts similar labels together by balanced k-means of
        their mean rows. "online" adds labels in the order of the rows, as `partial_fit` always
        does.
    refine : int in [0, 1000], default 16
        Number of a row's most likely labels that rerankers refine; 0 uses the tree alone, which is
        faster.
    branching_threshold : float in [0, 1], default 0.3
        A new label joins a child that has at least this probability for its row. Otherwise the
        label gets a new child if the node has a free place.
    optimizer : {"adagrad", "sgd"}, default "adagrad"
        The steps of the regressors, which are scaled by past gradients of each weight, or plain.
    learning_rate : float > 0, default 1.0
        Size of the steps. Each further pass of `fit` takes half the rate of the one before.
    mixing : bool, default True
        Whether nodes mix their regressor with the share of rows that went there. The weights are
        learned, and shared by nodes with similar numbers of rows.
    sharpness : float > 0, default 1.0
        Factor of mixed log-odds.
    threshold : float in (0, 1], default 0.5
        The minimum probability of the labels that `predict` returns.
    n_passes : int, default 3
        Number of passes of `fit` over the data; `partial_fit` makes one.
    shuffle : bool, default True
        Whether `fit` takes the rows of each pass in random order.
    scale : {"auto", "standard"} or None, default "auto"
        Whether columns are standardised to mean 0 and deviation 1 before rows are normalised.
        "auto" standardises tables, but not sparse data such as text.
    normalize : bool, default True
        Whether rows are scaled to Euclidean length 1.
    bias : float >= 0, default 0.25
        Value of a constant feature added to every row; 0 for none.
    max_memory : int or None, default None
        Maximum number of bytes of the tables of weights, at least 4 MiB; by default there is no
        limit. When it is reached, further features share weights.
    n_jobs : int or None, default None
        Number of threads for prediction, where -1 is all cores. Training uses one.
    random_state : int, RandomState or None, default 0
        Seed of the shuffling and of k-means.
    verbose : int >= 0 or bool, default 0
        Whether `fit` shows a progress bar, if there is a terminal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels learned or announced by column of `predict_proba`. They are sorted, or in the
        order of the columns if y was a matrix.
    tree_ : LabelTree
        The tree, over indices into ``classes_``.
    model_ : MultiLabelTreeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import MultiLabelTreeClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], []] * 50
    >>> model = MultiLabelTreeClassifier().partial_fit(X, y)
    >>> model.predict([[1, 1, 0], [1, 0, 0], [0, 0, 1]]).tolist()
    [['rain', 'sun'], ['sun'], []]
    >>> (model.predict_label_proba([[1, 0, 0]] * 2, ["sun", "rain"]) > 0.5).tolist()
    [True, False]
    """

    _model_class = MultiLabelTreeModel
    model_: MultiLabelTreeModel = field(init=False)

    structure: SetStructureName = Default.structure
    refine: int = Default.refine
    branching_threshold: float = Default.branching_threshold
    optimizer: OptimizerName = Default.optimizer
    learning_rate: float = Default.learning_rate
    mixing: bool = Default.mixing
    sharpness: float = Default.sharpness
    threshold: float = Default.threshold
    n_passes: int = Default.n_passes
    shuffle: bool = Default.shuffle
    scale: ScaleName | None = Default.scale
    normalize: bool = Default.normalize
    bias: float = Default.bias
    max_memory: int | None = Default.max_memory
    n_jobs: int | None = Default.n_jobs
    random_state: Any = Default.random_state
    verbose: int = Default.verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch, going over the data ``n_passes`` times, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, sets, dicts or labels
            An indicator matrix (dense or sparse), a list of labels for every row, or one label per
            row. A matrix or dicts may hold relevance in [0, 1]. Rows may have no label.
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
            A row of weight 0 is as if it were not there.
        classes : labels of shape (n_labels,), optional
            Names of the columns of a matrix; by default 0, 1, ...

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import MultiLabelTreeClassifier
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> MultiLabelTreeClassifier().fit(X, y).classes_.tolist()
        ['rain', 'sun']
        """
        settings = self._settings()
        rows, named, weights = _training_sets(X, y, sample_weight, classes)
        sets = named.sets
        if len(weights) and not weights.all():
            kept = np.flatnonzero(weights)
            rows, sets, weights = rows.take(kept), sets.take(kept), weights[kept]
        if not len(sets.labels):
            raise DataError("y has no label. At least one row needs a label.")
        model = MultiLabelTreeModel.over(settings, rows, sets, named.names)
        model.form = named.form
        total = rows.n_rows * settings.n_passes
        with Progress("learning", total=total, enabled=settings.verbose > 0) as progress:
            model.learn_in_passes(rows, sets, weights, progress)
        return self._set_model(X, model)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the rows once, in their order, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, sets, dicts or labels
            The labels in the forms of `fit`, with any new labels. The columns of a matrix are the
            labels 0, 1, ..., or ``classes``.
        classes : labels, optional
            Names of a matrix's columns, or else labels to add to ``classes_`` in advance, which is
            not necessary.
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import MultiLabelTreeClassifier
        >>> model = MultiLabelTreeClassifier().partial_fit([[1, 0], [0, 1]], [["sun"], ["rain"]])
        >>> model.partial_fit([[1, 1]] * 20, [["sun", "rainbow"]] * 20).classes_.tolist()
        ['rain', 'rainbow', 'sun']
        """
        self._learn(X, y, classes, sample_weight, predict=False, k=0)
        return self

    def progressive_fit(
        self, X: Any, y: Any, *, sample_weight: ArrayLike | None = None, k: int = 5
    ) -> Predictions:
        """Learn like `partial_fit` and return what the model predicted for each row before.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, sets, dicts or labels
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
        k : int >= 0, default 5
            How many of the most likely labels of each row are found. More than ``refine`` is
            slower, unless that is 0.

        Returns
        -------
        Predictions
            ``p_label`` and ``is_new`` of every label of every row, in the order of lists (sorted
            by label for a matrix and for graded relevance), and ``top`` and ``p_top`` of shape
            (n_rows, k).

        Examples
        --------
        >>> from labeltrees import MultiLabelTreeClassifier
        >>> seen = MultiLabelTreeClassifier().progressive_fit([[1.0]] * 2, [["a"], ["a", "b"]])
        >>> seen.is_new.tolist()
        [True, False, True]
        """
        return self._learn(
            X, y, None, sample_weight, predict=True, k=checks.integer("k", k, 0, 10_000)
        )

    def _model_to_learn(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None = None
    ) -> tuple[Any, tuple[Rows, RaggedLabels, NDArray[np.float32]]]:
        """Return an existing or a new model, and checked rows, labels and weights."""
        first = "model_" not in self.__dict__
        settings = self._settings() if first else self.model_.settings
        rows, named, weights = _training_sets(X, y, sample_weight, classes)
        if first:
            model = MultiLabelTreeModel.empty(settings, rows.n_features)
            model.form = named.form
        else:
            self._check_width(X, reset=False)
            model = self.model_
        if named.form in ("matrix", "sparse") or classes is not None:
            model.vocabulary.ids(named.sets.labels)  # raises before anything is added
            model.vocabulary.add(named.names)
        return model, (rows, named.sets, weights)

    def predict_count(self, X: Any) -> NDArray[np.float64]:
        """Return the expected number of labels of every row, which is the sum of all probabilities.

        Subtrees whose labels have less than 0.001 in total are left out.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import MultiLabelTreeClassifier
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> MultiLabelTreeClassifier().fit(X, y).predict_count([[1, 1], [1, 0]]).round().tolist()
        [2.0, 1.0]
        """
        rows = self._check_rows(X)
        return self.model_.expected_counts(rows)

    def sample_sets(self, X: Any, random_state: Any = None) -> sparse.csr_array:
        """Return a random set of labels for every row, drawn with the probability of each label.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        random_state : int >= 0, Generator, RandomState or None, default None

        Returns
        -------
        sparse csr_array of shape (n_rows, n_labels)
            1 for every label drawn; columns are as in ``classes_``.

        Examples
        --------
        >>> from labeltrees import MultiLabelTreeClassifier
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = MultiLabelTreeClassifier().fit(X, y)
        >>> drawn = model.sample_sets([[1, 1]] * 1000, random_state=0)
        >>> bool(abs(drawn.mean() - model.predict_proba([[1, 1]]).mean()) < 0.05)
        True
        """
        rows = self._check_rows(X)
        uniforms = uniforms_of(random_state, rows.n_rows)
        return self._sorted_columns(self.model_.sample_sets(rows, uniforms.view(np.uint64)))

    def _top_five(self, X: Any) -> ScoredLabels:
        return ScoredLabels(*self.predict_top_k(X, min(5, self._learned().core.n_labels)))

    @property
    def tree_(self) -> LabelTree:
        """A copy of the current tree."""
        return self._sorted_tree()

    def _sorting(self, n_labels: int) -> LabelSorting | None:
        if self.model_.form in ("matrix", "sparse"):
            return None  # columns as they were given
        return super()._sorting(n_labels)


def _training_sets(
    X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
) -> tuple[Rows, NamedSets, NDArray[np.float32]]:
    """Return rows, label sets and weights (none: empty) to learn from, or raise."""
    rows = as_rows(X)
    named = named_sets(y, classes)
    if named.sets.n_rows != rows.n_rows:
        raise DataError(f"y has {named.sets.n_rows} rows for the {rows.n_rows} rows of X.")
    weights = as_weights(sample_weight, rows.n_rows)
    if len(weights) and not weights.any():
        raise ArgumentError.of("sample_weight", "zeros only", "above zero for at least one row")
    return rows, named, weights


class NamedSets(NamedTuple):
    """Label sets, the form of y, and the labels that are announced with them."""

    sets: RaggedLabels
    form: FormName
    names: NDArray[Any]
    """All columns of a matrix, or the sorted labels of other forms."""


def named_sets(y: Any, classes: ArrayLike | None = None) -> NamedSets:
    """Return a matrix, lists, sets, dicts or one label per row as checked label sets.

    Rows may have no label at all. Relevance, of a matrix or of dicts, must be in [0, 1].

    >>> found = named_sets([{"sun": 1.0, "rain": 0.5}, {}])
    >>> found.sets.labels.tolist(), found.sets.relevance.tolist(), found.form
    (['rain', 'sun'], [0.5, 1.0], 'lists')
    """
    if y is None:
        raise DataError("this estimator requires y to be passed, but the target y is None.")
    if hasattr(y, "__array__") and not hasattr(y, "ndim"):
        y = np.asarray(y)
    empty = _without_labels(y, classes)
    if empty is not None:
        return empty
    named = None if form_of(y) in ("lists", "labels") else classes
    relevance = relevance_of(y, named)
    values = relevance.relevance.astype(np.float64) * relevance.scale
    if relevance.scale > 1:
        entry = int(np.argmax(values))
        row = int(np.searchsorted(relevance.starts, entry, side="right")) - 1
        raise DataError(f"row {row} of y has {values[entry]:g}, but {ALLOWED_RELEVANCE}")
    names = relevance.vocabulary.labels
    is_graded = relevance.is_graded or relevance.scale != 1
    if form_of(y) == "lists" and not is_graded:
        sets = RaggedLabels.of_lists([_relevant(row) for row in y])  # in the order they are named
    else:
        graded = values.astype(np.float32) if is_graded else None
        sets = RaggedLabels(names[relevance.labels], relevance.starts, graded)
    if named is None and classes is not None:
        names = np.concatenate([np.asarray(LabelVocabulary(classes).labels), names])
    return NamedSets(sets, form_of(y), names)


def _relevant(row: Any) -> list[Any]:
    return [label for label in row if row[label]] if isinstance(row, dict) else list(row)


def _without_labels(y: Any, classes: ArrayLike | None) -> NamedSets | None:
    """Return label sets if all rows are empty; otherwise None, also for an invalid y."""
    if hasattr(y, "tocsr"):
        matrix = y.tocsr()
        is_empty, n_rows, width = matrix.nnz == 0, matrix.shape[0], matrix.shape[1]
    elif getattr(y, "ndim", 1) == 2:
        array = np.asarray(y)
        is_empty = array.dtype.kind in "biuf" and array.size > 0 and not array.any()
        n_rows, width = array.shape
    else:
        rows = list(y)
        is_empty = bool(rows) and all(
            isinstance(row, (list, tuple, set, frozenset, dict)) and len(row) == 0 for row in rows
        )
        n_rows, width = len(rows), None
    if not is_empty:
        return None
    names = np.arange(0 if width is None else width) if classes is None else np.asarray(classes)
    names = LabelVocabulary(names).labels
    if width is not None and len(names) != width:
        raise ArgumentError.of("classes", classes, f"{width} different labels")
    starts = np.zeros(n_rows + 1, np.int64)
    return NamedSets(RaggedLabels(np.empty(0, dtype=object), starts), form_of(y), names)
