"""What the features of a text are called, for explanations in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from labeltrees.transforms.conversion import width_of

__all__ = ["feature_names"]


def feature_names(transformer: Any, text: str | None = None) -> Sequence[str] | None:
    """Return a name for every feature, None if they have none.

    Of hashed words only those in ``text`` have names; two that share a column are both named, and
    without a text there are none.

    >>> from labeltrees.transforms import hashed_text_features
    >>> names = feature_names(hashed_text_features(), "good night")
    >>> sorted(name for name in (names[i] for i in range(len(names))) if "hashed" not in name)
    ['good', 'good night', 'night']
    """
    steps = getattr(transformer, "steps", None)
    first = steps[0][1] if steps else transformer  # steps that can follow hashing keep its columns
    if type(first).__name__ == "HashingVectorizer":
        return None if text is None else _HashedNames(first, text)
    try:
        names: Sequence[str] = transformer.get_feature_names_out()
    except (AttributeError, ValueError, TypeError):  # one of its steps has no names
        return None
    return names if len(names) == width_of(transformer) else None


class _HashedNames(Sequence[str]):
    """The names of hashed features: those of one text's terms."""

    def __init__(self, vectorizer: Any, text: str) -> None:
        from sklearn.feature_extraction import FeatureHasher

        self._n_features = int(vectorizer.n_features)
        self._terms: dict[int, list[str]] = {}
        terms = sorted(set(vectorizer.build_analyzer()(text)))
        if not terms:
            return
        hasher = FeatureHasher(self._n_features, input_type="string", alternate_sign=False)
        columns = hasher.transform([term] for term in terms).indices.tolist()
        for term, column in zip(terms, columns, strict=True):
            self._terms.setdefault(column, []).append(term)

    def __len__(self) -> int:
        return self._n_features

    @overload
    def __getitem__(self, column: int) -> str: ...
    @overload
    def __getitem__(self, column: slice) -> Sequence[str]: ...
    def __getitem__(self, column: int | slice) -> str | Sequence[str]:
        if isinstance(column, slice):
            return [self[each] for each in range(*column.indices(len(self)))]
        if not 0 <= column < len(self):
            raise IndexError(column)
        return " or ".join(self._terms.get(column, [f"hashed {column}"]))
