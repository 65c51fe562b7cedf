"""Convert the rows of a request to the rows of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from labeltrees import _core
from labeltrees.data.python_source import next_identifier_names, next_identifier_rows
from labeltrees.data.readers.records import (
    RecordError,
    check_text,
    gathered_rows,
    parse_features,
)
from labeltrees.data.rows import as_rows, stacked
from labeltrees.errors import DataFileError
from labeltrees.transforms._features import HashedNames, transformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labeltrees.data.rows import Rows
    from labeltrees.models.model import FittedModel
    from labeltrees.serve.wire import InputRow
    from labeltrees.store import StoredModel

InputKind = Literal["text", "python", "features"]
"""Input of a model: texts, Python code up to the cursor, or features."""


class RowReader:
    """Converts the rows of requests as the training rows of the model were converted.

    Parameters
    ----------
    stored : StoredModel
        The content of the model's file, with its transformer and the format of its data.
    model : FittedModel
        The model.
    """

    def __init__(self, stored: StoredModel, model: FittedModel) -> None:
        self.n_features = model.n_features
        self.transformer = self._transformer(stored)
        self.kind = self._kind(stored)
        self.columns = _table_columns(stored, model.n_features)
        """Names of the columns of the table that the model was trained on, None without one."""
        self._column_of: dict[str, int] | None = None

    @staticmethod
    def _transformer(stored: StoredModel) -> Any:
        if stored.transform is None:
            return None
        from labeltrees.transforms import transform_of  # imports scikit-learn

        return transform_of(stored)

    def _kind(self, stored: StoredModel) -> InputKind:
        if self.transformer is not None:
            from labeltrees.transforms import takes_text

            return "text" if takes_text(self.transformer) else "features"
        remembered = stored.extra.get("input", {})
        is_code = isinstance(remembered, dict) and remembered.get("format") == "python"
        return "python" if is_code else "features"

    def read(self, sent: Sequence[InputRow]) -> Rows:
        """Return the rows, or raise `DataFileError` with the number of a bad row, from 0."""
        if self.kind == "python" and len(sent) == 1 and sent[0].text is not None:
            return next_identifier_rows(_checked_text(sent[0].text, 0))  # fast while people type
        texts = [i for i, row in enumerate(sent) if row.text is not None]
        if not texts:
            return self._of_features(sent)
        if len(texts) < len(sent):
            rest = [self.read([row]) for row in sent]
            return stacked(rest)
        return self._of_texts(sent)

    def _of_texts(self, sent: Sequence[InputRow]) -> Rows:
        for number, row in enumerate(sent):
            if row.features is not None:
                raise _bad(number, "it has both 'text' and 'features'")
        texts = [_checked_text(row.text or "", number) for number, row in enumerate(sent)]
        if self.kind == "python":
            return stacked([next_identifier_rows(text) for text in texts])
        if self.kind != "text":
            raise _bad(0, "this model takes 'features', not 'text'")
        return as_rows(self.transformer.transform(texts), n_features=self.n_features)

    def _of_features(self, sent: Sequence[InputRow]) -> Rows:
        starts = [0]
        indices: list[int] = []
        values: list[float] = []
        width = self._input_width()
        for number, row in enumerate(sent):
            if row.features is None:
                required = "'features'" if self.kind == "features" else "'text' or 'features'"
                raise _bad(number, f"it has no {required}")
            try:
                kind, keys, own = parse_features(row.features, width)
            except RecordError as error:
                raise _bad(number, str(error)) from None
            if kind == "names":
                keys = self._columns_of(cast("Sequence[str]", keys), number)
            indices.extend(cast("Sequence[int]", keys))
            values.extend(own)
            starts.append(len(values))
        lines = np.arange(len(sent), dtype=np.int64)
        rows = gathered_rows("request", starts, indices, values, lines, width)
        if self.kind == "features" and self.transformer is not None:
            return transformed(rows, self.transformer)
        return rows

    def _input_width(self) -> int:
        if self.kind == "features" and self.transformer is not None:
            from labeltrees.transforms._conversion import input_width

            return input_width(self.transformer) or self.n_features
        return self.n_features

    def _columns_of(self, names: Sequence[str], number: int) -> Sequence[int]:
        if self.transformer is None and self.n_features == _core.HASHED_WIDTH:
            return list(_core.hash_names(names))
        if self._column_of is None:
            self._column_of = {name: i for i, name in enumerate(self._known_names())}
        missing = next((name for name in names if name not in self._column_of), None)
        if missing is not None:
            known = "has no names of features" if not self._column_of else "does not know"
            raise _bad(number, f"this model {known} {missing!r:.60}")
        return [self._column_of[name] for name in names]

    def _known_names(self) -> Sequence[str]:
        if self.columns is not None:
            return self.columns
        return [] if self.transformer is None else list(self._transformed_names() or ())

    def feature_names(self, row: InputRow) -> Sequence[str] | None:
        """Return the names of all features, None without names; hashed ones are of the row."""
        if self.transformer is not None:
            return self._transformed_names(row.text)
        if self.n_features != _core.HASHED_WIDTH:
            return self.columns
        if row.text is not None:
            return HashedNames(self.n_features, next_identifier_names(row.text).items())
        names = list(row.features) if isinstance(row.features, dict) else []
        columns = _core.hash_names(names).tolist()
        return HashedNames(self.n_features, zip(columns, names, strict=True))

    def _transformed_names(self, text: str | None = None) -> Sequence[str] | None:
        from labeltrees.transforms import feature_names

        return feature_names(self.transformer, text)


def _table_columns(stored: StoredModel, n_features: int) -> list[str] | None:
    """Return the column names of the table that the model was trained on, None without one."""
    remembered = stored.extra.get("input")
    options = remembered.get("options") if isinstance(remembered, dict) else None
    numbers = options.get("numbers") if isinstance(options, dict) else None
    if not isinstance(numbers, list) or len(numbers) != n_features:
        return None
    return [str(name) for name in numbers]


def _checked_text(text: str, number: int) -> str:
    try:
        check_text(text)
    except RecordError as error:
        raise _bad(number, str(error)) from None
    return text


def _bad(number: int, reason: str) -> DataFileError:
    return DataFileError("request", number, f"{reason}.")
