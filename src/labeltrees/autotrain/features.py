"""Features of texts, fitted to the rows that are learned from; other rows have theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labeltrees.data.rows import as_rows
from labeltrees.errors import DataError

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk

__all__ = ["Features"]


@dataclass(frozen=True)
class Features:
    """How features are made of texts; None where rows have their features already."""

    transform: Any = None
    """A scikit-learn vectoriser."""

    def fit(self, data: Chunk) -> tuple[Features, Chunk]:
        """Return features fitted to these texts, and the data with them."""
        if data.texts is None or self.transform is None:
            return self, data
        from sklearn.base import clone

        fitted = clone(self.transform)
        try:
            rows = as_rows(fitted.fit_transform(data.texts))
        except ValueError as error:  # such as an empty vocabulary
            raise DataError(f"no features can be made of the texts: {error}") from None
        return replace(self, transform=fitted), replace(data, rows=rows)

    def apply(self, data: Chunk) -> Chunk:
        """Return the data with the features of their texts."""
        if data.texts is None or self.transform is None:
            return data
        return replace(data, rows=as_rows(self.transform.transform(data.texts)))

    @property
    def names(self) -> list[str] | None:
        """The words that the features count, if they are known."""
        if not hasattr(self.transform, "get_feature_names_out"):
            return None
        return list(self.transform.get_feature_names_out())
