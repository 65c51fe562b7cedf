"""Words and pairs of words by TF-IDF, with a lower weight for pairs. It imports scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.utils.validation import check_is_fitted

from labeltrees import checks
from labeltrees.data.readers.vectorizers import WORD


class WordsAndPairs(CountVectorizer):  # type: ignore[misc]
    r"""A vectoriser of words and pairs of neighbouring words by TF-IDF, with rows of length 1.

    A term that occurs n times in a text counts 1 + log(n) times. Most pairs are rarer than words,
    and would outweigh them by TF-IDF alone, so they count less. Pairs of a single text are left
    out, because they cannot help another text. docs/text.md has the measurements.

    Parameters
    ----------
    pair_weight : float > 0, default 0.5
        The factor of the weight of a pair.
    pair_min_df : int >= 1, default 2
        Minimum number of texts with a pair that is kept. All words are kept.
    token_pattern : str, default r"(?u)\b\w+\b"
        The pattern of a word, which must not match spaces.
    lowercase : bool, default True
        Whether texts are converted to lower case.
    strip_accents : {None, "ascii", "unicode"}, default None
        The method to remove accents, or None to keep them.
    stop_words : None, "english" or list, default None
        The words to leave out.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word and pair.
    idf_ : ndarray of shape (n_features,)
        The weight of each, including ``pair_weight``.

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
        """Learn the words and pairs of texts and return their features, reading each text once."""
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
