"""The text of a card, with Markdown sections and a YAML block for model hubs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PICTURE = "reliability.svg"
FILENAME = "model.safetensors"
"""Default name of a model file."""
_LONGEST = 60
"""Maximum number of characters of a value in a table."""
_PLAIN = re.compile(r"[A-Za-z]([A-Za-z0-9_ .@/-]*[A-Za-z0-9])?")
_METRICS = {"top-5 accuracy": "top_5_accuracy", "log loss": "log_loss"}
"""Names of scores on hubs, where they differ from ours."""
_NO_METRIC = "rows of unseen labels"
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def sections(facts: dict[str, Any]) -> Iterator[str]:
    """Yield the card below its front matter, section by section."""
    yield f"# {facts['name']}"
    yield facts["about"]
    yield from _use(facts)
    yield from _learned(facts)
    yield from _quality(facts)
    yield from _settings(facts)
    yield from _file(facts)


def _use(facts: dict[str, Any]) -> Iterator[str]:
    name = facts["file"]["name"] if facts["file"] else FILENAME
    yield "## Use"
    yield f"```python\n{snippet(facts, name)}\n```"
    yield (
        f"This needs labeltrees {facts['version']} or newer (`pip install labeltrees`). The file "
        "has the format safetensors, so loading it runs no code from the file, and checksums are "
        f"compared. `labeltrees predict {name} FILE --top 5` predicts on the command line, and "
        "`labeltrees.load_model` loads the model without scikit-learn."
    )


def snippet(facts: dict[str, Any], name: str) -> str:
    """Return lines of Python that load the model and predict."""
    learned, k = facts["learned"], facts["answered"]
    lines = ["import labeltrees", "", f'model = labeltrees.load("{name}")']
    if facts["hub"]:
        given = "" if name == FILENAME else f', filename="{name}"'
        lines[-1] = f'model = labeltrees.hub.from_pretrained("{facts["hub"]}"{given})'
    if learned["transform"]:
        return "\n".join([*lines, f'print(model.predict_top_k(["some text"], k={k}))'])
    X = f"X = np.zeros((1, {learned['features']}))  # your rows, dense or sparse"
    return "\n".join(["import numpy as np", *lines, X, f"print(model.predict_top_k(X, k={k}))"])


def _learned(facts: dict[str, Any]) -> Iterator[str]:
    learned = facts["learned"]
    yield "## Training data"
    named = {
        "data": learned["dataset"],
        "examples, in all passes": learned["examples"],
        "features": learned["features"],
        "labels": learned["labels"],
        "features of texts by": learned["transform"],
    }
    yield table(["", ""], [[name, shown(value)] for name, value in named.items() if value])
    frequencies = learned["frequencies"]
    if frequencies is None:
        yield "The frequencies of labels are not known, because this model does not count them."
        return
    rows = [
        [code(row["label"]), shown(row["count"]), percent(row["share"])]
        for row in [*frequencies["most_frequent"], None, *frequencies["rarest"]]
        if row is not None
    ]
    n_head = len(frequencies["most_frequent"])
    if frequencies["labels"] > len(rows):
        rows.insert(n_head, ["...", "...", "..."])
    yield table(["label", frequencies["counted"], "share"], rows)
    yield (
        f"The table shows the most frequent and the rarest of {frequencies['labels']:,} labels. "
        f"The {frequencies['labels_with_half']:,} most frequent make up half of the training data."
    )


def _quality(facts: dict[str, Any]) -> Iterator[str]:
    yield "## Quality"
    quality = facts["quality"]
    if quality is None:
        yield "The model was not evaluated on held-out rows."
        return
    whose = f" of {quality['dataset']}" if quality["dataset"] else ""
    yield f"Measured on {quality['rows']:,} held-out rows{whose}."
    scores = quality["scores"].items()
    yield table(["score", "value"], [[name, f"{value:.4f}"] for name, value in scores])
    yield f"![Observed frequency of labels against their predicted probability]({PICTURE})"
    yield (
        f"The diagram shows {quality['curve_of']}, in bins with about equally many "
        "predictions. Calibrated probabilities lie on the broken line. ECE@k is the mean distance "
        "from this line and Brier@k the mean of (y - p)², both over the first k labels of all rows."
    )


def _settings(facts: dict[str, Any]) -> Iterator[str]:
    yield "## Settings"
    rows = [
        [
            f"**`{each['name']}`**" if each["changed"] else f"`{each['name']}`",
            code(each["value"]),
            code(each["default"]) if each["changed"] else "",
        ]
        for each in sorted(facts["settings"], key=lambda each: not each["changed"])
    ]
    if any(each["changed"] for each in facts["settings"]):
        yield "Settings in bold differ from the defaults."
    else:
        yield "All settings have their defaults."
    yield table(["setting", "value", "default"], rows)


def _file(facts: dict[str, Any]) -> Iterator[str]:
    yield "## File"
    file = facts["file"]
    named = {
        "estimator": f"`{facts['estimator']}`" if facts["estimator"] else "",
        "model": f"`{facts['model']}`",
        "written by": f"labeltrees {facts['version']}, format {facts['format_version']}",
        "can learn further": "yes" if facts["can_learn"] else "no",
        "arrays": f"{facts['array_bytes']:,} bytes",
        "file": f"`{file['name']}`, {file['bytes']:,} bytes" if file else "",
        "SHA-256 of the file": f"`{file['sha256']}`" if file else "",
        "SHA-256 of the labels": f"`{facts['label_hash']}`",
    }
    yield table(["", ""], [[name, value] for name, value in named.items() if value])
    yield "The hash of the labels is `labeltrees.cards.label_hash(model.classes_)`."


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(value: Any) -> str:
    """Return a number with separators of thousands, or text that cannot break a table."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return plain(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def percent(share: float) -> str:
    """Return a share in percent, where a small share differs from 0.

    >>> percent(0.25), percent(0.00001)
    ('25.0 %', '< 0.1 %')
    """
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def code(value: Any) -> str:
    r"""Return a value in code font, short enough for a table.

    >>> code("a|b"), code(0.5)
    ('`a\\|b`', '`0.5`')
    """
    text = plain(value if isinstance(value, str) else repr(value)).replace("`", "'")
    return f"`{text}`" if text else "``"


def plain(value: Any) -> str:
    """Return a value as one line of text, short enough for a table."""
    text = " ".join(str(value).split())
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 3] + "..."
    return text.replace("|", "\\|")


def front_matter(facts: dict[str, Any]) -> str:
    """Return the YAML block with its lines of three hyphens.

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
    """Yield dicts and lists in YAML's block form, with scalars as JSON, which is also YAML."""
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
    """Return a scalar, in quotes if YAML could read the text as another type."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    if plain and value.lower() not in _WORDS_OF_YAML:
        return str(value)
    return json.dumps(value)


def hub_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts by which a hub lists models."""
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
