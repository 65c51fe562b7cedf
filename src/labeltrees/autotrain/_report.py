"""The report of a training, with what was found in the data, chosen and measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.tables import cell, pairs_text, table_text

if TYPE_CHECKING:
    import os

    from labeltrees.autotrain._fitting import Features
    from labeltrees.autotrain._held_out import Measured
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile
    from labeltrees.input import Input
    from labeltrees.models.model import FittedModel


@dataclass
class TrainingReport:
    """The model that `labeltrees.train` made, how good it is, and why it was chosen.

    `print` shows what `labeltrees train` prints; a notebook shows the same as tables.

    Attributes
    ----------
    model : FittedModel
        The model, which works without scikit-learn. `estimator` takes raw rows or texts.
    method : str
        The name of the method that was chosen.
    description : str
        The model in a phrase.
    detail : str
        One sentence about the features of texts, or about the order of rows, or "".
    why : str
        Why this method was chosen.
    found : list of str
        What was found in the data, one sentence each.
    measured : Measured or None
        The scores of the model and of simpler models on held-out rows, as ``table``, or None for
        fewer than ten rows.
    includes_held_out : bool
        Whether the model was trained on the held-out rows as well, after it was measured.
    progressive : dict
        The scores of predictions made before each row was learned, for streams.
    n_rows, n_labels, n_unlabelled : int
        The numbers of rows, labels, and rows without a label, which were left out.
    facts : dict
        Sizes of the model, and what its training found.
    advice : list of str
        What to try next.
    seconds : float
        How long all of it took.
    path : Path or None
        The file to which the model was saved last.
    """

    model: FittedModel = field(repr=False)
    source: Input = field(repr=False)
    """The rows, with what makes features of texts."""
    method: str
    description: str
    why: str
    found: list[str] = field(repr=False)
    n_rows: int
    n_labels: int
    n_unlabelled: int = 0
    measured: Measured | None = None
    includes_held_out: bool = True
    progressive: dict[str, float | None] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    shows_facts: bool = False
    """Whether the printed report has the facts."""
    detail: str = ""
    advice: list[str] = field(default_factory=list, repr=False)
    seconds: float = 0.0
    path: Path | None = None

    @property
    def estimator(self) -> Any:
        """The model as an estimator of scikit-learn that takes raw texts or rows.

        Examples
        --------
        >>> import labeltrees
        >>> report = labeltrees.train(["an apple", "a saw"] * 20, ["fruit", "tool"] * 20)
        >>> report.estimator.predict(["one apple"]).tolist()
        ['fruit']
        """
        from labeltrees.estimators import TextClassifier, estimator_of

        estimator = estimator_of(self.model).around(self.model)
        if not self.source.is_text:
            return estimator
        return TextClassifier.around(estimator, self.source.text_features)

    def save(self, path: str | os.PathLike[str], *, keep_state: bool = True) -> None:
        """Write the model to a file that `labeltrees.load` and all commands read.

        Parameters
        ----------
        path : path
        keep_state : bool, default True
            Whether the saved model can continue learning.

        Returns
        -------
        None

        Examples
        --------
        >>> import labeltrees
        >>> report = labeltrees.train(["an apple", "a saw"] * 20, ["fruit", "tool"] * 20)
        >>> report.save("things.safetensors")
        >>> labeltrees.load("things.safetensors").predict(["the saw"]).tolist()
        ['tool']
        """
        self.source.save(self.model, Path(path), keep_state=keep_state)
        self.path = Path(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON, which is what `labeltrees train --json` prints.

        Returns
        -------
        dict

        Examples
        --------
        >>> import labeltrees
        >>> report = labeltrees.train(["an apple", "a saw"] * 20, ["fruit", "tool"] * 20)
        >>> report.to_dict()["scores"]["labeltrees"]["accuracy"]
        1.0
        """
        measured: dict[str, Any] = {}
        if self.measured is not None:
            measured = {
                "held_out_rows": self.measured.n_rows,
                "held_out_parts": self.measured.n_parts,
                "scores": self.measured.table,
            }
        return {
            "model": None if self.path is None else str(self.path),
            "data": self.source.path,
            "found": self.found,
            "method": self.method,
            "why": self.why,
            "examples": self.n_rows,
            "labels": self.n_labels,
            "rows_without_label": self.n_unlabelled,
            "learned_from_held_out_rows": self.includes_held_out,
            **measured,
            **{f"progressive_{name}": value for name, value in self.progressive.items()},
            **self.facts,
            "advice": self._all_advice,
            "seconds": round(self.seconds, 3),
            "file_bytes": None if self.path is None else self.path.stat().st_size,
        }

    def __str__(self) -> str:
        lines = [*self._sentences, ""]
        if self.measured is not None:
            lines += [table_text(*self._table), ""]
        if self.shows_facts:
            lines += [pairs_text(_named(self.facts)), ""]
        if self.progressive:
            lines.append("  Scores of the predictions made before each row was learned:")
            lines += [pairs_text({f"  {n}": v for n, v in self._progressive.items()}), ""]
        return "\n".join([*lines, *self._ending])

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(sentence)}</p>" for sentence in self._sentences]
        if self.measured is not None:
            header, rows = self._table
            parts.append(_html_table([list(header), *([cell(v) for v in row] for row in rows)]))
        facts = _named(self.facts) if self.shows_facts else {}
        for pairs in filter(None, (facts, self._progressive)):
            parts += [_html_table([[name, cell(value)] for name, value in pairs.items()])]
        return "\n".join([*parts, *(f"<p>{escape(sentence)}</p>" for sentence in self._ending)])

    @property
    def _sentences(self) -> list[str]:
        chosen = f"Chosen: {self.description}, because {self.why}."
        sentences = [*self.found, chosen, *([self.detail] if self.detail else [])]
        return [f"  {sentence}" for sentence in sentences]

    @property
    def _table(self) -> tuple[list[str], list[list[object]]]:
        measured = self.measured
        assert measured is not None
        where = f"{measured.n_rows:,} held-out rows"
        if measured.n_parts > 1:
            where = f"all rows, held out in {measured.n_parts} parts"
        names = list(dict.fromkeys(name for row in measured.table.values() for name in row))
        rows: list[list[object]] = [
            [who, *(row.get(name) for name in names)] for who, row in measured.table.items()
        ]
        return [where, *names], rows

    @property
    def _progressive(self) -> dict[str, float | None]:
        return {_score_name(name): value for name, value in self.progressive.items()}

    @property
    def _ending(self) -> list[str]:
        lines = []
        if self.measured is not None:
            lines.append(
                "After this measurement, the model was trained on the held-out rows as well."
                if self.includes_held_out
                else "The model was not trained on the held-out rows."
            )
        lines.append(f"Training took {self.seconds:.1f} s.")
        if self.path is not None:
            size = size_text(self.path.stat().st_size)
            lines[-1] += f" The model is saved to {self.path} ({size})."
        return [f"  {sentence}" for sentence in (*lines, *self._all_advice)]

    @property
    def _all_advice(self) -> list[str]:
        if self.path is None:
            return self.advice
        return [
            *self.advice,
            f"To predict: labeltrees predict {self.path} NEW_FILE --top 5",
            f"To explain a prediction: labeltrees explain {self.path} NEW_FILE",
        ]


def _html_table(rows: list[list[Any]]) -> str:
    lines = []
    for first, *rest in rows:
        cells = "".join(f'<td style="text-align:right">{escape(text)}</td>' for text in rest)
        lines.append(f'<tr><th style="text-align:left">{escape(first)}</th>{cells}</tr>')
    return "\n".join(["<table>", *lines, "</table>"])


def _named(facts: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", " "): value for name, value in facts.items()}


def _score_name(score: str) -> str:
    """Return what a table calls a score.

    >>> _score_name("precision_at_5"), _score_name("squared_loss")
    ('P@5', 'squared loss')
    """
    short = score.replace("precision_at_", "P@").replace("ndcg_at_", "nDCG@")
    return short.replace("_", " ")


def size_text(n_bytes: int) -> str:
    """Return a size as people read it.

    >>> size_text(648_467_080), size_text(42_885)
    ('648.5 MB', '42.9 kB')
    """
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"


def found_in(name: str, profile: DataProfile) -> list[str]:
    """Return sentences about the rows of a file, or of what the user passed."""
    what = "texts" if profile.is_text else "rows of features"
    labels = "one label each"
    if profile.distributions:
        labels = f"a distribution over {profile.labels_per_row:.1f} labels each on average"
    elif profile.several_labels:
        labels = f"{profile.labels_per_row:.1f} labels each on average"
    sentences = [
        f"{name} has {profile.n_labelled:,} {what} with {labels}, and {profile.n_labels:,} "
        "different labels."
    ]
    if profile.n_unlabelled:
        sentences.append(f"{profile.n_unlabelled:,} more rows have no label and are left out.")
    if profile.sorted_labels:
        sentences.append("Rows are sorted by label, so they are shuffled before training.")
    return sentences


def joined_text(profile: DataProfile) -> str:
    """Return the sentence about rows that rated one label each, by the profile of joined rows."""
    what = "texts" if profile.is_text else "different rows of features"
    return (
        f"Rows with the same {_row_noun(profile)} are joined with all their labels. This makes "
        f"{profile.n_labelled:,} {what} with {profile.labels_per_row:.1f} labels each on average. "
        "Turn join_rows off to keep all rows."
    )


def in_files_text(folder: Path, profile: DataProfile) -> list[str]:
    """Return the sentences about rows that were kept in files of a folder."""
    sentences = [
        f"The rows do not fit into memory, so the model is trained from files in {folder}. "
        "Set folder to use another folder."
    ]
    if profile.ratings:
        sentences.append(
            f"Rows with the same {_row_noun(profile)} are not joined, because that needs all rows "
            "in memory."
        )
    return sentences


def limited_text(model: Any, settings: Any) -> list[str]:
    """Return the sentence about weights that were limited although the settings did not."""
    limit = getattr(model.settings, "max_memory", None)
    if limit is None or settings.max_memory is not None:
        return []
    return [
        f"The weights do not fit into memory. They are kept within {size_text(limit)}, and rare "
        "features share storage. Set max_memory to change this limit."
    ]


def _row_noun(profile: DataProfile) -> str:
    return "text" if profile.is_text else "features"


def features_text(features: Features, n_features: int) -> str:
    """Return a sentence about the features that were made of texts, or "" if there are none."""
    if features.transform is None:
        return ""
    if features.names is None:
        return "Its features are hashed words and pairs of words."
    if type(features.transform).__name__ == "CountVectorizer":
        return f"Its features are counts of {n_features:,} words."
    return f"Its features are TF-IDF of {n_features:,} words and pairs of words."


def next_steps(data: Chunk, measured: Measured | None) -> list[str]:
    """Return what would improve the model."""
    _, counts = np.unique(data.labels, return_counts=True)
    once = int((counts == 1).sum())
    sentences = []
    if once > len(counts) / 10:
        sentences.append(
            f"{once:,} of {len(counts):,} labels have a single row. More rows with these labels "
            "would improve the model most."
        )
    if measured is not None and _is_behind(measured):
        sentences.append(
            "One-against-all was better on the held-out rows, and it is fast with so few labels. "
            "Try the method one-against-all."
        )
    return sentences


def _is_behind(measured: Measured) -> bool:
    """Whether one-against-all was better in log loss, and in accuracy by more than chance."""
    ours, rival = (measured.table.get(who, {}) for who in ("labeltrees", "one-against-all"))
    if "log loss" not in ours or "log loss" not in rival:
        return False
    share = ours["accuracy"]
    chance = 2 * (share * (1 - share) / measured.n_rows) ** 0.5
    return rival["log loss"] < ours["log loss"] and rival["accuracy"] > share + chance
