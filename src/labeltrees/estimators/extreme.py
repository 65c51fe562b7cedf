"""Extreme regression as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from labeltrees.data.readers.files import chunks_of
from labeltrees.data.rows import as_rows
from labeltrees.errors import ArgumentError, DataError
from labeltrees.estimators.several_labels import (
    RelevanceEstimator,
    form_of,
    raw_relevance_of,
    training_relevance,
)
from labeltrees.models.extreme.estimate import TrainingEstimate, estimate_training
from labeltrees.models.extreme.model import ExtremeModel
from labeltrees.models.extreme.settings import ExtremeSettings as Default
from labeltrees.models.extreme.settings import preset_settings
from labeltrees.models.extreme.spilling import rows_and_relevance, space_in
from labeltrees.models.extreme.training import train_extreme
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    ScoredLabels,
    ScoredRows,
    TopLabels,
    TopRows,
)

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from labeltrees.data.readers.vectorizers import Vectorizer
    from labeltrees.models.extreme.settings import (
        MissingName,
        NodeLossName,
        ObjectiveName,
        PresetName,
        RelevanceName,
        TailName,
    )
    from labeltrees.models.model import SearchName

__all__ = ["ExtremeRegressor"]


class ExtremeRegressor(RelevanceEstimator):
    """How relevant each of very many labels is to a row, by trees of labels: XReg, Parabel.

    Labels whose rows look alike share a subtree (balanced spherical k-means); a node has a linear
    regressor for each child; a label's relevance is the product of the answers on its path, the
    mean over ``n_trees`` trees. Prabhu et al., "Extreme regression for dynamic search advertising"
    (WSDM 2020). A row may have any number of labels, so **probabilities are those of each label by
    itself and do not sum to one**: P(label is relevant to the row at all), calibrated on rows that
    the trees have not learned. Labels are ranked by their expected relevance, which for graded or
    propensity-weighted relevance is another number (`predict_top_scores`, `predict_relevance`).

    The paper's own algorithm is ``ExtremeRegressor.preset("paper")``, that of the program which its
    authors released ``preset("release")``, Parabel ``preset("parabel")``.

    Parameters
    ----------
    n_trees : int >= 1, default 3
        Trees of the ensemble, each from another seed.
    arity : int in [2, 64], default 16
        Children of an inner node.
    max_leaf : int in [2, 256], default 100
        A node of at most so many labels has them all as its children.
    loss : {"logistic", "hinge"}, default "logistic"
        Logistic loss learns from graded relevance; squared hinge loss only from whether it is > 0.
    objective : {"sum", "mean"}, default "sum"
        What a regressor w of a node minimises. ``"sum"``: ``|w|^2 / 2`` plus the node's cost times
        the sum of its rows' weighted losses. ``"mean"``: ``|w|^2`` plus ``cost`` times their mean,
        which is the paper's equation 13.
    cost : float > 0 or None, default None
        What errors cost against the size of the weights, as C of liblinear. None is 3, and
        ``3 * (100_000 / n_rows) ** 0.3`` for more than 100,000 rows.
    cost_power : float in [0, 1], default 0.4
        A node of total weight s costs ``cost * (n_rows / s) ** cost_power``; of no use for
        ``objective="mean"``.
    inner_power : float in [0.01, 1], default 0.75
        The exponent of a regressor's answer for a child that is not a label. Errors on one path
        come together, so what the upper nodes say counts less than once.
    relevance : None, "propensity" or "binary", default None
        ``"propensity"`` divides relevance by the labels' propensities first, so that rare labels
        count; ``"binary"`` makes each relevance above 0 one, as classifiers have it.
    propensity_a : float >= 0, default 0.55
        The constant A of propensities, as of `metrics.propensities`: 0.5 for Wikipedia, 0.6 for
        Amazon.
    propensity_b : float > 0, default 1.5
        Their constant B: 0.4 for Wikipedia, 2.6 for Amazon.
    tail : None, "xreg" or "pfastrexml", default None
        Whether labels are ranked with a tail classifier. Probabilities are never changed by it.
    tail_weight : float in [0, 1], default 0.5
        The exponent of the tree's value; the tail classifier's is 1 less it.
    beam_width : int >= 1 or None, default None
        Nodes kept of every level in a beam search. None is 10, and 6 in each of three or more
        trees, which find what the others miss.
    missing : {"fill", "zero"}, default "fill"
        What a tree says of a label that its search did not meet and another tree's did: it is
        asked, or it counts as 0, which is faster and tells less. ``"zero"`` is for `predict_top_k`
        by beam and `top_rows` without ``exact``; other questions ask every tree.
    threshold : float in (0, 1], default 0.5
        `predict` names the labels whose probability is at least this, unless rows have one each.
    calibrate : bool, default True
        Whether probabilities are calibrated.
    max_epochs : int >= 1, default 12
        Passes of the solver over a node's rows at most.
    tolerance : float >= 0, default 0.001
        It stops at a duality gap of this share of the objective of zero weights.
    min_weight : float >= 0, default 0.15
        Smaller weights are dropped.
    min_weight_share : float in [0, 1], default 0.0
        And those that are smaller than this share of the largest weight of their regressor.
    n_jobs : int or None, default None
        Threads for training and asking; None is 1, -1 all cores. The model is the same.
    max_memory : int or None, default None
        Bytes that training may take besides the data given; fewer threads are used and smaller
        weights dropped to stay below, and `TooLargeError` is raised where that is not enough.
    random_state : int, RandomState or None, default 0
        Seed of the first centres and of the order of rows.
    warm_start : bool, default False
        Whether `fit` keeps the trees of the fit before, of the same data and parameters, and grows
        only the further ones that a larger ``n_trees`` asks for. The model is the same as if all
        were grown at once. Needs an integer ``random_state`` and no ``max_memory``.
    verbose : int >= 0 or bool, default 0
        Whether `fit` shows a progress bar, if there is a terminal.

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
        n_trees: int = Default.n_trees,
        arity: int = Default.arity,
        max_leaf: int = Default.max_leaf,
        loss: NodeLossName = Default.loss,
        objective: ObjectiveName = Default.objective,
        cost: float | None = Default.cost,
        cost_power: float = Default.cost_power,
        inner_power: float = Default.inner_power,
        relevance: RelevanceName | None = Default.relevance,
        propensity_a: float = Default.propensity_a,
        propensity_b: float = Default.propensity_b,
        tail: TailName | None = Default.tail,
        tail_weight: float = Default.tail_weight,
        beam_width: int | None = Default.beam_width,
        missing: MissingName = Default.missing,
        threshold: float = Default.threshold,
        calibrate: bool = Default.calibrate,
        max_epochs: int = Default.max_epochs,
        tolerance: float = Default.tolerance,
        min_weight: float = Default.min_weight,
        min_weight_share: float = Default.min_weight_share,
        n_jobs: int | None = Default.n_jobs,
        max_memory: int | None = Default.max_memory,
        random_state: Any = Default.random_state,
        warm_start: bool = Default.warm_start,
        verbose: int = Default.verbose,
    ) -> None:
        self.n_trees = n_trees
        self.arity = arity
        self.max_leaf = max_leaf
        self.loss = loss
        self.objective = objective
        self.cost = cost
        self.cost_power = cost_power
        self.inner_power = inner_power
        self.relevance = relevance
        self.propensity_a = propensity_a
        self.propensity_b = propensity_b
        self.tail = tail
        self.tail_weight = tail_weight
        self.beam_width = beam_width
        self.missing = missing
        self.threshold = threshold
        self.calibrate = calibrate
        self.max_epochs = max_epochs
        self.tolerance = tolerance
        self.min_weight = min_weight
        self.min_weight_share = min_weight_share
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @classmethod
    def preset(cls, name: PresetName, **parameters: Any) -> Self:
        """Return an estimator with the parameters of a paper or of a program.

        Parameters
        ----------
        name : {"paper", "release", "parabel"}
            ``"paper"``: XReg as the paper has it, equation 13 solved to its optimum with C = 10.
            ``"release"``: XReg as its authors' program has it: ``|w|^2 / 2`` plus C N / sum(s)
            times the losses, 20 passes, weights up to a twentieth of their regressor's largest
            dropped, a tree's missing labels 0. ``"parabel"``: squared hinge loss of binary
            relevance, C = 1, weights up to 0.1 dropped. All have three binary trees with leaves of
            100 labels, searched with a beam of 10, and nothing is calibrated.
        **parameters
            Other values for parameters of the estimator.

        Returns
        -------
        ExtremeRegressor

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> model = ExtremeRegressor.preset("paper", n_trees=1)
        >>> model.arity, model.objective, model.n_trees
        (2, 'mean', 1)
        """
        return cls(**(preset_settings(name) | parameters))

    def fit(self, X: Any, y: Any, *, classes: ArrayLike | None = None) -> Self:
        """Learn, from scratch unless ``warm_start`` is set, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, dicts or labels
            A matrix of relevance >= 0 (dense or sparse), a list of labels for every row, a dict of
            labels and relevance for every row, or one label per row. Rows without a label count as
            examples of none.
        classes : labels of shape (n_labels,), optional
            Names the columns of a matrix; else they are 0, 1, ...

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.classes_.tolist()
        ['rain', 'sun']
        """
        settings = self._settings()
        rows, relevance = training_relevance(X, y, classes)
        start = self.__dict__.get("model_") if settings.warm_start else None
        model = train_extreme(rows, relevance, settings, start=start)
        model.form = form_of(y)
        return self._set_model(X, model)

    def fit_files(
        self,
        files: Any,
        *,
        vectorizer: Vectorizer | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Self:
        r"""Learn from files that may be larger than memory, and return the estimator.

        Rows are gathered in files that are mapped into memory, so the system keeps as much of them
        there as it has room for. What stays in memory is the model, about 300 bytes a row and 60 a
        label of a row. The model is that of `fit` on the same rows, to the last bit.

        Parameters
        ----------
        files : path, list of paths, or iterator of chunks
            Files with labels in any format the library reads, all read as the first one looks, or
            what a reader of `labeltrees.data.readers` returns. They are read once.
        vectorizer : object with a ``transform`` method, optional
            Makes features of texts; None: hashed words and pairs.
        folder : path, optional
            Where there is room on a disk for three times the rows: 8 bytes for each feature of a
            row. None: the system's folder for temporary files, which may be in memory. The files
            have no names and are gone with the process. `NoSpaceError` if the disk gets full,
            `ArgumentError` on Windows, where rows cannot be kept in files.

        Returns
        -------
        the estimator

        Examples
        --------
        >>> import pathlib
        >>> from labeltrees import ExtremeRegressor
        >>> lines = "4 0:1\n2 1:1\n2,4 0:1 1:1\n" * 50
        >>> _ = pathlib.Path("weather.svm").write_text(lines)
        >>> model = ExtremeRegressor(n_trees=1).fit_files(["weather.svm"])
        >>> model.predict([[1, 0], [0, 1]]).tolist()
        [[4], [2]]
        """
        settings = self._settings()
        if settings.warm_start:
            raise ArgumentError.of("warm_start", True, "False where files are learned from")
        with space_in(folder) as space:
            rows, relevance = rows_and_relevance(chunks_of(files, vectorizer), space)
            model = train_extreme(rows, relevance.scaled(), settings, folder=space)
        self.model_ = model
        self.n_features_in_ = model.n_features
        return self

    def estimate_training(self, X: Any, y: Any, *, n_rows: int) -> TrainingEstimate:
        """Return what `fit` would take on ``n_rows`` rows, from a sample of them.

        Up to three trees are trained on a quarter, on half and on all of the sample, again and
        again for some two seconds in all where that is quick. The larger the sample, the better: of
        a quarter of the rows see docs/dask.md.

        Parameters
        ----------
        X : matrix of shape (n_sampled, n_features), sparse or dense
            At least 100 rows, drawn at random from all.
        y : matrix, lists, dicts or labels
            Their labels, as for `fit`.
        n_rows : int >= n_sampled
            How many rows there are in all.

        Returns
        -------
        TrainingEstimate
            ``seconds`` of one thread, ``memory_bytes`` besides the data given, ``model_bytes``.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> found = ExtremeRegressor(n_trees=1).estimate_training(X, y, n_rows=1_000_000)
        >>> found.model_bytes < found.memory_bytes
        True
        """
        rows, relevance = as_rows(X), raw_relevance_of(y, None)
        n_labelled = len(relevance.starts) - 1
        if n_labelled != rows.n_rows:
            raise DataError(f"y has {n_labelled} rows for the {rows.n_rows} rows of X.")
        return estimate_training(rows, relevance, n_rows, self._settings())

    def predict_top_k(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> TopLabels:
        """Return the k best labels of every row and their probabilities, best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        k : int in [1, n_labels], default 5
        search : {"auto", "exact", "beam"}, default "auto"
            "beam", which is what "auto" means here, keeps the ``beam_width`` likeliest nodes of
            every level and may miss some; "exact" gives provably the top k. With ``tail`` the
            beam's 100 best labels, or k if that is more, are ranked anew.
        beam_width : int >= 1, optional
            By default that of the estimator.

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k). The order is that of
            `predict_top_scores`: where relevance is graded or weighted by propensity, or with
            ``tail``, it need not be that of the probabilities.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.predict_top_k([[1, 0]], 2).labels.tolist()
        [['sun', 'rain']]
        """
        rows = self._check_rows(X)
        top: TopLabels = self.model_.top_labels(rows, k, search=search, beam_width=beam_width)
        return top

    def predict_top_scores(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> ScoredLabels:
        """Return the k best labels of every row and the scores that rank them, best first.

        A score is the expected relevance, or with ``tail`` what the tail classifier makes of it. It
        is a probability only where relevance is not graded or weighted, without ``tail``.

        Parameters
        ----------
        X, k, search, beam_width
            As for `predict_top_k`.

        Returns
        -------
        ScoredLabels
            ``labels`` and ``scores``, both of shape (n_rows, k).

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.predict_top_scores([[1, 0]], 1).labels.tolist()
        [['sun']]
        """
        rows = self._check_rows(X)
        return self.model_.top_scores(rows, k, search=search, beam_width=beam_width)

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

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        labels : array of labels, optional
            By default all of ``classes_``.
        k : int in [1, n_rows], default 5
        exact : bool, default False
            Whether the k best rows are found provably. Otherwise Algorithm 1 of the paper's
            supplement is followed.
        factor : float > 0, default 4
            A node is asked about ``factor`` times the share of rows that reached it in training,
            but at least k rows, of several trees k + 10: the paper has no such floor, without which
            labels that few rows had would be asked about fewer rows than are wanted. With ``tail``
            k is at least 100 here.
        max_bytes : int, default 2^32
            An answer larger than this raises `TooLargeError`.

        Returns
        -------
        TopRows
            ``rows`` and ``probabilities``, both of shape (len(labels), k). Rows are ranked by
            expected relevance, by the logarithm of its odds, which tells more apart than numbers
            near 1 do; of equals, the first. With ``tail`` the 100 best rows of each label, or k if
            that is more, are ranked by the tail classifier's score, all rows if ``exact``. Row -1
            where there is none.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.top_rows([[0, 1], [1, 1], [1, 0]], ["sun", "rain"], 2).rows.tolist()
        [[2, 1], [0, 1]]
        """
        rows = self._check_rows(X)
        best: TopRows = self.model_.top_rows(
            rows, labels, k, exact=exact, factor=factor, max_bytes=max_bytes
        )
        return best

    def top_row_scores(
        self,
        X: Any,
        labels: ArrayLike | None = None,
        k: int = 5,
        *,
        exact: bool = False,
        factor: float = 4.0,
        max_bytes: int = MAX_DENSE_BYTES,
    ) -> ScoredRows:
        """Return the rows that `top_rows` returns, and the scores that rank them.

        A score is the expected relevance, or with ``tail`` what the tail classifier makes of it.

        Parameters
        ----------
        X, labels, k, exact, factor, max_bytes
            As for `top_rows`.

        Returns
        -------
        ScoredRows
            ``rows`` and ``scores``, both of shape (len(labels), k).

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, stars = [[1, 0], [0, 1]] * 100, [{"ann": 5, "bob": 1}, {"ann": 2}] * 100
        >>> model = ExtremeRegressor(n_trees=1).fit(X, stars)
        >>> rows, scores = model.top_row_scores([[0, 1], [1, 0]], ["ann"], 2)
        >>> rows.tolist(), scores.round().tolist()
        ([[1, 0]], [[5.0, 2.0]])
        """
        rows = self._check_rows(X)
        return self.model_.top_row_scores(
            rows, labels, k, exact=exact, factor=factor, max_bytes=max_bytes
        )
