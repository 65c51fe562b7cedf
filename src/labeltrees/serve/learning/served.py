"""A served model, its state of learning, and the update with a group of requests."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.ragged import joined_starts, starts_of
from labeltrees.data.rows import stacked
from labeltrees.errors import DivergedError, LabelTreesError, LabelTypeError
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.model import Predictions
from labeltrees.models.registry import model_from
from labeltrees.serve.learning.log import FIRST_LINK, link_after
from labeltrees.serve.learning.quality import ProgressiveQuality
from labeltrees.serve.learning.row_reader import RowReader
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import ExamplePrediction
from labeltrees.store import TRANSFORM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.serve.wire import Example
    from labeltrees.store import StoredModel

_KEPT_FACTS = ("input",)
"""Extra facts of the original file that snapshots keep."""
_N_SCORED = 5
"""Number of most likely labels that are scored where rows have several labels."""


@dataclass
class BatchResult:
    """The result of learning one request: predictions, new labels, and refused examples."""

    predicted: list[ExamplePrediction] = field(default_factory=list)
    new_labels: list[Any] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class CheckedExamples:
    """The checked examples of a request, in the form that `update` of the model takes.

    If the model learns one label per row, an example with several labels has a row for each.
    """

    rows: Rows
    labels: RaggedLabels
    weights: NDArray[np.float32]
    example_of: NDArray[np.int64]
    """Number of each row's example within its request."""
    n_examples: int

    @property
    def label_type(self) -> type | None:
        """The type of the labels, None without labels."""
        return type(self.labels.labels[0]) if len(self.labels.labels) else None


class ServedModel:
    """A model with the number of examples that it has learned from the log.

    One thread learns, and any thread may predict meanwhile.

    Parameters
    ----------
    name : str
        The name of the model in addresses.
    stored : StoredModel
        The content of its file, which is a snapshot or any model file.
    seq : int
        Number of examples of the log that it has learned.
    """

    def __init__(self, name: str, stored: StoredModel, seq: int = 0) -> None:
        self.name = name
        self.model = model_from(stored)
        self.can_learn = can(self.model, Updates) and not self.model.frozen
        """Whether the model can be updated."""
        self._use_one_thread()
        self.reader = RowReader(stored, self.model)
        about = stored.extra.get("serve")
        about = about if isinstance(about, dict) else {}
        self.seq = seq
        self.link = bytes.fromhex(about["link"]) if seq and "link" in about else FIRST_LINK
        self.quality = ProgressiveQuality.from_state(
            about.get("quality"), several_labels=self.several_labels
        )
        self.demo = bool(about.get("demo"))
        self._base = replace(
            stored,
            tensors={n: t for n, t in stored.tensors.items() if n.startswith(TRANSFORM)},
            extra={name: stored.extra[name] for name in _KEPT_FACTS if name in stored.extra},
        )

    def _use_one_thread(self) -> None:
        """Set n_jobs to 1, because only then the result does not depend on the batches."""
        settings = self.model.settings
        if self.can_learn and getattr(settings, "n_jobs", None) not in (None, 1):
            self.model.settings = dataclasses.replace(settings, n_jobs=1)

    @property
    def several_labels(self) -> bool:
        """Whether the model learns all labels of a row together."""
        return self.model.takes_label_sets

    @property
    def n_labels(self) -> int:
        """Number of labels that the model knows."""
        return len(self.model.vocabulary)

    def check_can_learn(self) -> None:
        """Raise a problem unless the model can be updated."""
        if self.can_learn:
            return
        kind = type(self.model).__name__
        why = "is trained on all its data at once"
        if self.model.frozen:
            why = "was saved without the state that learning needs"
        raise Problem(
            409,
            f"The model {self.name!r} predicts but does not learn, because its {kind} {why}. "
            "Train it again with `labeltrees train`, or serve a model that learns row by row.",
            kind="cannot-learn",
        )

    def checked(self, examples: Sequence[Example]) -> CheckedExamples:
        """Return checked examples, or raise an error that describes the first bad one."""
        self.check_can_learn()
        rows = self.reader.read(examples)
        lists = [
            _labels_of(example, number, may_be_empty=self.several_labels)
            for number, example in enumerate(examples)
        ]
        flat = [label for own in lists for label in own]
        if len({type(label) for label in flat}) > 1:
            raise LabelTypeError("labels must be all strings or all integers, got both.")
        is_int = bool(flat) and not isinstance(flat[0], str)
        array = np.array(flat, dtype=np.int64 if is_int else object)
        weights = np.array([each.weight for each in examples], np.float32)
        example_of, labels = np.arange(len(examples)), RaggedLabels.of_single(array)
        counts = np.array([len(own) for own in lists])
        if self.several_labels:
            labels = RaggedLabels(array, starts_of(counts))
        elif len(array) != len(examples):
            example_of = np.repeat(example_of, counts)
            weights = np.asarray(weights / counts.astype(np.float32), np.float32)[example_of]
            rows = rows.take(example_of)
        batch = CheckedExamples(rows, labels, weights, example_of, len(examples))
        self.check_labels(batch)
        return batch

    def check_labels(self, batch: CheckedExamples) -> None:
        """Raise `LabelTypeError` unless the labels have the type of the known labels."""
        if not self.n_labels or batch.label_type is None:
            return
        known = str if self.model.vocabulary.is_text else int
        if (batch.label_type is str) != (known is str):
            raise LabelTypeError(f"the labels of {self.name!r} are {known.__name__}.")

    @property
    def memory_bytes(self) -> int:
        """Number of bytes of the tables of weights, as far as the model reports it."""
        core = getattr(self.model, "core", None)
        return int(getattr(core, "n_bytes", 0)) + int(getattr(core, "n_pair_bytes", 0))

    def links(self, examples: Sequence[bytes], previous: bytes) -> list[bytes]:
        """Return the links of consecutive examples, given the link before the first."""
        links: list[bytes] = []
        for example in examples:
            previous = link_after(previous, example)
            links.append(previous)
        return links

    def learn(self, batches: Sequence[CheckedExamples], link: bytes) -> list[BatchResult]:
        """Update the model with batches in their order; ``link`` belongs to the last example."""
        rows = stacked([each.rows for each in batches])
        labels = _joined([each.labels for each in batches])
        weights = np.concatenate([each.weights for each in batches])
        predicted, known, refused = self._learn_all(rows, labels, weights)
        firsts = np.cumsum([0] + [each.n_examples for each in batches])
        batch_of = np.repeat(np.arange(len(batches)), [each.rows.n_rows for each in batches])
        example_of = np.concatenate([each.example_of for each in batches])
        results = [BatchResult() for _ in batches]
        for row in refused:
            results[batch_of[row]].refused.append(int(example_of[row]))
        if len(known):
            labels = labels if len(known) == labels.n_rows else labels.take(known)
            self._add_predictions(results, predicted, labels, batch_of[known], example_of[known])
            seqs = self.seq + 1 + firsts[batch_of[known]] + example_of[known]
            ids = (
                self.model.vocabulary.ids(labels.labels)
                if len(labels.labels)
                else np.empty(0, np.int32)
            )
            self.quality.observe(predicted, labels, ids, weights[known], seqs=seqs)
        self.seq += int(firsts[-1])
        self.link = link
        return results

    @staticmethod
    def _add_predictions(
        results: list[BatchResult],
        predicted: Predictions,
        labels: RaggedLabels,
        batch_of: NDArray[np.int64],
        example_of: NDArray[np.int64],
    ) -> None:
        """Add the prediction for every label of the rows to the results of their batches."""
        row = labels.row_of
        columns = (
            batch_of[row], example_of[row], labels.labels, predicted.p_label,
            predicted.top[row, 0], predicted.p_top[row, 0], predicted.is_new,
        )  # fmt: skip
        for at, example, label, p, top, p_top, new in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            results[at].predicted.append(ExamplePrediction(example, label, p, top, p_top, new))
            if new:
                results[at].new_labels.append(label)

    def _learn_all(
        self, rows: Rows, labels: RaggedLabels, weights: NDArray[np.float32]
    ) -> tuple[Predictions, NDArray[np.int64], list[int]]:
        """Learn all rows except refused ones, which do not change the model.

        Returns the predictions, the rows they belong to, and the refused rows. Predictions are
        missing for rows that were learned together with one that diverged. The refused rows do not
        depend on the batches, so that recovery refuses the same rows.
        """
        model: Any = self.model
        k = min(_N_SCORED, model.settings.batch_k) if self.several_labels else 1
        predicted: list[Predictions] = []
        known: list[NDArray[np.int64]] = []
        refused: list[int] = []
        parts = [np.arange(rows.n_rows)]
        while parts:
            part = parts.pop()
            whole = len(part) == rows.n_rows
            own, own_labels = (rows, labels) if whole else (rows.take(part), labels.take(part))
            try:
                predicted.append(model.update(own, own_labels, weights[part], k=k))
                known.append(part)
            except DivergedError as error:
                at = error.row
                if at is None:
                    raise
                refused.append(int(part[at]))
                if at + 1 < len(part):
                    parts.append(part[at + 1 :])
            except LabelTreesError:  # raised before learning, for example if a row is too large
                if len(part) == 1:
                    refused.append(int(part[0]))
                else:
                    half = len(part) // 2
                    parts += [part[half:], part[:half]]
        if not predicted:
            return Predictions.none(k), np.empty(0, np.int64), refused
        return Predictions.joined(predicted), np.concatenate(known), refused

    def stored(self) -> tuple[int, StoredModel]:
        """Return the number of learned examples and the content of a snapshot.

        The model must not be updated meanwhile.
        """
        about = {"link": self.link.hex(), "quality": self.quality.state(), "demo": self.demo}
        extra = self._base.extra | {"serve": about}
        stored = self.model.stored(keep_state=not self.model.frozen, extra=extra)
        tensors = stored.tensors | self._base.tensors
        return self.seq, replace(stored, tensors=tensors, transform=self._base.transform)


def _labels_of(example: Example, number: int, *, may_be_empty: bool) -> list[Any]:
    if (example.label is None) == (example.labels is None):
        raise Problem(
            422, f"Row {number}: give either 'label' or 'labels', not both.", kind="bad-row"
        )
    own = [example.label] if example.labels is None else list(dict.fromkeys(example.labels))
    if not own and not may_be_empty:
        raise Problem(
            422, f"Row {number}: 'labels' is empty, but the model learns one label per row.",
            kind="bad-row",
        )  # fmt: skip
    return own


def _joined(parts: Sequence[RaggedLabels]) -> RaggedLabels:
    """Return the labels of all batches; batches without labels do not change the type of others."""
    if len(parts) == 1:
        return parts[0]
    arrays = [part.labels for part in parts if len(part.labels)] or [parts[0].labels]
    return RaggedLabels(np.concatenate(arrays), joined_starts([part.starts for part in parts]))
