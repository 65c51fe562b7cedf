"""The conditional probability tree as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from sklearn.utils.validation import check_is_fitted

from labeltrees import checks
from labeltrees.estimators.contract import where_model
from labeltrees.estimators.online import OnlineClassifier
from labeltrees.models.capabilities import BeamSearch, Descends, demand
from labeltrees.models.conditional.model import ConditionalTreeModel
from labeltrees.models.conditional.settings import ConditionalSettings as Default
from labeltrees.models.conditional.start import start_on_all, start_on_stream
from labeltrees.models.model import SearchName, TopLabels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.conditional.pecoc import PecocTreeModel
    from labeltrees.models.conditional.settings import Auto, BalanceName
    from labeltrees.models.conditional.several_trees import PooledTreesModel, RefinedTreesModel
    from labeltrees.models.conditional.structure import Structure
    from labeltrees.models.model import BeamLabels
    from labeltrees.models.online.scaling import ScaleName
    from labeltrees.models.online.settings import LossName, OptimizerName
    from labeltrees.models.settings import LabelWeights
    from labeltrees.tree import LabelTree


@dataclass(kw_only=True, eq=False, repr=False)
class ConditionalTreeClassifier(OnlineClassifier):
    """P(label given x) over very many labels, learned online, in time logarithmic in their number.

    A binary tree has the labels as leaves and a linear regressor at every inner node. A label's
    probability is the product of the regressors' predictions along its path. You need not know
    labels in advance, because Algorithm 3 of Beygelzimer et al., "Conditional probability tree
    estimation analysis and algorithms" (UAI 2009), gives each new label a leaf. The tree's most
    likely labels are then *refined*. Each label has a separate small regressor, a reranker, which
    is used only where the label is a candidate. Probabilities are then about as good as with
    one-against-all, and still cost O(log n_labels).

    By default `fit` uses that it has all data, and trains four refined "kmeans" trees (two from
    tables of more than 10,000 rows, one above 100,000 rows), at about thirty times the cost of one
    plain tree (docs/conditional.md). Columns of tables are standardised (``scale``).
    `partial_fit` grows one refined tree, at three to four times the cost of a plain one
    (``refine=0``). The paper's own algorithm is ``balance="labels", loss="squared",
    optimizer="sgd"``; with squared loss nothing is mixed or refined.

    Parameters
    ----------
    structure : name, nested lists or LabelTree, default "auto"
        The places of labels in the tree. A name is "auto", "online", "random", "balanced",
        "shuffled", "huffman" or "kmeans". A new label goes where the paper's rule (5) puts it
        ("online"), where coin tosses put it ("random"), or to the side with fewer labels
        ("balanced", which is rule (5) with alpha = 1). "shuffled" is a balanced tree over a random
        order of all labels, of depth ceil(log2 n_labels); it needs `fit`, or ``classes`` in the
        first `partial_fit`, and later labels go to the side with fewer labels. "huffman" (frequent
        labels are shallow) and "kmeans" (labels with similar rows are near) are built by `fit` from
        all its data. "auto" is "kmeans" for `fit` of refined trees, else "online". You can also
        pass a tree, either as nested lists such as ``[["cat", "dog"], "car"]`` or as a `LabelTree`,
        whose leaves are positions in ``classes_`` as in ``tree_``. Rule (5) adds labels that the
        tree does not have.
    arity : int, a power of two, default 2
        Number of children of a node. More than 2 is conditional PECOC. A node then evaluates
        ``arity - 1`` regressors, a row about ``(arity - 1) log(n) / log(arity)``, and errors
        multiply over fewer levels. ``arity >= n_labels`` is PECOC. The tree is then fixed. `fit`
        builds it ("online" joins levels of the binary tree of a first pass; "random", "shuffled"
        and "balanced" build it over all labels at once), or the first `partial_fit` builds it over
        its ``classes``. If you pass a tree, it has its own arity.
    n_trees : int >= 1 or "auto", default "auto"
        Number of trees that `fit` trains, each with another seed. Refined trees must be "kmeans",
        "random" or "shuffled", whose structures differ by their seeds. Their arithmetic mean gives
        candidates and probabilities, at O(n_trees log n_labels) per prediction. ``refine=0`` uses
        the geometric mean, scaled to sum to 1. The scale needs all labels, so predictions then cost
        O(n_trees n_labels) per row. `partial_fit` cannot start several trees, but it updates them.
        For "auto" see above.
    refine : int >= 0 or "auto", default "auto"
        Number of labels of a row that are refined, which are the most likely labels that a beam of
        this width finds. Predictions stay exact for any candidates. 0 refines no label. "auto" is 4
        for `partial_fit`, 8 for `fit` and 16 for `fit` of tables. It is 0 with squared loss, with
        more than two children per node, with less than 4 MiB of ``max_memory``, and for several
        trees that would have the same structure.
    alpha : float in [0, 1], default 0.6
        Weight of balance against the regressors' predictions in rule (5). 0 has no depth bound.
    balance : {"examples", "labels"}, default "examples"
        Whether rule (5) and "kmeans" balance examples or labels. Examples make frequent labels
        shallow, so learning is about twice as fast; the depth bound of labels (Theorem 7) is kept
        by a guard in rule (5).
    loss : {"logistic", "squared"}, default "logistic"
        The loss that the regressors minimise.
    optimizer : {"adagrad", "sgd"}, default "adagrad"
        The steps of the regressors, which are scaled by past gradients of each weight, or plain.
    learning_rate : float > 0, default 1.0
        Size of the steps.
    mixing : bool, default True
        Whether each node's log-odds are mixed from its regressor's margin and the votes of feature
        counts, with weights learned over all nodes. It needs logistic loss, takes little time, and
        improves probabilities much.
    sharpness : float > 0 or "auto", default "auto"
        Factor of mixed log-odds. Products of calibrated nodes are underconfident paths. A factor a
        little above 1 corrects this, and "auto" is 1.2 without refinement. Rerankers correct it for
        candidates, and all other labels are better with a factor a little below 1 (0.9).
    n_passes : int >= 1 or "auto", default "auto"
        Number of passes of the trees over the data in `fit`; rerankers choose their own number.
        "auto" is 1, and for tables (see ``scale``) of fewer than 5,000 rows enough passes for 5,000
        rows, at most 10. `partial_fit` makes one pass.
    shuffle : bool, default True
        Whether `fit` takes the rows of each pass in random order.
    scale : {"auto", "standard"} or None, default "auto"
        Whether columns are standardised to mean 0 and deviation 1 before rows are normalised.
        `fit` uses the moments of all rows, a stream the moments of all earlier rows. "auto"
        standardises tables (up to 100 features, or at least a quarter of all entries not zero;
        the first row of a stream decides), but not sparse data such as text, and not with
        ``normalize=False``.
    normalize : bool, default True
        Whether rows are scaled to Euclidean length 1. The rerankers of `fit` scale all rows by one
        number instead, so that rows have length 1 on average.
    bias : float >= 0, default 0.25
        Value of a constant feature added to every row; 0 for none.
    novelty : bool, default False
        Whether probability is reserved for unseen labels. It is Good and Turing's N1 / N, the
        number of labels seen exactly once divided by the number of examples. Weights do not count,
        and a row counts once in all passes of `fit`. The probabilities of all labels are multiplied
        by the rest.
    max_memory : int or None, default None
        Maximum number of bytes of the tables of weights, of which rerankers get a quarter; by
        default there is no limit. A tree itself takes about 100 bytes a label in addition. When a
        table is full, features that are new to a node or a label share weights, so the model gets
        worse but not larger.
    n_jobs : int or None, default None
        Number of threads, where None is 1 and -1 all cores. With several threads, rows are learned
        in batches of up to 1,024 rows, after the new labels of a batch have got their leaves one by
        one. The model differs from the model of one thread, but is about as good and has the same
        bounds of depth and balance. It is the same for any number of threads above one. The
        prediction of `progressive_fit` for a row then does not depend on the new labels of other
        rows in its batch, and candidates are from the start of the batch. Only ``arity=2`` uses
        several threads, and several refined trees use them only to predict.
    random_state : int, RandomState or None, default 0
        Seed of the shuffling and the coin tosses.
    class_weight : "balanced", dict or None, default None
        Weights of labels, by which the weights of their rows are multiplied. "balanced" gives all
        labels the same total weight (`fit` only). A dict maps labels to weights, which are 1 for
        labels that it lacks.
    verbose : int >= 0 or bool, default 0
        Whether `fit` shows a progress bar, if there is a terminal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels learned or announced, sorted, by column of `predict_proba`.
    tree_ : LabelTree
        The tree, over indices into ``classes_``; the first of several.
    model_ : RefinedTreesModel, ConditionalTreeModel, PecocTreeModel or PooledTreesModel
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
    model_: ConditionalTreeModel | PecocTreeModel | PooledTreesModel | RefinedTreesModel = field(
        init=False
    )

    structure: Structure = Default.structure
    arity: int = Default.arity
    n_trees: int | Auto = Default.n_trees
    refine: int | Auto = Default.refine
    alpha: float = Default.alpha
    balance: BalanceName = Default.balance
    loss: LossName = Default.loss
    optimizer: OptimizerName = Default.optimizer
    learning_rate: float = Default.learning_rate
    mixing: bool = Default.mixing
    sharpness: float | Auto = Default.sharpness
    n_passes: int | Auto = Default.n_passes
    shuffle: bool = Default.shuffle
    scale: ScaleName | None = Default.scale
    normalize: bool = Default.normalize
    bias: float = Default.bias
    novelty: bool = Default.novelty
    max_memory: int | None = Default.max_memory
    n_jobs: int | None = Default.n_jobs
    random_state: Any = Default.random_state
    class_weight: LabelWeights = Default.class_weight
    verbose: int = Default.verbose

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int = 10
    ) -> TopLabels:
        """Return the k most likely labels of every row and their probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5
        search : {"auto", "exact", "beam"}, default "auto"
            "exact" (and "auto") returns provably the top k. "beam" keeps the ``beam_width`` most
            likely nodes of every level and may miss some labels. `beam_top_k` also reports the rows
            for which it has missed none.
        beam_width : int >= k, default 10

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k).

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.predict_top_k([[1, 0]], 2, search="exact").labels.tolist()
        [['sun', 'rain']]
        """
        if checks.choice("search", search, get_args(SearchName)) != "beam":
            return super().predict_top_k(X, k)
        check_is_fitted(self, "model_")
        demand(self.model_, BeamSearch, 'search="beam"')
        found = self.beam_top_k(X, k, beam_width=beam_width)
        return TopLabels(found.labels, found.probabilities)

    @where_model(BeamSearch)
    def beam_top_k(self, X: Any, k: int = 5, *, beam_width: int = 10) -> BeamLabels:
        """Return the most likely labels that a beam search finds, and the provably exact rows.

        A row is certified if no abandoned path has a larger probability than its k-th label. Its
        result is then the result of `predict_top_k`. A beam as wide as the tree certifies every
        row. The method exists for single binary trees only.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5
        beam_width : int >= k, default 10
            Number of inner nodes to keep at each level.

        Returns
        -------
        BeamLabels
            ``labels`` and ``probabilities`` of shape (n_rows, k), ``certified`` of shape (n_rows,).

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
        assert isinstance(self.model_, BeamSearch)
        return self.model_.beam_labels(rows, k, beam_width=beam_width)

    @where_model(Descends)
    def predict_greedy(self, X: Any) -> NDArray[Any]:
        """Return the label at the end of the path that follows the more likely child at every node.

        This takes one path per row, O(log n_labels). `predict` searches until it has proved the
        most likely label, which may be another one. Of equally likely children the left one is
        taken. The method exists for single binary trees without refinement only. With
        ``structure="shuffled", mixing=False, refine=0`` it is the random tree (Rtree) of the
        comparison in the LOMtree paper.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> rtree = ConditionalTreeClassifier(structure="shuffled", mixing=False, refine=0)
        >>> rtree = rtree.fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> rtree.predict_greedy([[1, 0], [0, 1]]).tolist()
        ['sun', 'rain']
        """
        rows = self._check_rows(X)
        assert isinstance(self.model_, ConditionalTreeModel)
        return self.model_.greedy_labels(rows)

    @property
    def tree_(self) -> LabelTree:
        """A copy of the current tree."""
        return self._sorted_tree()

    @property
    def novelty_mass_(self) -> float:
        """The probability that is currently reserved for unseen labels."""
        return float(getattr(self._learned(), "novelty_mass", 0.0))

    def _start_on_all(
        self, settings: Default, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> Any:
        return start_on_all(settings, rows, labels, weights)

    def _start_on_stream(
        self, settings: Default, n_features: int, classes: ArrayLike | None
    ) -> Any:
        return start_on_stream(settings, n_features, classes)
