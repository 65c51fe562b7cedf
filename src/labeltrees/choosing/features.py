"""Features of texts, fitted to the rows that are learned from; other rows have theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labeltrees.data.rows import as_rows

if TYPE_CHECKING:
    from labeltrees.choosing.gathering import Gathered

__all__ = ["Features"]


@dataclass(frozen=True)
class Features:
    """How features are made of texts; None where rows have their features already."""

    transform: Any = None
    """A scikit-learn vectoriser."""

    def fit(self, data: Gathered) -> tuple[Features, Gathered]:
        """Return features fitted to these texts, and the data with them."""
        if data.texts is None or self.transform is None:
            return self, data
        from sklearn.base import clone

        fitted = clone(self.transform)
        rows = as_rows(fitted.fit_transform(data.texts))
        return replace(self, transform=fitted), data.with_rows(rows)

    def apply(self, data: Gathered) -> Gathered:
        """Return the data with the features of their texts."""
        if data.texts is None or self.transform is None:
            return data
        return data.with_rows(as_rows(self.transform.transform(data.texts)))

    @property
    def names(self) -> list[str] | None:
        """The words that the features count, if they are known."""
        if not hasattr(self.transform, "get_feature_names_out"):
            return None
        return list(self.transform.get_feature_names_out())
