"""One-against-all as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from labeltrees.data.targets import check_training, learned_labels
from labeltrees.estimators.online import OnlineClassifier, check_passes, passes, seed_of
from labeltrees.models.baselines.one_against_all import OneAgainstAllModel
from labeltrees.models.online.settings import OnlineRegression

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class OneAgainstAllClassifier(OnlineClassifier):
    """P(label given x) by one linear regressor per label, learned online: O(n_labels) a row.

    The regressor of a label learns to tell it from all others together. `predict_proba` divides
    its answers f_y(x) by their sum; `predict_label_score` gives f_y(x) itself, which is what
    Beygelzimer et al., "Conditional probability tree estimation analysis and algorithms" (UAI 2009)
    compare their tree with. A label that arrives later starts a regressor that learns from then on.

    The paper's own algorithm is ``loss="squared", optimizer="sgd"``.

    Parameters
    ----------
    loss, optimizer, learning_rate, n_passes, shuffle, normalize, bias, random_state
        As for `ConditionalTreeClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels: sorted after `fit`, in first-seen order as `partial_fit` adds to them.
    model_ : OneAgainstAllModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import OneAgainstAllClassifier
    >>> model = OneAgainstAllClassifier()
    >>> model = model.partial_fit([[1, 0], [0, 1], [1, 1]] * 50, ["sun", "rain", "rainbow"] * 50)
    >>> model.predict([[0, 1], [1, 0]])
    array(['rain', 'sun'], dtype=object)
    """

    _model_class = OneAgainstAllModel
    model_: OneAgainstAllModel

    def __init__(
        self,
        *,
        loss: str = "logistic",
        optimizer: str = "adagrad",
        learning_rate: float = 1.5,
        n_passes: int = 5,
        shuffle: bool = True,
        normalize: bool = True,
        bias: float = 0.25,
        random_state: Any = 0,
    ) -> None:
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
        model = OneAgainstAllModel.empty(settings, rows.n_features)
        model.announce(learned_labels(targets, weights))
        for order in passes(self.n_passes, rows.n_rows, self.shuffle, settings.seed):
            model.learn(rows, targets, weights, order=order)
        self._check_width(X, reset=True)
        self.model_ = model
        return self

    def predict_label_score(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return f_y(x) in [0, 1] for the label y[i] of each row; 0 for a label never seen.

        O(1) regressors a row. The scores of all labels do not sum to 1.
        """
        rows = self._check_rows(X)
        return self.model_.label_scores(rows, y)

    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""
        self._settings()

    def _start_on_stream(self, n_features: int, classes: ArrayLike | None) -> OneAgainstAllModel:
        model = OneAgainstAllModel.empty(self._settings(), n_features)
        if classes is not None:
            model.announce(classes)
        return model

    def _params_to_store(self) -> dict[str, Any]:
        return super()._params_to_store() | {"random_state": self.model_.settings.seed}

    def _settings(self) -> OnlineRegression:
        check_passes(self.n_passes)
        return OnlineRegression(
            loss=self.loss,
            normalize=self.normalize,
            bias=self.bias,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            seed=seed_of(self.random_state),
        )
