"""What the features of a text are called, for explanations in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees.data.hashed_names import HashedNames
from labeltrees.transforms.conversion import width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        return None if text is None else _hashed_names(first, text)
    try:
        names: Sequence[str] = transformer.get_feature_names_out()
    except (AttributeError, ValueError, TypeError):  # one of its steps has no names
        return None
    return names if len(names) == width_of(transformer) else None


def _hashed_names(vectorizer: Any, text: str) -> HashedNames:
    """Return the names of hashed features: those of one text's terms."""
    from sklearn.feature_extraction import FeatureHasher

    n_features = int(vectorizer.n_features)
    terms = sorted(set(vectorizer.build_analyzer()(text)))
    if not terms:
        return HashedNames(n_features, ())
    hasher = FeatureHasher(n_features, input_type="string", alternate_sign=False)
    columns = hasher.transform([term] for term in terms).indices.tolist()
    return HashedNames(n_features, zip(columns, terms, strict=True))
