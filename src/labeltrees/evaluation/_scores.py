"""Scores of gathered predictions by name, which no other module names, and their record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import metrics
from labeltrees.data.ragged import joined_starts
from labeltrees.tables import cell, pairs_text, table_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from labeltrees.evaluation._truth import Task
    from labeltrees.metrics import ReliabilityCurve
    from labeltrees.metrics._rankings import Per

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The predicted labels of rows, best first, one row after the other.

    Row ``r`` has the columns ``columns[starts[r]:starts[r + 1]]``.
    """

    starts: IntArray
    columns: IntArray
    p: FloatArray
    """The probability of each label."""
    values: FloatArray
    """The expected relevance of each label, or its probability where there are no grades."""
    ranks: IntArray
    """The place of each label in its row, or of each row in the ranking of its label, from 0."""

    @classmethod
    def joined(cls, parts: Sequence[Ranked]) -> Ranked:
        """Return the rows of all parts, one part after the other."""
        return cls(
            joined_starts([part.starts for part in parts]),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("columns", "p", "values", "ranks")
            ),
        )

    def matrix(self, values: NDArray[Any], n_columns: int, first: int | None = None) -> csr_array:
        """Return values as a matrix, of the ``first`` labels of each row if that is given."""
        from scipy.sparse import csr_array

        shape = (len(self.starts) - 1, n_columns)
        if first is None:
            return csr_array((values, self.columns, self.starts), shape=shape)
        kept = self.ranks < first
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return csr_array((values[kept], self.columns[kept], starts), shape=shape)

    def top(self, k: int) -> tuple[IntArray, FloatArray]:
        """Return columns and probabilities of the first k labels, padded with -1 and 0."""
        shape = (len(self.starts) - 1, k)
        columns, p = np.full(shape, -1, dtype=np.int64), np.zeros(shape)
        kept = self.ranks < k
        rows = np.repeat(np.arange(shape[0]), np.diff(self.starts))[kept]
        columns[rows, self.ranks[kept]] = self.columns[kept]
        p[rows, self.ranks[kept]] = self.p[kept]
        return columns, p


@dataclass(frozen=True, eq=False)
class GatheredPredictions:
    """The truth and the predictions of rows; labels are columns."""

    task: Task
    k: int
    truth: csr_array
    """True relevances, (n_rows, n_columns). For the task "label" each row has one entry."""
    found: Ranked
    weight: FloatArray
    p_label: FloatArray | None = None
    """The probability of each row's label for the task "label", or None if it is not known."""
    learned: NDArray[np.bool_] | None = None
    """Whether the model has learned each row's label."""
    distances: FloatArray | None = None
    """Total variation and KL divergence of each row, for the task "distribution"."""
    sums_to_one: bool = False
    """Whether the probabilities of all labels of a row sum to 1 at most."""
    labelwise: bool = False

    @classmethod
    def joined(
        cls, parts: Sequence[GatheredPredictions], n_columns: int, found: Ranked | None = None
    ) -> GatheredPredictions:
        """Return the rows of all parts as one; ``found`` takes the place of their predictions."""
        from scipy.sparse import csr_array

        truths, first = [part.truth for part in parts], parts[0]
        starts = joined_starts([truth.indptr for truth in truths])
        entries = (np.concatenate([truth.data for truth in truths]),
                   np.concatenate([truth.indices for truth in truths]), starts)  # fmt: skip
        return replace(
            first,
            truth=csr_array(entries, shape=(len(starts) - 1, n_columns)),
            found=Ranked.joined([part.found for part in parts]) if found is None else found,
            weight=np.concatenate([part.weight for part in parts]),
            p_label=_known([part.p_label for part in parts]),
            learned=_known([part.learned for part in parts]),
            distances=_known([part.distances for part in parts]),
            sums_to_one=all(part.sums_to_one for part in parts),
        )

    @property
    def n_columns(self) -> int:
        """The number of different labels of truth and predictions."""
        return int(self.truth.shape[1])

    @property
    def ks(self) -> list[int]:
        """The values of k, without those above the largest number of predictions."""
        wanted = {1, self.k} | ({3} if self.task == "labels" else set())
        return [k for k in sorted(wanted) if k <= max(self.n_found, 1)]

    @property
    def n_found(self) -> int:
        """The largest number of predictions that a row, or label, has; at most k."""
        return min(self.k, int(self.found.ranks.max(initial=-1)) + 1)

    @property
    def relevant(self) -> csr_array:
        """The truth with 1 for every label that is relevant at all; distributions stay."""
        return self.truth if self.task == "distribution" else self.truth.sign()

    @property
    def is_graded(self) -> bool:
        """Whether true labels have a relevance other than 1."""
        return bool((self.truth.data != 1).any())


def _known(arrays: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if len(known) == len(arrays) else None


def scores_of(
    gathered: GatheredPredictions, propensity: FloatArray | None = None
) -> dict[str, float]:
    """Return every score of the predictions, by name. Scores that are not defined are left out."""
    if gathered.task == "label":
        return _label_scores(gathered)
    if gathered.task == "labels":
        return _labels_scores(gathered, propensity)
    return _distribution_scores(gathered)


def reliability_of(gathered: GatheredPredictions) -> tuple[ReliabilityCurve, int]:
    """Return the reliability curve of the first labels of all rows, and of how many labels.

    These are the most likely label for the task "label", else the largest k.
    """
    k = 1 if gathered.task == "label" else gathered.ks[-1]
    found = gathered.found.matrix(gathered.found.p, gathered.n_columns, first=k)
    curve = metrics.reliability_curve_at_k(
        gathered.relevant, found, k, sample_weight=gathered.weight
    )
    return curve, k


def _label_scores(gathered: GatheredPredictions) -> dict[str, float]:
    weight = {"sample_weight": gathered.weight}
    truth, ks = gathered.truth.indices, gathered.ks
    top, p_top = gathered.found.top(gathered.k)
    scores = {"accuracy": metrics.top_k_accuracy(truth, top[:, :1], **weight)}
    if ks[-1] > 1:
        scores[f"top-{ks[-1]} accuracy"] = metrics.top_k_accuracy(truth, top[:, : ks[-1]], **weight)
    if gathered.p_label is not None and gathered.learned is not None:
        scores |= _losses(gathered, gathered.p_label, gathered.learned, p_top)
    return scores | _calibration(gathered, ks)


def _losses(
    gathered: GatheredPredictions,
    p_label: FloatArray,
    learned: NDArray[np.bool_],
    p_top: FloatArray,
) -> dict[str, float]:
    """Return what follows from the probability of each row's own label.

    Log loss is over labels that the model has learned, because no probability is right for others.
    """
    weight, scores = gathered.weight, {}
    if (weight[learned] > 0).any():
        scores["log loss"] = metrics.log_loss(p_label[learned], sample_weight=weight[learned])
    squared = metrics.squared_loss(p_label, sample_weight=weight)
    scores["squared loss"] = squared
    n_effective = float(weight.sum() ** 2 / (weight**2).sum())
    scores["squared loss radius"] = metrics.hoeffding_radius(n_effective)
    if squared < 1:
        scores["equivalent labels"] = metrics.equivalent_labels(squared)
    if gathered.sums_to_one:
        found = p_top[:, : gathered.n_found]
        low, high = metrics.brier_from_top_k(p_label, found, sample_weight=weight)
        scores |= {"Brier score, at least": low, "Brier score, at most": high}
    scores["rows of unseen labels"] = float(np.average(~learned, weights=weight))
    return scores


def _calibration(gathered: GatheredPredictions, ks: list[int]) -> dict[str, float]:
    """Return Brier@k and ECE@k of the first k labels, ranked as they were predicted."""
    scores = {}
    for k in ks:
        found = gathered.found.matrix(gathered.found.p, gathered.n_columns, first=k)
        each: Any = (gathered.relevant, found, k)
        if gathered.task == "label":
            scores[f"Brier@{k}"] = metrics.brier_at_k(*each, sample_weight=gathered.weight)
        scores[f"ECE@{k}"] = metrics.calibration_error_at_k(*each, sample_weight=gathered.weight)
    return scores


def _labels_scores(
    gathered: GatheredPredictions, propensity: FloatArray | None
) -> dict[str, float]:
    found = gathered.found
    per: Per = "label" if gathered.labelwise else "row"
    report = _report(gathered, gathered.truth, found.values, per, propensity)
    if gathered.is_graded:  # calibration is about the probability that a label is relevant at all
        binary = _report(gathered, gathered.relevant, found.p, per, None)
        report |= {name: binary[name] for name in ("ECE", "Brier")}
    return {f"{name}@{k}": value for name, row in report.items() for k, value in row.items()}


def _report(
    gathered: GatheredPredictions,
    truth: csr_array,
    values: FloatArray,
    per: Per,
    propensity: FloatArray | None,
) -> dict[str, dict[int, float]]:
    found, n = gathered.found, gathered.n_columns
    return metrics.multilabel_report(
        truth,
        found.matrix(values, n),
        ks=gathered.ks,
        propensity=propensity,
        per=per,
        sample_weight=None if per == "label" else gathered.weight,
        ranks=found.matrix(-found.ranks.astype(np.float64), n),
    )


def _distribution_scores(gathered: GatheredPredictions) -> dict[str, float]:
    scores: dict[str, float] = {}
    if gathered.distances is not None:
        variation, divergence = np.average(
            gathered.distances, axis=0, weights=gathered.weight
        ).tolist()
        scores = {"total variation": variation, "KL divergence": divergence}
    top, _ = gathered.found.top(1)
    most = gathered.truth.max(axis=1).toarray().ravel()
    rows = np.arange(len(top))
    own = np.asarray(gathered.truth[rows, np.maximum(top[:, 0], 0)]).ravel()
    hits = (top[:, 0] >= 0) & (own == most)
    scores["most likely label"] = float(np.average(hits, weights=gathered.weight))
    return scores | _calibration(gathered, gathered.ks)


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
