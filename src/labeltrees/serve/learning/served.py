"""A model that is served: what it knows, how far it has come, and how it learns a group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import stacked
from labeltrees.errors import DivergedError, LabelTreesError, LabelTypeError
from labeltrees.models.capabilities import Updates, can
from labeltrees.models.model import Predictions
from labeltrees.models.registry import model_from
from labeltrees.serve.learning.log import FIRST_LINK, linked
from labeltrees.serve.learning.quality import Quality
from labeltrees.serve.learning.row_reader import RowReader
from labeltrees.serve.learning.snapshots import with_transform_of
from labeltrees.serve.problems import Problem
from labeltrees.serve.wire import Foresight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows
    from labeltrees.serve.wire import Example
    from labeltrees.store import StoredModel

__all__ = ["Lesson", "Outcome", "ServedModel"]

_KEPT_OF_BASE = ("input",)
"""What snapshots keep of the extra facts of the file that a model came from."""


@dataclass
class Outcome:
    """What came of a lesson: what was foreseen, which labels were new, which rows diverged."""

    foreseen: list[Foresight] = field(default_factory=list)
    new_labels: list[Any] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Lesson:
    """Checked examples, one label per row: a row with several labels is there once for each."""

    rows: Rows
    labels: NDArray[Any]
    weights: NDArray[np.float32]
    example_of: NDArray[np.int64]
    """The number of each row's example within its request."""
    n_examples: int

    @property
    def label_type(self) -> type:
        """What the labels are."""
        return type(self.labels[0])


class ServedModel:
    """A model with the number of examples that it has learned from the log.

    One thread learns; any thread may ask meanwhile.

    Parameters
    ----------
    name : str
        What it is called in addresses.
    stored : StoredModel
        The file that it comes from: a snapshot, or any model file.
    seq : int
        How many examples of the log it has learned.
    """

    def __init__(self, name: str, stored: StoredModel, seq: int = 0) -> None:
        self.name = name
        self.model = model_from(stored)
        self._one_thread()
        self.reader = RowReader(stored, self.model)
        about = stored.extra.get("serve")
        about = about if isinstance(about, dict) else {}
        self.seq = seq
        self.link = bytes.fromhex(about["link"]) if seq and "link" in about else FIRST_LINK
        self.quality = Quality.from_state(about.get("quality"))
        self.demo = bool(about.get("demo"))
        self._base = replace(
            stored,
            tensors={n: t for n, t in stored.tensors.items() if n.startswith("transform.")},
            extra={name: stored.extra[name] for name in _KEPT_OF_BASE if name in stored.extra},
        )

    def _one_thread(self) -> None:
        """Let it learn by one thread: only then the batches do not matter to the last bit."""
        settings = self.model.settings
        if self.can_learn and getattr(settings, "n_jobs", None) not in (None, 1):
            self.model.settings = dataclasses.replace(settings, n_jobs=1)

    @property
    def can_learn(self) -> bool:
        """Whether it goes on learning."""
        updates = can(self.model, Updates) and not self.model.takes_label_sets
        return updates and not self.model.frozen

    @property
    def n_labels(self) -> int:
        """How many labels it knows."""
        return len(self.model.vocabulary)

    def check_can_learn(self) -> None:
        """Raise a problem unless it goes on learning."""
        if self.can_learn:
            return
        kind = type(self.model).__name__
        why = "learns in batches"
        if self.model.frozen:
            why = "was saved without what learning needs"
        elif can(self.model, Updates):
            why = "learns sets of labels, which the server does not teach"
        raise Problem(
            409,
            f"The model {self.name!r} answers but does not learn: its {kind} {why}. Train it anew "
            "with `labeltrees train`, or serve a model that learns row by row.",
            kind="cannot-learn",
        )

    def lesson(self, examples: Sequence[Example]) -> Lesson:
        """Return checked examples, or raise what is wrong with them; nothing is learned."""
        self.check_can_learn()
        rows = self.reader.read(examples)
        labels: list[Any] = []
        counts: list[int] = []
        for number, example in enumerate(examples):
            own = _labels_of(example, number)
            labels += own
            counts.append(len(own))
        example_of = np.repeat(np.arange(len(examples)), counts)
        weights = np.array([each.weight for each in examples], np.float32)
        weights = np.asarray(weights / np.array(counts, np.float32), np.float32)[example_of]
        if len(example_of) != len(examples):
            rows = rows.take(example_of)
        if len({type(label) for label in labels}) > 1:
            raise LabelTypeError("labels must be all strings or all integers, got both.")
        as_array = np.array(labels, dtype=object if isinstance(labels[0], str) else np.int64)
        lesson = Lesson(rows, as_array, weights, example_of, len(examples))
        self.check_labels(lesson)
        return lesson

    def check_labels(self, lesson: Lesson) -> None:
        """Raise `LabelTypeError` unless the labels are of the kind of those before."""
        if not self.n_labels:
            return
        known = str if self.model.vocabulary.is_text else int
        if isinstance(lesson.labels[0], str) != (known is str):
            raise LabelTypeError(f"the labels of {self.name!r} are {known.__name__}.")

    @property
    def memory_bytes(self) -> int:
        """How much memory its tables of weights take, as far as it tells."""
        core = getattr(self.model, "core", None)
        return int(getattr(core, "n_bytes", 0)) + int(getattr(core, "n_pair_bytes", 0))

    def links(self, examples: Sequence[bytes], before: bytes) -> list[bytes]:
        """Return the links of examples that follow one whose link is given."""
        links: list[bytes] = []
        for example in examples:
            before = linked(before, example)
            links.append(before)
        return links

    def learn(self, lessons: Sequence[Lesson], link: bytes) -> list[Outcome]:
        """Learn some lessons in turn; return what came of each. The last link is theirs."""
        rows = stacked([each.rows for each in lessons])
        labels = np.concatenate([each.labels for each in lessons])
        weights = np.concatenate([each.weights for each in lessons])
        seen, known, refused = self._learn_all(rows, labels, weights)
        firsts = np.cumsum([0] + [each.n_examples for each in lessons])
        lesson_of = np.repeat(np.arange(len(lessons)), [len(each.labels) for each in lessons])
        example_of = np.concatenate([each.example_of for each in lessons])
        outcomes = [Outcome() for _ in lessons]
        for row in refused:
            outcomes[lesson_of[row]].refused.append(int(example_of[row]))
        tops = seen.top[:, 0], seen.p_top[:, 0]
        columns = (
            lesson_of[known], example_of[known], labels[known], seen.p_label, *tops, seen.is_new
        )  # fmt: skip
        for at, example, label, p, top, p_top, new in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            outcomes[at].foreseen.append(Foresight(example, label, p, top, p_top, new))
            if new:
                outcomes[at].new_labels.append(label)
        if len(known):
            seqs = self.seq + 1 + firsts[lesson_of[known]] + example_of[known]
            ids = self.model.vocabulary.ids(labels[known])
            self.quality.observe(seen, labels[known], ids, weights[known], seqs=seqs.tolist())
        self.seq += int(firsts[-1])
        self.link = link
        return outcomes

    def _learn_all(
        self, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float32]
    ) -> tuple[Predictions, NDArray[np.int64], list[int]]:
        """Learn all rows but those that cannot be learned, which change nothing.

        Returns what was foreseen, of which rows, and which rows were refused. What was foreseen of
        rows that were learned together with one that diverged is not known. Which rows are refused
        does not depend on how they are cut into batches, so that recovery refuses the same.
        """
        model: Any = self.model
        seen: list[Predictions] = []
        known: list[NDArray[np.int64]] = []
        refused: list[int] = []
        parts = [np.arange(len(labels))]
        while parts:
            part = parts.pop()
            own = rows if len(part) == len(labels) else rows.take(part)
            try:
                single = RaggedLabels.of_single(labels[part])
                seen.append(model.update(own, single, weights[part], k=1))
                known.append(part)
            except DivergedError as error:
                at = error.row
                if at is None:
                    raise
                refused.append(int(part[at]))
                if at + 1 < len(part):
                    parts.append(part[at + 1 :])
            except LabelTreesError:  # checked before anything was learned: too large, for example
                if len(part) == 1:
                    refused.append(int(part[0]))
                else:
                    half = len(part) // 2
                    parts += [part[half:], part[:half]]
        if not seen:
            return Predictions.none(1), np.empty(0, np.int64), refused
        return Predictions.joined(seen), np.concatenate(known), refused

    def stored(self) -> tuple[int, StoredModel]:
        """Return how many examples it has learned, and what a snapshot of it holds.

        Nobody may be learning meanwhile.
        """
        about = {"link": self.link.hex(), "quality": self.quality.state(), "demo": self.demo}
        extra = self._base.extra | {"serve": about}
        return self.seq, with_transform_of(self.model, self._base, extra)


def _labels_of(example: Example, number: int) -> list[Any]:
    if (example.label is None) == (example.labels is None):
        raise Problem(
            422, f"Row {number}: an example has either 'label' or 'labels'.", kind="bad-row"
        )
    own = [example.label] if example.labels is None else list(dict.fromkeys(example.labels))
    if not own:
        raise Problem(422, f"Row {number}: 'labels' is empty.", kind="bad-row")
    return own
