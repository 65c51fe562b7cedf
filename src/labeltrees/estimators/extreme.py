"""Extreme regression as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(kw_only=True, eq=False, repr=False)
class ExtremeRegressor(RelevanceEstimator):
    """Predict the relevance of very many labels to a row by trees of labels (XReg and Parabel).

    Labels with similar rows share a subtree (balanced spherical k-means), and a node has a linear
    regressor for each child. A label's relevance is the product of the predictions on its path,
    averaged over ``n_trees`` trees. Prabhu et al., "Extreme regression for dynamic search
    advertising" (WSDM 2020). A row may have any number of labels, so **probabilities do not sum to
    one**. Each is P(label is relevant to the row at all), calibrated on rows that the trees have
    not learned. Labels are ranked by their expected relevance, which for graded or
    propensity-weighted relevance is another number (`predict_top_scores`, `predict_relevance`).

    ``ExtremeRegressor.preset("paper")`` is the algorithm of the paper, ``preset("release")`` the
    program that its authors released, and ``preset("parabel")`` is Parabel.

    Parameters
    ----------
    n_trees : int >= 1, default 3
        Number of trees, each with another seed.
    arity : int in [2, 64], default 16
        Number of children of an inner node.
    max_leaf : int in [2, 256], default 100
        Maximum number of labels of a node that has all its labels as children.
    loss : {"logistic", "hinge"}, default "logistic"
        Logistic loss uses graded relevance, squared hinge loss only whether it is above 0.
    objective : {"sum", "mean"}, default "sum"
        The objective that a regressor w of a node minimises. ``"sum"`` is ``|w|^2 / 2`` plus the
        node's cost times the sum of its rows' weighted losses. ``"mean"`` is ``|w|^2`` plus
        ``cost`` times their mean, which is equation 13 of the paper.
    cost : float > 0 or None, default None
        The cost of errors relative to the size of the weights, like C of liblinear. The default is
        3, and ``3 * (100_000 / n_rows) ** 0.3`` for more than 100,000 rows.
    cost_power : float in [0, 1], default 0.4
        A node of total weight s costs ``cost * (n_rows / s) ** cost_power``. It is not used for
        ``objective="mean"``.
    inner_power : float in [0.01, 1], default 0.75
        The exponent of a regressor's prediction for a child that is not a label. It is below 1,
        because errors on one path are correlated.
    relevance : "propensity", "binary" or None, default None
        ``"propensity"`` first divides relevance by the labels' propensities, so that rare labels
        count more. ``"binary"`` replaces each relevance above 0 by 1, as classifiers do.
    propensity_a : float >= 0, default 0.55
        The constant A of `metrics.propensities`, for example 0.5 for Wikipedia and 0.6 for Amazon.
    propensity_b : float > 0, default 1.5
        The constant B of propensities, for example 0.4 for Wikipedia and 2.6 for Amazon.
    tail : "xreg", "pfastrexml" or None, default None
        The tail classifier that ranks labels, if any. It does not change probabilities.
    tail_weight : float in [0, 1], default 0.5
        The exponent of the tree's value. The exponent of the tail classifier is 1 - tail_weight.
    beam_width : int >= 1 or None, default None
        Number of nodes to keep at each level in a beam search. The default is 10, or 6 for three or
        more trees, because each tree finds labels that others miss.
    missing : {"fill", "zero"}, default "fill"
        The value of a label in a tree whose search did not reach it, where the search of another
        tree did. ``"fill"`` computes it. ``"zero"`` uses 0, which is faster and less accurate, in
        `predict_top_k` by beam and in `top_rows` without ``exact``.
    threshold : float in (0, 1], default 0.5
        `predict` returns the labels with at least this probability, unless rows have one label.
    calibrate : bool, default True
        Whether probabilities are calibrated.
    max_epochs : int >= 1, default 12
        Maximum number of passes of the solver over a node's rows.
    tolerance : float >= 0, default 0.001
        The solver stops at a duality gap of this share of the objective of zero weights.
    min_weight : float >= 0, default 0.15
        Weights below this size are dropped.
    min_weight_share : float in [0, 1], default 0.0
        Weights below this share of the largest weight of their regressor are dropped as well.
    n_jobs : int or None, default None
        Number of threads for training and prediction, where -1 is all cores. The model does not
        depend on it.
    max_memory : int or None, default None
        Maximum number of bytes for training in addition to the data. To stay below it, fewer
        threads are used and small weights dropped. If that is not enough, `fit` raises
        `TooLargeError`.
    random_state : int, RandomState or None, default 0
        Seed of the first centres and of the order of rows.
    warm_start : bool, default False
        Whether `fit` keeps the trees of the previous fit with the same data and parameters, and
        trains only the additional trees of a larger ``n_trees``. The model is the same as if all
        trees were trained at once. It needs an integer ``random_state`` and no ``max_memory``.
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
    model_: ExtremeModel = field(init=False)

    n_trees: int = Default.n_trees
    arity: int = Default.arity
    max_leaf: int = Default.max_leaf
    loss: NodeLossName = Default.loss
    objective: ObjectiveName = Default.objective
    cost: float | None = Default.cost
    cost_power: float = Default.cost_power
    inner_power: float = Default.inner_power
    relevance: RelevanceName | None = Default.relevance
    propensity_a: float = Default.propensity_a
    propensity_b: float = Default.propensity_b
    tail: TailName | None = Default.tail
    tail_weight: float = Default.tail_weight
    beam_width: int | None = Default.beam_width
    missing: MissingName = Default.missing
    threshold: float = Default.threshold
    calibrate: bool = Default.calibrate
    max_epochs: int = Default.max_epochs
    tolerance: float = Default.tolerance
    min_weight: float = Default.min_weight
    min_weight_share: float = Default.min_weight_share
    n_jobs: int | None = Default.n_jobs
    max_memory: int | None = Default.max_memory
    random_state: Any = Default.random_state
    warm_start: bool = Default.warm_start
    verbose: int = Default.verbose

    @classmethod
    def preset(cls, name: PresetName, **parameters: Any) -> Self:
        """Return an estimator with the parameters of a paper or of a program.

        Parameters
        ----------
        name : {"paper", "release", "parabel"}
            ``"paper"`` is XReg as in the paper, with equation 13 solved to its optimum for C = 10.
            ``"release"`` is XReg as in its authors' program. It minimises ``|w|^2 / 2`` plus
            C N / sum(s) times the losses in 20 passes, drops weights up to a twentieth of their
            regressor's largest weight, and uses 0 for a tree's missing labels. ``"parabel"`` is
            squared hinge loss of binary relevance with C = 1, and drops weights up to 0.1. All have
            three binary trees with leaves of 100 labels, a beam of 10, and no calibration.
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
        """Train the model, from scratch unless ``warm_start`` is set, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : matrix, lists, dicts or labels
            A matrix of relevance >= 0 (dense or sparse), a list of labels for every row, a dict of
            labels and relevance for every row, or one label per row. Rows without a label are
            negative examples of all labels.
        classes : labels of shape (n_labels,), optional
            Names of the columns of a matrix; by default 0, 1, ...

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

        Rows are stored in files that are mapped into memory, so the system keeps as much of them in
        memory as it has room for. The model, about 300 bytes per row and 60 bytes per label of a
        row always stay in memory. The model is the same as with `fit` on the same rows, to the
        last bit.

        Parameters
        ----------
        files : path, list of paths, or iterator of chunks
            Files with labels in any format the library reads, or the result of a reader of
            `labeltrees.data.readers`. All files have the layout of the first one. They are read
            once.
        vectorizer : object with a ``transform`` method, optional
            Makes features of texts. By default words and pairs of words are hashed.
        folder : path, optional
            A folder on a disk with room for three times the rows, at 8 bytes for each feature of a
            row. The default is the system's folder for temporary files, which may be in memory. The
            files have no names and disappear with the process. A full disk raises `NoSpaceError`.
            Windows raises `ArgumentError`, because rows cannot be kept in files there.

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
            raise ArgumentError.of("warm_start", True, "False for training from files")
        with space_in(folder) as space:
            rows, relevance = rows_and_relevance(chunks_of(files, vectorizer), space)
            model = train_extreme(rows, relevance.scaled(), settings, folder=space)
        self.model_ = model
        self.n_features_in_ = model.n_features
        return self

    def estimate_training(self, X: Any, y: Any, *, n_rows: int) -> TrainingEstimate:
        """Estimate the time and memory of `fit` on ``n_rows`` rows from a sample of them.

        Up to three trees are trained on a quarter, on half and on all of the sample. Quick training
        is repeated for about two seconds in total. A larger sample gives a better estimate;
        docs/scale.md has results for a quarter of the rows.

        Parameters
        ----------
        X : matrix of shape (n_sampled, n_features), sparse or dense
            At least 100 rows, drawn at random from all rows.
        y : matrix, lists, dicts or labels
            Their labels, as for `fit`.
        n_rows : int >= n_sampled
            The number of all rows.

        Returns
        -------
        TrainingEstimate
            ``seconds`` of one thread, ``memory_bytes`` in addition to the data, and
            ``model_bytes``.

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
            "beam" (and "auto") keeps the ``beam_width`` most likely nodes of every level and may
            miss some labels. "exact" returns provably the top k. With ``tail``, the tail classifier
            ranks the beam's 100 best labels, or k if that is more.
        beam_width : int >= 1, optional
            By default the parameter of the estimator.

        Returns
        -------
        TopLabels
            ``labels`` and ``probabilities``, both of shape (n_rows, k). They are
            sorted as by `predict_top_scores`. Where relevance is graded or weighted by propensity,
            or with ``tail``, probabilities need not decrease.

        Examples
        --------
        >>> from labeltrees import ExtremeRegressor
        >>> X, y = [[1, 0], [0, 1], [1, 1]] * 50, [["sun"], ["rain"], ["sun", "rain"]] * 50
        >>> model = ExtremeRegressor(n_trees=1).fit(X, y)
        >>> model.predict_top_k([[1, 0]], 2).labels.tolist()
        [['sun', 'rain']]
        """
        rows = self._check_rows(X)
        return self.model_.top_labels(rows, k, search=search, beam_width=beam_width)

    def predict_top_scores(
        self, X: Any, k: int = 5, *, search: SearchName = "auto", beam_width: int | None = None
    ) -> ScoredLabels:
        """Return the k best labels of every row and the scores that rank them, best first.

        A score is the expected relevance, or with ``tail`` the score of the tail classifier. It is
        a probability only without ``tail`` and where relevance is not graded or weighted.

        Parameters
        ----------
        X, k, search, beam_width
            The arguments of `predict_top_k`.

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
        """Return the k rows to which each label is most relevant (labelwise inference), best first.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        labels : array of labels, optional
            By default all of ``classes_``.
        k : int in [1, n_rows], default 5
        exact : bool, default False
            Whether the result is provably the k best rows. Otherwise Algorithm 1 of the paper's
            supplement is used.
        factor : float > 0, default 4
            A node scores ``factor`` times the share of rows that reached it in training, but at
            least k rows, or k + 10 with several trees. The paper has no such minimum, without which
            rare labels would get fewer than k rows. With ``tail``, k is at least 100 here.
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Returns
        -------
        TopRows
            ``rows`` and ``probabilities``, both of shape (len(labels), k). Rows are ranked by
            the log-odds of expected relevance, which are more precise near 1; of equals, the first.
            With ``tail`` the 100 best rows of each label, or k if that is more, are ranked by the
            tail classifier's score, all rows if ``exact``. A missing row is -1.

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

        A score is the expected relevance, or with ``tail`` the score of the tail classifier.

        Parameters
        ----------
        X, labels, k, exact, factor, max_bytes
            The arguments of `top_rows`.

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
