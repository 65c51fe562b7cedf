"""The facts of a model for its card."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import __version__, store
from labeltrees.models.capabilities import HasTree, can
from labeltrees.models.settings import ClassifierSettings

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.data.vocabulary import LabelVocabulary
    from labeltrees.evaluation._scores import Evaluation
    from labeltrees.models.model import FittedModel

_READ_AT_ONCE = 2**20
"""Number of bytes read at once from a model file."""
_N_SHOWN = 5
"""Number of the most frequent labels that a card shows, and of the rarest."""


@dataclass(frozen=True, kw_only=True)
class About:
    """Facts of a model that only its author knows."""

    name: str | None = None
    about: str | None = None
    license: str | None = None
    dataset: str | None = None
    tags: Sequence[str] = ()
    file: str | os.PathLike[str] | None = None
    estimator: str | None = None
    """Name of the estimator class, if there is an estimator."""
    transform: str | None = None
    """Name of the vectoriser, if rows are texts."""


def facts_of(
    model: FittedModel, said: About, found: Evaluation | None, learned: RaggedLabels | None
) -> dict[str, Any]:
    """Return all facts of a card, ready for JSON."""
    described = model.describe()
    kind, n_labels = said.estimator or type(model).__name__, len(model.vocabulary)
    tensors, _ = model.to_tensors(keep_state=not model.frozen)
    facts = {
        "name": said.name or f"{kind} of {n_labels:,} labels",
        "about": said.about or _about(model, kind, is_text=said.transform is not None),
        "license": said.license,
        "tags": list(said.tags),
        "estimator": said.estimator,
        "model": type(model).__name__,
        "several_labels": _has_several(model),
        "version": __version__,
        "format_version": store.FORMAT_VERSION,
        "can_learn": not model.frozen and bool(described.get("can_learn", False)),
        "answered": min(5, getattr(model, "n_tree_labels", n_labels)),
        "learned": _learned(model, described, said, learned),
        "quality": None if found is None else _quality(found, said.dataset),
        "settings": _settings(model),
        "array_bytes": sum(array.nbytes for array in tensors.values()),
        "label_hash": label_hash(model.vocabulary.labels),
        "file": None,
        "hub": None,
    }
    return facts if said.file is None else facts | {"file": file_facts(said.file)}


def _has_several(model: FittedModel) -> bool:
    return not issubclass(model.settings_class, ClassifierSettings)


def _about(model: FittedModel, kind: str, *, is_text: bool) -> str:
    row, n_labels = "a text" if is_text else "a row", len(model.vocabulary)
    if _has_several(model):
        what = f"for each of {n_labels:,} labels the probability that {row} has it"
    else:
        what = f"for each of {n_labels:,} labels the probability that it is the label of {row}"
    return f"This model, a `{kind}` of labeltrees, predicts {what}."


def _learned(
    model: FittedModel, described: dict[str, Any], said: About, learned: RaggedLabels | None
) -> dict[str, Any]:
    frequencies = _frequencies(model, learned)
    return {
        "dataset": said.dataset,
        "examples": described.get("rows_learned", described.get("examples_learned")),
        "features": model.n_features,
        "labels": len(model.vocabulary),
        "transform": said.transform,
        "frequencies": None if frequencies is None else frequencies.facts,
    }


def _quality(found: Evaluation, dataset: str | None) -> dict[str, Any]:
    assert found.reliability is not None
    curve, k = found.reliability, found.reliability_k
    which = "the most likely label" if k == 1 else f"the first {k} labels"
    arrays = (curve.mean_probability, curve.frequency, curve.count)
    return {
        "rows": found.n_rows,
        "dataset": dataset,
        "scores": _scores_shown(found),
        "curve_of": f"{which} of {found.n_rows:,} rows",
        "reliability": [
            {"predicted": p, "observed": true, "predictions": n}
            for p, true, n in zip(*(each.tolist() for each in arrays), strict=True)
        ],
    }


def _scores_shown(found: Evaluation) -> dict[str, float]:
    """Return the scores of an evaluation that a card shows."""
    k = found.reliability_k
    names = ["accuracy", "top-5 accuracy", "log loss", "rows of unseen labels"]
    names += ["total variation", "KL divergence", "most likely label"]
    names += ["P@1", "P@3", "P@5", f"R@{k}", f"nDCG@{k}", *([f"WP@{k}"] if found.is_graded else [])]
    names += [f"Brier@{k}", "ECE@1", f"ECE@{k}"]
    return {name: found.scores[name] for name in names if name in found.scores}


def _settings(model: FittedModel) -> list[dict[str, Any]]:
    """Return every parameter, and whether it is the default."""
    values, usual = model.settings.to_dict(), type(model.settings)().to_dict()
    return [
        {"name": name, "value": value, "default": usual[name], "changed": value != usual[name]}
        for name, value in values.items()
    ]


def file_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return name, size and checksum of a model's file."""
    digest, target = hashlib.sha256(), Path(path)
    with target.open("rb") as file:
        while block := file.read(_READ_AT_ONCE):
            digest.update(block)
    return {"name": target.name, "bytes": target.stat().st_size, "sha256": digest.hexdigest()}


def label_hash(labels: Any) -> str:
    """Return the SHA-256 of the sorted labels, each as a line of JSON.

    Models with the same labels have the same hash in any order.

    Parameters
    ----------
    labels : array of labels, or a fitted model or estimator

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from labeltrees.cards import label_hash
    >>> label_hash(["sun", "rain"])[:16] == label_hash(["rain", "sun"])[:16]
    True
    """
    model = getattr(labels, "model_", labels)
    if hasattr(model, "vocabulary"):
        labels = model.vocabulary.labels
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    digest = hashlib.sha256()
    for label in sorted(listed):
        digest.update(json.dumps(label).encode() + b"\n")
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class _Frequencies:
    """Labels and their counts, the most frequent first."""

    labels: list[Any]
    counts: NDArray[np.float64]
    what: str
    """Name of the counted things, which are examples, rows or labels."""

    @classmethod
    def of(cls, labels: NDArray[Any], counts: NDArray[np.float64], what: str) -> _Frequencies:
        """Return the labels with a count above 0; equal counts keep their order."""
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        return cls(labels[order].tolist(), counts[order], what)

    @property
    def facts(self) -> dict[str, Any]:
        """The most frequent and the rarest labels, ready for JSON."""
        total, n = float(self.counts.sum()), len(self.labels)
        n_head = min(_N_SHOWN, n)
        n_tail = min(_N_SHOWN, n - n_head)
        shown = [
            {
                "label": self.labels[place],
                "count": float(self.counts[place]),
                "share": float(self.counts[place]) / total,
            }
            for place in [*range(n_head), *range(n - n_tail, n)]
        ]
        reached = np.cumsum(self.counts)
        return {
            "counted": self.what,
            "labels": n,
            "most_frequent": shown[:n_head],
            "rarest": shown[n_head:],
            "labels_with_half": int(np.searchsorted(reached, total / 2)) + 1 if n else 0,
        }


def _frequencies(model: FittedModel, given: RaggedLabels | None) -> _Frequencies | None:
    """Return the frequencies of labels, from training rows or from a model that has counted."""
    if given is not None:
        return _of_sets(given)
    if not can(model, HasTree):
        return None
    tree, masses = model.tree_and_masses()  # type: ignore[attr-defined]
    leaves = np.flatnonzero(tree.label >= 0)
    return _of_leaves(model.vocabulary, tree.label[leaves], masses[leaves])


def _of_leaves(
    vocabulary: LabelVocabulary, ids: NDArray[np.int32], masses: NDArray[np.float64]
) -> _Frequencies:
    order = np.argsort(ids, kind="stable")
    return _Frequencies.of(vocabulary.labels[ids[order]], masses[order], "examples learned")


def _of_sets(sets: RaggedLabels) -> _Frequencies:
    labels, counts = np.unique(sets.labels, return_counts=True)
    return _Frequencies.of(labels, counts.astype(np.float64), "rows")
