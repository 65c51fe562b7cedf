"""The result of an evaluation, with scores by name, sizes, and tables of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from labeltrees.tables import cell, pairs_text, table_text

if TYPE_CHECKING:
    from labeltrees.evaluation.truth import Task
    from labeltrees.metrics import ReliabilityCurve


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of a model, or of saved predictions, on rows with known labels.

    Attributes
    ----------
    scores : dict from str to float
        Every score by its name. docs/metrics.md explains the names. A score that the rows do not
        define is missing, for example the log loss where no label of the rows has been learned.
    task : {"label", "labels", "distribution"}
        Whether rows have one label each, any number of labels, or a probability of each label.
    labelwise : bool
        Whether rows are ranked for each label, in place of labels for each row.
    n_rows : int
        The number of rows.
    n_labels : int
        The number of different labels that the rows have.
    n_true_labels, n_predictions : int
        The number of labels of all rows together, and of all predictions that were compared.
    unseen_labels : list, or None
        The labels of the rows that the model has not learned. It is None for saved predictions,
        whose model is not known.
    is_graded : bool
        Whether true labels have a relevance other than 1.
    reliability : ReliabilityCurve or None
        How often the first ``reliability_k`` labels of rows were true, by their probability. It is
        None for labelwise evaluations.
    reliability_k : int
        How many labels per row the curve is about.

    Examples
    --------
    >>> import labeltrees
    >>> tree = labeltrees.ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> found = labeltrees.evaluate(tree, [[1, 0], [0, 1]], ["a", "b"])
    >>> found.scores["accuracy"], found.n_rows, found.unseen_labels
    (1.0, 2, [])
    """

    scores: dict[str, float]
    task: Task
    n_rows: int
    n_labels: int
    n_true_labels: int
    n_predictions: int
    unseen_labels: list[Any] | None = None
    labelwise: bool = False
    is_graded: bool = False
    reliability: ReliabilityCurve | None = field(default=None, repr=False)
    reliability_k: int = 1

    @property
    def headline(self) -> dict[str, float]:
        """The few scores that matter most, for tables that compare models.

        Examples
        --------
        >>> import labeltrees
        >>> tree = labeltrees.ConditionalTreeClassifier().fit([[1], [2]] * 20, ["a", "b"] * 20)
        >>> list(labeltrees.evaluate(tree, [[1], [2]], ["a", "b"]).headline)
        ['accuracy', 'log loss', 'ECE@1']
        """
        names = [name for name in self.scores if name.endswith(" accuracy")]
        if self.task == "label":
            names = ["accuracy", *names, "log loss", "ECE@1"]
        elif self.task == "labels":
            ks = [name for name in self.scores if name.startswith("P@")]
            last = ks[-1].removeprefix("P@")
            names = [*ks, f"nDCG@{last}", "ECE@1"]
            if self.is_graded:
                names = [*ks, f"nDCG@{last}", *dict.fromkeys(("WP@1", f"WP@{last}"))]
        else:
            names = ["total variation", "KL divergence", "most likely label"]
        return {name: self.scores[name] for name in names if name in self.scores}

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of rows, labels and predictions by name."""
        sizes = {
            "rows": self.n_rows,
            "labels": self.n_labels,
            "true labels": self.n_true_labels,
            "predictions": self.n_predictions,
        }
        if self.unseen_labels is not None:
            sizes["unseen labels"] = len(self.unseen_labels)
        return sizes

    def to_dict(self) -> dict[str, Any]:
        """Return sizes and scores, ready for JSON.

        Examples
        --------
        >>> import labeltrees
        >>> tree = labeltrees.ConditionalTreeClassifier().fit([[1], [2]] * 20, ["a", "b"] * 20)
        >>> list(labeltrees.evaluate(tree, [[1], [2]], ["a", "b"]).to_dict())[:4]
        ['task', 'labelwise', 'rows', 'labels']
        """
        sizes = {name.replace(" ", "_"): size for name, size in self.sizes.items()}
        return {"task": self.task, "labelwise": self.labelwise, **sizes, "scores": self.scores}

    def __str__(self) -> str:
        if self.task != "labels":
            return pairs_text({**self.sizes, **self.scores})
        return f"{pairs_text(self.sizes)}\n{table_text(*self._table())}"

    def _table(self) -> tuple[list[str], list[list[object]]]:
        """Return the scores at k as a table with a row for each metric."""
        rows: dict[str, dict[str, float]] = {}
        for name, value in self.scores.items():
            metric, k = name.rsplit("@", 1)
            rows.setdefault(metric, {})[f"@{k}"] = value
        ks = list(dict.fromkeys(k for row in rows.values() for k in row))
        header = ["for each label" if self.labelwise else "for each row", *ks]
        return header, [[metric, *(row.get(k) for k in ks)] for metric, row in rows.items()]

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        pairs = [[name, value] for name, value in self.sizes.items()]
        if self.task != "labels":
            scores = [[name, value] for name, value in self.scores.items()]
            return _html_table(None, [*pairs, *scores])
        return _html_table(None, pairs) + _html_table(*self._table())


def _html_table(header: list[str] | None, rows: list[list[Any]]) -> str:
    lines = ["<table>"]
    if header is not None:
        lines.append("<tr>" + "".join(f"<th>{escape(name)}</th>" for name in header) + "</tr>")
    for first, *rest in rows:
        cells = "".join(f'<td style="text-align:right">{cell(value)}</td>' for value in rest)
        lines.append(f'<tr><th style="text-align:left">{escape(first)}</th>{cells}</tr>')
    return "\n".join([*lines, "</table>"])
