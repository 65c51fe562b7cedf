"""The questions that only a tree of node regressors answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from labeltrees.errors import ArgumentError
from labeltrees.estimators.contract import LabelClassifier
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.model import MAX_DENSE_BYTES, BeamLabels, TopLabels, TopRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.models.conditional.pecoc import PecocTreeModel
    from labeltrees.models.conditional.pool import PooledTreesModel
    from labeltrees.models.explanation import Explanation

__all__ = ["TreeQueries", "one_row", "uniforms_of"]


class TreeQueries(LabelClassifier):
    """A classifier around a `ConditionalTreeModel`, with all questions a tree can answer."""

    model_: ConditionalTreeModel | PecocTreeModel | PooledTreesModel

    def _binary_model(self) -> ConditionalTreeModel:
        """Return the model, or say that only binary trees answer this."""
        check_is_fitted(self, "model_")
        if not isinstance(self.model_, ConditionalTreeModel):
            raise ArgumentError(
                "this question is answered by single binary trees only: learn with n_trees=1, "
                "arity=2 and a structure of two children a node."
            )
        return self.model_

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: str = "exact", beam_width: int = 10
    ) -> TopLabels:
        """Return the k likeliest labels of every row and their probabilities, likeliest first.

        ``search="exact"`` gives provably the top k. ``search="beam"`` keeps the ``beam_width``
        (at least k) likeliest nodes of every level and may miss some; `beam_top_k` also says for
        which rows it cannot have.
        """
        if search == "exact":
            return super().predict_top_k(X, k)
        if search != "beam":
            raise ArgumentError.of("search", search, "exact or beam")
        found = self.beam_top_k(X, k, beam_width=beam_width)
        return TopLabels(found.labels, found.probabilities)

    def beam_top_k(self, X: Any, k: int = 5, *, beam_width: int = 10) -> BeamLabels:
        """Return the likeliest labels that a beam search finds, and which rows are provably exact.

        A row is certified if its k-th probability is at least that of every path given up; its
        answer is then that of `predict_top_k`. A beam as wide as the tree certifies every row.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]] * 20
        >>> model = ConditionalTreeClassifier().fit(X, ["sun", "rain", "snow", "rainbow"] * 20)
        >>> labels, p, certified = model.beam_top_k([[1, 1, 0]], 1, beam_width=1)
        >>> labels.tolist(), certified.tolist()
        ([['rainbow']], [True])
        """
        rows = self._check_rows(X)
        return self._binary_model().beam_labels(rows, k, beam_width=beam_width)

    def predict_above(
        self, X: Any, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, as a sparse (n_rows, n_labels) array.

        Columns are as in ``classes_``. The threshold is in (0, 1], so a row has at most
        1 / threshold labels; the cost depends on how many there are, not on ``n_labels``. An
        answer larger than ``max_bytes`` raises `TooLargeError`.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> likely = model.predict_above([[1, 0], [1, 1]], 0.4)
        >>> [model.classes_[likely[[row]].indices].tolist() for row in range(2)]
        [['sun'], ['rain', 'sun']]
        """
        rows = self._check_rows(X)
        return self._binary_model().labels_above(rows, threshold, max_bytes=max_bytes)

    def top_rows(
        self, X: Any, labels: ArrayLike, k: int = 5, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows that give each label its largest probabilities, likeliest first.

        Both arrays have shape (n_labels, k); of rows that give the same, the first. Nodes above
        several of the labels are asked once a row. An answer larger than ``max_bytes`` raises
        `TooLargeError`.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.top_rows([[0, 1], [1, 1], [1, 0]], ["sun", "rain"], 2).rows.tolist()
        [[2, 1], [0, 1]]
        """
        rows = self._check_rows(X)
        return self._binary_model().top_rows(rows, labels, k, max_bytes=max_bytes)

    def sample(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Return one label a row, drawn with its probability given the row. O(depth) each.

        ``random_state`` is None, a seed, or a NumPy generator. Each row takes one number of the
        generator, so pieces of a matrix asked in turn with one generator give the same draws as
        the whole. With ``novelty`` the draw is among the labels that were seen.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.sample([[1, 1]] * 4, random_state=0)
        array(['sun', 'rain', 'rain', 'rain'], dtype=object)
        """
        rows = self._check_rows(X)
        return self._binary_model().sample(rows, uniforms_of(random_state, rows.n_rows))

    def explain(
        self,
        x: Any,
        label: int | str,
        *,
        n_features: int = 10,
        feature_names: Sequence[str] | None = None,
    ) -> Explanation:
        """Return why a row gives a label its probability: the path, and what spoke at each turn.

        ``x`` is one row, of one or two dimensions. Of each node the ``n_features`` strongest
        features are listed, by their column or name; names are those given, else those of the
        data frame learned from.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> reason = model.explain([1, 0], "sun", feature_names=["light", "drops"])
        >>> [c.feature for c in reason.steps[0].contributions]
        ['light']
        """
        rows = self._check_rows(one_row(x))
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        return self._binary_model().explain(
            rows, label, n_features=n_features, feature_names=feature_names
        )


def uniforms_of(random_state: Any, n_rows: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for every row, from None, a seed or a generator."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.random_sample(n_rows)
    if isinstance(random_state, np.random.Generator):
        return random_state.random(n_rows)
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is not None and not (is_seed and random_state >= 0):
        raise ArgumentError.of(
            "random_state", random_state, "None, an integer >= 0, a Generator or a RandomState"
        )
    return np.random.default_rng(random_state).random(n_rows)


def one_row(x: Any) -> Any:
    """Return x as a matrix of one row if it has one dimension."""
    if sparse.issparse(x):
        return x.reshape(1, -1) if x.ndim == 1 else x
    if getattr(x, "ndim", None) == 2:  # as it is: a data frame has names to be checked
        return x
    array = np.asarray(x)
    return array.reshape(1, -1) if array.ndim == 1 else array
