"""Which method suits data, by their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labeltrees.data.readers import DataProfile

__all__ = ["method_for", "online_method_for"]


def method_for(profile: DataProfile) -> tuple[str, str]:
    """Return the name of the method that suits rows in memory, and why.

    >>> from labeltrees.data.readers import DataProfile
    >>> method_for(DataProfile(n_rows=1000, n_labels=50, is_text=True))
    ('conditional', 'every row has one label')
    """
    if profile.distributions:
        return "conditional", "rows have distributions of labels"
    if profile.graded:
        return "xreg", "labels have grades of relevance"
    if profile.several_labels:
        return "xreg", f"rows have {profile.labels_per_row:.1f} labels on average"
    return "conditional", "every row has one label"


def online_method_for(profile: DataProfile | None) -> tuple[str, str]:
    r"""Return the name of the method that learns the rows of a file one by one, and why.

    The profile is None for Python code. The profile of a pipe describes only the rows that had
    arrived by then.

    >>> import io
    >>> from labeltrees.data.readers import profile_file
    >>> online_method_for(profile_file(io.BytesIO(b"3 1:1\n4,7 2:1\n")))
    ('multilabel', 'rows have several labels')
    """
    if profile is None or not profile.several_labels:
        return "conditional", "every row has one label"
    if profile.distributions:
        return "conditional", "rows have distributions of labels"
    if profile.max_relevance > 1:
        return "conditional", "labels have a relevance above 1"
    return "multilabel", "rows have several labels"
