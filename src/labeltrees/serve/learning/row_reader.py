"""From the rows of a request to the rows of a model: texts, names, indices or dense numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from labeltrees import _core
from labeltrees.data.hashed_names import HashedNames
from labeltrees.data.python_source import next_identifier_names, next_identifier_rows
from labeltrees.data.rows import Rows, as_rows, stacked
from labeltrees.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.models.model import FittedModel
    from labeltrees.serve.wire import Row
    from labeltrees.store import StoredModel

__all__ = ["InputKind", "RowReader"]

InputKind = Literal["text", "python", "features"]
"""What a model's rows are: texts, Python code up to the cursor, or features."""


class RowReader:
    """Makes rows of what is sent, as the model's own rows were made.

    Parameters
    ----------
    stored : StoredModel
        What the model's file holds: its transformer and how its data were read.
    model : FittedModel
        The model.
    """

    def __init__(self, stored: StoredModel, model: FittedModel) -> None:
        self.n_features = model.n_features
        self.transformer = self._transformer(stored)
        self.kind = self._kind(stored)
        self._columns: dict[str, int] | None = None
        self._column_names = _table_columns(stored, model.n_features)

    @staticmethod
    def _transformer(stored: StoredModel) -> Any:
        if stored.transform is None:
            return None
        from labeltrees.transforms import transform_of  # it imports scikit-learn

        return transform_of(stored)

    def _kind(self, stored: StoredModel) -> InputKind:
        if self.transformer is not None:
            from labeltrees.transforms import takes_text

            return "text" if takes_text(self.transformer) else "features"
        remembered = stored.extra.get("input", {})
        is_code = isinstance(remembered, dict) and remembered.get("format") == "python"
        return "python" if is_code else "features"

    @property
    def columns(self) -> list[str] | None:
        """The names of the table's columns that the model has learned from, if it was one."""
        return self._column_names

    def read(self, sent: Sequence[Row]) -> Rows:
        """Return the rows, or raise `DataFileError` that names the first bad one, from 0."""
        if self.kind == "python" and len(sent) == 1 and sent[0].text is not None:
            return next_identifier_rows(_text(sent[0].text, 0))  # as somebody types
        texts = [i for i, row in enumerate(sent) if row.text is not None]
        if not texts:
            return self._of_features(sent)
        if len(texts) < len(sent):
            rest = [self.read([row]) for row in sent]
            return stacked(rest)
        return self._of_texts(sent)

    def _of_texts(self, sent: Sequence[Row]) -> Rows:
        for number, row in enumerate(sent):
            if row.features is not None:
                raise _bad(number, "it has both 'text' and 'features'")
        texts = [_text(row.text or "", number) for number, row in enumerate(sent)]
        if self.kind == "python":
            return stacked([next_identifier_rows(text) for text in texts])
        if self.kind != "text":
            raise _bad(0, "this model takes 'features', not 'text'")
        return as_rows(self.transformer.transform(texts), n_features=self.n_features)

    def _of_features(self, sent: Sequence[Row]) -> Rows:
        starts = [0]
        indices: list[int] = []
        values: list[float] = []
        for number, row in enumerate(sent):
            own_indices, own_values = self._entries(row.features, number)
            indices.extend(own_indices)
            values.extend(own_values)
            starts.append(len(values))
        width = self._input_width()
        try:
            parsed = _core.gather_rows(
                np.array(starts, np.int64),
                np.array(indices, np.int64),
                np.array(values, np.float64),
                np.arange(len(sent), dtype=np.int64),
                width,
            )
        except _core.ParseError as error:
            line, reason = error.args
            raise _bad(line, reason) from None
        rows = Rows(parsed.row_starts, parsed.indices, parsed.values, width)
        if self.kind == "features" and self.transformer is not None:
            from labeltrees.transforms.features import transformed

            return transformed(rows, self.transformer)
        return rows

    def _input_width(self) -> int:
        if self.kind == "features" and self.transformer is not None:
            from labeltrees.transforms.conversion import input_width

            return input_width(self.transformer) or self.n_features
        return self.n_features

    def _entries(self, features: Any, number: int) -> tuple[Sequence[int], Sequence[float]]:
        if features is None:
            wanted = "'features'" if self.kind == "features" else "'text' or 'features'"
            raise _bad(number, f"it has no {wanted}")
        if isinstance(features, list):
            return self._listed(features, number)
        if features.keys() == {"indices", "values"} and isinstance(features["indices"], list):
            return self._sparse(features["indices"], features["values"], number)
        for name, value in features.items():
            if isinstance(value, list):
                raise _bad(number, f"the feature {name!r:.60} must be a number")
        return self._named(list(features), number), list(features.values())

    def _listed(self, features: list[Any], number: int) -> tuple[Sequence[int], Sequence[float]]:
        """Return the entries of a dense row, or of pairs of index and value."""
        if features and all(isinstance(each, list) for each in features):
            if any(len(each) != 2 for each in features):
                raise _bad(number, "a pair must have an index and a value")
            indices, values = zip(*features, strict=True)
            return self._sparse(list(indices), list(values), number)
        if any(isinstance(each, list) for each in features):
            raise _bad(number, "'features' must be all numbers or all pairs")
        width = self._input_width()
        if len(features) != width:
            raise _bad(number, f"a dense row must have {width} numbers, got {len(features)}")
        return range(len(features)), features

    def _sparse(
        self, indices: list[float], values: Any, number: int
    ) -> tuple[Sequence[int], Sequence[float]]:
        if not isinstance(values, list) or len(values) != len(indices):
            raise _bad(number, "'indices' and 'values' must be lists of the same length")
        width = self._input_width()
        for index in indices:
            if not 0 <= index < width or index != int(index):
                raise _bad(number, f"the index {index:g} is not in [0, {width})")
        return [int(index) for index in indices], values

    def _named(self, names: list[str], number: int) -> Sequence[int]:
        for name in names:
            _text(name, number)
        if self.transformer is None and self.n_features == _core.HASHED_WIDTH:
            return list(_core.hash_names(names))
        if self._columns is None:
            self._columns = {name: i for i, name in enumerate(self._known_names())}
        missing = next((name for name in names if name not in self._columns), None)
        if missing is not None:
            known = "has no names of features" if not self._columns else "does not know"
            raise _bad(number, f"this model {known} {missing!r:.60}")
        return [self._columns[name] for name in names]

    def _known_names(self) -> Sequence[str]:
        if self._column_names is not None:
            return self._column_names
        return [] if self.transformer is None else list(self._transformed_names() or ())

    def feature_names(self, row: Row) -> Sequence[str] | None:
        """Return a name for every feature, None if they have none; of hashed ones the row's own."""
        if self.transformer is not None:
            return self._transformed_names(row.text)
        if self.n_features != _core.HASHED_WIDTH:
            return self._column_names
        if row.text is not None:
            return HashedNames(self.n_features, next_identifier_names(row.text).items())
        names = list(row.features) if isinstance(row.features, dict) else []
        columns = _core.hash_names(names).tolist()
        return HashedNames(self.n_features, zip(columns, names, strict=True))

    def _transformed_names(self, text: str | None = None) -> Sequence[str] | None:
        from labeltrees.transforms import feature_names

        return feature_names(self.transformer, text)


def _table_columns(stored: StoredModel, n_features: int) -> list[str] | None:
    """Return the names of a table's columns, if the model has learned from one."""
    remembered = stored.extra.get("input")
    options = remembered.get("options") if isinstance(remembered, dict) else None
    numbers = options.get("numbers") if isinstance(options, dict) else None
    if not isinstance(numbers, list) or len(numbers) != n_features:
        return None
    return [str(name) for name in numbers]


def _text(text: str, number: int) -> str:
    """Return a text, or raise for half a surrogate pair, which JSON can express."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _bad(number, "a string is not valid Unicode") from None
    return text


def _bad(number: int, reason: str) -> DataFileError:
    return DataFileError("request", number, f"{reason}.")
