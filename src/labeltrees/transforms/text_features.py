"""The features of texts that are used unless others are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import HashingVectorizer

    from labeltrees.transforms.words_and_pairs import WordsAndPairs

__all__ = ["default_text_features", "hashed_text_features"]


def default_text_features() -> WordsAndPairs:
    """Return a vectoriser that is not fitted yet: words and pairs of words, by TF-IDF.

    Its columns are words, so explanations are in words. Features are 32-bit floats.

    >>> words = default_text_features().fit(["sort a list", "sort a set"])
    >>> words.get_feature_names_out().tolist()
    ['a', 'list', 'set', 'sort', 'sort a']
    """
    from labeltrees.transforms.words_and_pairs import WordsAndPairs

    return WordsAndPairs()


def hashed_text_features() -> HashingVectorizer:
    """Return the vectoriser for texts that cannot all be seen before: it needs no fitting.

    Words and pairs of words, hashed to 2^20 columns, without weights by rarity. Readers use the
    same where none is given.

    >>> hashed_text_features().transform(["sort a list"]).shape
    (1, 1048576)
    """
    from labeltrees.data.readers.vectorizers import default_vectorizer

    return default_vectorizer()
