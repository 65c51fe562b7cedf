"""Adacond, boosting of conditional distributions, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from labeltrees.data.rows import as_rows, as_weights
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError
from labeltrees.estimators.boosting.learners import Training, check_base, distances_for, fit_base
from labeltrees.estimators.contract import LabelClassifier, training_data
from labeltrees.estimators.distributions import as_distributions, is_distributions, no_class_weight
from labeltrees.estimators.self_terminating import SelfTerminatingTreeClassifier
from labeltrees.models.boosting.model import AdacondModel
from labeltrees.models.boosting.model import AdacondSettings as Default
from labeltrees.models.boosting.rounds import Fitted, boost
from labeltrees.models.model import MAX_DENSE_BYTES, FittedModel
from labeltrees.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.models.boosting.rounds import BoostingRecord
    from labeltrees.models.model import Model
    from labeltrees.models.settings import LabelWeights


@dataclass(eq=False, repr=False)
class AdacondClassifier(LabelClassifier):
    """Boosting of distributions, from accurate on average to accurate on almost every row.

    Every round fits a copy of ``base`` to weighted rows, and increases the weights of rows whose
    distribution it misses for the next round. The prediction is a mixture of all rounds. Gutfreund,
    Kontorovich, Levy and Rosen-Zvi, "Boosting conditional probability estimators" (Adacond).

    If every round's learner has weighted error below ``eta``, the fraction of training rows with
    error above ``eta`` falls exponentially (``bound_``, Theorem 1). Boosting evens out errors.
    Their mean need not fall, and no boosting can guarantee that it does.

    Parameters
    ----------
    base : classifier or None, default None
        The classifier of every round, whose ``fit`` must take ``sample_weight``. The default is
        ``SelfTerminatingTreeClassifier()``. This and any class with ``accepts_distributions =
        True`` is fitted to the distributions. All others are fitted to every row once for each
        label of its distribution, weighted by its probability. An integer ``random_state`` of the
        base is increased by 1 in each round.
    eta : float in (0, 1), "auto" or "median", default "auto"
        The allowed error of a row. ``"auto"`` is a little more than the first round's mean error
        eps: ``eps + max(0.05 eps, 1 / sqrt(n_rows))``; ``"median"`` is the median error of the
        first round if that is more than the mean, else as ``"auto"``. More rounds are useful for an
        eta further above the mean error.
    n_rounds : int >= 1, default 10
        Maximum number of rounds.
    norm : "total_variation" or callable, default "total_variation"
        The measure of error. Total variation is half the sum of absolute differences, which for
        labels is 1 - P(label given row). A callable ``norm(C, P)`` gets two (n_rows, n_labels)
        arrays and returns a value in [0, 1] for each row. Theorem 1 needs it to be a norm of C - P
        (convex is enough). A callable makes `fit` form that array; total variation never does. A
        model file keeps only its name.
    class_weight : "balanced", dict or None, default None
        Weights of labels, by which the weights of their rows are multiplied. "balanced" gives all
        labels the same total weight (`fit` only). A dict maps labels to weights, which are 1 for
        labels that it lacks.
    verbose : int >= 0 or bool, default 0
        Whether `fit` shows a progress bar, if there is a terminal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted; for distributions the names given to `fit`, or 0, 1, ...
    eta_ : float
        The eta used.
    round_errors_, betas_, bound_, train_exceed_ : ndarray of shape (n_rounds kept,)
        Values of each round, which are the learner's weighted error eps_t; beta_t = (1 - eta) eps_t
        / (eta (1 - eps_t)), the weight of the learner being log(1 / beta_t); Theorem 1's bound
        after it; the fraction of training rows (by sample weight) with error above eta after it.
    stop_reason_ : str
        Begins with "n_rounds", "perfect" (a learner without error predicts alone) or "error >= eta"
        (a round's learner was too weak and was discarded; the first is kept, with a warning).
    model_ : AdacondModel
        The fitted model, usable without scikit-learn; ``model_.members`` has the models of the
        rounds.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import AdacondClassifier
    >>> X, P = [[0], [1], [2], [3]] * 20, [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]] * 20
    >>> model = AdacondClassifier(eta=0.3, n_rounds=5).fit(X, P)
    >>> model.predict([[0], [3]]).tolist()
    [0, 1]
    >>> bool((model.train_exceed_ <= model.bound_).all())
    True
    """

    _model_class = AdacondModel
    accepts_distributions = True
    model_: AdacondModel = field(init=False)

    base: Any = None
    _: KW_ONLY
    eta: float | str = Default.eta
    n_rounds: int = Default.n_rounds
    norm: Any = Default.norm
    class_weight: LabelWeights = Default.class_weight
    verbose: int = Default.verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Boost from scratch, and return the estimator.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
            NaN is allowed where the base allows it.
        y : labels of shape (n_rows,), or a matrix (dense or sparse) of shape (n_rows, n_labels)
            The rows of a matrix are distributions.
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional
            The first round's distribution, in which the bound holds.
        classes : labels of shape (n_labels,), optional
            Names of the columns of a matrix; by default 0, 1, ...

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from labeltrees import AdacondClassifier
        >>> X, P = [[0], [1], [2], [3]] * 20, [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]] * 20
        >>> model = AdacondClassifier(eta=0.3, n_rounds=5).fit(X, P, classes=["dry", "wet"])
        >>> model.predict([[0], [3]]).tolist()
        ['dry', 'wet']
        """
        base, settings = self._base(), self._settings()
        training, start = _check_fit(
            X, y, sample_weight, classes, settings.class_weight, missing=_takes_nan(base)
        )
        distances = distances_for(self.norm, training)

        progress = Progress("rounds", total=settings.n_rounds, enabled=settings.verbose > 0)

        def fit_round(number: int, weights: NDArray[np.float64]) -> Fitted[Model]:
            member = fit_base(base, training, weights, number)
            progress.advance(1)
            return Fitted(member, distances.predict(member))

        with progress:
            boosted = boost(
                fit_round, distances.of, start, eta=settings.eta, n_rounds=settings.n_rounds
            )
        if boosted.record.log_betas[0] >= 0:
            warnings.warn(
                f"{boosted.record.stop_reason}: the model is the base learner alone, without a "
                "bound. Raise eta, or take a stronger base.",
                stacklevel=2,
            )
        model = AdacondModel(
            settings, training.vocabulary, boosted.members, boosted.record,
            training.rows.n_features,
        )  # fmt: skip
        return self._set_model(X, model)

    def staged_predict_proba(
        self, X: Any, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the whole distribution after each round.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        max_bytes : int, default 2^32
            A larger result raises `TooLargeError`.

        Yields
        ------
        ndarray of shape (n_rows, n_labels)

        Examples
        --------
        >>> from labeltrees import AdacondClassifier
        >>> X, P = [[0], [1], [2], [3]] * 20, [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]] * 20
        >>> model = AdacondClassifier(eta=0.3, n_rounds=5).fit(X, P, classes=["dry", "wet"])
        >>> len(list(model.staged_predict_proba([[0]]))) == len(model.bound_)
        True
        """
        rows = self._check_rows(X)
        for n_rounds in range(1, len(self.model_.members) + 1):
            yield self.model_.stage(n_rounds).probabilities(rows, max_bytes=max_bytes)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw ``bound_`` and ``train_exceed_`` by round with matplotlib, and return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw into; by default the axes of a new figure.

        Returns
        -------
        the axes

        Examples
        --------
        >>> from labeltrees import AdacondClassifier
        >>> X, P = [[0], [1], [2], [3]] * 20, [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]] * 20
        >>> model = AdacondClassifier(eta=0.3, n_rounds=5).fit(X, P, classes=["dry", "wet"])
        >>> model.plot().get_xlabel()
        'rounds'
        """
        check_is_fitted(self, "model_")
        from labeltrees.estimators.drawing import draw_boosting

        return draw_boosting(self.model_.record, ax=ax)

    @property
    def eta_(self) -> float:
        """The eta used."""
        return self._record().eta

    @property
    def stop_reason_(self) -> str:
        """Why boosting ended."""
        return self._record().stop_reason

    @property
    def round_errors_(self) -> NDArray[np.float64]:
        """The weighted error of each round's learner."""
        return self._record().errors

    @property
    def betas_(self) -> NDArray[np.float64]:
        """The beta of each round; log(1 / beta) is its weight."""
        return np.exp(self._record().log_betas)

    @property
    def bound_(self) -> NDArray[np.float64]:
        """Theorem 1's bound of ``train_exceed_`` after each round."""
        return self._record().bound

    @property
    def train_exceed_(self) -> NDArray[np.float64]:
        """The fraction of training rows with error above eta after each round."""
        return self._record().exceed

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range, as `fit` also does.

        Returns
        -------
        None

        Examples
        --------
        >>> from labeltrees import AdacondClassifier
        >>> AdacondClassifier(n_rounds=0).check_parameters()
        Traceback (most recent call last):
        ...
        labeltrees.errors.ArgumentError: n_rounds must be an integer >= 1, got 0.
        """
        self._base()
        self._settings()

    def _record(self) -> BoostingRecord:
        record: BoostingRecord = self._learned().record
        return record

    def _base(self) -> Any:
        base = SelfTerminatingTreeClassifier() if self.base is None else self.base
        check_base(base)
        return base

    def _settings(self) -> Default:
        own = {name: getattr(self, name) for name in Default.names()}
        settings = Default(**own)
        settings.check_norm()
        return settings

    @classmethod
    def _params_of(cls, model: FittedModel) -> dict[str, Any]:
        from labeltrees.estimators import estimator_of

        assert isinstance(model, AdacondModel)
        first: Any = model.members[0]
        return super()._params_of(model) | {"base": estimator_of(first).around(first)}

    def _check_rows(self, X: Any) -> Rows:
        check_is_fitted(self, "model_")
        rows = as_rows(X, missing=_takes_nan(self._base()))
        self._check_width(X, reset=False)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = SelfTerminatingTreeClassifier() if self.base is None else self.base
        if hasattr(base, "fit") and not isinstance(base, type):
            tags.input_tags.allow_nan = _takes_nan(base)
        return tags


def _takes_nan(base: Any) -> bool:
    return bool(get_tags(base).input_tags.allow_nan)


def _check_fit(
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    classes: ArrayLike | None,
    class_weight: LabelWeights,
    *,
    missing: bool,
) -> tuple[Training, NDArray[np.float64]]:
    """Return rows of weight above zero with their targets, and the first round's weights."""
    if is_distributions(y):
        no_class_weight(class_weight)
        rows = as_rows(X, missing=missing)
        targets, vocabulary = as_distributions(y, rows.n_rows, classes)
        weights = as_weights(sample_weight, rows.n_rows)
        if len(weights) and not weights.any():
            raise ArgumentError("sample_weight must have a weight above zero, got none.")
    else:
        if classes is not None:
            raise ArgumentError.of("classes", classes, "None where y has labels")
        rows, labels, weights = training_data(X, y, sample_weight, class_weight, missing=missing)
        kept_labels = labels[weights > 0] if len(weights) else labels
        vocabulary = LabelVocabulary(sorted(LabelVocabulary(kept_labels).labels.tolist()))
        ids = vocabulary.ids(labels)
        shape = len(ids), len(vocabulary)
        starts = np.arange(len(ids) + 1)
        # A label of weight 0 has no column; its row is left out below.
        ids = np.maximum(ids, 0)
        from scipy import sparse

        targets = sparse.csr_array((np.ones(len(ids)), ids, starts), shape=shape)
    if len(weights) and not weights.all():
        kept = np.flatnonzero(weights)
        rows, targets, weights = rows.take(kept), targets[kept], weights[kept]
    start = np.ones(rows.n_rows) if not len(weights) else weights.astype(np.float64)
    is_labels = not is_distributions(y)
    scale = float(start.sum())
    return Training(rows, targets, vocabulary, is_labels, scale), start / scale
