"""The kinds of transformers that a model file may have, with their parameters and fitted state.

Each parameter has a check, which takes the value from scikit-learn or from JSON and returns it in
scikit-learn's form. `plain` makes it ready for JSON. Values that a file could abuse are not
allowed. For example, ``input="filename"`` would open the files that a text names, and callables
have no data form. The fitted state of a kind is converted to facts and arrays, and back.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import checks, store
from labeltrees.checks import Check, Choice, Flag, Integer, Number
from labeltrees.data.rows import MAX_FEATURES
from labeltrees.errors import ArgumentError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from labeltrees.store import Facts, Tensors

_MAX_NGRAM = 100
_MAX_PATTERN = 1000
_FLOATS = ("float32", "float64")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def plain(value: Any) -> Any:
    """Return a checked parameter as a value for JSON.

    >>> plain((1, 2)), plain(np.float32), plain("word")
    ([1, 2], 'float32', 'word')
    """
    if isinstance(value, tuple):
        return list(value)
    return np.dtype(value).name if isinstance(value, type) else value


@dataclass(frozen=True)
class _Pair:
    """A pair of values in ascending order."""

    check: Check

    def __call__(self, name: str, value: Any) -> tuple[Any, Any]:
        """Return the checked pair."""
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ArgumentError.of(name, value, "a pair")
        low, high = (self.check(name, each) for each in value)
        if low > high:
            raise ArgumentError.of(name, value, "a pair in ascending order")
        return low, high


@dataclass(frozen=True)
class _Share:
    """A count as an integer, or a share of all rows as a float."""

    def __call__(self, name: str, value: Any) -> int | float:
        """Return the checked value."""
        if isinstance(value, (float, np.floating)):
            return Number(0, 1)(name, value)  # type: ignore[no-any-return]
        return Integer(0, MAX_FEATURES)(name, value)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Type:
    """A type of numbers by its name."""

    allowed: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> type:
        """Return the type in the form of scikit-learn's defaults, such as ``np.float32``."""
        try:
            found = np.dtype(value).name if value is not None else None
        except TypeError:
            found = value
        if found not in self.allowed:
            raise ArgumentError.of(name, value, f"one of {', '.join(self.allowed)}")
        return getattr(np, str(found))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Encoding:
    """The name of a text encoding that Python knows."""

    def __call__(self, name: str, value: Any) -> str:
        """Return the name."""
        try:
            b"a".decode(codecs.lookup(value).name)
        except (LookupError, TypeError, ValueError):
            raise ArgumentError.of(name, value, "a text encoding of Python") from None
        return str(value)


@dataclass(frozen=True)
class _Pattern:
    """A regular expression with at most one group, or None."""

    def __call__(self, name: str, value: Any) -> str | None:
        """Return the expression."""
        if value is None:
            return None
        try:
            if not isinstance(value, str) or len(value) > _MAX_PATTERN:
                raise ValueError
            if re.compile(value).groups > 1:
                raise ValueError
        except (re.error, ValueError, OverflowError, RecursionError):
            allowed = f"a regular expression of at most {_MAX_PATTERN} characters and one group"
            raise ArgumentError.of(name, value, allowed) from None
        return str(value)


_ANALYSIS: dict[str, Check] = {
    "input": Choice(("content",)),
    "encoding": _Encoding(),
    "decode_error": Choice(("strict", "ignore", "replace")),
    "strip_accents": Choice((None, "ascii", "unicode")),
    "lowercase": Flag(),
    "preprocessor": Choice((None,)),
    "tokenizer": Choice((None,)),
    "analyzer": Choice(("word", "char", "char_wb")),
    "token_pattern": _Pattern(),
    "ngram_range": _Pair(Integer(1, _MAX_NGRAM)),
    "binary": Flag(),
}
"""Parameters of the analysis of texts. Stop words are kept apart, because they may be many."""
_SELECTION: dict[str, Check] = {
    "max_df": _Share(),
    "min_df": _Share(),
    "max_features": Integer(1, MAX_FEATURES, optional=True),
}
_NORM = Choice((None, "l1", "l2"))
TFIDF: dict[str, Check] = {
    "norm": _NORM, "use_idf": Flag(), "smooth_idf": Flag(), "sublinear_tf": Flag(),
}  # fmt: skip
COUNTS: dict[str, Check] = _ANALYSIS | _SELECTION | {"dtype": _Type(_INTEGERS + _FLOATS)}
TFIDF_VECTORIZER: dict[str, Check] = _ANALYSIS | _SELECTION | TFIDF | {"dtype": _Type(_FLOATS)}
HASHING: dict[str, Check] = _ANALYSIS | {
    "n_features": Integer(1, MAX_FEATURES), "alternate_sign": Flag(), "norm": _NORM,
    "dtype": _Type(_FLOATS),
}  # fmt: skip
WORDS_AND_PAIRS: dict[str, Check] = {
    "pair_weight": Number(0, open_low=True), "pair_min_df": Integer(1, MAX_FEATURES),
    **{name: _ANALYSIS[name] for name in ("token_pattern", "lowercase", "strip_accents")},
}  # fmt: skip
STANDARD_SCALER: dict[str, Check] = {"copy": Flag(), "with_mean": Flag(), "with_std": Flag()}
MAX_ABS_SCALER: dict[str, Check] = {"copy": Flag(), "clip": Flag()}
MIN_MAX_SCALER: dict[str, Check] = {
    "copy": Flag(), "clip": Flag(), "feature_range": _Pair(Number(-1e38, 1e38)),
}  # fmt: skip
ROBUST_SCALER: dict[str, Check] = {
    "copy": Flag(), "with_centering": Flag(), "with_scaling": Flag(), "unit_variance": Flag(),
    "quantile_range": _Pair(Number(0, 100)),
}  # fmt: skip
NORMALIZER: dict[str, Check] = {"copy": Flag(), "norm": Choice(("l1", "l2", "max"))}


@dataclass(frozen=True)
class TransformerKind:
    """A class of transformers, with its module, its parameters and its fitted state."""

    module: str
    params: Mapping[str, Check]
    read: Callable[[Any], tuple[Facts, Tensors]]
    """Return the fitted state, or raise `ArgumentError` if it has no data form."""
    restore: Callable[[Any, Facts, Tensors], None]
    """Set the fitted state of a new object, or raise `ModelFormatError`."""
    takes_text: bool = False
    apart: tuple[str, ...] = ()
    """Parameters that `read` and `restore` handle."""


def _read_stop_words(vectorizer: Any) -> tuple[Facts, Tensors]:
    words = vectorizer.stop_words
    if words is None or isinstance(words, str):
        return {"stop_words": checks.choice("stop_words", words, (None, "english"))}, {}
    listed = sorted(words) if isinstance(words, (set, frozenset)) else list(words)
    _check_strings("stop_words", listed)
    return {"stop_words": "listed"}, store.text_tensors("stop_words", listed)


def _restore_stop_words(vectorizer: Any, facts: Facts, tensors: Tensors) -> None:
    kind = checks.choice("stop_words", facts["stop_words"], (None, "english", "listed"))
    vectorizer.stop_words = store.texts(tensors, "stop_words") if kind == "listed" else kind
    # scikit-learn has warned of stop words that its analysis splits during fitting.
    vectorizer._stop_words_id = id(vectorizer.stop_words)


def _read_counts(vectorizer: Any) -> tuple[Facts, Tensors]:
    facts, tensors = _read_stop_words(vectorizer)
    terms = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
    _check_strings("vocabulary", terms)
    facts["fixed_vocabulary"] = vectorizer.vocabulary is not None
    return facts, tensors | store.text_tensors("terms", terms)


def _restore_counts(vectorizer: Any, facts: Facts, tensors: Tensors) -> None:
    _restore_stop_words(vectorizer, facts, tensors)
    terms = {term: column for column, term in enumerate(store.texts(tensors, "terms"))}
    if not terms or len(terms) != len(tensors["terms.ends"]):
        raise ModelFormatError("a vectoriser has no terms, or has a term twice.")
    vectorizer.fixed_vocabulary_ = checks.flag("fixed_vocabulary", facts["fixed_vocabulary"])
    vectorizer.vocabulary = dict(terms) if vectorizer.fixed_vocabulary_ else None
    vectorizer.vocabulary_ = terms


def _read_tfidf_vectorizer(vectorizer: Any) -> tuple[Facts, Tensors]:
    facts, tensors = _read_counts(vectorizer)
    _, of_tfidf = _read_tfidf(vectorizer)
    return facts, tensors | of_tfidf


def _restore_tfidf_vectorizer(vectorizer: Any, facts: Facts, tensors: Tensors) -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    _restore_counts(vectorizer, facts, tensors)
    tfidf = TfidfTransformer(**{name: getattr(vectorizer, name) for name in TFIDF})
    tfidf.n_features_in_ = len(vectorizer.vocabulary_)
    _restore_tfidf(tfidf, facts, tensors)
    vectorizer._tfidf = tfidf


def _read_words_and_pairs(vectorizer: Any) -> tuple[Facts, Tensors]:
    facts, tensors = _read_counts(vectorizer)
    _, of_tfidf = _read_tfidf(vectorizer.tfidf_)
    return facts, tensors | of_tfidf


def _restore_words_and_pairs(vectorizer: Any, facts: Facts, tensors: Tensors) -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    _restore_counts(vectorizer, facts | {"fixed_vocabulary": False}, tensors)
    vectorizer.tfidf_ = TfidfTransformer(sublinear_tf=True)
    vectorizer.tfidf_.n_features_in_ = len(vectorizer.vocabulary_)
    _restore_tfidf(vectorizer.tfidf_, facts, tensors)


def _read_tfidf(transformer: Any) -> tuple[Facts, Tensors]:
    if not transformer.use_idf:
        return {}, {}
    idf = _as_numbers("idf_", transformer.idf_)
    if not np.isfinite(idf).all():
        raise ArgumentError.of("idf_", float(idf[~np.isfinite(idf)][0]), "finite")
    return {}, {"idf": idf}


def _restore_tfidf(transformer: Any, _: dict[str, Any], tensors: Tensors) -> None:
    if not transformer.use_idf:
        return
    transformer.idf_ = _numbers(tensors, "idf", transformer.n_features_in_)
    if not np.isfinite(transformer.idf_).all():
        raise ModelFormatError("tensor 'idf' has a number that is not finite.")


def _read_hashing(vectorizer: Any) -> tuple[Facts, Tensors]:
    return _read_stop_words(vectorizer)


def _reader_of(*names: str) -> Callable[[Any], tuple[Facts, Tensors]]:
    """Return a function that reads these attributes of a scaler, each an array or None."""

    def read(scaler: Any) -> tuple[Facts, Tensors]:
        learned = {name: getattr(scaler, name) for name in names}
        tensors = {
            name.removesuffix("_"): _as_numbers(name, array)
            for name, array in learned.items()
            if array is not None
        }
        facts: Facts = {}
        seen: Any = getattr(scaler, "n_samples_seen_", None)
        if np.ndim(seen) == 1:  # There is one number per feature if values were missing.
            tensors["n_samples_seen"] = np.asarray(seen, dtype=np.int64)
        elif seen is not None:
            facts["n_samples_seen"] = int(seen) if float(seen).is_integer() else float(seen)
        return facts, tensors

    return read


def _restorer_of(needed: Mapping[str, str | None], *others: str) -> Callable[..., None]:
    """Return a function that restores a scaler, whose arrays may depend on parameters."""

    def restore(scaler: Any, facts: Facts, tensors: Tensors) -> None:
        n_features = scaler.n_features_in_
        for name in (*needed, *others):
            stored = name.removesuffix("_")
            switch = needed.get(name)
            required = name in needed and (switch is None or getattr(scaler, switch))
            is_read = stored in tensors or required
            array = _numbers(tensors, stored, n_features) if is_read else None
            if name == "scale_" and array is not None and not array.all():
                raise ModelFormatError("tensor 'scale' has a zero.")
            setattr(scaler, name, array)
        if "n_samples_seen" in tensors:
            seen = store.tensor(tensors, "n_samples_seen", np.int64)
            _check_length("n_samples_seen", seen, n_features)
            scaler.n_samples_seen_ = seen
        elif "n_samples_seen" in facts:
            n_seen = checks.number("n_samples_seen", facts["n_samples_seen"], 0, 2**53)
            scaler.n_samples_seen_ = (np.int64 if n_seen.is_integer() else np.float64)(n_seen)

    return restore


def _read_nothing(_: Any) -> tuple[Facts, Tensors]:
    return {}, {}


def _restore_nothing(*_: Any) -> None:
    pass


def _as_numbers(name: str, array: Any) -> NDArray[Any]:
    numbers = np.ascontiguousarray(array)
    if numbers.ndim != 1 or numbers.dtype not in (np.float32, np.float64):
        kind = f"{numbers.shape} of {numbers.dtype}"
        raise ArgumentError.of(name, kind, "one dimension of float32 or float64")
    if np.isinf(numbers).any():  # A column of missing values has NaN.
        raise ArgumentError.of(name, "an infinite number", "finite")
    return numbers


def _numbers(tensors: Tensors, name: str, length: int) -> NDArray[Any]:
    is_single = name in tensors and tensors[name].dtype == np.float32
    array = store.tensor(tensors, name, np.float32 if is_single else np.float64)
    _check_length(name, array, length)
    if np.isinf(array).any():
        raise ModelFormatError(f"tensor {name!r} has an infinite number.")
    return array


def _check_length(name: str, array: NDArray[Any], length: int) -> None:
    if len(array) != length:
        raise ModelFormatError(f"tensor {name!r} must have {length} entries, got {len(array)}.")


def _check_strings(name: str, values: list[Any]) -> None:
    for value in values:
        if not isinstance(value, str):
            raise ArgumentError.of(name, value, "of strings")


_TEXT = "sklearn.feature_extraction.text"
_PREPROCESSING = "sklearn.preprocessing"
KINDS = {
    "WordsAndPairs": TransformerKind(
        "labeltrees.transforms._words_and_pairs", WORDS_AND_PAIRS,
        _read_words_and_pairs, _restore_words_and_pairs, takes_text=True, apart=("stop_words",),
    ),
    "TfidfVectorizer": TransformerKind(
        _TEXT, TFIDF_VECTORIZER, _read_tfidf_vectorizer, _restore_tfidf_vectorizer,
        takes_text=True, apart=("stop_words", "vocabulary"),
    ),
    "CountVectorizer": TransformerKind(
        _TEXT, COUNTS, _read_counts, _restore_counts,
        takes_text=True, apart=("stop_words", "vocabulary"),
    ),
    "HashingVectorizer": TransformerKind(
        _TEXT, HASHING, _read_hashing, _restore_stop_words,
        takes_text=True, apart=("stop_words",),
    ),
    "TfidfTransformer": TransformerKind(_TEXT, TFIDF, _read_tfidf, _restore_tfidf),
    "StandardScaler": TransformerKind(
        _PREPROCESSING, STANDARD_SCALER, _reader_of("mean_", "var_", "scale_"),
        _restorer_of({"mean_": "with_mean", "scale_": "with_std"}, "var_"),
    ),
    "MaxAbsScaler": TransformerKind(
        _PREPROCESSING, MAX_ABS_SCALER, _reader_of("max_abs_", "scale_"),
        _restorer_of({"max_abs_": None, "scale_": None}),
    ),
    "MinMaxScaler": TransformerKind(
        _PREPROCESSING, MIN_MAX_SCALER,
        _reader_of("min_", "scale_", "data_min_", "data_max_", "data_range_"),
        _restorer_of(
            {"min_": None, "scale_": None, "data_min_": None, "data_max_": None,
             "data_range_": None}
        ),
    ),
    "RobustScaler": TransformerKind(
        _PREPROCESSING, ROBUST_SCALER, _reader_of("center_", "scale_"),
        _restorer_of({"center_": "with_centering", "scale_": "with_scaling"}),
    ),
    "Normalizer": TransformerKind(
        _PREPROCESSING, NORMALIZER, _read_nothing, _restore_nothing
    ),
}  # fmt: skip
"""The transformers by the names of their classes."""
