"""Words and pairs of words by TF-IDF, pairs at a lower weight. Imports scikit-learn at once."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.utils.validation import check_is_fitted

from labeltrees import checks
from labeltrees.data.readers.vectorizers import WORD

__all__ = ["WordsAndPairs"]


class WordsAndPairs(CountVectorizer):  # type: ignore[misc]
    r"""A vectoriser: words and pairs of neighbouring words by TF-IDF, in rows of length 1.

    A term that comes n times in a text counts 1 + log(n) times. Pairs are mostly rarer than words,
    and by TF-IDF alone they would outweigh them; so they count less, and those of one text, which
    cannot help another, are left out. docs/text.md has the measurements.

    Parameters
    ----------
    pair_weight : float > 0, default 0.5
        What the weight of a pair is multiplied with.
    pair_min_df : int >= 1, default 2
        A pair is kept if it is in at least so many texts. Words are all kept.
    token_pattern : str, default r"(?u)\b\w+\b"
        What is a word. It must not contain spaces.
    lowercase : bool, default True
        Whether capitals are made small.
    strip_accents : {None, "ascii", "unicode"}, default None
        Whether accents are taken away.
    stop_words : None, "english" or list, default None
        Words that are left out.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word and pair.
    idf_ : ndarray of shape (n_features,)
        The weight of each, with ``pair_weight`` in it.

    Examples
    --------
    >>> words = WordsAndPairs().fit(["sort a list", "sort a set"])
    >>> words.get_feature_names_out().tolist()
    ['a', 'list', 'set', 'sort', 'sort a']
    """

    def __init__(
        self,
        *,
        pair_weight: float = 0.5,
        pair_min_df: int = 2,
        token_pattern: str = WORD,
        lowercase: bool = True,
        strip_accents: str | None = None,
        stop_words: Any = None,
    ) -> None:
        super().__init__(
            ngram_range=(1, 2),
            token_pattern=token_pattern,
            lowercase=lowercase,
            strip_accents=strip_accents,
            stop_words=stop_words,
            dtype=np.float32,
        )
        self.pair_weight = pair_weight
        self.pair_min_df = pair_min_df

    @property
    def idf_(self) -> Any:
        """The weight of each term."""
        return self.tfidf_.idf_

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the words and pairs of texts and return the vectoriser."""
        self.fit_transform(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Learn the words and pairs of texts and return their features; each is read once."""
        weight = checks.number("pair_weight", self.pair_weight, 0, open_low=True)
        least = checks.integer("pair_min_df", self.pair_min_df, 1)
        counts = super().fit_transform(raw_documents)
        terms = self.get_feature_names_out()
        is_pair = np.array([" " in term for term in terms])
        n_texts_with = np.bincount(counts.indices, minlength=len(terms))
        kept = np.flatnonzero(~is_pair | (n_texts_with >= least))
        self.vocabulary_ = {term: column for column, term in enumerate(terms[kept].tolist())}
        counts = counts[:, kept]
        self.tfidf_ = TfidfTransformer(sublinear_tf=True).fit(counts)
        self.tfidf_.idf_ = np.where(is_pair[kept], weight, 1).astype(np.float32) * self.idf_
        return self.tfidf_.transform(counts, copy=False)

    def transform(self, raw_documents: Any) -> Any:
        """Return the features of texts."""
        check_is_fitted(self, "tfidf_")
        return self.tfidf_.transform(super().transform(raw_documents), copy=False)
