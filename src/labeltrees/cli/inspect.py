"""`labeltrees inspect`: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from labeltrees import store
from labeltrees.cli.predict import ModelArgument
from labeltrees.cli.report import JsonOption, say, say_json, say_pairs, say_table
from labeltrees.estimators import ConditionalTreeClassifier, from_stored


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
    stored = store.read(model)
    estimator = from_stored(stored)
    facts = _facts(model, stored, estimator)
    tree = _tree_facts(estimator)
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
        dot.write_text(estimator.tree_.to_dot(names=names, max_nodes=dot_nodes), encoding="utf-8")
    if json:
        say_json({**facts, "params": stored.params, "tree": tree, "first_labels": shown,
                  "tensors": tensors})  # fmt: skip
        return
    say_pairs({name.replace("_", " "): value for name, value in facts.items()})
    say("\nparameters")
    say_pairs(dict(stored.params))
    say("\ntree")
    say_pairs({name.replace("_", " "): value for name, value in tree.items()})
    say(f"\nfirst labels: {', '.join(map(str, shown)) or '(none shown)'}\n")
    say_table(
        ("tensor", "type", "shape", "bytes", "sha256"),
        (
            (t["name"], t["dtype"], "x".join(map(str, t["shape"])), t["bytes"], t["sha256"][:16])
            for t in tensors
        ),
    )


def _facts(
    path: Path, stored: store.StoredModel, estimator: ConditionalTreeClassifier
) -> dict[str, Any]:
    return {
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "class": stored.kind,
        "written_by_version": stored.library_version,
        "can_learn": not estimator.model_.frozen,
        "labels": len(estimator.classes_),
        "label_type": "text" if estimator.model_.vocabulary.is_text else "integer",
        "features": estimator.n_features_in_,
        "weight_lines": estimator.model_.core.n_lines,
        "table_bytes_in_memory": estimator.model_.core.n_bytes,
        "input": stored.extra.get("input", {}).get("format"),
    }


def _tree_facts(estimator: ConditionalTreeClassifier) -> dict[str, Any]:
    tree = estimator.tree_
    leaf_depths = tree.depths[tree.label >= 0]
    facts: dict[str, Any] = {
        "nodes": tree.n_nodes,
        "leaves": tree.n_labels,
        "depth": tree.depth,
        "mean_leaf_depth": float(np.mean(leaf_depths)),
        "least_possible_depth": max(0, (tree.n_labels - 1).bit_length()),
    }
    mass = estimator.model_.core.masses()[tree.label >= 0]
    if mass.sum() > 0:
        facts["mean_depth_of_an_example"] = float(np.average(leaf_depths, weights=mass))
        facts["examples_learned"] = float(mass.sum())
    return facts
