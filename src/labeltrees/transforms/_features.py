"""The features of rows after a fitted transformer, their names, and the default vectorisers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from labeltrees.data.rows import Rows, as_rows
from labeltrees.errors import DataError
from labeltrees.transforms._conversion import input_width, width_of

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import HashingVectorizer

    from labeltrees.transforms._words_and_pairs import WordsAndPairs

_LONGEST = 200
"""Maximum number of characters in a name, which an explanation repeats for every turn."""


def transformed(rows: Rows, transformer: Any) -> Rows:
    """Return rows transformed by a fitted transformer of numbers, such as a scaler.

    Rows of a file without a width may be narrower than the rows that the transformer was fitted
    to. Raises `DataError` if the transformer cannot take the rows.

    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[1.0, 5.0], [3.0, 5.0]])
    >>> transformed(as_rows([[3.0]]), scaler).to_csr().toarray().tolist()
    [[1.0, -5.0]]
    """
    width = input_width(transformer)
    n_used = int(rows.indices.max(initial=-1)) + 1
    if width is not None and n_used > width:
        raise DataError(f"X must have {width} features, got the feature number {n_used - 1}.")
    X = Rows(*rows.arrays, rows.n_features if width is None else width).to_csr()
    try:
        try:
            return as_rows(transformer.transform(X))
        except (TypeError, ValueError):  # Means can only be subtracted from dense rows.
            return as_rows(transformer.transform(X.toarray()))
    except (TypeError, ValueError) as error:
        raise DataError(f"the model's transformer cannot take these rows: {error}") from None


def feature_names(transformer: Any, text: str | None = None) -> Sequence[str] | None:
    """Return a name for every feature, or None if they have none.

    Hashed words have names only if they occur in ``text``. If two of them share a column, its name
    contains both. Without a text, hashed words have no names.

    >>> from labeltrees.transforms import hashed_text_features
    >>> names = feature_names(hashed_text_features(), "good night")
    >>> sorted(name for name in (names[i] for i in range(len(names))) if "hashed" not in name)
    ['good', 'good night', 'night']
    """
    steps = getattr(transformer, "steps", None)
    first = steps[0][1] if steps else transformer  # Steps after hashing keep its columns.
    if type(first).__name__ == "HashingVectorizer":
        return None if text is None else _hashed_names(first, text)
    try:
        names: Sequence[str] = transformer.get_feature_names_out()
    except (AttributeError, ValueError, TypeError):  # One of its steps has no names.
        return None
    return names if len(names) == width_of(transformer) else None


def _hashed_names(vectorizer: Any, text: str) -> HashedNames:
    """Return the names of the hashed features that occur in a text."""
    from sklearn.feature_extraction import FeatureHasher

    n_features = int(vectorizer.n_features)
    terms = sorted(set(vectorizer.build_analyzer()(text)))
    if not terms:
        return HashedNames(n_features, ())
    hasher = FeatureHasher(n_features, input_type="string", alternate_sign=False)
    columns = hasher.transform([term] for term in terms).indices.tolist()
    return HashedNames(n_features, zip(columns, terms, strict=True))


class HashedNames(Sequence[str]):
    """A name for every hashed column, which is its number if the name is unknown.

    Parameters
    ----------
    n_features : int
        The number of columns.
    named : iterable of (int, str)
        Columns and their names. Several names of one column are joined. Long names are cut.

    Examples
    --------
    >>> names = HashedNames(2**30, [(7, "warm"), (7, "light"), (9, "warm light")])
    >>> names[7], names[9], names[8], len(names)
    ('warm or light', 'warm light', 'hashed 8', 1073741824)
    """

    def __init__(self, n_features: int, named: Iterable[tuple[int, str]]) -> None:
        self._n_features = n_features
        self._names: dict[int, list[str]] = {}
        for column, name in named:
            own = self._names.setdefault(column, [])
            short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            if short not in own:
                own.append(short)

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
        return " or ".join(self._names.get(column, [f"hashed {column}"]))


def default_text_features() -> WordsAndPairs:
    """Return a vectoriser of words and pairs of words by TF-IDF, which is not fitted yet.

    Its columns are words, so explanations name words. Features are 32-bit floats.

    >>> words = default_text_features().fit(["sort a list", "sort a set"])
    >>> words.get_feature_names_out().tolist()
    ['a', 'list', 'set', 'sort', 'sort a']
    """
    from labeltrees.transforms._words_and_pairs import WordsAndPairs

    return WordsAndPairs()


def hashed_text_features() -> HashingVectorizer:
    """Return a vectoriser for streams of texts, which needs no fitting.

    It hashes words and pairs of words to 2^20 columns, without weights by rarity. It is the default
    vectoriser of readers.

    >>> hashed_text_features().transform(["sort a list"]).shape
    (1, 1048576)
    """
    from labeltrees.data.readers.vectorizers import default_vectorizer

    return default_vectorizer()
