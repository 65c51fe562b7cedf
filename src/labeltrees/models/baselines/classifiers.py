"""One-against-all and the frequency table, baselines for rows with one label."""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labeltrees import _core, checks, store
from labeltrees.checks import Number, setting
from labeltrees.data.rows import check_weights
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ModelFormatError
from labeltrees.models.dense import DenseAnswers
from labeltrees.models.model import (
    MAX_DENSE_BYTES,
    FittedModel,
    Predictions,
    TopLabels,
    check_dense_size,
    check_k,
    names_of,
    stored_width,
)
from labeltrees.models.online.online_model import (
    IN_TURN,
    check_can_learn,
    ids_to_learn,
    single_labels,
    update_one_by_one,
)
from labeltrees.models.online.settings import LearningRate, RegressorSettings
from labeltrees.models.online.table_model import BankModel, Lines
from labeltrees.models.settings import ClassifierSettings
from labeltrees.progress import SILENT
from labeltrees.tree import LabelTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.rows import Rows
    from labeltrees.models.online.online_model import CoreBatch
    from labeltrees.progress import Progress
    from labeltrees.store import Facts, Tensors

_KEY_BYTES = 16  # size of a row's hash; two of 10^9 rows collide with probability 10^-21
_EMPTY: dict[int, float] = {}


@dataclass(frozen=True, kw_only=True)
class OneAgainstAllSettings(RegressorSettings):
    """The checked parameters of `OneAgainstAllClassifier`, which describes them."""

    learning_rate: float = setting(1.5, LearningRate)


@dataclass
class OneAgainstAllModel(DenseAnswers, BankModel):
    """One regressor f_y per label, which learns every row: 1 for its own label, else 0.

    P(y given x) is f_y(x) over the sum of all f(x). Everything costs O(n_labels) per row.
    """

    scores_all = True
    settings_class = OneAgainstAllSettings

    core: _core.OneAgainstAll

    @classmethod
    def empty(cls, settings: OneAgainstAllSettings, n_features: int) -> OneAgainstAllModel:
        """Return a model without labels."""
        return cls(settings, LabelVocabulary(), _core.OneAgainstAll(), n_features)

    @classmethod
    def over(
        cls, settings: OneAgainstAllSettings, n_features: int, labels: ArrayLike
    ) -> OneAgainstAllModel:
        """Return a model whose labels have their regressors from the first row on."""
        model = cls.empty(settings, n_features)
        model.vocabulary.add(labels)
        model.core.grow(len(model.vocabulary))
        return model

    def label_scores(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return f_y(x) in [0, 1], one label per row, as in the paper and not normalised."""
        ids = self.label_ids(rows, labels)
        seen = self.columns.seen(rows)
        return self.core.label_scores(*seen.arrays, ids, self.settings.reading)

    def learn_scored(
        self, rows: Rows, labels: RaggedLabels, weights: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Learn rows in turn and return f_y(x) of each row's label y just before.

        0 for a label that had no regressor yet, and for a row of weight 0.
        """
        scoring = _Scoring(self.settings, self.vocabulary, self.core, self.n_features, self.frozen)
        scoring.columns = self.columns
        return scoring.update(rows, labels, weights).p_label

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model."""
        return {
            "can_learn": not self.frozen,
            "weight_lines": self.core.n_lines,
            "table_bytes_in_memory": self.core.n_bytes,
            "regressors": self.core.n_labels,
            "examples_learned": float(self.core.masses().sum()),
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a star of the labels as Graphviz DOT."""
        star = LabelTree.balanced(self.core.n_labels, arity=max(2, self.core.n_labels))
        return star.to_dot(names=names, max_nodes=max_nodes)

    def _shape(self) -> Tensors:
        return {}

    @classmethod
    def _restore_core(
        cls,
        tensors: Tensors,  # noqa: ARG003
        mass: NDArray[Any],
        lines: Lines,
        n_labels: int,
    ) -> _core.OneAgainstAll:
        if len(mass) > n_labels:
            raise ModelFormatError("a regressor has a label that is not in the vocabulary.")
        return _core.OneAgainstAll(mass, *lines)


class _Scoring(OneAgainstAllModel):
    """The same model, which predicts f_y(x) for each row instead of a probability."""

    def _update_core(self, batch: CoreBatch, *, predict: bool, top: bool, again: bool) -> Any:
        learning = self.settings.learning(again=again)
        return self.core.learn_scored(*batch.arrays, top, learning, predict)


@dataclass(frozen=True, kw_only=True)
class FrequencyTableSettings(ClassifierSettings):
    """The checked parameters of `FrequencyTableClassifier`, which describes them."""

    back_off: float = setting(1.0, Number(0))


@dataclass
class FrequencyTableModel(DenseAnswers, FittedModel):
    """P(y given x) = (c(x, y) + b P(y)) / (c(x) + b), c being summed weights and b the back-off.

    P(y) is the overall frequency of label y. A row never seen gets P(y), even with ``back_off=0``.
    With ``back_off=0`` a row that was seen gets only the frequencies of that row. Threads may query
    the model while one thread learns.
    """

    settings_class = FrequencyTableSettings

    settings: FrequencyTableSettings
    n_features: int
    vocabulary: LabelVocabulary = field(default_factory=LabelVocabulary)
    totals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """The summed weight of each label."""
    tables: dict[bytes, dict[int, float]] = field(default_factory=dict, repr=False)
    """The summed weight of each label seen with a row, by the hash of the row."""
    frozen: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.RLock()

    @classmethod
    def empty(cls, settings: FrequencyTableSettings, n_features: int) -> FrequencyTableModel:
        """Return a model without labels."""
        return cls(settings, n_features)

    @classmethod
    def over(
        cls, settings: FrequencyTableSettings, n_features: int, labels: ArrayLike
    ) -> FrequencyTableModel:
        """Return a model that has seen no row yet, its labels in this order."""
        return cls(settings, n_features, LabelVocabulary(labels))

    @property
    def n_labels(self) -> int:
        """The number of labels seen."""
        return int(np.count_nonzero(self.totals))

    @property
    def n_tree_labels(self) -> int:
        """Number of labels that have been learned, which is the largest k of `top_labels`."""
        return self.n_labels

    def update(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        *,
        predict: bool = True,  # noqa: ARG002 - it comes for free
        k: int = 0,
        pass_number: int = 0,
    ) -> Predictions:
        """Count rows in turn and return what was predicted for each before.

        ``k`` is how many of the most likely labels to find. Rows count in the first pass only.
        """
        if k > self.settings.batch_k:
            return update_one_by_one(self, rows, labels, weights, IN_TURN, k, pass_number)
        check_can_learn(self.frozen)
        self.check_width(rows)
        check_weights(weights)
        if pass_number:
            weights = np.zeros(rows.n_rows, np.float32)
        n = rows.n_rows
        p_label, p_top, is_new = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
        top = np.full(n, -1, dtype=np.int32)
        with self._lock:
            ids = ids_to_learn(self.vocabulary, single_labels(self, rows, labels), weights)
        with self._lock, self._agreement():
            self.totals = np.pad(self.totals, (0, len(self.vocabulary) - len(self.totals)))
            total, best = float(self.totals.sum()), int(np.argmax(self.totals))
            for r, (key, label) in enumerate(zip(_keys(rows), ids.tolist(), strict=True)):
                table = self.tables.get(key, _EMPTY)
                is_new[r] = label < 0 or self.totals[label] == 0
                if k and total > 0:
                    candidates = np.unique([*table, best]).astype(np.int32)
                    p = self._p(table, candidates, total)
                    top[r], p_top[r] = candidates[np.argmax(p)], p.max()
                weight = float(weights[r]) if len(weights) else 1.0
                if weight == 0:
                    continue
                if not is_new[r]:
                    p_label[r] = self._p(table, np.array([label]), total)[0]
                self.tables.setdefault(key, {})[label] = table.get(label, 0.0) + weight
                self.totals[label] += weight
                total += weight
                if (self.totals[label], -label) > (self.totals[best], -best):
                    best = label
        names = names_of(self.vocabulary, top)
        tops = names.reshape(-1, 1)[:, :k], p_top.reshape(-1, 1)[:, :k]
        return Predictions(p_label, *tops, is_new)

    @contextmanager
    def _agreement(self) -> Iterator[None]:
        """Make tables and totals agree if counting is cut short in the middle of a row."""
        try:
            yield
        except BaseException:
            self.tables = {key: table for key, table in self.tables.items() if table}
            self.totals = np.zeros(len(self.vocabulary))
            for table in self.tables.values():
                for label, weight in table.items():
                    self.totals[label] += weight
            raise

    def learn_in_passes(
        self,
        rows: Rows,
        labels: RaggedLabels,
        weights: NDArray[np.float32],
        progress: Progress = SILENT,
    ) -> None:
        """Count all rows, once."""
        self.update(rows, labels, weights, predict=False)
        progress.advance(rows.n_rows)

    def n_steps(self, rows: Rows) -> int:
        """Return by how many rows `learn_in_passes` advances ``progress``."""
        return rows.n_rows

    def label_probabilities(self, rows: Rows, labels: ArrayLike) -> NDArray[np.float64]:
        """Return P(label given row), one label per row; 0 for a label never seen."""
        ids = self.label_ids(rows, labels)
        p = np.zeros(rows.n_rows)
        with self._lock:
            total = float(self.totals.sum())
            for r, key in enumerate(_keys(rows)):
                if 0 <= ids[r] < len(self.totals):
                    p[r] = self._p(self.tables.get(key, _EMPTY), ids[r : r + 1], total)[0]
        return p

    def top_labels(self, rows: Rows, k: int) -> TopLabels:
        """Return the k most likely labels of every row, most likely first."""
        k = check_k(k, self.n_labels)
        ids, p = np.empty((rows.n_rows, k), dtype=np.int32), np.empty((rows.n_rows, k))
        with self._lock:
            total = float(self.totals.sum())
            ranked = np.argsort(-self.totals, kind="stable").astype(np.int32)
            for r, key in enumerate(_keys(rows)):
                table = self.tables.get(key, _EMPTY)
                # Among labels not seen with this row, the most frequent are the most likely.
                candidates = np.union1d(
                    np.fromiter(table, dtype=np.int32, count=len(table)), ranked[: k + len(table)]
                )
                p_all = self._p(table, candidates, total)
                best = np.argsort(-p_all, kind="stable")[:k]
                ids[r], p[r] = candidates[best], p_all[best]
        return TopLabels(names_of(self.vocabulary, ids), p)

    def probabilities(self, rows: Rows, *, max_bytes: int = MAX_DENSE_BYTES) -> NDArray[np.float64]:
        """Return the whole distribution, (n_rows, n_labels), columns in vocabulary order."""
        with self._lock:
            n_columns = len(self.vocabulary)
            check_dense_size(rows.n_rows, n_columns, max_bytes)
            p = np.zeros((rows.n_rows, n_columns))
            every, total = np.arange(len(self.totals)), float(self.totals.sum())
            for r, key in enumerate(_keys(rows)):
                p[r, : len(every)] = self._p(self.tables.get(key, _EMPTY), every, total)
        return p

    def has_learned(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which label ids were seen with a weight above 0."""
        totals = np.append(self.totals, 0.0)
        return totals[np.clip(ids, -1, len(totals) - 1)] > 0

    def _p(self, table: dict[int, float], ids: NDArray[Any], total: float) -> NDArray[np.float64]:
        overall: NDArray[np.float64] = self.totals[ids] / total if total > 0 else np.zeros(len(ids))
        seen = sum(table.values())
        if seen == 0:
            return overall
        p = np.array([table.get(label, 0.0) for label in ids.tolist()])
        p += self.settings.back_off * overall
        p /= seen + self.settings.back_off
        return p

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model."""
        return {
            "can_learn": not self.frozen,
            "labels_seen": self.n_labels,
            "rows_told_apart": len(self.tables),
            "pairs_of_row_and_label": sum(map(len, self.tables.values())),
            "examples_learned": float(self.totals.sum()),
        }

    def to_dot(self, names: Sequence[str], *, max_nodes: int) -> str:
        """Return a star of the labels as Graphviz DOT."""
        n_labels = len(self.totals)
        return LabelTree.balanced(n_labels, arity=max(2, n_labels)).to_dot(
            names=names, max_nodes=max_nodes
        )

    def to_tensors(self, *, keep_state: bool) -> tuple[Tensors, Facts]:
        """Return arrays and facts from which `from_tensors` restores an equal model."""
        frozen = self.frozen or not keep_state
        with self._lock:
            keys = sorted(self.tables)
            pairs = [pair for key in keys for pair in sorted(self.tables[key].items())]
            sizes = [len(self.tables[key]) for key in keys]
            tensors = self.vocabulary.to_tensors() | {
                "totals": self.totals.copy(),
                "rows.keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, _KEY_BYTES),
                "rows.sizes": np.array(sizes, dtype=np.int64),
                "pairs.labels": np.array([label for label, _ in pairs], dtype=np.int32),
                "pairs.weights": np.array(
                    [weight for _, weight in pairs], dtype=np.float32 if frozen else np.float64
                ),
            }
        return tensors, {
            "settings": self.settings.to_dict(),
            "n_features": self.n_features,
            "frozen": frozen,
        }

    @classmethod
    def _restored(cls, tensors: Tensors, facts: Facts, vocabulary: LabelVocabulary) -> Self:
        settings = FrequencyTableSettings.from_dict(facts["settings"])
        width, frozen = stored_width(facts), checks.flag("frozen", facts["frozen"])
        totals = store.tensor(tensors, "totals", np.float64).copy()
        if len(totals) > len(vocabulary):
            raise ModelFormatError("a count has a label that is not in the vocabulary.")
        tables = _restored_tables(tensors, totals, frozen=frozen)
        return cls(settings, width, vocabulary, totals, tables, frozen)


def _restored_tables(
    tensors: Tensors, totals: NDArray[np.float64], *, frozen: bool
) -> dict[bytes, dict[int, float]]:
    """Return the tables of a file's rows, which must agree with the labels' totals."""
    keys = store.tensor(tensors, "rows.keys", np.uint8, ndim=2)
    sizes = store.tensor(tensors, "rows.sizes", np.int64)
    labels = store.tensor(tensors, "pairs.labels", np.int32)
    weights = store.tensor(tensors, "pairs.weights", np.float32 if frozen else np.float64)
    store.check_ids("pairs.labels", labels, len(totals))
    store.check_ids("rows.sizes", sizes, len(labels) + 1, low=1)
    ends = np.cumsum(sizes)
    store.check_starts("rows.sizes", np.concatenate([[0], ends]), len(keys), len(labels))
    summed = np.bincount(labels, weights, minlength=len(totals))
    fits = (
        keys.shape[1] == _KEY_BYTES
        and len(labels) == len(weights)
        and (weights > 0).all()
        and (totals >= 0).all()
        and np.isfinite(totals.sum())
        and np.allclose(summed, totals, rtol=1e-3, atol=0)  # float32, added in another order
    )
    if not fits:
        raise ModelFormatError("the counts of rows and labels do not fit together.")
    tables = {}
    for key, size, stop in zip(keys, sizes.tolist(), ends.tolist(), strict=True):
        here = slice(stop - size, stop)
        pairs = zip(labels[here].tolist(), weights[here].tolist(), strict=True)
        tables[key.tobytes()] = dict(pairs)
    if len(tables) != len(keys) or sum(map(len, tables.values())) != len(labels):
        raise ModelFormatError("a row or one of its labels occurs twice.")
    return tables


def _keys(rows: Rows) -> Iterator[bytes]:
    """Yield a hash of each row; stored zeros do not change it."""
    for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
        indices, values = rows.indices[start:stop], rows.values[start:stop]
        if not values.all():
            indices, values = indices[values != 0], values[values != 0]
        digest = hashlib.blake2b(indices.tobytes(), digest_size=_KEY_BYTES)
        digest.update(values.tobytes())
        yield digest.digest()
