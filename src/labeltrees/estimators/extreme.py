"""Extreme regression as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from labeltrees.data.rows import as_rows
from labeltrees.data.targets import as_targets
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.contract import LabelClassifier
from labeltrees.estimators.online import seed_of
from labeltrees.models.extreme.model import ExtremeModel
from labeltrees.models.extreme.relevance import as_relevance
from labeltrees.models.extreme.tail import TAILS
from labeltrees.models.extreme.training import ExtremeOptions, train_extreme
from labeltrees.models.model import MAX_DENSE_BYTES, TopLabels, TopRows
from labeltrees.models.online.settings import n_threads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from labeltrees.models.extreme.explanation import RelevanceExplanation


class ExtremeRegressor(LabelClassifier):
    """How relevant each of very many labels is to a row, by trees of labels: XReg, Parabel.

    Labels whose rows look alike share a subtree (balanced spherical k-means); a node has a linear
    regressor for each child; a label's relevance is the product of the answers on its path, the
    mean over ``n_trees`` trees. Prabhu et al., "Extreme regression for dynamic search advertising"
    (WSDM 2020). A row may have any number of labels, so **probabilities are those of each label by
    itself and do not sum to one**. They are calibrated on rows that the trees have not learned.

    The paper's own algorithm is ``arity=2, cost=10, cost_power=1, inner_power=1,
    calibrate=False``; Parabel is
    ``loss="hinge"`` besides, on binary relevance.

    Parameters
    ----------
    n_trees : int >= 1
        Trees of the ensemble, each from another seed.
    arity : int in [2, 64]
        Children of an inner node.
    max_leaf : int in [2, 256]
        A node of at most so many labels has them all as its children.
    loss : {"logistic", "hinge"}
        Logistic loss learns from graded relevance; squared hinge loss only from whether it is > 0.
    cost : float > 0 or None
        What errors cost against the size of the weights, as C of liblinear. None is 3, and
        ``3 * (100_000 / n_rows) ** 0.3`` for more than 100,000 rows.
    cost_power : float in [0, 1]
        A node of total weight s costs ``cost * (n_rows / s) ** cost_power``.
    inner_power : float in [0.01, 1]
        The exponent of a regressor's answer for a child that is not a label. Errors on one path
        come together, so what the upper nodes say counts less than once.
    relevance : None or "propensity"
        Whether relevance is divided by the labels' propensities first, so that rare labels count.
    tail : None, "xreg" or "pfastrexml"
        Whether labels are ranked with a tail classifier. Probabilities are never changed by it.
    tail_weight : float in [0, 1]
        The exponent of the tree's value; the tail classifier's is 1 less it.
    beam_width : int >= 1 or None
        Nodes kept of every level in a beam search. None is 10, and 6 in each of three or more
        trees, which find what the others miss.
    calibrate : bool
        Whether probabilities are calibrated.
    max_epochs : int >= 1
        Passes of the solver over a node's rows at most.
    tolerance : float >= 0
        It stops at a duality gap of this share of the objective of zero weights.
    least_weight : float >= 0
        Smaller weights are dropped.
    n_jobs : int or None
        Threads for training and asking; None is 1, -1 all cores. The model is the same.
    max_memory : int or None
        Bytes that training may take besides the data given; fewer threads are used and smaller
        weights dropped to stay below, and `TooLargeError` is raised where that is not enough.
    random_state : int, RandomState or None
        Seed of the first centres and of the order of rows.
    warm_start : bool
        Whether `fit` keeps the trees of the fit before, of the same data and parameters, and grows
        only the further ones that a larger ``n_trees`` asks for. The model is the same as if all
        were grown at once. Needs an integer ``random_state`` and no ``max_memory``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels by column of `predict_proba`.
    model_ : ExtremeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import ExtremeRegressor
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]] * 50
    >>> y = [["sun"], ["rain"], ["sun", "rain"], ["snow"]] * 50
    >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
    >>> labels, p = model.predict_top_k([[1, 1, 0]], 2)
    >>> sorted(labels[0]), (p > 0.5).tolist()
    (['rain', 'sun'], [[True, True]])
    """

    _model_class = ExtremeModel
    model_: ExtremeModel

    def __init__(
        self,
        *,
        n_trees: int = 3,
        arity: int = 16,
        max_leaf: int = 100,
        loss: str = "logistic",
        cost: float | None = None,
        cost_power: float = 0.4,
        inner_power: float = 0.75,
        relevance: str | None = None,
        tail: str | None = None,
        tail_weight: float = 0.5,
        beam_width: int | None = None,
        calibrate: bool = True,
        max_epochs: int = 12,
        tolerance: float = 1e-3,
        least_weight: float = 0.15,
        n_jobs: int | None = None,
        max_memory: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_trees = n_trees
        self.arity = arity
        self.max_leaf = max_leaf
        self.loss = loss
        self.cost = cost
        self.cost_power = cost_power
        self.inner_power = inner_power
        self.relevance = relevance
        self.tail = tail
        self.tail_weight = tail_weight
        self.beam_width = beam_width
        self.calibrate = calibrate
        self.max_epochs = max_epochs
        self.tolerance = tolerance
        self.least_weight = least_weight
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.random_state = random_state
        self.warm_start = warm_start

    def fit(  # type: ignore[override]  # rows have no weights: relevance has
        self, X: Any, y: Any, *, classes: ArrayLike | None = None
    ) -> Self:
        """Learn, from scratch unless ``warm_start`` is set, and return the estimator.

        ``y`` is a matrix of relevance >= 0 (dense or CSR, columns named by ``classes`` or 0, 1,
        ...), a list of labels for every row, a dict of labels and relevance for every row, or one
        label a row. Rows without a label count as examples of none.
        """
        options = self._options()
        rows = as_rows(X)
        relevance = as_relevance(as_targets(y) if _is_one_each(y) else y, classes=classes)
        if relevance.n_rows != rows.n_rows:
            raise DataError(f"y has {relevance.n_rows} rows for the {rows.n_rows} rows of X.")
        if self.relevance == "propensity":
            relevance = relevance.weighted_by_propensity()
        start = self.__dict__.get("model_") if options.warm_start else None
        model = train_extreme(rows, relevance, options, start=start)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: str = "beam", beam_width: int | None = None
    ) -> TopLabels:
        """Return the k best labels of every row and their probabilities, best first.

        ``search="beam"`` keeps the ``beam_width`` likeliest nodes of every level and may miss
        some; ``"exact"`` gives provably the top k. Where relevance is graded the second array
        holds the estimated relevance. With ``tail`` the order is that of `predict_top_scores`.
        """
        rows = self._check_rows(X)
        return self.model_.top_labels(rows, k, search=search, beam_width=beam_width)

    def predict_top_scores(
        self, X: Any, k: int = 5, *, search: str = "beam", beam_width: int | None = None
    ) -> TopLabels:
        """Return the k best labels of every row and the scores that rank them.

        Without ``tail`` the scores are the probabilities; with it they are not probabilities.
        """
        rows = self._check_rows(X)
        return self.model_.top_scores(rows, k, search=search, beam_width=beam_width)

    def predict_above(
        self, X: Any, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with at least this probability (relevance), (n_rows, n_labels) CSR.

        The cost depends on how many there are, not on ``n_labels``; an answer larger than
        ``max_bytes`` raises `TooLargeError`.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> found = ExtremeRegressor(n_trees=1).fit(X, y).predict_above([[1, 0], [1, 1]], 0.5)
        >>> found.indices.tolist(), found.indptr.tolist()
        ([1, 0, 1], [0, 1, 3])
        """
        rows = self._check_rows(X)
        return self.model_.labels_above(rows, threshold, max_bytes=max_bytes)

    def top_rows(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        exact: bool = False,
        factor: float = 4.0,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> TopRows:
        """Return the k rows to which each label is most relevant, best first: labelwise inference.

        Both arrays have shape (n_labels, k), all labels of ``classes_`` by default. Algorithm 1 of
        the paper's supplement asks a node about ``factor`` times the share of rows that reached it
        in training; ``exact=True`` gives provably the k best rows. Of rows that give the same, the
        first; row -1 where there is none.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.top_rows([[0, 1], [1, 1], [1, 0]], ["sun", "rain"], 2).rows.tolist()
        [[2, 1], [0, 1]]
        """
        rows = self._check_rows(X)
        return self.model_.top_rows(
            rows, labels, k, exact=exact, factor=factor, max_bytes=max_bytes
        )

    def explain(
        self,
        x: Any,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> RelevanceExplanation:
        """Return why a row gives a label its probability: each tree's path and what spoke on it.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> reason = model.explain([1, 0], "sun", feature_names=["light", "drops"])
        >>> [c.feature for c in reason.trees[0][0].contributions]
        ['light']
        """
        if not sparse.issparse(x) and getattr(x, "ndim", None) != 2:
            x = np.atleast_2d(np.asarray(x))
        rows = self._check_rows(x)
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        return self.model_.explain(rows, label, n_features=n_features, feature_names=feature_names)

    def set_params(self, **params: Any) -> Self:
        """Set parameters and return the estimator; ``n_jobs`` takes effect at once."""
        super().set_params(**params)
        if "n_jobs" in params and "model_" in self.__dict__:
            self.model_.n_jobs = n_threads_of(self.n_jobs)
        return self

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        self._options()

    def _options(self) -> ExtremeOptions:
        _need_int("n_trees", self.n_trees, 1, 10_000)
        _need_int("arity", self.arity, 2, 64)
        _need_int("max_leaf", self.max_leaf, 2, 256)
        if self.beam_width is not None:
            _need_int("beam_width", self.beam_width, 1, 2**31 - 1)
        _need_int("max_epochs", self.max_epochs, 1, 10_000)
        _need_one("loss", self.loss, ("logistic", "hinge"))
        _need_one("relevance", self.relevance, (None, "propensity"))
        _need_one("tail", self.tail, (None, *TAILS))
        if self.cost is not None:
            _need_number("cost", self.cost, 1e-6, 1e6)
        _need_number("cost_power", self.cost_power, 0, 1)
        _need_number("inner_power", self.inner_power, 0.01, 1)
        _need_number("tail_weight", self.tail_weight, 0, 1)
        _need_number("tolerance", self.tolerance, 0, 1)
        _need_number("least_weight", self.least_weight, 0, 1e6)
        if self.max_memory is not None:
            _need_int("max_memory", self.max_memory, 1, 2**62)
        if isinstance(self.random_state, (int, np.integer)):
            _need_int("random_state", self.random_state, 0, 2**32)
        if self.warm_start and self.max_memory is not None:
            raise ArgumentError.of("max_memory", self.max_memory, "None where warm_start is set")
        return ExtremeOptions(
            n_trees=int(self.n_trees),
            arity=int(self.arity),
            max_leaf=int(self.max_leaf),
            loss=self.loss,
            cost=None if self.cost is None else float(self.cost),
            cost_power=float(self.cost_power),
            inner_power=float(self.inner_power),
            max_epochs=int(self.max_epochs),
            tolerance=float(self.tolerance),
            least_weight=float(self.least_weight),
            calibrate=bool(self.calibrate),
            tail=self.tail,
            tail_weight=float(self.tail_weight),
            beam_width=_beam_width(self.n_trees) if self.beam_width is None else self.beam_width,
            n_jobs=n_threads_of(self.n_jobs),
            max_memory=None if self.max_memory is None else int(self.max_memory),
            seed=seed_of(self.random_state),
            warm_start=bool(self.warm_start),
        )

    def _params_to_store(self) -> dict[str, Any]:
        params = super()._params_to_store()
        if not isinstance(self.random_state, (int, np.integer)):
            params["random_state"] = 0
        return {name: value.item() if isinstance(value, np.generic) else value
                for name, value in params.items()}  # fmt: skip

    @classmethod
    def from_stored(cls, stored: Any) -> Self:
        """Return the estimator that `save` wrote down."""
        estimator = super().from_stored(stored)
        estimator.model_.n_jobs = n_threads_of(estimator.n_jobs)
        return estimator


def _is_one_each(y: Any) -> bool:
    """Whether y has one label a row, perhaps in a column."""
    if y is None or sparse.issparse(y):
        return y is None
    if hasattr(y, "__array__"):
        array = np.asarray(y)
        if array.ndim == 2 and array.shape[1] == 1:
            return True
        return array.ndim == 1 and not any(
            isinstance(row, (list, tuple, set, frozenset, dict)) for row in array[:1]
        )
    return not any(isinstance(row, (list, tuple, set, frozenset, dict)) for row in y)


def _beam_width(n_trees: int) -> int:
    """Return the width chosen on held-out rows of yso-en, bibtex and delicious.

    From 6 to 10 nDCG@5 of three trees moves by at most 0.01 points, of one tree by 0.6.
    """
    return 10 if n_trees < 3 else 6


def _need_int(name: str, value: Any, low: int, high: int) -> None:
    is_int = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_int or not low <= value <= high:
        raise ArgumentError.of(name, value, f"an integer in [{low}, {high}]")


def _need_number(name: str, value: Any, low: float, high: float) -> None:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise ArgumentError.of(name, value, f"a number in [{low:g}, {high:g}]")


def _need_one(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise ArgumentError.of(name, value, " or ".join(map(repr, allowed)))
