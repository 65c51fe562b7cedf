"""The self-terminating tree as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from labeltrees.data.rows import Rows, as_rows, as_weights
from labeltrees.data.targets import check_training
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError
from labeltrees.estimators.contract import LabelClassifier
from labeltrees.estimators.distributions import as_distributions, is_distributions
from labeltrees.models.online.settings import n_threads_of
from labeltrees.models.self_terminating.model import (
    GrowthOptions,
    SelfTerminatingTreeModel,
    Targets,
)
from labeltrees.models.self_terminating.penalty_choice import choose_growth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

_POWERS = (0.5, 0.7)  # that weight_power="auto" tries
_GAINS = {"gini": (0.25, 0.5, 1.0, 2.0, 4.0), "entropy": (1.0, 2.0, 4.0, 8.0, 16.0)}
_GAIN = {"gini": 0.5, "entropy": 4.0}  # that min_gain="auto" is for a given penalty
_NO_MASSES = np.empty(0)
_NO_STARTS = np.empty(0, dtype=np.int64)


class SelfTerminatingTreeClassifier(LabelClassifier):
    """A decision tree that decides while it grows where to stop, with probabilities at its leaves.

    A child's label distribution is its parent's, moved as far as the examples of its branch are
    worth: a branch whose labels differ from its parent's by no more than the penalty terminates.
    There is no pruning, no depth and no leaf size to choose. Goldman and Singer, "Self-terminating
    induction of multiclass trees" (Snowbird 2011); the abstract's own algorithm is
    ``criterion="entropy", weight_power=0, min_gain=0, split_terminated=False``.

    Parameters
    ----------
    penalty : "auto", float >= 0, list of float, or callable
        A branch of weight W terminates if its labels differ from what its parent expects by
        ``penalty * W**weight_power`` examples or less. ``"auto"`` takes, of the penalties whose
        log loss on held-out rows is near the least, the one of the smallest tree. A list has one
        for each depth, the last for all deeper nodes; a callable is given the depth. 0 is growing
        by the criterion alone: labels not seen in a leaf then have probability 0 there.
    weight_power : "auto" or float in [0, 1)
        How the penalty grows with a branch's weight. The difference that chance alone makes grows
        with the square root of the weight. ``"auto"`` is 0.5, or where the penalty is chosen, too,
        the better of 0.5 and 0.7 on the held-out rows.
    min_gain : "auto" or float >= 0
        A split must decrease the criterion's penalised risk by this much: it saves leaves that
        hardly matter; 2 gives small trees. Like the penalty in units of ``sample_weight``, by
        entropy in nats. ``"auto"`` is chosen with the penalty; with a penalty given it is 0.5, by
        entropy 4.
    criterion : {"gini", "entropy"}
        Whether splits are chosen by half the squared error or by log loss; without a penalty, by
        the Gini index or by information gain. Distributions are by log loss either way, and above
        zero everywhere unless the penalty is 0.
    norm : {"l1", "linf"}
        Whether each branch terminates by itself, or the two of a node together.
    split_terminated : bool
        Whether a branch that terminates may be split if one of its own splits gains enough; if not
        it is a leaf, as in the abstract.
    max_bins : int in [3, 255]
        Into how many bins a feature is cut at most.
    n_jobs : int or None
        How many threads search for splits; None is 1, -1 all cores. The tree is the same.
    random_state : int, RandomState or None
        Which rows ``penalty="auto"`` holds out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted; for distributions the names given to `fit`, or 0, 1, ...
    penalty_ : float or list of float
        The penalty used.
    weight_power_ : float
        The weight power used.
    min_gain_ : float
        The least gain used.
    feature_importances_ : ndarray of shape (n_features,)
        Each feature's share of the decrease of the penalised risk.
    model_ : SelfTerminatingTreeModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import SelfTerminatingTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
    >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
    >>> print(tree.export_text(["height"]))
    height <= 2.5: no 0.748, yes 0.252
      yes: no 0.987, yes 0.013
      no: yes 0.960, no 0.040
    """

    _model_class = SelfTerminatingTreeModel
    accepts_distributions = True
    model_: SelfTerminatingTreeModel

    def __init__(
        self,
        *,
        penalty: Any = "auto",
        weight_power: Any = 0.5,
        min_gain: Any = 0.5,
        criterion: str = "gini",
        norm: str = "l1",
        split_terminated: bool = True,
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.penalty = penalty
        self.weight_power = weight_power
        self.min_gain = min_gain
        self.criterion = criterion
        self.norm = norm
        self.split_terminated = split_terminated
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree, and return the estimator.

        ``y`` is a label for every row, or a matrix (dense or sparse) of shape (n_rows, n_labels)
        whose rows are distributions; ``classes`` names its columns, else they are 0, 1, ... NaN in
        ``X`` is a missing value: each split sends it to the better side.
        """
        options, seed = self._options(), self._seed()
        rows, targets, vocabulary = _check_fit(X, y, sample_weight, classes)
        penalties = _penalties(self.penalty, rows.n_rows)
        if penalties is None:
            powers = _POWERS if self.weight_power == "auto" else (options.weight_power,)
            gains = _GAINS[self.criterion] if self.min_gain == "auto" else None
            penalty, options = choose_growth(
                rows, targets, options, seed=seed, powers=powers, gains=gains
            )
            penalties = [penalty]
        model = SelfTerminatingTreeModel.grow(rows, targets, vocabulary, penalties, options)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf, as a node's id, in which every row ends."""
        rows = self._check_rows(X)
        return self.model_.leaves(rows)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the nodes every row passes, as a sparse indicator (n_rows, n_nodes)."""
        rows = self._check_rows(X)
        leaves, row_leaf = np.unique(self.model_.leaves(rows), return_inverse=True)
        parent = self.model_.core.parent()
        paths = []
        for leaf in leaves.tolist():
            path = [leaf]
            while path[-1] != 0:
                path.append(int(parent[path[-1]]))
            paths.append(path[::-1])
        starts = np.concatenate([[0], np.cumsum([len(path) for path in paths])])
        nodes = np.concatenate(paths)
        shape = (len(leaves), len(parent))
        indicator = sparse.csr_matrix((np.ones(len(nodes), np.int64), nodes, starts), shape=shape)
        return indicator[row_leaf]

    def get_depth(self) -> int:
        """Return the depth of the tree."""
        check_is_fitted(self, "model_")
        return int(self.model_.depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self, "model_")
        return int((self.model_.core.left() < 0).sum())

    def export_text(
        self, feature_names: Sequence[str] | None = None, *, max_depth: int = 10
    ) -> str:
        """Return the tree as indented text: a node's question, and its three likeliest labels.

        Below a question ``yes`` comes first. Nodes deeper than ``max_depth`` are left out.
        """
        check_is_fitted(self, "model_")
        names, left = [str(label) for label in self.classes_], self.model_.core.left()
        text = {node: (question, labels)
                for node, question, labels in self.model_.lines(names, feature_names)}  # fmt: skip
        lines, stack = [], [(0, 0, "")]
        while stack:
            node, depth, answer = stack.pop()
            question, labels = text[node]
            lines.append(
                "  " * depth + ": ".join(part for part in (answer, question, labels) if part)
            )
            if question and depth < max_depth:
                child = int(left[node])
                stack += [(child + 1, depth + 1, "no"), (child, depth + 1, "yes")]
        return "\n".join(lines)

    def export_dot(
        self, feature_names: Sequence[str] | None = None, *, max_nodes: int = 200
    ) -> str:
        """Return the top of the tree as Graphviz DOT."""
        check_is_fitted(self, "model_")
        names = [str(label) for label in self.classes_]
        return self.model_.to_dot(names, max_nodes=max_nodes, features=feature_names)

    def plot(
        self,
        feature_names: Sequence[str] | None = None,
        *,
        max_depth: int = 3,
        ax: Any = None,
    ) -> Any:
        """Draw the tree's top with matplotlib and return the axes."""
        check_is_fitted(self, "model_")
        from labeltrees.estimators.drawing import draw_tree

        return draw_tree(self.model_, feature_names, max_depth=max_depth, ax=ax)

    @property
    def penalty_(self) -> float | list[float]:
        """The penalty used: one number, or one for each depth."""
        self._need_model()
        penalties = self.model_.penalties
        return penalties[0] if len(set(penalties)) == 1 else penalties

    @property
    def weight_power_(self) -> float:
        """The weight power used."""
        self._need_model()
        return self.model_.weight_power

    @property
    def min_gain_(self) -> float:
        """The least gain used."""
        self._need_model()
        return self.model_.min_gain

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each feature's share of the decrease of the penalised risk."""
        self._need_model()
        return self.model_.importances()

    def _need_model(self) -> None:
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet")

    def _options(self) -> GrowthOptions:
        power = _POWERS[0] if self.weight_power == "auto" else self.weight_power
        if not _is_number(power) or not 0 <= power < 1:
            raise ArgumentError.of("weight_power", power, '"auto" or a number in [0, 1)')
        if self.criterion not in ("entropy", "gini"):
            raise ArgumentError.of("criterion", self.criterion, "'entropy' or 'gini'")
        gain = _GAIN[self.criterion] if self.min_gain == "auto" else self.min_gain
        if not _is_number(gain) or not 0 <= gain < np.inf:
            raise ArgumentError.of("min_gain", gain, '"auto" or a finite number >= 0')
        if self.norm not in ("l1", "linf"):
            raise ArgumentError.of("norm", self.norm, "'l1' or 'linf'")
        if not isinstance(self.split_terminated, bool | np.bool_):
            raise ArgumentError.of("split_terminated", self.split_terminated, "True or False")
        if not _is_int(self.max_bins) or not 3 <= self.max_bins <= 255:
            raise ArgumentError.of("max_bins", self.max_bins, "an integer in [3, 255]")
        return GrowthOptions(
            weight_power=float(power),
            min_gain=float(gain),
            criterion=self.criterion,
            norm=self.norm,
            split_terminated=bool(self.split_terminated),
            max_bins=int(self.max_bins),
            n_jobs=n_threads_of(self.n_jobs),
        )

    def _seed(self) -> int:
        if _is_int(self.random_state):
            if self.random_state < 0:
                raise ArgumentError.of("random_state", self.random_state, ">= 0")
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _params_to_store(self) -> dict[str, Any]:
        params = super()._params_to_store()
        if callable(self.penalty) or isinstance(self.penalty, np.ndarray | tuple):
            params["penalty"] = self.model_.penalties
        if not _is_int(self.random_state):
            params["random_state"] = 0
        return {name: value.item() if isinstance(value, np.generic) else value
                for name, value in params.items()}  # fmt: skip

    def _check_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "model_")
        rows = as_rows(X, missing=True)
        self._check_width(X, reset=False)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _penalties(penalty: Any, n_rows: int) -> list[float] | None:
    """Return the penalties by depth, None for "auto"."""
    allowed = '"auto", a number >= 0, a list of them by depth, or a callable of the depth'
    if isinstance(penalty, str):
        if penalty != "auto":
            raise ArgumentError.of("penalty", penalty, allowed)
        return None
    values: Any = penalty
    if callable(penalty):
        values = _called(penalty, n_rows)
    elif np.ndim(penalty) == 0:
        values = [penalty]
    try:
        table = [float(value) for value in values]
    except (TypeError, ValueError):
        raise ArgumentError.of("penalty", penalty, allowed) from None
    if not table or not all(value >= 0 for value in table):
        raise ArgumentError.of("penalty", penalty, allowed)
    return table


def _called(penalty: Callable[[int], float], n_rows: int) -> list[float]:
    # No tree over n rows is deeper than n; past a thousand levels the last value will do.
    return [penalty(depth) for depth in range(min(n_rows, 1000))]


def _check_fit(
    X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
) -> tuple[Rows, Targets, LabelVocabulary]:
    """Return rows of weight above zero, their targets and the labels, or raise."""
    if is_distributions(y):
        return _check_distributions(X, y, sample_weight, classes)
    if classes is not None:
        raise ArgumentError.of("classes", classes, "None where y has labels")
    rows, labels, weights = check_training(X, y, sample_weight, missing=True)
    kept = np.flatnonzero(weights) if len(weights) and not weights.all() else None
    if kept is not None:
        rows, labels, weights = rows.take(kept), labels[kept], weights[kept]
    seen = LabelVocabulary()
    ids = seen.add(labels)
    order = np.argsort(seen.labels)
    vocabulary = LabelVocabulary(seen.labels[order])
    sorted_ids = np.argsort(order).astype(np.int32)[ids]
    masses = weights.astype(np.float64) if np.any(weights != 1) else _NO_MASSES
    return rows, Targets(sorted_ids, masses, _NO_STARTS, len(vocabulary)), vocabulary


def _check_distributions(
    X: Any, P: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None
) -> tuple[Rows, Targets, LabelVocabulary]:
    rows = as_rows(X, missing=True)
    matrix, vocabulary = as_distributions(P, rows.n_rows, classes)
    weights = as_weights(sample_weight, rows.n_rows)
    if len(weights):
        if not weights.any():
            raise ArgumentError("sample_weight must have a weight above zero, got none.")
        matrix.data *= np.repeat(weights, np.diff(matrix.indptr))
        kept = np.flatnonzero(weights)
        rows, matrix = rows.take(kept), matrix[kept]
    starts, labels = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return rows, Targets(labels, matrix.data, starts, len(vocabulary)), vocabulary
