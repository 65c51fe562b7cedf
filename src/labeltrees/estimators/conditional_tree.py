"""The conditional probability tree as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from labeltrees.errors import ArgumentError
from labeltrees.estimators import structure as structures
from labeltrees.estimators.contract import LabelClassifier, check_training
from labeltrees.inference import ConditionalTreeModel, Foreseen, Model
from labeltrees.pecoc import PecocTreeModel
from labeltrees.regressors import OnlineRegression

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.tree import LabelTree


class ConditionalTreeClassifier(LabelClassifier):
    """P(label given x) over very many labels, learned online, in time logarithmic in their number.

    A binary tree has the labels as leaves and a linear regressor at every inner node; a label's
    probability is the product of the regressors' answers along its path. Labels need not be known
    in advance: each new one is given a leaf by Algorithm 3 of Beygelzimer et al., "Conditional
    probability tree estimation analysis and algorithms" (UAI 2009).

    The paper's own algorithm is ``balance="labels", loss="squared", optimizer="sgd"``.

    Parameters
    ----------
    structure : {"online", "random", "balanced", "huffman", "kmeans"}, nested lists or LabelTree
        Where labels have their leaves. The first three say where a new label goes: by the paper's
        rule (5), by coin tosses, or to the side with fewer labels (rule (5) with alpha = 1).
        "huffman" (frequent labels are shallow) and "kmeans" (labels with similar rows are near)
        are built by `fit` from all its data. Nested lists such as ``[["cat", "dog"], "car"]`` are
        the tree itself; so is a `LabelTree`, whose leaves are positions in ``classes_``, as in
        ``tree_``. Labels that the tree does not have are added by rule (5).
    arity : int, a power of two
        Children of a node. More than 2 make it conditional PECOC: a node asks about ``arity - 1``
        regressors, an example about ``(arity - 1) log(n) / log(arity)``, and errors multiply over
        fewer levels; ``arity >= n_labels`` is PECOC. The tree is then fixed: `fit` builds it
        ("online": the binary tree of a first pass, levels joined; "random" and "balanced": over
        all labels at once), or the first `partial_fit` over its ``classes``. A given tree has its
        own arity.
    alpha : float in [0, 1]
        Weight of balance against the regressors' opinion in rule (5). 0 has no depth bound.
    balance : {"examples", "labels"}
        What rule (5) and "kmeans" balance. Examples make frequent labels shallow, so learning is
        about twice as fast; the depth bound of labels (Theorem 7) is kept by a guard in rule (5).
    loss : {"logistic", "squared"}
        What the regressors minimise.
    optimizer : {"adagrad", "sgd"}
        Their steps: scaled per weight by past gradients, or plain.
    learning_rate : float > 0
        Size of the steps.
    n_passes : int >= 1
        How often `fit` goes over the data. `partial_fit` goes once.
    shuffle : bool
        Whether `fit` takes the rows of each pass in random order.
    normalize : bool
        Whether rows are scaled to Euclidean length 1.
    bias : float >= 0
        Value of a constant feature added to every row; 0 for none.
    random_state : int, RandomState or None
        Seed of the shuffling and the coin tosses.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: sorted after `fit`, in first-seen order as `partial_fit` adds to them.
    tree_ : LabelTree
        The tree, over indices into ``classes_``.
    model_ : ConditionalTreeModel or PecocTreeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> model = ConditionalTreeClassifier()
    >>> X = [[1, 0], [0, 1], [1, 1]] * 50
    >>> model = model.partial_fit(X, ["sun", "rain", "rainbow"] * 50)
    >>> model.predict([[1, 1], [1, 0]])
    array(['rainbow', 'sun'], dtype=object)
    >>> bool(model.predict_label_proba([[1, 1]], ["rainbow"])[0] > 0.8)
    True
    """

    _model_class = ConditionalTreeModel
    model_: ConditionalTreeModel | PecocTreeModel

    def __init__(
        self,
        *,
        structure: Any = "online",
        arity: int = 2,
        alpha: float = 0.6,
        balance: str = "examples",
        loss: str = "logistic",
        optimizer: str = "adagrad",
        learning_rate: float = 1.5,
        n_passes: int = 5,
        shuffle: bool = True,
        normalize: bool = True,
        bias: float = 0.25,
        random_state: Any = 0,
    ) -> None:
        self.structure = structure
        self.arity = arity
        self.alpha = alpha
        self.balance = balance
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
        model = structures.start_on_all(
            self.structure, int(self.arity), settings, rows, targets, weights
        )
        for order in _orders(self.n_passes, rows.n_rows, self.shuffle, settings.seed):
            model.learn(rows, targets, weights, order=order)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the rows once, in their order, and return the estimator.

        ``classes`` is not needed by a binary tree; if given, those labels take the next places of
        ``classes_``.
        """
        self._learn(X, y, classes, sample_weight, foresee_top=False)
        return self

    def progressive_fit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, top: bool = True
    ) -> Foreseen:
        """Learn like `partial_fit` and return what the model said of each row just before.

        The mean loss of these answers (progressive validation) is an honest estimate of the
        model's error, without held-out data.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> seen = ConditionalTreeClassifier().progressive_fit([[1.0]] * 3, ["a", "b", "a"])
        >>> seen.is_new
        array([ True,  True, False])
        """
        return self._learn(X, y, None, sample_weight, foresee_top=top)

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        self._settings()

    @property
    def tree_(self) -> LabelTree:
        """A copy of the tree as it is now."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet")
        return self.model_.tree

    @classmethod
    def _model_class_for(cls, facts: dict[str, Any]) -> type[Model]:
        is_pecoc = facts.get("model") == PecocTreeModel.__name__
        return PecocTreeModel if is_pecoc else ConditionalTreeModel

    def _params_to_store(self) -> dict[str, Any]:
        structure, seed = structures.to_json(self.structure), self.model_.settings.seed
        return super()._params_to_store() | {"structure": structure, "random_state": seed}

    @classmethod
    def _params_from_store(cls, params: dict[str, Any]) -> dict[str, Any]:
        return params | {"structure": structures.from_json(params["structure"])}

    def _settings(self) -> OnlineRegression:
        if not isinstance(self.n_passes, (int, np.integer)) or self.n_passes < 1:
            raise ArgumentError.of("n_passes", self.n_passes, "an integer >= 1")
        if not _is_power_of_two(self.arity):
            raise ArgumentError.of("arity", self.arity, "a power of two in [2, 2^30]")
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = int(check_random_state(seed).randint(2**31))
        return OnlineRegression(
            loss=self.loss,
            normalize=self.normalize,
            bias=self.bias,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            structure=structures.name_of(self.structure),
            balance=self.balance,
            alpha=self.alpha,
            seed=seed,
        )

    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        foresee_top: bool,
    ) -> Foreseen:
        rows, targets, weights = check_training(X, y, sample_weight)
        first = "model_" not in self.__dict__
        if first:
            settings = self._settings()
            model = structures.start_on_stream(
                self.structure, int(self.arity), settings, rows.n_features, classes
            )
        else:
            self._check_width(X, reset=False)
            model = self.model_
        if classes is not None:
            model.vocabulary.ids(targets)  # raises before anything is added
            model.vocabulary.add(classes)
        foreseen = model.learn(rows, targets, weights, foresee_top=foresee_top)
        if first:
            self._check_width(X, reset=True)
            self.model_ = model
        return foreseen


def _is_power_of_two(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and 2 <= value <= 2**30 and int(value).bit_count() == 1


def _orders(n_passes: int, n_rows: int, shuffle: bool, seed: int) -> list[NDArray[np.int64]]:
    generator = np.random.default_rng(seed)
    orders = [np.arange(n_rows, dtype=np.int64) for _ in range(n_passes)]
    for order in orders:
        if shuffle:
            generator.shuffle(order)
    return orders
