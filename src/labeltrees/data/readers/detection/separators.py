"""The separator of labels in a field, if the field holds several labels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeltrees.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

#: Possible separators of labels, in the order in which they are tried.
SEPARATORS = ("|", ";", ",", " ")
_NAMES = {"|": "'|'", ";": "';'", ",": "','", " ": "a space"}
#: Share of rows below which a separator is rare.
_RARE = 0.02
_IDS = re.compile(r"[0-9 ]+")
#: Words that are usual in sentences and rare in labels.
_SENTENCE_WORDS = frozenset([
    "a", "an", "and", "are", "at", "by", "can", "de", "der", "die", "do", "for", "how", "i", "in",
    "is", "it", "la", "le", "me", "my", "of", "on", "or", "the", "to", "und", "what", "with",
    "you",
])  # fmt: skip


@dataclass(frozen=True)
class SeparatorChoice:
    """The separator of labels, or None if a field is one label, and sentences with the reason."""

    separator: str | None
    notes: tuple[str, ...] = ()


def check_separator(separator: str | None) -> None:
    """Raise `ArgumentError` unless it is None, ``"auto"`` or a string other than a tab."""
    if separator is not None and (not isinstance(separator, str) or not separator.strip("\t\r\n")):
        raise ArgumentError.of("label_separator", separator, "None or a string other than a tab")


def split_labels(field: str, separator: str | None) -> list[str]:
    """Return the distinct labels of a field.

    >>> split_labels("big cat, dog,", ","), split_labels("big cat", None)
    (['big cat', 'dog'], ['big cat'])
    """
    if separator is None:
        whole = field.strip()
        return [whole] if whole else []
    parts = field.split(separator)
    if separator != " ":
        parts = [part.strip() for part in parts]
    return list(dict.fromkeys(filter(None, parts)))


def choose_separator(
    fields: Sequence[str], candidates: Sequence[str] = SEPARATORS
) -> SeparatorChoice:
    """Return the separator of the labels in these fields, of which each row has one.

    A bar, a semicolon, a comma or a space separates labels unless it is a part of names. The first
    of them that fits is taken. It is a part of names if all of these hold:

    - The fields that contain it repeat as wholes, with 2 rows or more for each distinct field on
      average. This does not count if fewer than 2 % of the rows contain the separator.
    - There are no more distinct fields than distinct parts.
    - Fewer than half of these fields consist of parts that are whole fields elsewhere.

    Numbers with spaces between them are always several labels.

    >>> choose_separator(["card lost", "card lost", "pay bill", "pay bill"]).separator is None
    True
    >>> choose_separator(["red", "blue", "red blue"]).separator
    ' '
    """
    counts = Counter(field.strip() for field in fields if field.strip())
    kept = []
    for separator in candidates:
        joined = {field: n for field, n in counts.items() if separator in field}
        if not joined:
            continue
        if _is_part_of_names(separator, joined, counts):
            kept.append(separator)
            continue
        return SeparatorChoice(separator, _why_several(separator, joined))
    if not kept:
        return SeparatorChoice(None if counts else " ")
    example = max((f for f in counts if kept[-1] in f), key=counts.__getitem__)
    why = (
        f"Fields of labels that contain {_NAMES[kept[-1]]} repeat as wholes, so each is one label, "
        f"such as {_short(example)}. label_separator= (--label-separator) changes that."
    )
    return SeparatorChoice(None, (why,))


def _is_part_of_names(separator: str, joined: dict[str, int], counts: Counter[str]) -> bool:
    if separator == " " and all(_IDS.fullmatch(field) for field in joined):
        return False
    is_rare = sum(joined.values()) < _RARE * counts.total()
    parts = {part for field in joined for part in split_labels(field, separator)}
    n_of_labels = sum(
        all(part in counts for part in split_labels(field, separator)) for field in joined
    )
    repeat = is_rare or sum(joined.values()) >= 2 * len(joined)
    return repeat and len(joined) <= len(parts) and 2 * n_of_labels < len(joined)


def sentence_share(fields: Collection[str]) -> float:
    """Return the share of fields with four words or more of which one is usual in sentences.

    >>> sentence_share(["how do i pay", "red blue green yellow"])
    0.5
    """
    words = [field.lower().split() for field in fields]
    alike = sum(len(each) >= 4 and not _SENTENCE_WORDS.isdisjoint(each) for each in words)
    return alike / max(len(words), 1)


def _why_several(separator: str, joined: dict[str, int]) -> tuple[str, ...]:
    example = next(iter(joined))
    notes = [
        f"Labels are separated by {_NAMES[separator]}: {_short(example)} is "
        f"{len(split_labels(example, separator))} labels. label_separator= (--label-separator) "
        "changes that."
    ]
    if separator == " ":
        alike = sum(not _SENTENCE_WORDS.isdisjoint(field.lower().split()) for field in joined)
        if 5 * alike >= len(joined):
            notes.append(
                f"Labels such as the parts of {_short(example)} look like words of a sentence. If "
                "a field is one label, pass label_separator=None (--label-separator none). If the "
                "text comes first, pass label_column=2 (--label-column 2)."
            )
    return tuple(notes)


def _short(field: str) -> str:
    return repr(field if len(field) <= 60 else f"{field[:57]}...")
