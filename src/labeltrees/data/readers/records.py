"""Chunks from rows that have named fields, as in JSON lines and Parquet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH, Chunk
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.readers.assembly import file_error, rows_of
from labeltrees.data.readers.columns import LABEL_NAMES, TEXT_NAMES, plain
from labeltrees.data.readers.vectorizers import Vectorizer, default_vectorizer, vectorize
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from labeltrees.data.rows import Rows

FIELDS = ("label", "labels", "text", "features", "weight")
FeatureKind: TypeAlias = Literal["text", "names", "indices"]
"""The form of the features of a row. A dense row has the form "indices"."""
_SUM_ERROR = 1e-4  # Probabilities may be printed with few digits.
DESCRIPTION: dict[FeatureKind, str] = {
    "text": "a text",
    "names": "named features",
    "indices": "features with indices and values",
}


class RecordError(ValueError):
    """A record that cannot be used. The caller adds the file and the line."""


@dataclass
class RecordReader:
    """Gather the records of one file, whose first record decides the kind of labels and features.

    A record has ``label``, ``labels`` or neither. ``label`` is a string, an integer, or an object
    with the probability of each label. ``labels`` is a list of labels, an object with the relevance
    of each label, or a list of objects with ``label`` and ``relevance``. A record also has ``text``
    or ``features``, see `parse_features`. It may have ``weight``. A field that is None counts as
    absent.
    """

    name: str
    width: int
    vectorizer: Vectorizer | None
    label_type: type[str] | type[int] | None = None
    feature_kind: FeatureKind | None = None
    lines: list[int] = field(default_factory=list)
    labels: list[str | int] = field(default_factory=list)
    label_starts: list[int] = field(default_factory=lambda: [0])
    relevance: list[float] = field(default_factory=list)
    is_graded: bool = False
    has_distributions: bool = False
    aliases: dict[str, str] | None = None
    weights: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    row_starts: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, record: object, line: int) -> None:
        """Add the record of a line of the file, or raise DataFileError if it cannot be used."""
        try:
            if not isinstance(record, dict):
                raise RecordError(f"expected an object, got {_short(record)}")
            if self.aliases is None:
                self.aliases = aliases_of(record)
            for given, field_name in self.aliases.items():
                if given in record:
                    record = {**record, field_name: record[given]}
            self._add_labels(record)
            self._add_features(record)
            self._add_weight(record.get("weight"))
        except RecordError as error:
            raise DataFileError(self.name, line, f"{error}.") from None
        self.lines.append(line)

    def take(self) -> Chunk:
        """Return the chunk of the records since the last call."""
        lines = np.array(self.lines, np.int64)
        rows = self._rows(lines)
        labels: NDArray[np.int64] | NDArray[np.object_]
        if self.label_type is str:
            labels = np.array(self.labels, np.object_)
        else:
            labels = np.array(self.labels, np.int64)
        relevance = np.array(self.relevance, np.float32) if self.is_graded else None
        chunk = Chunk(
            rows,
            RaggedLabels(labels, np.array(self.label_starts, np.int64), relevance),
            np.array(self.weights, np.float32),
            int(lines[0]),
            lines,
            list(self.texts) if self.feature_kind == "text" else None,
            self.has_distributions,
        )
        for values in (self.lines, self.labels, self.relevance, self.weights, self.texts):
            values.clear()
        for values in (self.names, self.indices, self.values):
            values.clear()
        self.label_starts, self.row_starts = [0], [0]
        return chunk

    def _rows(self, lines: NDArray[np.int64]) -> Rows:
        if self.feature_kind == "text":
            if self.vectorizer is None:
                self.vectorizer = default_vectorizer()
            return vectorize(self.vectorizer, self.texts, self.name, lines)
        named = self.feature_kind == "names"
        return gathered_rows(
            self.name,
            self.row_starts,
            _core.hash_names(self.names) if named else self.indices,
            self.values,
            lines,
            _core.HASHED_WIDTH if named else self.width,
        )

    def _add_labels(self, record: Mapping[str, object]) -> None:
        label, labels = record.get("label"), record.get("labels")
        if label is not None and labels is not None:
            raise RecordError("the row has both 'label' and 'labels'")
        if isinstance(label, dict):
            found = _distribution(label)
            self.is_graded = self.has_distributions = True
        elif label is not None:
            self._check_label(label)
            found = [(cast("str | int", label), 1.0)]
        elif self.has_distributions and labels is not None:
            raise RecordError("the row has 'labels', but a row before it has a distribution")
        else:
            found = self._several([] if labels is None else labels)
        for one, _ in found:
            self._check_label(one)
        values = dict(found)
        self.labels.extend(values)
        self.relevance.extend(values.values())
        self.label_starts.append(len(self.labels))

    def _several(self, labels: object) -> list[tuple[str | int, float]]:
        """Return labels and their relevances. A label that occurs twice has the same relevance."""
        if isinstance(labels, dict):
            self.is_graded = True
            return _graded(labels.items())
        if not isinstance(labels, list):
            raise RecordError(f"'labels' must be a list or an object, got {_short(labels)}")
        if labels and all(isinstance(one, dict) for one in labels):
            for one in labels:
                if one.keys() != {"label", "relevance"}:
                    expected = "an entry of 'labels' must have 'label' and 'relevance'"
                    raise RecordError(f"{expected}, got {_short(one)}")
                self._check_label(one["label"])
            self.is_graded = True
            return _graded([(one["label"], one["relevance"]) for one in labels])
        for one in labels:
            self._check_label(one)  # Only a checked label can be a key.
        return [(one, 1.0) for one in labels]

    def _check_label(self, label: object) -> None:
        kind = type(label)
        if kind is not str and kind is not int:
            raise RecordError(f"a label must be a string or an integer, got {_short(label)}")
        if self.label_type is None:
            self.label_type = str if kind is str else int
        if kind is not self.label_type:
            name = self.label_type.__name__
            raise RecordError(f"the label {_short(label)} is not {name} like the first label")
        if isinstance(label, str):
            check_text(label)
        elif isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise RecordError(f"the label {_short(label)} is not a 64-bit integer")

    def _add_features(self, record: Mapping[str, object]) -> None:
        text, features = record.get("text"), record.get("features")
        if (text is None) == (features is None):
            fields = ", ".join(_short(name) for name in list(record)[:8]) or "none"
            raise RecordError(
                f"the row must have 'text' or 'features', but its fields are {fields}"
            )
        if features is None:
            if not isinstance(text, str):
                raise RecordError(f"'text' must be a string, got {_short(text)}")
            self._check_kind("text")
            check_text(text)
            self.texts.append(text)
            return
        kind, keys, values = parse_features(features, self.width)
        self._check_kind(kind)
        if kind == "names":
            self.names.extend(cast("Sequence[str]", keys))
        else:
            self.indices.extend(cast("Sequence[int]", keys))
        self.values.extend(values)
        self.row_starts.append(len(self.values))

    def _check_kind(self, kind: FeatureKind) -> None:
        if self.feature_kind is None:
            self.feature_kind = kind
        elif kind != self.feature_kind:
            first = DESCRIPTION[self.feature_kind]
            raise RecordError(f"the row has {DESCRIPTION[kind]}, but the first row has {first}")

    def _add_weight(self, weight: object) -> None:
        (value,) = _checked_values([1.0 if weight is None else weight])
        if value < 0 or not np.isfinite(np.float32(value)):
            raise RecordError(f"the weight {_short(weight)} is not a finite number >= 0")
        self.weights.append(value)


def parse_features(
    features: object, width: int
) -> tuple[Literal["names", "indices"], Sequence[str] | Sequence[int], list[float]]:
    """Return the form of a row's features, their names or indices, and their values.

    ``features`` maps names to values, or has lists ``indices`` and ``values``. It may also be a
    list, which holds the ``width`` values of a dense row, or pairs of an index and a value. Raises
    `RecordError`.

    >>> parse_features({"height": 1.5}, 3)
    ('names', ['height'], [1.5])
    >>> parse_features({"indices": [0, 2], "values": [1, 0.5]}, 3)
    ('indices', [0, 2], [1.0, 0.5])
    >>> parse_features([[0, 1], [2, 0.5]], 3)
    ('indices', [0, 2], [1.0, 0.5])
    >>> parse_features([1, 0, 0.5], 3)
    ('indices', range(0, 3), [1.0, 0.0, 0.5])
    """
    if isinstance(features, list):
        return _listed(features, width)
    if not isinstance(features, dict):
        raise RecordError(f"'features' must be an object or a list, got {_short(features)}")
    if features.keys() == {"indices", "values"} and isinstance(features["indices"], list):
        return _sparse(features["indices"], features["values"], width)
    for name in features:
        check_text(name)
    return "names", list(features), _checked_values(list(features.values()))


def _listed(
    features: list[Any], width: int
) -> tuple[Literal["indices"], Sequence[int], list[float]]:
    """Return the entries of a dense row, or of pairs of index and value."""
    n_pairs = sum(isinstance(each, list) for each in features)
    if n_pairs == len(features) > 0:
        if any(len(each) != 2 for each in features):
            raise RecordError("a pair in 'features' must have an index and a value")
        return _sparse([index for index, _ in features], [value for _, value in features], width)
    if n_pairs:
        raise RecordError("'features' must be all numbers or all pairs")
    if len(features) != width != UNBOUNDED_WIDTH:
        raise RecordError(f"a dense row must have {width} numbers, got {len(features)}")
    return "indices", range(len(features)), _checked_values(features)


def _sparse(
    indices: list[Any], values: object, width: int
) -> tuple[Literal["indices"], list[int], list[float]]:
    if not isinstance(values, list) or len(indices) != len(values):
        raise RecordError("'indices' and 'values' must be lists of the same length")
    for index in indices:
        is_whole = type(index) is int or (type(index) is float and index.is_integer())
        if not is_whole or not 0 <= index < width:
            raise RecordError(f"the index {_short(index)} is not in [0, {width})")
    return "indices", [int(index) for index in indices], _checked_values(values)


def gathered_rows(
    name: str,
    row_starts: Sequence[int],
    indices: Sequence[int] | NDArray[np.int64],
    values: Sequence[float],
    lines: NDArray[np.int64],
    width: int,
) -> Rows:
    """Return rows of entries in any order, or raise `DataFileError` with the line of a bad row."""
    try:
        parsed = _core.gather_rows(
            np.array(row_starts, np.int64),
            np.asarray(indices, np.int64),
            np.array(values, np.float64),
            lines,
            width,
        )
    except _core.ParseError as error:
        raise file_error(name, error) from None
    return rows_of(parsed, width)


def aliases_of(record: Mapping[str, object]) -> dict[str, str]:
    """Return the fields that are used as ``text`` and ``label`` if a record lacks these.

    >>> aliases_of({"utterance": "good morning", "intent": "greet"})
    {'utterance': 'text', 'intent': 'label'}
    """
    found: dict[str, str] = {}
    if "text" not in record and "features" not in record:
        named = {plain(key): key for key, value in record.items() if isinstance(value, str)}
        text = next((named[name] for name in TEXT_NAMES if name in named), None)
        if text is not None:
            found[text] = "text"
    if "label" not in record and "labels" not in record:
        named = {plain(key): key for key in record if key not in found}
        label = next((named[name] for name in LABEL_NAMES if name in named), None)
        if label is not None:
            several = isinstance(record[label], list | dict)
            found[label] = "labels" if several else "label"
    return found


def _graded(pairs: Iterable[tuple[Any, object]]) -> list[tuple[str | int, float]]:
    """Return labels with checked relevances."""
    labels, values = zip(*pairs, strict=True) if pairs else ((), ())
    relevance = _checked_values(list(values))
    for label, value in zip(labels, relevance, strict=True):
        if value < 0:
            raise RecordError(f"the relevance {value:g} of {_short(label)} is not a number >= 0")
    return list(zip(labels, relevance, strict=True))


def _distribution(label: dict[Any, object]) -> list[tuple[str | int, float]]:
    """Return labels with probabilities above 0, which sum to 1."""
    found = _graded(label.items())
    total = math.fsum(value for _, value in found)
    if not abs(total - 1) <= _SUM_ERROR:
        raise RecordError(
            f"the probabilities of 'label' sum to {total:g}, not to 1. Use 'labels' for relevances"
        )
    return [(name, value / total) for name, value in found if value > 0]


def _checked_values(values: list[object]) -> list[float]:
    """Return numbers as floats."""
    floats = []
    for value in values:
        if type(value) is not float and type(value) is not int:
            raise RecordError(f"expected a number, got {_short(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not abs(number) < 3.5e38:
            raise RecordError(f"the value {_short(value)} is not a finite 32-bit float")
        floats.append(number)
    return floats


def check_text(text: str) -> None:
    """Raise RecordError for half a surrogate pair, which JSON can hold but UTF-8 cannot."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RecordError(f"the string {_short(text)} is not valid Unicode") from None


def _short(value: object) -> str:
    """Return the value for a message, in ASCII and shortened."""
    try:
        text = ascii(value)
    except ValueError:  # The integer has more digits than Python prints.
        text = "an integer of very many digits"
    return text if len(text) <= 60 else f"{text[:57]}..."
