"""Model cards as objects and files."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees.cards._facts import About, facts_of, file_facts
from labeltrees.cards._markdown import PICTURE, front_matter, hub_facts, sections
from labeltrees.cards._reliability_picture import reliability_picture
from labeltrees.errors import ArgumentError
from labeltrees.evaluation._measuring import Evaluator, HasModel
from labeltrees.evaluation._truth import labelled_rows, labels_of_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.evaluation._scores import Evaluation
    from labeltrees.models.model import FittedModel


@dataclass(frozen=True, eq=False)
class ModelCard:
    """A description of a model, its training data, its quality and how to load it.

    `str` gives the Markdown with the YAML block that model hubs read; a notebook shows it.

    Attributes
    ----------
    facts : dict
        All facts of the card, ready for JSON.
    picture : str or None
        The reliability diagram as SVG, if the model was evaluated.

    Examples
    --------
    >>> from labeltrees import ConditionalTreeClassifier
    >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
    >>> card = model.card([[1, 0], [0, 1]], ["sun", "rain"])
    >>> card.facts["quality"]["scores"]["accuracy"]
    1.0
    >>> [path.name for path in card.save("weather")]
    ['README.md', 'reliability.svg']
    """

    facts: dict[str, Any] = field(repr=False)
    picture: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return "\n\n".join([front_matter(hub_facts(self.facts)), *sections(self.facts)]) + "\n"

    def __repr__(self) -> str:
        return f"ModelCard({self.facts['name']!r})"

    def _repr_markdown_(self) -> str:
        """Return the card for a notebook, without the YAML block and with the picture inside."""
        text = "\n\n".join(sections(self.facts))
        if self.picture is not None:
            inside = base64.b64encode(self.picture.encode()).decode()
            text = text.replace(f"({PICTURE})", f"(data:image/svg+xml;base64,{inside})")
        return text

    def of_file(self, path: str | os.PathLike[str], *, hub: str | None = None) -> ModelCard:
        """Return the card with a model file's name, size and checksum.

        Parameters
        ----------
        path : path
            The file that holds the model.
        hub : str, optional
            The repository of a hub, "owner/name", from which readers of the card load it.

        Returns
        -------
        ModelCard

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.save("weather.safetensors")
        >>> model.card().of_file("weather.safetensors").facts["file"]["name"]
        'weather.safetensors'
        """
        return replace(self, facts=self.facts | {"file": file_facts(path), "hub": hub})

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write README.md, and reliability.svg if the model was evaluated, to a folder.

        Parameters
        ----------
        folder : path
            Created if it does not exist. Existing files of these names are replaced.

        Returns
        -------
        list of Path
            The files written.

        Examples
        --------
        >>> from labeltrees import ConditionalTreeClassifier
        >>> model = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20)
        >>> model.card().save("weather")[0].read_text()[:3]
        '---'
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        written = [target / "README.md"]
        written[0].write_text(str(self), encoding="utf-8")
        if self.picture is not None:
            written.append(target / PICTURE)
            written[1].write_text(self.picture, encoding="utf-8")
        return written


def card(
    model: FittedModel | HasModel,
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
) -> ModelCard:
    """Return a model's card: data, quality, settings, checksums, how to load it.

    Every estimator has this function as a method, with the same parameters.

    Parameters
    ----------
    model : fitted estimator, or model
        A model is what `labeltrees.load_model` returns, for which you need no scikit-learn.
    X, y : rows that the model has not learned from, and their labels, optional
        X is what `predict` takes: rows, or texts for a `TextClassifier`. y is a label, or a list of
        labels, for each row, or a matrix. Without them the card has no scores.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows.
    classes : array of labels, optional
        The names of the columns of y if it is a matrix.
    learned : labels as y, optional
        The labels of the training rows. The card uses them to show how frequent labels are. You
        do not need them for trees, which count labels.
    name, about : str, optional
        The card's title, and a paragraph below it.
    license : str, optional
        The license, for example "mit" or "cc-by-4.0"; left out by default.
    dataset : str, optional
        The name of the data.
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
    >>> import labeltrees
    >>> from labeltrees.cards import card
    >>> X, y = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20
    >>> tree = labeltrees.ConditionalTreeClassifier().fit(X, y)
    >>> found = tree.card([[1, 0], [0, 1]], ["sun", "rain"], name="Weather", license="mit")
    >>> found.facts["quality"]["scores"]["accuracy"]
    1.0
    >>> print(str(found).splitlines()[1])
    license: mit
    >>> tree.save("tree.safetensors")
    >>> card(labeltrees.load_model("tree.safetensors")).facts["learned"]["labels"]
    2
    """
    transform = None
    if isinstance(model, HasModel):
        fitted, rows, transform = model._model_and_rows(X)
    else:
        fitted, rows = model, None if X is None else model.rows(X)
    said = About(
        name=name,
        about=about,
        license=license,
        dataset=dataset,
        tags=tuple(tags),
        file=file,
        estimator=None if fitted is model else type(model).__name__,
        transform=transform,
    )
    return evaluated(
        fitted, rows, y, said, sample_weight=sample_weight, classes=classes, learned=learned
    )


def evaluated(
    model: FittedModel,
    rows: Rows | None,
    y: Any,
    said: About,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    learned: Any = None,
) -> ModelCard:
    """Return the card of a model, evaluated on checked rows if there are any."""
    if (rows is None) != (y is None):
        raise ArgumentError("X and y must be passed together.")
    found = None
    if rows is not None:
        evaluator = Evaluator()
        evaluator.add(model, labelled_rows(rows, y, sample_weight, classes))
        found = evaluator.evaluation()
    counted = None if learned is None else labels_of_rows(learned, classes)
    return card_of(model, found, said, learned=counted)


def card_of(
    model: FittedModel,
    found: Evaluation | None,
    said: About,
    *,
    learned: RaggedLabels | None = None,
) -> ModelCard:
    """Return the card of a model, with its evaluation if there is one."""
    facts = facts_of(model, said, found, learned)
    if found is None or found.reliability is None:
        return ModelCard(facts)
    title = f"{facts['name']}: {facts['quality']['curve_of']}"
    return ModelCard(facts, reliability_picture(found.reliability, title))
