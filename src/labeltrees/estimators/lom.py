"""LOMtree as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from labeltrees.data.targets import check_training, learned_labels
from labeltrees.estimators.online import OnlineClassifier, check_passes, passes, seed_of
from labeltrees.estimators.tree_queries import one_row, uniforms_of
from labeltrees.models.lom.model import LomRegression, LomTreeModel
from labeltrees.models.model import MAX_DENSE_BYTES, TopRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.models.lom.diagnostics import Diagnosis
    from labeltrees.models.lom.explanation import RouteExplanation
    from labeltrees.models.model import Foreseen


class LOMTreeClassifier(OnlineClassifier):
    """An online decision tree over very many labels that chooses its own partitions.

    Every inner node has a linear regressor whose sign sends a row left or right. While it learns,
    it sends the rows of a label where they make the split both pure and balanced; leaves split when
    they meet a second label, and leaves that few rows reach are recycled. Choromanska and Langford,
    "Logarithmic time online multiclass prediction" (NIPS 2015), with the case mended in which the
    smallest leaf hangs off the root. Labels need not be known in advance.

    A row's probabilities are the histogram of the leaf it ends in, backed off to the histograms of
    the nodes above and at last to the frequencies of all labels: they sum to 1, and every label
    seen is above 0. `predict` gives the likeliest label of that distribution. A row counts in the
    histograms of the nodes it is taught at and of those it would have reached untaught.

    The paper's own regressors are ``loss="squared", optimizer="sgd"``, VW's ``loss="absolute"``.

    Parameters
    ----------
    max_splits : int or None
        T of the paper: how many inner nodes the tree may have. None lets it grow with the labels.
    splits_per_label : float
        How many for every label seen, if ``max_splits`` is None.
    swap_resistance : float >= 1
        R_S of the paper: at the limit a leaf j takes the place of the smallest leaf if
        C_j - max_y l_j(y) > R_S (C_smallest + 1). From 4 on, no node is recycled more than
        log2(n_examples) times.
    back_off : float >= 0
        How strongly a histogram is drawn to the one above: ``back_off`` times as much as rows
        foretold before they were learned have shown to be right. 0 is the leaf's histogram alone.
    loss : {"hinge", "logistic", "squared", "absolute"}
        What the regressors minimise, with targets -1 and 1.
    optimizer : {"adagrad", "sgd"}
        Their steps: scaled per weight by past gradients, or plain.
    learning_rate : float > 0
        Size of the steps.
    n_passes : int
        How often `fit` goes over the data; `partial_fit` goes once.
    shuffle : bool
        Whether `fit` takes the rows of each pass in random order.
    normalize : bool
        Whether rows are scaled to Euclidean length 1.
    bias : float >= 0
        Value of a constant feature added to every row; 0 for none.
    random_state : int, RandomState or None
        Seed of the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: sorted after `fit`, in first-seen order as `partial_fit` adds to them.
    model_ : LomTreeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import LOMTreeClassifier
    >>> X = [[1, 0], [0, 1], [1, 1]] * 50
    >>> model = LOMTreeClassifier().partial_fit(X, ["sun", "rain", "rainbow"] * 50)
    >>> model.predict([[1, 1], [1, 0]])
    array(['rainbow', 'sun'], dtype=object)
    >>> bool(model.predict_label_proba([[1, 1]], ["rainbow"])[0] > 0.8)
    True
    """

    _model_class = LomTreeModel
    model_: LomTreeModel

    def __init__(
        self,
        *,
        max_splits: int | None = None,
        splits_per_label: float = 4.0,
        swap_resistance: float = 4.0,
        back_off: float = 1.0,
        loss: str = "hinge",
        optimizer: str = "adagrad",
        learning_rate: float = 1.0,
        n_passes: int = 5,
        shuffle: bool = True,
        normalize: bool = True,
        bias: float = 0.25,
        random_state: Any = 0,
    ) -> None:
        self.max_splits = max_splits
        self.splits_per_label = splits_per_label
        self.swap_resistance = swap_resistance
        self.back_off = back_off
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.normalize = normalize
        self.bias = bias
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch in ``n_passes`` over the data, and return the estimator."""
        settings = self._settings()
        rows, targets, weights = check_training(X, y, sample_weight)
        model = LomTreeModel.empty(settings, rows.n_features)
        model.vocabulary.add(learned_labels(targets, weights))
        orders = passes(self.n_passes, rows.n_rows, self.shuffle, settings.seed)
        for number, order in enumerate(orders):
            model.learn(rows, targets, weights, order=order, foresee=False, again=number > 0)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf, as a node's id, in which every row ends."""
        rows = self._check_rows(X)
        return self.model_.leaves(rows)

    def predict_above(
        self, X: Any, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, as a sparse (n_rows, n_labels) array.

        Columns are as in ``classes_``; the threshold is in (0, 1]. An answer larger than
        ``max_bytes`` raises `TooLargeError`.
        """
        rows = self._check_rows(X)
        return self.model_.labels_above(rows, threshold, max_bytes=max_bytes)

    def top_rows(
        self, X: Any, labels: ArrayLike, k: int = 5, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows that give each label its largest probabilities, likeliest first.

        Both arrays have shape (n_labels, k); of rows that give the same, the first.
        """
        rows = self._check_rows(X)
        return self.model_.top_rows(rows, labels, k, max_bytes=max_bytes)

    def sample(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Return one label a row, drawn with its probability given the row.

        ``random_state`` is None, a seed, or a NumPy generator, of which each row takes one number.
        """
        rows = self._check_rows(X)
        return self.model_.sample(rows, uniforms_of(random_state, rows.n_rows))

    def explain(
        self,
        x: Any,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> RouteExplanation:
        """Return the way of a row through the tree, and a label's probability at each node.

        Of each node the ``n_features`` strongest features are listed, by their column or name;
        names are those given, else those of the data frame learned from.

        Examples
        --------
        >>> from labeltrees import LOMTreeClassifier
        >>> model = LOMTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> reason = model.explain([1, 0], "sun", feature_names=["light", "drops"])
        >>> [c.feature for c in reason.steps[0].contributions]
        ['light']
        """
        rows = self._check_rows(one_row(x))
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        return self.model_.explain(rows, label, n_features=n_features, feature_names=feature_names)

    def diagnose(self, X: Any = None, y: ArrayLike | None = None) -> Diagnosis:
        """Return objective, purity and balance of every split, leaf entropy and leaf sizes.

        Of the rows given, or of the histograms gathered while learning.

        Examples
        --------
        >>> from labeltrees import LOMTreeClassifier
        >>> X, y = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20
        >>> found = LOMTreeClassifier().fit(X, y).diagnose(X, y)
        >>> found.objective.tolist(), found.entropy.round(3).tolist()
        ([1.0], [0.693, 0.0])
        """
        rows = self._check_rows([[0.0] * self.n_features_in_] if X is None else X)
        return self.model_.diagnose(None if X is None else rows, y)

    def plot(self, X: Any = None, y: ArrayLike | None = None, *, axes: Any = None) -> Any:
        """Draw `diagnose` with matplotlib into four axes, and return those."""
        from labeltrees.estimators.drawing import draw_diagnosis

        return draw_diagnosis(self.diagnose(X, y), axes)

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        self._settings()

    def _start_on_stream(self, n_features: int, classes: ArrayLike | None) -> LomTreeModel:  # noqa: ARG002
        return LomTreeModel.empty(self._settings(), n_features)

    def _teach(
        self,
        model: LomTreeModel,
        rows: Rows,
        targets: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        foresee: bool,
        foresee_top: bool,
    ) -> Foreseen:
        return model.learn(rows, targets, weights, foresee=foresee, foresee_top=foresee_top)

    def _params_to_store(self) -> dict[str, Any]:
        plain: dict[str, Any] = self.model_.settings.to_dict()
        seed = plain.pop("seed")
        return super()._params_to_store() | plain | {"random_state": seed}

    def _settings(self) -> LomRegression:
        check_passes(self.n_passes)
        return LomRegression(
            max_splits=self.max_splits,
            splits_per_label=self.splits_per_label,
            swap_resistance=self.swap_resistance,
            back_off=self.back_off,
            loss=self.loss,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            normalize=self.normalize,
            bias=self.bias,
            seed=seed_of(self.random_state),
        )
