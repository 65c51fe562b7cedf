"""The frequency table as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeltrees.estimators.online import OnlineClassifier
from labeltrees.models.baselines.frequency_table import FrequencyTableModel
from labeltrees.models.baselines.frequency_table import FrequencyTableSettings as Default

if TYPE_CHECKING:
    from labeltrees.models.settings import LabelWeights


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
    model_: FrequencyTableModel

    def __init__(
        self,
        *,
        back_off: float = Default.back_off,
        class_weight: LabelWeights = Default.class_weight,
    ) -> None:
        self.back_off = back_off
        self.class_weight = class_weight
