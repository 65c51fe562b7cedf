"""The self-terminating tree as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labeltrees.data.rows import as_rows, as_weights
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError
from labeltrees.estimators.contract import LabelClassifier, training_data
from labeltrees.estimators.distributions import as_distributions, is_distributions, no_class_weight
from labeltrees.models.self_terminating.model import SelfTerminatingTreeModel
from labeltrees.models.self_terminating.settings import SelfTerminatingSettings as Default
from labeltrees.models.self_terminating.training import Targets, train_self_terminating

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.models.self_terminating.settings import CriterionName, FormName, NormName
    from labeltrees.models.settings import LabelWeights

_NO_MASSES = np.empty(0)
_NO_STARTS = np.empty(0, dtype=np.int64)


@dataclass(kw_only=True, eq=False, repr=False)
class SelfTerminatingTreeClassifier(LabelClassifier):
    """A decision tree that decides while it grows where to stop, with probabilities at its leaves.

    A child's label distribution is its parent's, changed as far as the examples of its branch
    justify. A branch whose labels differ from its parent's by no more than the penalty terminates.
    You need not choose pruning, depth or leaf size. Goldman and Singer, "Self-terminating
    induction of multiclass trees" (Snowbird 2011); the abstract's own algorithm is
    ``criterion="entropy", weight_power=0, min_gain=0, split_terminated=False``.

    Parameters
    ----------
    penalty : "auto", float >= 0, list of float, or callable, default "auto"
        A branch of weight W terminates if its labels differ from what its parent expects by
        ``penalty * W**weight_power`` examples or less. ``"auto"`` takes, of the penalties whose
        log loss on held-out rows is near the least, the one of the smallest tree. A list has one
        for each depth, the last for all deeper nodes; a callable gets the depth. With 0 the
        criterion alone grows the tree, and labels that a leaf lacks have probability 0 there.
    weight_power : "auto" or float in [0, 1), default 0.5
        How the penalty grows with a branch's weight. The difference that chance alone makes grows
        with the square root of the weight. ``"auto"`` is 0.5, or where the penalty is chosen, too,
        the better of 0.5 and 0.7 on the held-out rows.
    min_gain : "auto" or float >= 0, default 0.5
        Minimum decrease of the criterion's penalised risk by a split, which saves leaves with
        little effect; 2 gives small trees. Like the penalty in units of ``sample_weight``, by
        entropy in nats. ``"auto"`` is chosen with the penalty; with a penalty given it is 0.5, by
        entropy 4.
    criterion : {"gini", "entropy"}, default "gini"
        Whether splits are chosen by half the squared error or by log loss; without a penalty, by
        the Gini index or by information gain. Distributions are by log loss either way, and above
        zero everywhere unless the penalty is 0.
    norm : {"l1", "linf"}, default "l1"
        Whether branches terminate separately ("l1") or both branches of a node together ("linf").
    form : {"vector", "scalar"}, default "vector"
        The penalty of two labels, which is the larger entry of the vector alpha or the scalar alpha
        of log-odds. The scalar is the difference of the two entries, so a penalty counts twice.
        "scalar" is for two labels only.
    categorical : list of int or None, default None
        Features whose values are categories, as whole numbers from 0 with at most ``max_bins - 1``
        values above 0. A split at such a feature has a branch for every value in its node,
        including NaN. For any other value the prediction is the node's distribution.
    split_terminated : bool, default True
        Whether a terminated branch may be split further if a split gains enough. Otherwise it is a
        leaf, as in the abstract.
    max_bins : int in [3, 255], default 255
        Maximum number of bins of a feature.
    n_jobs : int or None, default None
        Number of threads that search for splits, where -1 is all cores. It does not change the
        tree.
    random_state : int, RandomState or None, default 0
        Seed of the rows that ``penalty="auto"`` holds out.
    class_weight : "balanced", dict or None, default None
        Weights of labels, by which the weights of their rows are multiplied. "balanced" gives all
        labels the same total weight (`fit` only). A dict maps labels to weights, which are 1 for
        labels that it lacks.

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
    model_: SelfTerminatingTreeModel = field(init=False)

    penalty: Any = Default.penalty
    weight_power: float | str = Default.weight_power
    min_gain: float | str = Default.min_gain
    criterion: CriterionName = Default.criterion
    norm: NormName = Default.norm
    form: FormName = Default.form
    categorical: Any = Default.categorical
    split_terminated: bool = Default.split_terminated
    max_bins: int = Default.max_bins
    n_jobs: int | None = Default.n_jobs
    random_state: Any = Default.random_state
    class_weight: LabelWeights = Default.class_weight

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Grow the tree, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
            NaN is a missing value, which each split sends to the better side.
        y : labels of shape (n_rows,), or a matrix (dense or sparse) of shape (n_rows, n_labels)
            The rows of a matrix are distributions.
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
            A row of weight 0 is as if it were not there.
        classes : labels of shape (n_labels,), optional
            Names of the columns of a matrix; by default 0, 1, ...

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> tree.predict([[0.0], [3.0]]).tolist()
        ['no', 'yes']
        """
        settings = self._settings()
        rows, targets, vocabulary = _check_fit(X, y, sample_weight, classes, settings.class_weight)
        return self._set_model(X, train_self_terminating(settings, rows, targets, vocabulary))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf, as a node's id, in which every row ends.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> tree.apply([[0.0], [3.0]]).tolist()
        [1, 2]
        """
        rows = self._check_rows(X)
        return self.model_.leaves(rows)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return the nodes every row passes, as a sparse indicator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        sparse csr_matrix of shape (n_rows, n_nodes)

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> tree.decision_path([[3.0]]).toarray().tolist()
        [[1, 0, 1]]
        """
        from scipy import sparse

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
        """Return the depth of the tree.

        Returns
        -------
        int

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> tree.get_depth()
        1
        """
        check_is_fitted(self, "model_")
        return int(self.model_.depths().max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> tree.get_n_leaves()
        2
        """
        check_is_fitted(self, "model_")
        return int((self.model_.core.left() < 0).sum())

    def export_text(
        self, feature_names: Sequence[str] | None = None, *, max_depth: int = 10
    ) -> str:
        """Return the tree as indented text, with each node's test and three most likely labels.

        Below a test ``yes`` comes first. Nodes deeper than ``max_depth`` are left out.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the features' numbers.
        max_depth : int, default 10

        Returns
        -------
        str

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> print(tree.export_text(["height"], max_depth=0))
        height <= 2.5: no 0.748, yes 0.252
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
        """Return the top of the tree as Graphviz DOT.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the features' numbers.
        max_nodes : int, default 200

        Returns
        -------
        str

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> tree.export_dot(["height"]).splitlines()[0]
        'digraph tree {'
        """
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
        """Draw the tree's top with matplotlib and return the axes.

        Boxes have the colour of their most likely label, paler for a lower probability, if
        matplotlib's cycle has enough colours for the labels.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the features' numbers.
        max_depth : int, default 3
        ax : matplotlib axes, optional
            The axes to draw into; by default the axes of a new figure.

        Returns
        -------
        the axes

        Examples
        --------
        >>> from labeltrees import SelfTerminatingTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
        >>> tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0).fit(X, y)
        >>> len(tree.plot(["height"]).texts)               # three nodes, two answers
        5
        """
        check_is_fitted(self, "model_")
        from labeltrees.estimators.drawing import draw_tree

        return draw_tree(self.model_, feature_names, max_depth=max_depth, ax=ax)

    @property
    def penalty_(self) -> float | list[float]:
        """The penalty used: one number, or one for each depth."""
        penalties: list[float] = self._learned().penalties
        return penalties[0] if len(set(penalties)) == 1 else penalties

    @property
    def weight_power_(self) -> float:
        """The weight power used."""
        return float(self._learned().weight_power)

    @property
    def min_gain_(self) -> float:
        """The least gain used."""
        return float(self._learned().min_gain)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each feature's share of the decrease of the penalised risk."""
        shares: NDArray[np.float64] = self._learned().importances()
        return shares

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _check_fit(
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    class_weight: LabelWeights,
) -> tuple[Rows, Targets, LabelVocabulary]:
    """Return rows of weight above zero, their targets and the labels, or raise."""
    if is_distributions(y):
        no_class_weight(class_weight)
        return _check_distributions(X, y, sample_weight, classes)
    if classes is not None:
        raise ArgumentError.of("classes", classes, "None where y has labels")
    rows, labels, weights = training_data(X, y, sample_weight, class_weight, missing=True)
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
