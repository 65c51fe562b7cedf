"""What classifiers that learn row by row share; `fit` goes over the data in passes."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from sklearn.utils import check_random_state

from labeltrees.data.targets import check_training
from labeltrees.errors import ArgumentError
from labeltrees.estimators.contract import LabelClassifier
from labeltrees.models.model import Foreseen, Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.rows import Rows

__all__ = ["LearningModel", "OnlineClassifier", "check_passes", "passes", "seed_of"]


class LearningModel(Model, Protocol):
    """A model that can go on learning."""

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        foresee_top: bool = False,
    ) -> Foreseen:
        """Learn from rows in turn and return what was foreseen of each."""


class OnlineClassifier(LabelClassifier):
    """A classifier whose model learns one row after the other, from new labels as well."""

    model_: LearningModel

    @abstractmethod
    def check_parameters(self) -> None:
        """Raise `ArgumentError` if a parameter is outside its range; `fit` does so by itself."""

    @abstractmethod
    def _start_on_stream(self, n_features: int, classes: ArrayLike | None) -> LearningModel:
        """Return a model that has learned nothing yet, for rows still to come."""

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the rows once, in their order, and return the estimator.

        ``classes`` is not needed unless the estimator says so; if given, those labels take the
        next places of ``classes_``.
        """
        self._learn(X, y, classes, sample_weight, foresee=False, foresee_top=False)
        return self

    def progressive_fit(
        self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, top: bool = True
    ) -> Foreseen:
        """Learn like `partial_fit` and return what the model said of each row just before.

        The mean loss of these answers (progressive validation) is an honest estimate of the
        model's error, without held-out data.

        Examples
        --------
        >>> from labeltrees import OneAgainstAllClassifier
        >>> seen = OneAgainstAllClassifier().progressive_fit([[1.0]] * 3, ["a", "b", "a"])
        >>> seen.is_new
        array([ True,  True, False])
        """
        return self._learn(X, y, None, sample_weight, foresee=True, foresee_top=top)

    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        foresee: bool,
        foresee_top: bool,
    ) -> Foreseen:
        rows, targets, weights = check_training(X, y, sample_weight)
        first = "model_" not in self.__dict__
        if first:
            model = self._start_on_stream(rows.n_features, classes)
        else:
            self._check_width(X, reset=False)
            model = self.model_
        if classes is not None:
            model.vocabulary.ids(targets)  # raises before anything is added
            model.vocabulary.add(classes)
        foreseen = self._teach(
            model, rows, targets, weights, foresee=foresee, foresee_top=foresee_top
        )
        if first:
            self._check_width(X, reset=True)
            self.model_ = model
        return foreseen

    def _teach(
        self,
        model: Any,
        rows: Rows,
        targets: NDArray[Any],
        weights: NDArray[np.float32],
        *,
        foresee: bool,  # noqa: ARG002 - here it comes for free
        foresee_top: bool,
    ) -> Foreseen:
        """Let the model learn rows; ``foresee`` tells whether anybody reads what it foresees."""
        foreseen: Foreseen = model.learn(rows, targets, weights, foresee_top=foresee_top)
        return foreseen


def check_passes(n_passes: Any) -> None:
    """Raise `ArgumentError` unless ``n_passes`` is an integer >= 1."""
    if not isinstance(n_passes, (int, np.integer)) or n_passes < 1:
        raise ArgumentError.of("n_passes", n_passes, "an integer >= 1")


def seed_of(random_state: Any) -> int:
    """Return scikit-learn's ``random_state`` as one integer."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def passes(n_passes: int, n_rows: int, shuffle: bool, seed: int) -> list[NDArray[np.int64]]:
    """Return the order of the rows in each pass over them."""
    generator = np.random.default_rng(seed)
    orders = [np.arange(n_rows, dtype=np.int64) for _ in range(n_passes)]
    for order in orders:
        if shuffle:
            generator.shuffle(order)
    return orders
