"""The facts of a model that its card says."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees import __version__, store
from labeltrees.cards.labels import label_hash, learned_frequencies
from labeltrees.models.settings import ClassifierSettings

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from labeltrees.data.labels import RaggedLabels
    from labeltrees.evaluation.result import Evaluation
    from labeltrees.models.model import FittedModel

__all__ = ["About", "facts_of", "file_facts"]

_READ_AT_ONCE = 2**20


@dataclass(frozen=True, kw_only=True)
class About:
    """What only its author knows of a model."""

    name: str | None = None
    about: str | None = None
    license: str | None = None
    dataset: str | None = None
    tags: Sequence[str] = ()
    file: str | os.PathLike[str] | None = None
    estimator: str | None = None
    """The class that users know, if it is not the model's."""
    transform: str | None = None
    """What makes features of texts, if something does."""


def facts_of(
    model: FittedModel, said: About, found: Evaluation | None, learned: RaggedLabels | None
) -> dict[str, Any]:
    """Return all that a card says, ready for JSON."""
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
    asked, n_labels = "a text" if is_text else "a row", len(model.vocabulary)
    if _has_several(model):
        what = f"of each of {n_labels:,} labels how likely it is that {asked} has it"
    else:
        what = f"how likely each of {n_labels:,} labels is the one of {asked}"
    return f"This model, `{kind}` of labeltrees, says {what}."


def _learned(
    model: FittedModel, described: dict[str, Any], said: About, learned: RaggedLabels | None
) -> dict[str, Any]:
    frequencies = learned_frequencies(model, learned)
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
