"""`labeltrees inspect`: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.cli.opening import ModelArgument, open_model
from labeltrees.cli.report import JsonOption, say, say_json, say_pairs, say_table

if TYPE_CHECKING:
    from labeltrees import store
    from labeltrees.estimators import LabelClassifier


def inspect(
    model: ModelArgument,
    dot: Annotated[
        Path | None, typer.Option(help="Write the tree's top as Graphviz DOT to this file.")
    ] = None,
    dot_nodes: Annotated[int, typer.Option(min=1, help="At most this many nodes in it.")] = 200,
    labels: Annotated[int, typer.Option(min=0, help="How many labels to show.")] = 10,
    json: JsonOption = False,
) -> None:
    """Print a model's shape, sizes, vocabulary, parameters, checksums and tree statistics."""
    stored, estimator = open_model(model)
    facts = _facts(model, stored, estimator)
    described = estimator.model_.describe()
    shown = estimator.classes_[:labels].tolist()
    tensors: list[dict[str, Any]] = [
        {"name": name, "dtype": str(array.dtype), "shape": list(array.shape),
         "bytes": array.nbytes, "sha256": checksum}
        for (name, array), checksum in zip(
            stored.tensors.items(), stored.checksums().values(), strict=True
        )
    ]  # fmt: skip
    if dot is not None:
        names = [str(label) for label in estimator.classes_]
        text = estimator.model_.to_dot(names, max_nodes=dot_nodes)
        dot.write_text(text, encoding="utf-8")
    if json:
        say_json({**facts, "params": stored.params, "described": described, "first_labels": shown,
                  "tensors": tensors})  # fmt: skip
        return
    say_pairs({name.replace("_", " "): value for name, value in facts.items()})
    say("\nparameters")
    say_pairs(dict(stored.params))
    say("\nmodel")
    say_pairs({name.replace("_", " "): value for name, value in described.items()})
    say(f"\nfirst labels: {', '.join(map(str, shown)) or '(none shown)'}\n")
    say_table(
        ("tensor", "type", "shape", "bytes", "sha256"),
        (
            (t["name"], t["dtype"], "x".join(map(str, t["shape"])), t["bytes"], t["sha256"][:16])
            for t in tensors
        ),
    )


def _facts(path: Path, stored: store.StoredModel, estimator: LabelClassifier) -> dict[str, Any]:
    return {
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "class": stored.kind,
        "written_by_version": stored.library_version,
        "labels": len(estimator.classes_),
        "label_type": "text" if estimator.model_.vocabulary.is_text else "integer",
        "features": estimator.n_features_in_,
        "input": stored.extra.get("input", {}).get("format"),
    }
