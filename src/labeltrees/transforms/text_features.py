"""The default vectorisers of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import HashingVectorizer

    from labeltrees.transforms.words_and_pairs import WordsAndPairs


def default_text_features() -> WordsAndPairs:
    """Return a vectoriser of words and pairs of words by TF-IDF, which is not fitted yet.

    Its columns are words, so explanations name words. Features are 32-bit floats.

    >>> words = default_text_features().fit(["sort a list", "sort a set"])
    >>> words.get_feature_names_out().tolist()
    ['a', 'list', 'set', 'sort', 'sort a']
    """
    from labeltrees.transforms.words_and_pairs import WordsAndPairs

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
