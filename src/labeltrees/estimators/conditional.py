"""The conditional probability tree as a scikit-learn estimator."""

from __future__ import annotations

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
    from labeltrees.models.conditional.pool import PooledTreesModel
    from labeltrees.models.conditional.refined import RefinedTreesModel
    from labeltrees.models.conditional.settings import Auto, BalanceName
    from labeltrees.models.conditional.structure import Structure
    from labeltrees.models.model import BeamLabels
    from labeltrees.models.online.scaling import ScaleName
    from labeltrees.models.online.settings import LossName, OptimizerName
    from labeltrees.models.settings import LabelWeights
    from labeltrees.tree import LabelTree

__all__ = ["ConditionalTreeClassifier"]


class ConditionalTreeClassifier(OnlineClassifier):
    """P(label given x) over very many labels, learned online, in time logarithmic in their number.

    A binary tree has the labels as leaves and a linear regressor at every inner node; a label's
    probability is the product of the regressors' answers along its path. Labels need not be known
    in advance: each new one is given a leaf by Algorithm 3 of Beygelzimer et al., "Conditional
    probability tree estimation analysis and algorithms" (UAI 2009). Then the tree's likeliest
    labels are *refined*: each label has a small regressor of its own, which is asked only where
    the label is a candidate. Probabilities get about as good as one-against-all's, and still cost
    O(log n_labels).

    By default `fit` sees that all data are there: it makes four refined "kmeans" trees (two from
    tables of more than 10,000 rows, one above 100,000 rows), at some thirty times the cost of one
    plain tree (docs/refinement.md). Columns of tables are standardised (``scale``).
    `partial_fit` grows one refined tree, at three to four times the cost of a plain one
    (``refine=0``). The paper's own algorithm is ``balance="labels", loss="squared",
    optimizer="sgd"``; with squared loss nothing is mixed or refined.

    Parameters
    ----------
    structure : name, nested lists or LabelTree, default "auto"
        A name is "auto", "online", "random", "balanced", "shuffled", "huffman" or "kmeans".
        Where labels have their leaves. "online", "random" and "balanced" say where a new label
        goes: by the paper's rule (5), by coin tosses, or to the side with fewer labels (rule (5)
        with alpha = 1). "shuffled" is a balanced tree over a random order of all labels, of depth
        ceil(log2 n_labels); it needs `fit`, or ``classes`` in the first `partial_fit`, and labels
        that come later go to the side with fewer labels. "huffman" (frequent labels are shallow)
        and "kmeans" (labels with similar rows are near) are built by `fit` from all its data.
        "auto" is "kmeans" for `fit` of refined trees, else "online". Nested lists such
        as ``[["cat", "dog"], "car"]`` are the tree itself; so is a `LabelTree`, whose leaves are
        positions in ``classes_``, as in ``tree_``. Labels that the tree does not have are added by
        rule (5).
    arity : int, a power of two, default 2
        Children of a node. More than 2 make it conditional PECOC: a node asks about ``arity - 1``
        regressors, an example about ``(arity - 1) log(n) / log(arity)``, and errors multiply over
        fewer levels; ``arity >= n_labels`` is PECOC. The tree is then fixed: `fit` builds it
        ("online": the binary tree of a first pass, levels joined; "random", "shuffled" and
        "balanced": over all labels at once), or the first `partial_fit` over its ``classes``. A
        given tree has its own arity.
    n_trees : int >= 1 or "auto", default "auto"
        Trees that `fit` learns, each with a seed of its own. Refined ("kmeans", "random" and
        "shuffled" only, whose structures differ by their seeds), candidates and probabilities are
        those of their arithmetic mean, at O(n_trees log n_labels) per question. With ``refine=0``
        it is their geometric mean, scaled to sum to 1: the scale needs all labels, so questions
        then cost O(n_trees n_labels) per row. `partial_fit` can only go on with several. "auto":
        see above.
    refine : int >= 0 or "auto", default "auto"
        How many labels of a row are refined: the likeliest that a beam of that width finds. All
        answers stay exact whatever the candidates. 0: none. "auto" is 4 for `partial_fit`, 8 for
        `fit` and 16 for `fit` of tables; 0 with squared loss, with more than two children per
        node, with less than 4 MiB of ``max_memory``, and for several trees that would be alike.
    alpha : float in [0, 1], default 0.6
        Weight of balance against the regressors' opinion in rule (5). 0 has no depth bound.
    balance : {"examples", "labels"}, default "examples"
        What rule (5) and "kmeans" balance. Examples make frequent labels shallow, so learning is
        about twice as fast; the depth bound of labels (Theorem 7) is kept by a guard in rule (5).
    loss : {"logistic", "squared"}, default "logistic"
        What the regressors minimise.
    optimizer : {"adagrad", "sgd"}, default "adagrad"
        Their steps: scaled per weight by past gradients, or plain.
    learning_rate : float > 0, default 1.0
        Size of the steps.
    mixing : bool, default True
        Whether each node's log-odds are mixed of its regressor's margin and the votes of feature
        counts, with weights learned over all nodes. Logistic loss only; costs a little time, and
        improves probabilities much.
    sharpness : float > 0 or "auto", default "auto"
        Factor of mixed log-odds. Nodes that are right on average multiply to paths that are too
        timid; a little more than 1 mends it ("auto" without refinement: 1.2). Experts mend it for
        candidates by themselves, and all other labels are better a little less sharp (0.9).
    n_passes : int >= 1 or "auto", default "auto"
        How often the trees of `fit` go over the data; experts choose by themselves. "auto" is 1,
        but for tables (see ``scale``) of fewer than 5,000 rows as often as makes 5,000, at most
        10. `partial_fit` goes once.
    shuffle : bool, default True
        Whether `fit` takes the rows of each pass in random order.
    scale : {"auto", "standard"} or None, default "auto"
        Whether columns are standardised to mean 0 and deviation 1, before rows are normalised:
        by the moments of all rows in `fit`, by those of the rows before each on a stream. "auto"
        does it for tables (up to 100 features, or at least a quarter of all entries not zero; of
        a stream the first row decides), not for sparse data such as text, and not with
        ``normalize=False``.
    normalize : bool, default True
        Whether rows are scaled to Euclidean length 1. The experts that `fit` makes scale all rows
        by one number instead, so that they have length 1 on average.
    bias : float >= 0, default 0.25
        Value of a constant feature added to every row; 0 for none.
    novelty : bool, default False
        Whether probability is kept for labels not seen yet: Good and Turing's N1 / N, the labels
        seen exactly once by the examples seen, whatever their weights (a row counts once, also
        in the passes of `fit`). All labels' probabilities are multiplied by what is left.
    max_memory : int or None, default None
        Most bytes that the tables of weights may take (a tree itself takes about 100 bytes a label
        beside them); experts get a quarter of it. When one is full, weights of features new to a
        node or a label are shared among them: the model gets worse, not larger. None: no limit.
    n_jobs : int or None, default None
        How many threads learn and answer; None is 1, -1 all cores. With more than one, rows are
        learned in batches of up to 1,024 whose new labels are placed first, one after the other:
        the model is not that of one thread, but about as good, and the same for any number of
        threads above one; depth and balance are bounded as for one. What
        `progressive_fit` foresees of a row then knows nothing of its batch's labels' places but
        its own, and candidates are those of the batch's start. Only ``arity=2`` uses them, and
        several refined trees only to answer.
    random_state : int, RandomState or None, default 0
        Seed of the shuffling and the coin tosses.
    class_weight : None, "balanced" or dict, default None
        What rows of each label weigh, besides their own weights: "balanced" gives all labels the
        same weight in sum (`fit` only), a dict names the weights of labels, 1 for those it lacks.
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
    model_: ConditionalTreeModel | PecocTreeModel | PooledTreesModel | RefinedTreesModel

    def __init__(
        self,
        *,
        structure: Structure = Default.structure,
        arity: int = Default.arity,
        n_trees: int | Auto = Default.n_trees,
        refine: int | Auto = Default.refine,
        alpha: float = Default.alpha,
        balance: BalanceName = Default.balance,
        loss: LossName = Default.loss,
        optimizer: OptimizerName = Default.optimizer,
        learning_rate: float = Default.learning_rate,
        mixing: bool = Default.mixing,
        sharpness: float | Auto = Default.sharpness,
        n_passes: int | Auto = Default.n_passes,
        shuffle: bool = Default.shuffle,
        scale: ScaleName | None = Default.scale,
        normalize: bool = Default.normalize,
        bias: float = Default.bias,
        novelty: bool = Default.novelty,
        max_memory: int | None = Default.max_memory,
        n_jobs: int | None = Default.n_jobs,
        random_state: Any = Default.random_state,
        class_weight: LabelWeights = Default.class_weight,
        verbose: int = Default.verbose,
    ) -> None:
        self.structure = structure
        self.arity = arity
        self.n_trees = n_trees
        self.refine = refine
        self.alpha = alpha
        self.balance = balance
        self.loss = loss
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.mixing = mixing
        self.sharpness = sharpness
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.scale = scale
        self.normalize = normalize
        self.bias = bias
        self.novelty = novelty
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.class_weight = class_weight
        self.verbose = verbose

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int = 10
    ) -> TopLabels:
        """Return the k likeliest labels of every row and their probabilities, likeliest first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5
        search : {"auto", "exact", "beam"}, default "auto"
            "exact", which is what "auto" means here, gives provably the top k. "beam" keeps the
            ``beam_width`` likeliest nodes of every level and may miss some; `beam_top_k` also says
            for which rows it cannot have.
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
        """Return the likeliest labels that a beam search finds, and which rows are provably exact.

        A row is certified if its k-th probability is at least that of every path given up; its
        answer is then that of `predict_top_k`. A beam as wide as the tree certifies every row.
        Single binary trees only.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5
        beam_width : int >= k, default 10
            How many inner nodes of each level are kept.

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
        """Return the label at which each row ends that always takes the likelier turn.

        One path per row, O(log n_labels); `predict` searches until it has proved the likeliest
        label, which may be another. Where both turns are equally likely it goes left. Single binary
        trees without refinement only. With ``structure="shuffled", mixing=False, refine=0`` it is
        the random tree (Rtree) that the LOMtree's paper compares itself with.

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
        """A copy of the tree as it is now."""
        return self._sorted_tree()

    @property
    def novelty_mass_(self) -> float:
        """The probability kept for labels not seen yet, as it is now."""
        return float(getattr(self._learned(), "novelty_mass", 0.0))

    def _start_on_all(
        self, settings: Default, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> Any:
        return start_on_all(settings, rows, labels, weights)

    def _start_on_stream(
        self, settings: Default, n_features: int, classes: ArrayLike | None
    ) -> Any:
        return start_on_stream(settings, n_features, classes)
