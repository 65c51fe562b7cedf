"""The parameters that a transformer in a model file may have, each with its check.

A check takes the value from scikit-learn or from JSON and returns it in scikit-learn's form.
`plain` makes it ready for JSON. Values that a file could abuse are not allowed. For example,
``input="filename"`` would open the files that a text names, and callables have no data form.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeltrees.checks import Check, Choice, Flag, Integer, Number
from labeltrees.data.rows import MAX_FEATURES
from labeltrees.errors import ArgumentError

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
