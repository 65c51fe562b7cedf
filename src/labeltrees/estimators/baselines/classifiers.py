"""One-against-all and the frequency table as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeltrees.estimators.online import OnlineClassifier
from labeltrees.models.baselines.classifiers import (
    FrequencyTableModel,
    FrequencyTableSettings,
    OneAgainstAllModel,
    OneAgainstAllSettings,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.models.online.scaling import ScaleName
    from labeltrees.models.online.settings import LossName, OptimizerName
    from labeltrees.models.settings import LabelWeights


@dataclass(kw_only=True, eq=False, repr=False)
class OneAgainstAllClassifier(OnlineClassifier):
    """P(label given x) by one linear regressor per label, learned online: O(n_labels) per row.

    The regressor of a label learns to separate it from all other labels. `predict_proba` divides
    the predictions f_y(x) by their sum; `predict_label_score` and `progressive_scores` return
    f_y(x) itself, which is what Beygelzimer et al., "Conditional probability tree estimation
    analysis and algorithms" (UAI 2009) compare their tree with. A later label starts a new
    regressor, which learns from the following rows only.

    The paper's own algorithm is ``loss="squared", optimizer="sgd"``.

    Parameters
    ----------
    loss : {"logistic", "squared"}, default "logistic"
    optimizer : {"adagrad", "sgd"}, default "adagrad"
    learning_rate : float > 0, default 1.5
    n_passes : int >= 1, default 5
    shuffle : bool, default True
    scale : {"auto", "standard"} or None, default "auto"
        Whether columns are standardised to mean 0 and deviation 1 before rows are normalised.
        `fit` uses the moments of all rows, a stream the moments of all earlier rows. "auto"
        standardises tables (up to 100 features, or at least a quarter of all entries not zero;
        the first row of a stream decides), but not sparse data such as text, and not with
        ``normalize=False``.
    normalize : bool, default True
    bias : float >= 0, default 0.25
    random_state : int, RandomState or None, default 0
        These eight parameters are as for `ConditionalTreeClassifier`.
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
    model_: OneAgainstAllModel = field(init=False)

    loss: LossName = OneAgainstAllSettings.loss
    optimizer: OptimizerName = OneAgainstAllSettings.optimizer
    learning_rate: float = OneAgainstAllSettings.learning_rate
    n_passes: int = OneAgainstAllSettings.n_passes
    shuffle: bool = OneAgainstAllSettings.shuffle
    scale: ScaleName | None = OneAgainstAllSettings.scale
    normalize: bool = OneAgainstAllSettings.normalize
    bias: float = OneAgainstAllSettings.bias
    random_state: Any = OneAgainstAllSettings.random_state
    class_weight: LabelWeights = OneAgainstAllSettings.class_weight
    verbose: int = OneAgainstAllSettings.verbose

    def predict_label_score(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Return f_y(x) in [0, 1] for the label y[i] of each row; 0 for a label never seen.

        One regressor per row. The scores of all labels do not sum to 1.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from labeltrees import OneAgainstAllClassifier
        >>> model = OneAgainstAllClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> bool(model.predict_label_score([[1, 0]], ["sun"])[0] > 0.8)
        True
        """
        rows = self._check_rows(X)
        return self.model_.label_scores(rows, y)

    def progressive_scores(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Learn like `partial_fit` and return f_y(x) of each row's label just before.

        The paper's progressive squared loss is the mean of (1 - f_y(x))^2. `progressive_fit` gives
        the normalised probability instead, which is another number: f_y(x) over the sum of all f.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features), sparse or dense
        y : labels of shape (n_rows,), strings or integers
        sample_weight : numbers in [0, 1e9] of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows,)
            0 for a label that had never been learned, and for a row of weight 0.

        Examples
        --------
        >>> from labeltrees import OneAgainstAllClassifier
        >>> from labeltrees.metrics import squared_loss
        >>> model = OneAgainstAllClassifier(loss="squared", optimizer="sgd", learning_rate=0.5)
        >>> scores = model.progressive_scores([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> scores[:2].tolist(), round(squared_loss(scores), 2)
        ([0.0, 0.0], 0.2)
        """
        model, seen = self._model_to_learn(X, y, sample_weight)
        scores: NDArray[np.float64] = model.learn_scored(*seen)
        if "model_" not in self.__dict__:
            self._set_model(X, model)
        return scores


@dataclass(kw_only=True, eq=False, repr=False)
class FrequencyTableClassifier(OnlineClassifier):
    """P(label given x) as the frequency with which the label was seen with exactly this x.

    This is the "table-based" method of Beygelzimer et al. (UAI 2009). It is good where the same
    rows are repeated, and useless for new rows, which get the overall frequencies of the labels.

    Parameters
    ----------
    back_off : float >= 0, default 1.0
        Weight of the overall frequencies, in examples, against the frequencies of a row.
        P(y given x) = (c(x, y) + back_off P(y)) / (c(x) + back_off). 0 is the paper's table.
    class_weight : "balanced", dict or None, default None
        Weights of labels, by which the weights of their rows are multiplied. "balanced" gives all
        labels the same total weight (`fit` only). A dict maps labels to weights, which are 1 for
        labels that it lacks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels learned or announced, sorted, by column of `predict_proba`.
    model_ : FrequencyTableModel
        The fitted model, usable without scikit-learn.
    n_features_in_ : int
        Width of the data.

    Examples
    --------
    >>> from labeltrees import FrequencyTableClassifier
    >>> table = FrequencyTableClassifier(back_off=0)
    >>> table = table.fit([[1.0], [1.0], [1.0], [2.0]], ["a", "a", "b", "b"])
    >>> table.predict_proba([[1.0], [3.0]]).round(2).tolist()
    [[0.67, 0.33], [0.5, 0.5]]
    """

    _model_class = FrequencyTableModel
    model_: FrequencyTableModel = field(init=False)

    back_off: float = FrequencyTableSettings.back_off
    class_weight: LabelWeights = FrequencyTableSettings.class_weight
