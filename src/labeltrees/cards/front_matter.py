"""The block of YAML at the top of a card, by which model hubs list and search models."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["front_matter", "hub_facts"]

_PLAIN = re.compile(r"[A-Za-z]([A-Za-z0-9_ .@/-]*[A-Za-z0-9])?")
_METRICS = {"top-5 accuracy": "top_5_accuracy", "log loss": "log_loss"}
"""What hubs call scores, where it is not their name."""
_NO_METRIC = "rows of unseen labels"
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def front_matter(facts: dict[str, Any]) -> str:
    """Return the block, with its lines of three hyphens.

    >>> print(front_matter({"library_name": "labeltrees", "tags": ["a", "b: c"]}))
    ---
    library_name: labeltrees
    tags:
    - a
    - "b: c"
    ---
    """
    return "\n".join(["---", *_lines(facts), "---"])


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yield dicts and lists in YAML's block form; scalars are JSON, which YAML reads as well."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _entry(f"{indent}{key}:", held, indent + "  ", indent)
    else:
        for held in value:
            if isinstance(held, dict):
                first, *rest = _lines(held, indent + "  ")
                yield f"{indent}- {first.strip()}"
                yield from rest
            else:
                yield f"{indent}- {_scalar(held)}"


def _entry(start: str, held: Any, inside: str, indent: str) -> Iterator[str]:
    if isinstance(held, dict) and held:
        yield start
        yield from _lines(held, inside)
    elif isinstance(held, list) and held:
        yield start
        yield from _lines(held, indent)
    else:
        yield f"{start} {_scalar(held)}"


def _scalar(value: Any) -> str:
    """Return a scalar; text that YAML could take for something else is quoted."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    if plain and value.lower() not in _WORDS_OF_YAML:
        return str(value)
    return json.dumps(value)


def hub_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a hub lists models by."""
    is_text = facts["learned"]["transform"] is not None
    task = "text-classification" if is_text else "tabular-classification"
    several = "multi-label" if facts["several_labels"] else "multi-class"
    tags = ["labeltrees", several, "extreme-classification", "probabilities", *facts["tags"]]
    hub: dict[str, Any] = {"license": facts["license"]} if facts["license"] else {}
    hub |= {"library_name": "labeltrees", "pipeline_tag": task, "tags": list(dict.fromkeys(tags))}
    found = facts["quality"]
    if found is None:
        return hub
    names = {name: _METRICS.get(name, name) for name in found["scores"] if name != _NO_METRIC}
    data = found["dataset"] or "held-out rows"
    result = {
        "task": {"type": task},
        "dataset": {"name": data, "type": re.sub(r"[^a-z0-9]+", "-", data.lower()).strip("-")},
        "metrics": [
            {"type": kind, "name": name, "value": round(found["scores"][name], 6)}
            for name, kind in names.items()
        ],
    }
    return hub | {
        "metrics": list(names.values()),
        "model-index": [{"name": facts["name"], "results": [result]}],
    }
