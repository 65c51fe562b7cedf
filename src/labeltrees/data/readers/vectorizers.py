"""Vectorisers of texts that need no fitting or are fitted in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from labeltrees.data.rows import MAX_FEATURES, Rows
from labeltrees.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from sklearn.feature_extraction.text import TfidfVectorizer

WORD = r"(?u)\b\w+\b"
"""Pattern of a word, which may have one character. Punctuation separates words."""


class Vectorizer(Protocol):
    """An object that makes features from texts, such as a fitted vectoriser of scikit-learn."""

    def transform(self, raw_documents: Iterable[str]) -> Any:
        """Return a matrix with one row for each text."""


class NoFeatures:
    r"""A vectoriser without features, for callers that need only texts and labels.

    It needs neither scikit-learn nor scipy.

    Examples
    --------
    >>> import io
    >>> from labeltrees.data.readers import read_tsv
    >>> (chunk,) = read_tsv(io.BytesIO(b"greet\tgood morning\n"), vectorizer=NoFeatures())
    >>> chunk.texts, chunk.labels.tolist(), len(chunk.rows.values)
    (['good morning'], ['greet'], 0)
    """

    def transform(self, raw_documents: Iterable[str]) -> Rows:
        """Return an empty row of one column for each text."""
        n_rows = len(list(raw_documents))
        return Rows(
            np.zeros(n_rows + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 1
        )


def check_vectorizer(vectorizer: Vectorizer | None) -> None:
    """Raise ArgumentError unless it is None or can transform."""
    if vectorizer is not None and not callable(getattr(vectorizer, "transform", None)):
        raise ArgumentError.of("vectorizer", vectorizer, "None or have a method transform")


def default_vectorizer() -> Vectorizer:
    """Return the default vectoriser of hashed words and pairs of words, which needs no fitting.

    >>> default_vectorizer().transform(["good morning"]).shape
    (1, 1048576)
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer: Vectorizer = HashingVectorizer(
        n_features=2**20,
        ngram_range=(1, 2),
        token_pattern=WORD,
        alternate_sign=False,
        norm="l2",
        dtype=np.float32,
    )
    return vectorizer


def vectorize(
    vectorizer: Vectorizer, texts: Sequence[str], name: str, lines: NDArray[np.int64]
) -> Rows:
    """Return the features of texts, or raise `DataFileError` with the line of a bad value."""
    if isinstance(vectorizer, NoFeatures):
        return vectorizer.transform(texts)
    from scipy.sparse import csr_array

    features = csr_array(vectorizer.transform(texts), dtype=np.float32)
    if features.shape[0] != len(texts):
        allowed = "return one row for each text from transform"
        raise ArgumentError.of("vectorizer", vectorizer, allowed)
    if features.shape[1] > MAX_FEATURES:
        raise ArgumentError.of("vectorizer", vectorizer, f"at most {MAX_FEATURES} wide")
    features.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(features.data))
    if len(bad):
        row = int(np.searchsorted(features.indptr, bad[0], side="right")) - 1
        reason = "the vectorizer made a value of the text that is not a finite 32-bit float."
        raise DataFileError(name, int(lines[row]), reason)
    return Rows(
        features.indptr.astype(np.int64, copy=False),
        features.indices.astype(np.int32, copy=False),
        features.data,
        features.shape[1],
    )


def fit_texts(texts: Iterable[str], vectorizer: TfidfVectorizer | None) -> TfidfVectorizer:
    """Return a copy of the vectoriser, fitted to texts while only its vocabulary is in memory.

    >>> fit_texts(["good morning", "good night"], None).get_feature_names_out().tolist()
    ['good', 'morning', 'night']
    """
    from sklearn.base import clone
    from sklearn.feature_extraction.text import TfidfVectorizer

    template = TfidfVectorizer() if vectorizer is None else vectorizer
    if not isinstance(template, TfidfVectorizer):
        raise ArgumentError.of("vectorizer", template, "a TfidfVectorizer")
    analyze = template.build_analyzer()
    n_texts = 0
    n_texts_with: dict[str, int] = {}
    n_times: dict[str, int] = {}
    for text in texts:
        n_texts += 1
        terms = analyze(text)
        for term in terms:
            n_times[term] = n_times.get(term, 0) + 1
        for term in set(terms):
            n_texts_with[term] = n_texts_with.get(term, 0) + 1
    fitted = clone(template)
    if template.vocabulary is None:
        fitted.set_params(vocabulary=_select_terms(template, n_texts, n_texts_with, n_times))
    with np.errstate(divide="ignore"):
        fitted.fit([""])  # This sets the vocabulary. The idf of the one text is replaced below.
    if fitted.use_idf:
        terms = fitted.get_feature_names_out()
        smooth = int(fitted.smooth_idf)
        n_with = np.array([n_texts_with.get(term, 0) for term in terms], np.float64) + smooth
        with np.errstate(divide="ignore"):
            fitted.idf_ = np.log((n_texts + smooth) / n_with) + 1
    return fitted


def _select_terms(
    vectorizer: TfidfVectorizer,
    n_texts: int,
    n_texts_with: dict[str, int],
    n_times: dict[str, int],
) -> list[str]:
    """Return the terms that min_df, max_df and max_features keep, sorted."""
    low, high = (
        bound if isinstance(bound, int) else bound * n_texts
        for bound in (vectorizer.min_df, vectorizer.max_df)
    )
    terms = [term for term, n in n_texts_with.items() if low <= n <= high]
    if not terms:
        raise ArgumentError.of("vectorizer", vectorizer, "one that keeps a term of the texts")
    if vectorizer.max_features is not None:
        terms = sorted(terms, key=lambda term: (-n_times[term], term))[: vectorizer.max_features]
    return sorted(terms)
