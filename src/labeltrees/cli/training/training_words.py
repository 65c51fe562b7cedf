"""What was found in a file and made of it, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees.cli.units import size_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from labeltrees.autotrain.features import Features
    from labeltrees.autotrain.training import Measured
    from labeltrees.data.chunk import Chunk
    from labeltrees.data.readers import DataProfile

__all__ = [
    "advice",
    "features_in_words",
    "found_in",
    "how_to_ask",
    "joined_in_words",
    "kept_in_files",
    "limited_in_words",
]


def found_in(path: str, profile: DataProfile) -> list[str]:
    """Return sentences about the data of a file."""
    what = "texts" if profile.is_text else "rows of features"
    labels = "one label each"
    if profile.distributions:
        labels = f"a distribution over {profile.labels_per_row:.1f} labels each on average"
    elif profile.several_labels:
        labels = f"{profile.labels_per_row:.1f} labels each on average"
    sentences = [
        f"{path}: {profile.n_labelled:,} {what}, {labels}, {profile.n_labels:,} different labels."
    ]
    if profile.n_unlabelled:
        sentences.append(f"Rows without a label: {profile.n_unlabelled:,}; they are left out.")
    if profile.sorted_labels:
        sentences.append("The file is sorted by label, so rows are shuffled before training.")
    return sentences


def kept_in_files(folder: Path, profile: DataProfile) -> list[str]:
    """Return what is said of rows that were learned from files of a folder."""
    sentences = [
        f"There is no room for all rows in memory, so they are learned from files in {folder} "
        "(--folder)."
    ]
    if profile.ratings:
        sentences.append(
            f"Rows of the same {_what(profile)} are not joined: that needs all rows in memory."
        )
    return sentences


def limited_in_words(model: Any, wanted: Any) -> list[str]:
    """Return what is said of weights that there was no room for, if nobody had limited them."""
    limit = getattr(model.settings, "max_memory", None)
    if limit is None or wanted.max_memory is not None:
        return []
    return [
        f"There is no room for all weights in memory: they are kept within {size_in_words(limit)} "
        "(--max-memory), and rare ones share their places."
    ]


def joined_in_words(profile: DataProfile) -> str:
    """Return what became of rows that rated one label each, from the profile of the joined ones."""
    what = "texts" if profile.is_text else "different rows of features"
    return (
        f"They are about {profile.n_labelled:,} {what}: rows of the same {_what(profile)} are "
        f"joined, with all their labels, {profile.labels_per_row:.1f} on average; --no-join-rows "
        "keeps them apart."
    )


def _what(profile: DataProfile) -> str:
    return "text" if profile.is_text else "features"


def features_in_words(features: Features, n_features: int) -> str:
    """Return what features were made of texts; "" if there were none."""
    if features.transform is None:
        return ""
    if features.names is None:
        return " on hashed words and pairs of words"
    if type(features.transform).__name__ == "CountVectorizer":
        return f" on counts of {n_features:,} words"
    return f" on TF-IDF of {n_features:,} words and pairs of words"


def advice(data: Chunk, measured: Measured | None, out: Path) -> list[str]:
    """Return what to try next."""
    _, counts = np.unique(data.labels, return_counts=True)
    once = int((counts == 1).sum())
    sentences = []
    if once > len(counts) / 10:
        sentences.append(
            f"{once:,} of {len(counts):,} labels have a single row: more rows of them would "
            "help most."
        )
    if measured is not None and _is_behind(measured):
        sentences.append(
            "One-against-all was better on the held-out rows, and with so few labels it is "
            "affordable: --model one-against-all."
        )
    return [*sentences, how_to_ask(out)]


def how_to_ask(out: Path) -> str:
    """Return the command that asks a model."""
    return (
        f"Ask it: labeltrees predict {out} NEW_FILE --top 5; why: labeltrees explain {out} NEW_FILE"
    )


def _is_behind(measured: Measured) -> bool:
    """Whether one-against-all was better in log loss, and in accuracy by more than chance."""
    ours, rival = (measured.table.get(who, {}) for who in ("labeltrees", "one-against-all"))
    if "log loss" not in ours or "log loss" not in rival:
        return False
    share = ours["accuracy"]
    chance = 2 * (share * (1 - share) / measured.n_rows) ** 0.5
    return rival["log loss"] < ours["log loss"] and rival["accuracy"] > share + chance
