"""What kind of data a file holds, and which method suits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.data.same_rows import Ratings
from labeltrees.data.vocabulary import LabelVocabulary

if TYPE_CHECKING:
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import FileLook

__all__ = ["Kind", "kind_of", "kind_of_more", "method_for", "online_method_for"]

_SHARE_OF_SEVERAL = 0.01
"""Rows with several labels may be mistakes if there are fewer than this share of them."""
_SORTED_SHARE = 0.5
_LEAST_ROWS_SORTED = 20


@dataclass(frozen=True)
class Kind:
    """What there is to know of gathered rows before a method is chosen."""

    n_rows: int
    n_labels: int
    labels_per_row: float
    several: bool
    """Whether rows have several labels, and not by mistake."""
    graded: bool
    """Whether labels have a relevance of their own."""
    text: bool
    sorted: bool
    """Whether rows with the same label follow each other."""
    distributions: bool = False
    """Whether rows have probabilities of labels."""
    ratings: bool = False
    """Whether each row rates one label for a text, or features, that other rows have too."""


def kind_of(data: Chunk) -> Kind:
    """Return what kind of data these are."""
    ratings = Ratings()
    ratings.add(data)
    distinct, ids = np.unique(data.labels, return_inverse=True)
    return Kind(
        n_rows=data.n_rows,
        n_labels=len(distinct),
        **_labels_of_rows(data),
        text=data.texts is not None,
        sorted=_is_sorted(ids[data.label_starts[:-1]], len(distinct)),
        distributions=data.is_distribution,
        ratings=ratings.found,
    )


def kind_of_more(kind: Kind, data: Chunk) -> Kind:
    """Return what kind of data these are, from that of their first rows.

    What would take long to tell of very many rows is as it is of the first ones, and rows that
    had several labels or grades there have them, however few come later: the method goes by that.
    """
    found = _labels_of_rows(data)
    return replace(
        kind,
        n_rows=data.n_rows,
        n_labels=len(LabelVocabulary(data.labels)),
        labels_per_row=found["labels_per_row"],
        several=kind.several or found["several"],
        graded=kind.graded or found["graded"],
    )


def _labels_of_rows(data: Chunk) -> dict[str, Any]:
    counts = np.diff(data.label_starts)
    return {
        "labels_per_row": float(counts.mean()),
        "several": float((counts > 1).mean()) >= _SHARE_OF_SEVERAL,
        "graded": data.relevance is not None and bool((data.relevance != 1).any()),
    }


def method_for(kind: Kind) -> tuple[str, str]:
    """Return the name of the method that suits the data, and why.

    >>> kind = Kind(1000, 50, 1.0, several=False, graded=False, text=True, sorted=True)
    >>> method_for(kind)
    ('conditional', 'every row has one label')
    """
    if kind.distributions:
        return "conditional", "rows have distributions of labels"
    if kind.graded:
        return "xreg", "labels have grades of relevance"
    if kind.several:
        return "xreg", f"rows have {kind.labels_per_row:.1f} labels on average"
    return "conditional", "every row has one label"


def online_method_for(look: FileLook | None) -> tuple[str, str]:
    r"""Return the method that learns rows of a file one by one, and why; None is Python code.

    What is looked at of a pipe is only what had come by then.

    >>> import io
    >>> from labeltrees.data.readers import look_at
    >>> online_method_for(look_at(io.BytesIO(b"3 1:1\n4,7 2:1\n")))
    ('multilabel', 'rows have several labels')
    """
    if look is None or look.several_share < _SHARE_OF_SEVERAL:
        return "conditional", "every row has one label"
    if look.distributions:
        return "conditional", "rows have distributions of labels"
    if look.max_relevance > 1:
        return "conditional", "labels have a relevance above 1"
    return "multilabel", "rows have several labels"


def _is_sorted(ids: np.ndarray, n_labels: int) -> bool:
    """Whether neighbours have the same label far more often than chance would have it."""
    if len(ids) < _LEAST_ROWS_SORTED or n_labels < 2:
        return False
    same = float((ids[1:] == ids[:-1]).mean())
    chance = float(((np.bincount(ids) / len(ids)) ** 2).sum())
    return same > chance + _SORTED_SHARE * (1 - chance)
