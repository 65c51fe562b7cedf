"""The model card that every estimator can write of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees import cards

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from labeltrees.models.model import FittedModel

__all__ = ["Carded"]


class Carded:
    """What has a fitted model that a card can be written of."""

    def card(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        learned: Any = None,
        name: str | None = None,
        about: str | None = None,
        license: str | None = None,  # noqa: A002
        dataset: str | None = None,
        tags: Sequence[str] = (),
        file: str | os.PathLike[str] | None = None,
    ) -> cards.ModelCard:
        """Return the model's card: data, quality, settings, checksums, how to load it.

        Parameters
        ----------
        X, y : rows that the model has not learned from, and their labels, optional
            As `predict` and `fit` take them. Without them the card has no scores.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        classes : array of labels, optional
            The names of the columns of y if it is a matrix.
        learned : labels as y, optional
            Those learned from, by which the card tells how frequent labels are; trees that count
            labels know it by themselves.
        name, about : str, optional
            The card's title, and a paragraph below it.
        license : str, optional
            Such as "mit" or "cc-by-4.0"; left out if it is not said.
        dataset : str, optional
            What the data is called.
        tags : sequence of str, optional
            Further tags for a hub.
        file : path, optional
            The model's file, for its name, size and checksum.

        Returns
        -------
        ModelCard
            `str` is its Markdown; ``save(folder)`` writes README.md and a reliability diagram.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> card = model.card([[1, 0], [0, 1]], ["sun", "rain"], name="Weather", license="mit")
        >>> card.facts["quality"]["scores"]["accuracy"]
        1.0
        >>> print(str(card).splitlines()[1])
        license: mit
        """
        model, rows, transform = self._of_card(X)
        said = cards.About(
            name=name,
            about=about,
            license=license,
            dataset=dataset,
            tags=tuple(tags),
            file=file,
            estimator=type(self).__name__,
            transform=transform,
        )
        return cards.evaluated(
            model, rows, y, said, sample_weight=sample_weight, classes=classes, learned=learned
        )

    def _of_card(self, X: Any) -> tuple[FittedModel, Any, str | None]:
        """Return the model, rows it can be asked about if there are any, and what makes them."""
        raise NotImplementedError
