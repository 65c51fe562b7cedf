"""The command `labeltrees inspect`, which prints the content of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeltrees.cli.reading_options import ModelArgument, open_model
from labeltrees.cli.report import JsonOption, say, say_json, say_pairs, say_table
from labeltrees.input import remembered_input

if TYPE_CHECKING:
    from labeltrees import store
    from labeltrees.models.model import FittedModel


def inspect(
    model: ModelArgument,
    dot: Annotated[
        Path | None,
        typer.Option(help="File for a drawing of the top of the tree, as Graphviz DOT."),
    ] = None,
    dot_nodes: Annotated[
        int, typer.Option(min=1, help="Maximum number of nodes of the drawing.")
    ] = 200,
    labels: Annotated[int, typer.Option(min=0, help="Number of labels to print.")] = 10,
    json: JsonOption = False,
) -> None:
    """Print a model's size, vocabulary, settings, checksums and tree statistics.

    Example:
        labeltrees inspect intents.safetensors
    """
    stored, opened = open_model(model)
    facts = _facts(model, stored, opened)
    settings, described = opened.settings.to_dict(), opened.describe()
    shown = opened.vocabulary.labels[:labels].tolist()
    tensors: list[dict[str, Any]] = [
        {"name": name, "dtype": str(array.dtype), "shape": list(array.shape),
         "bytes": array.nbytes, "sha256": checksum}
        for (name, array), checksum in zip(
            stored.tensors.items(), stored.checksums().values(), strict=True
        )
    ]  # fmt: skip
    if dot is not None:
        names = [str(label) for label in opened.vocabulary.labels]
        text = opened.to_dot(names, max_nodes=dot_nodes)
        dot.write_text(text, encoding="utf-8")
    if json:
        say_json({**facts, "settings": settings, "described": described, "first_labels": shown,
                  "tensors": tensors})  # fmt: skip
        return
    say_pairs({name.replace("_", " "): value for name, value in facts.items()})
    say("\nsettings")
    say_pairs(dict(settings))
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


def _facts(path: Path, stored: store.StoredModel, model: FittedModel) -> dict[str, Any]:
    return {
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "model": stored.model,
        "written_by_version": stored.library_version,
        "labels": len(model.vocabulary),
        "label_type": "text" if model.vocabulary.is_text else "integer",
        "features": model.n_features,
        "input": remembered_input(stored.extra).get("format"),
    }
