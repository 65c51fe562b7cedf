"""The conditional probability tree as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees.data.targets import check_training
from labeltrees.errors import ArgumentError
from labeltrees.estimators.online import OnlineClassifier, check_passes, passes, seed_of
from labeltrees.estimators.tree_queries import TreeQueries
from labeltrees.models.conditional import structure as structures
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.conditional.pecoc import PecocTreeModel
from labeltrees.models.conditional.pool import PooledTreesModel
from labeltrees.models.online.settings import OnlineRegression, n_threads_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.model import Foreseen, Model
    from labeltrees.tree import LabelTree

MAX_TREES = 1000


class ConditionalTreeClassifier(TreeQueries, OnlineClassifier):
    """P(label given x) over very many labels, learned online, in time logarithmic in their number.

    A binary tree has the labels as leaves and a linear regressor at every inner node; a label's
    probability is the product of the regressors' answers along its path. Labels need not be known
    in advance: each new one is given a leaf by Algorithm 3 of Beygelzimer et al., "Conditional
    probability tree estimation analysis and algorithms" (UAI 2009).

    The paper's own algorithm is ``balance="labels", loss="squared", optimizer="sgd"``; with squared
    loss nothing is mixed.

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
    n_trees : int >= 1
        Trees that `fit` learns, each with a seed and so an order of rows of its own, and with
        "kmeans" and "random" a structure. The geometric mean of their distributions, scaled to
        sum to 1, is far better than one tree's, best with "kmeans"; the scale needs all labels, so
        questions then cost O(n_trees n_labels) a row. `partial_fit` can only go on with them.
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
    mixing : bool
        Whether each node's log-odds are mixed of its regressor's margin and the votes of feature
        counts, with weights learned over all nodes. Logistic loss only; costs a little time, and
        improves probabilities much.
    sharpness : float > 0
        Factor of mixed log-odds. Nodes that are right on average multiply to paths that are too
        timid; a little more than 1 mends it.
    n_passes : int >= 1
        How often `fit` goes over the data. `partial_fit` goes once.
    shuffle : bool
        Whether `fit` takes the rows of each pass in random order.
    normalize : bool
        Whether rows are scaled to Euclidean length 1.
    bias : float >= 0
        Value of a constant feature added to every row; 0 for none.
    novelty : bool
        Whether probability is kept for labels not seen yet: Good and Turing's N1 / N, the labels
        seen exactly once by the examples seen, whatever their weights (a row counts once, also
        in the passes of `fit`). All labels' probabilities are multiplied by what is left.
    max_memory : int or None
        Most bytes that the table of weights may take (the tree itself takes about 100 bytes a label
        beside it). When it is full, weights of features new to a node are shared among them: the
        model gets worse, not larger. None: no limit.
    n_jobs : int or None
        How many threads learn and answer; None is 1, -1 all cores. With more than one, rows are
        learned in batches of up to 1,024 whose new labels are placed first: the model is not that
        of one thread, but about as good, and the same for any number of threads above one. What
        `progressive_fit` foresees of a row then knows nothing of its batch's labels' places but
        its own. Only ``arity=2`` uses them.
    random_state : int, RandomState or None
        Seed of the shuffling and the coin tosses.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: sorted after `fit`, in first-seen order as `partial_fit` adds to them.
    tree_ : LabelTree
        The tree, over indices into ``classes_``; the first of several.
    model_ : ConditionalTreeModel, PecocTreeModel or PooledTreesModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.
    novelty_mass_ : float
        The probability kept for labels not seen yet; 0 unless ``novelty``.

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
    model_: ConditionalTreeModel | PecocTreeModel | PooledTreesModel

    def __init__(
        self,
        *,
        structure: Any = "online",
        arity: int = 2,
        n_trees: int = 1,
        alpha: float = 0.6,
        balance: str = "examples",
        loss: str = "logistic",
        optimizer: str = "adagrad",
        learning_rate: float = 1.0,
        mixing: bool = True,
        sharpness: float = 1.2,
        n_passes: int = 1,
        shuffle: bool = True,
        normalize: bool = True,
        bias: float = 0.25,
        novelty: bool = False,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.structure = structure
        self.arity = arity
        self.n_trees = n_trees
        self.alpha = alpha
        self.balance = balance
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.mixing = mixing
        self.sharpness = sharpness
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.normalize = normalize
        self.bias = bias
        self.novelty = novelty
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch in ``n_passes`` over the data, and return the estimator."""
        settings = self._settings()
        rows, targets, weights = check_training(X, y, sample_weight)
        seeds = [(settings.seed + number) % 2**64 for number in range(self.n_trees)]
        models = [
            self._fit_one(replace(settings, seed=seed), rows, targets, weights) for seed in seeds
        ]
        self._check_width(X, reset=True)
        self.model_ = models[0] if len(models) == 1 else PooledTreesModel(models)
        return self

    def progressive_fit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, top: bool = True
    ) -> Foreseen:
        """Learn like `partial_fit` and return what the model said of each row just before.

        The mean loss of these answers (progressive validation) is an honest estimate of the
        model's error, without held-out data. For ``n_trees=1`` only: a pool would need
        O(n_labels) a row to know what it foresees.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> seen = ConditionalTreeClassifier().progressive_fit([[1.0]] * 3, ["a", "b", "a"])
        >>> seen.is_new
        array([ True,  True, False])
        """
        self.check_parameters()
        if self.n_trees > 1:
            raise ArgumentError.of("n_trees", self.n_trees, "1 for progressive_fit")
        return super().progressive_fit(X, y, sample_weight=sample_weight, top=top)

    def set_params(self, **params: Any) -> Self:
        """Set parameters and return the estimator; ``n_jobs`` takes effect at once."""
        super().set_params(**params)
        model = self.__dict__.get("model_")
        if "n_jobs" in params and isinstance(model, ConditionalTreeModel):
            model.settings = replace(model.settings, n_threads=n_threads_of(self.n_jobs))
        return self

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        self._settings()

    @property
    def tree_(self) -> LabelTree:
        """A copy of the tree as it is now."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet")
        return self.model_.tree

    @property
    def novelty_mass_(self) -> float:
        """The probability kept for labels not seen yet, as it is now."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet")
        return self._binary_model().novelty_mass

    def _fit_one(
        self,
        settings: OnlineRegression,
        rows: Rows,
        targets: NDArray[Any],
        weights: NDArray[np.float32],
    ) -> ConditionalTreeModel | PecocTreeModel:
        model = structures.start_on_all(
            self.structure, int(self.arity), settings, rows, targets, weights
        )
        orders = passes(self.n_passes, rows.n_rows, self.shuffle, settings.seed)
        for number, order in enumerate(orders):
            model.learn(rows, targets, weights, order=order, again=number > 0)
        return model

    @classmethod
    def _model_class_for(cls, facts: dict[str, Any]) -> type[Model]:
        kinds = {kind.__name__: kind for kind in (PecocTreeModel, PooledTreesModel)}
        return kinds.get(facts.get("model", ""), ConditionalTreeModel)

    def _params_to_store(self) -> dict[str, Any]:
        return super()._params_to_store() | {
            "structure": structures.to_json(self.structure),
            "arity": int(self.arity),
            "n_trees": int(self.n_trees),
            "random_state": self.model_.settings.seed,
        }

    @classmethod
    def _params_from_store(cls, params: dict[str, Any]) -> dict[str, Any]:
        return params | {"structure": structures.from_json(params["structure"])}

    def _settings(self) -> OnlineRegression:
        check_passes(self.n_passes)
        if not _is_power_of_two(self.arity):
            raise ArgumentError.of("arity", self.arity, "a power of two in [2, 2^30]")
        if not _is_whole(self.n_trees) or not 1 <= self.n_trees <= MAX_TREES:
            raise ArgumentError.of("n_trees", self.n_trees, f"an integer in [1, {MAX_TREES}]")
        if self.n_trees > 1 and self.novelty:
            raise ArgumentError.of("n_trees", self.n_trees, "1 with novelty=True")
        return OnlineRegression(
            loss=self.loss,
            normalize=self.normalize,
            bias=self.bias,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            mixing=self.mixing,
            sharpness=self.sharpness,
            structure=structures.name_of(self.structure),
            balance=self.balance,
            alpha=self.alpha,
            seed=seed_of(self.random_state),
            novelty=self.novelty,
            max_memory=self.max_memory,
            n_threads=n_threads_of(self.n_jobs),
        )

    def _start_on_stream(
        self, n_features: int, classes: ArrayLike | None
    ) -> ConditionalTreeModel | PecocTreeModel:
        settings = self._settings()
        if self.n_trees > 1:
            raise ArgumentError(
                f"n_trees={self.n_trees} needs fit: on one stream the trees would be alike. "
                "partial_fit can go on from there."
            )
        return structures.start_on_stream(
            self.structure, int(self.arity), settings, n_features, classes
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_power_of_two(value: Any) -> bool:
    return _is_whole(value) and 2 <= value <= 2**30 and int(value).bit_count() == 1
