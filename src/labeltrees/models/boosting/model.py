"""A boosted model is a mixture of several models of one vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import checks
from labeltrees.checks import Integer, Number, setting
from labeltrees.errors import ArgumentError, ModelFormatError, TooLargeError
from labeltrees.models.boosting.rounds import BoostingRecord, mixture_weights
from labeltrees.models.capabilities import Above, Samples, can
from labeltrees.models.dense import DenseAnswers, drawn, pieces
from labeltrees.models.model import (
    BYTES_PER_ENTRY,
    MAX_DENSE_BYTES,
    FittedModel,
    Model,
    TopLabels,
    TopRows,
    check_dense_size,
    check_k,
    check_top_rows,
    stored_width,
)
from labeltrees.models.registry import model_class
from labeltrees.models.settings import ClassifierSettings, check_verbose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from labeltrees.data.rows import Rows
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.store import Facts, Tensors

_FEW_LABELS = 256  # number of labels up to which the whole distribution costs less than a search
_BLOCK_BYTES = 2**26  # size of a dense block inside a query
_BLOCK_ROWS = 4096


def _norm(name: str, value: Any) -> Any:
    if callable(value) or isinstance(value, str):
        return value
    raise ArgumentError.of(name, value, "'total_variation' or a callable")


@dataclass(frozen=True, kw_only=True)
class AdacondSettings(ClassifierSettings):
    """The checked parameters of `AdacondClassifier` except its base, whose models are saved."""

    eta: float | str = setting(
        "auto", Number(0, 1, open_low=True, open_high=True, words=("auto", "median"))
    )
    n_rounds: int = setting(10, Integer(1))
    norm: Any = setting("total_variation", _norm)
    verbose: int = setting(0, check_verbose)

    def check_norm(self) -> None:
        """Raise `ArgumentError` unless the norm can measure errors.

        A model file has only the name of a callable, which is enough to predict but not to train.
        """
        if not callable(self.norm):
            checks.choice("norm", self.norm, ("total_variation",))

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as JSON values, with the name of a callable norm."""
        named = self.norm if isinstance(self.norm, str) else getattr(self.norm, "__name__", "norm")
        return super().to_dict() | {"norm": named}


@dataclass
class AdacondModel(FittedModel):
    """h = sum_t a_t c_t, the models of all rounds mixed by the weights of their rounds.

    A mixture of distributions is a distribution. Rows must be checked (`rows`).
    """

    settings_class = AdacondSettings

    settings: AdacondSettings
    vocabulary: LabelVocabulary
    members: list[Model]
    record: BoostingRecord
    n_features: int
    weights: NDArray[np.float64] = field(init=False)
    """Weights of the members, with sum 1. A member of weight 0 is never evaluated."""
    _columns: list[NDArray[np.int32] | None] = field(init=False, repr=False)
    """Ids of each member's labels in this vocabulary; None if the vocabularies are the same."""

    def __post_init__(self) -> None:
        self.weights = mixture_weights(self.record.log_betas)
        self._columns = [self._columns_of(member.vocabulary) for member in self.members]

    def _columns_of(self, vocabulary: LabelVocabulary) -> NDArray[np.int32] | None:
        if vocabulary is self.vocabulary:
            return None
        ids = self.vocabulary.ids(vocabulary.labels)
        same = len(ids) == len(self.vocabulary) and np.array_equal(ids, np.arange(len(ids)))
        return None if same else ids

    def stage(self, n_rounds: int) -> AdacondModel:
        """Return the mixture as it was after that many rounds."""
        arrays = {name: getattr(self.record, name)[:n_rounds]
                  for name in ("errors", "log_betas", "bound", "exceed")}  # fmt: skip
        record = BoostingRecord(self.record.eta, self.record.stop_reason, **arrays)
        members = self.members[:n_rounds]
        return AdacondModel(self.settings, self.vocabulary, members, record, self.n_features)

    @property
    def missing(self) -> bool:  # type: ignore[override]
        """Whether all members treat NaN in a row as a missing value."""
        return all(getattr(member, "missing", False) for member in self.members)

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        return self._of_pairs(rows, labels, self.label_ids(rows, labels))

    def _of_pairs(
        self, rows: Rows, labels: ArrayLike, ids: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        p = np.zeros(rows.n_rows)
        for member, weight, columns in self._active():
            own = member.label_probabilities(rows, labels)
            if columns is not None:  # the mixture has seen labels of other members
                own = np.where((ids >= 0) & ~np.isin(ids, columns), 0.0, own)
            p += weight * own
        return p

    def _active(self) -> Iterator[tuple[Model, float, NDArray[np.int32] | None]]:
        for member, weight, columns in zip(
            self.members, self.weights.tolist(), self._columns, strict=True
        ):
            if weight > 0:
                yield member, weight, columns

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        check_dense_size(rows.n_rows, len(self.vocabulary), max_bytes)
        p = np.zeros((rows.n_rows, len(self.vocabulary)))
        for member, weight, columns in self._active():
            own = member.probabilities(rows, max_bytes=max_bytes)
            own *= weight
            if columns is None:
                p += own
            else:
                p[:, columns] += own
        return p

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row, most likely first; provably the top k.

        A label outside the members' lists of the K most likely labels has at most the mixture of
        their K-th probabilities, so the lists grow until k labels have more. If several labels
        have the same probability, any of them may be among the k.
        """
        k = check_k(k, len(self.vocabulary))
        ids = np.empty((rows.n_rows, k), dtype=np.int32)
        p = np.empty((rows.n_rows, k))
        for begin in range(0, rows.n_rows, _BLOCK_ROWS):
            block = np.arange(begin, min(begin + _BLOCK_ROWS, rows.n_rows))
            ids[block], p[block] = self._top_of_block(_taken(rows, block), k)
        return TopLabels(self.vocabulary.labels[ids], p)

    def _top_of_block(self, rows: Rows, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        ids = np.empty((rows.n_rows, k), dtype=np.int32)
        p = np.empty((rows.n_rows, k))
        left, depth, n_labels = np.arange(rows.n_rows), k, len(self.vocabulary)
        while len(left) and depth * len(self.members) < n_labels and n_labels > _FEW_LABELS:
            found, p_found, done = self._top_by_lists(_taken(rows, left), k, depth)
            ids[left[done]], p[left[done]] = found[done], p_found[done]
            left, depth = left[~done], 4 * depth
        for part, dense in self._dense_blocks(rows, left):
            order = np.argsort(-dense, axis=1, kind="stable")[:, :k]
            ids[part], p[part] = order, np.take_along_axis(dense, order, axis=1)
        return ids, p

    def _top_by_lists(
        self, rows: Rows, k: int, depth: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
        """Return the k best labels on the members' lists, and the rows where this is proven."""
        limit, lists = np.zeros(rows.n_rows), []
        for member, weight, _ in self._active():
            length = min(depth, len(member.vocabulary))
            labels, own = member.top_labels(rows, length)
            ids = self.vocabulary.ids(labels.ravel()).reshape(labels.shape)
            lists.append(ids)
            if length < len(member.vocabulary):
                limit += weight * own[:, -1]
        row_of, ids = _distinct(np.hstack(lists))
        q = self._of_pairs(rows.take(row_of), self.vocabulary.labels[ids], ids)
        order = np.lexsort((ids, -q, row_of))
        rank = np.arange(len(row_of)) - np.searchsorted(row_of, row_of)
        best = order[rank < k]
        found = np.full((rows.n_rows, k), -1, dtype=np.int32)
        p_found = np.full((rows.n_rows, k), -1.0)
        place = row_of[rank < k], rank[rank < k]
        found[place], p_found[place] = ids[best], q[best]
        return found, p_found, p_found[:, -1] >= limit

    def labels_above(
        self, rows: Rows, threshold: float, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> sparse.csr_array:
        """Return every label with probability >= threshold, (n_rows, n_labels), sparse.

        A mixture reaches the threshold only where one of its members does.
        """
        from scipy import sparse

        threshold = checks.number("threshold", threshold, 0, 1, open_low=True)
        max_entries = max(0, int(max_bytes) // BYTES_PER_ENTRY)
        parts, n_entries = [], 0
        for begin in range(0, rows.n_rows, _BLOCK_ROWS):
            block = np.arange(begin, min(begin + _BLOCK_ROWS, rows.n_rows))
            parts.append(self._above_in_block(_taken(rows, block), threshold, max_bytes))
            n_entries += parts[-1].nnz
            if n_entries > max_entries:
                raise TooLargeError.of_threshold(rows.n_rows, max_entries, threshold, max_bytes)
        shape = (rows.n_rows, len(self.vocabulary))
        return sparse.csr_array(sparse.vstack(parts, format="csr"), shape=shape)

    def _above_in_block(self, rows: Rows, threshold: float, max_bytes: int) -> sparse.csr_array:
        from scipy import sparse

        shape = (rows.n_rows, len(self.vocabulary))
        # A sum of members may exceed each of them slightly by rounding.
        least = threshold * (1 - 1e-12)
        if all(_finds_few(member) for member, _, _ in self._active()):
            row_of, ids = self._candidates(rows, least, max_bytes)
            q = self._of_pairs(rows.take(row_of), self.vocabulary.labels[ids], ids)
            kept = q >= threshold
            return sparse.csr_array((q[kept], (row_of[kept], ids[kept])), shape=shape)
        found = []
        for _, dense in self._dense_blocks(rows, np.arange(rows.n_rows)):
            found.append(sparse.csr_array(np.where(dense >= threshold, dense, 0.0)))
        return sparse.vstack(found, format="csr")

    def _candidates(
        self, rows: Rows, least: float, max_bytes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        from scipy import sparse

        pairs = sparse.csr_array((rows.n_rows, len(self.vocabulary)), dtype=np.float64)
        for member, _, columns in self._active():
            assert isinstance(member, Above)
            own = member.labels_above(rows, least, max_bytes=max_bytes).tocoo()
            ids = own.col if columns is None else columns[own.col]
            pairs = pairs + sparse.csr_array((own.data, (own.row, ids)), shape=pairs.shape)
        entries = pairs.tocoo()
        return entries.row.astype(np.int64), entries.col.astype(np.int32)

    def top_rows(
        self, rows: Rows, labels: ArrayLike, k: int, *, max_bytes: int = MAX_DENSE_BYTES
    ) -> TopRows:
        """Return the k rows that give each label its largest probabilities, most likely first."""
        ids = self.vocabulary.ids(labels)
        n_labels = len(self.vocabulary)
        k = check_top_rows(labels, ids >= 0, n_labels, k, rows.n_rows, max_bytes)
        best = np.empty((len(ids), k), dtype=np.int64)
        p_best = np.empty((len(ids), k))
        for place, label in enumerate(ids.tolist()):
            same = np.full(rows.n_rows, label, dtype=np.int32)
            p = self._of_pairs(rows, self.vocabulary.labels[same], same)
            best[place] = np.argsort(-p, kind="stable")[:k]
            p_best[place] = p[best[place]]
        return TopRows(best, p_best)

    def sample(self, rows: Rows, uniforms: NDArray[np.float64]) -> NDArray[Any]:
        """Return one label per row, drawn from the mixture by one number in [0, 1) each.

        The number first draws a member by its weight. Its remaining digits draw from the member.
        """
        ends = np.cumsum(self.weights)
        last = int(np.flatnonzero(self.weights)[-1])
        chosen = np.minimum(np.searchsorted(ends, uniforms, side="right"), last)
        rest = (uniforms - (ends - self.weights)[chosen]) / self.weights[chosen]
        rest = np.clip(rest, 0.0, np.nextafter(1.0, 0.0))
        ids = np.empty(rows.n_rows, dtype=np.int32)
        for number in np.unique(chosen).tolist():
            mine = np.flatnonzero(chosen == number)
            ids[mine] = self._sample_member(number, rows.take(mine), rest[mine])
        return self.vocabulary.labels[ids]

    def _sample_member(
        self, number: int, rows: Rows, uniforms: NDArray[np.float64]
    ) -> NDArray[np.int32]:
        member = self.members[number]
        if can(member, Samples):
            assert isinstance(member, Samples)
            return self.vocabulary.ids(member.sample(rows, uniforms))
        own = np.empty(rows.n_rows, dtype=np.int64)
        for part in pieces(rows.n_rows, len(member.vocabulary)):
            some = rows.take(np.arange(part.start, part.stop))
            own[part] = drawn(member.probabilities(some, max_bytes=MAX_DENSE_BYTES), uniforms[part])
        columns = self._columns[number]
        return np.asarray(own if columns is None else columns[own], dtype=np.int32)

    def _dense_blocks(
        self, rows: Rows, chosen: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        for part in pieces(len(chosen), len(self.vocabulary), _BLOCK_BYTES):
            some = chosen[part]
            yield some, self.probabilities(_taken(rows, some))

    def describe(self) -> dict[str, Any]:
        """Return facts about the rounds, and a description of the first member."""
        record = self.record
        return {
            "rounds": len(self.members),
            "stop_reason": record.stop_reason,
            "eta": record.eta,
            "first_error": float(record.errors[0]),
            "bound": float(record.bound[-1]),
            "rows_above_eta": float(record.exceed[-1]),
            "rows_above_eta_in_round_1": float(record.exceed[0]),
            "can_learn": False,
            "member": type(self.members[0]).__name__,
            **{f"member_1_{name}": value for name, value in self.members[0].describe().items()},
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return the member of largest weight as Graphviz DOT."""
        heaviest = self.members[int(np.argmax(self.weights))]
        of_label = dict(zip(self.vocabulary.labels.tolist(), names, strict=True))
        own = [of_label[label] for label in heaviest.vocabulary.labels.tolist()]
        return heaviest.to_dot(own, max_nodes=max_nodes)

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts from which `from_tensors` restores an equal model."""
        shared = self.vocabulary.to_tensors()
        tensors, members = shared | self.record.to_tensors(), []
        for number, (member, columns) in enumerate(zip(self.members, self._columns, strict=True)):
            own, facts = member.to_tensors(keep_state=keep_state)
            if columns is None:
                own = {name: array for name, array in own.items() if name not in shared}
            tensors |= {f"members.{number}.{name}": array for name, array in own.items()}
            members.append({"model": type(member).__name__, "facts": facts})
        return tensors, {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "members": members,
            "record": self.record.to_facts(),
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        settings = AdacondSettings.from_dict(facts["settings"])
        record = BoostingRecord.restore(tensors, facts["record"])
        members = [
            _restore_member(tensors, vocabulary, number, **member)
            for number, member in enumerate(facts["members"])
        ]
        n_features = stored_width(facts)
        if len(members) != len(record.errors) or any(
            member.n_features != n_features for member in members
        ):
            raise ModelFormatError("the members do not match the rounds.")
        if not all(can(member, Samples) for member in members):
            raise ModelFormatError("a member does not predict a distribution.")
        model = cls(settings, vocabulary, members, record, n_features)
        if any(columns is not None and (columns < 0).any() for columns in model._columns):
            raise ModelFormatError("a member has a label that is not in the vocabulary.")
        return model


def _restore_member(
    tensors: Tensors,
    shared: LabelVocabulary,
    number: int,
    *,
    model: str,
    facts: dict[str, Any],
) -> Model:
    prefix = f"members.{number}."
    own = {name.removeprefix(prefix): array for name, array in tensors.items()
           if name.startswith(prefix)}  # fmt: skip
    # Members share one vocabulary, because copies could be many times as large as the file.
    has_own = any(name.startswith("vocabulary.") for name in own)
    return model_class(model).from_tensors(own, facts, None if has_own else shared)


def _taken(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    return rows if len(chosen) == rows.n_rows else rows.take(chosen)


def _finds_few(member: Model) -> bool:
    """Return whether a threshold costs the member less than its whole distribution."""
    return can(member, Above) and not isinstance(member, DenseAnswers)


def _distinct(lists: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return (row, label) of every different label of every row, by row and label."""
    ordered = np.sort(lists, axis=1)
    first = np.ones(ordered.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return np.nonzero(first)[0], ordered[first]
