"""The sections of a card, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FILENAME", "PICTURE", "sections"]

PICTURE = "reliability.svg"
FILENAME = "model.safetensors"
"""Of a model whose file is not known."""
_LONGEST = 60
"""Of a value in a table, in characters."""


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
        "is safetensors: loading it runs no code of its writer, and every bit is compared with its "
        f"checksum. `labeltrees predict {name} FILE --top 5` asks it from the command line, and "
        "`labeltrees.load_model` loads it without scikit-learn."
    )


def snippet(facts: dict[str, Any], name: str) -> str:
    """Return lines of Python that load the model and ask it."""
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
    yield "## What it learned from"
    named = {
        "data": learned["dataset"],
        "examples, in all passes": learned["examples"],
        "features": learned["features"],
        "labels": learned["labels"],
        "texts become features by": learned["transform"],
    }
    yield table(["", ""], [[name, shown(value)] for name, value in named.items() if value])
    frequencies = learned["frequencies"]
    if frequencies is None:
        yield "How often each label was there is not known: this kind of model does not count."
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
        f"The most frequent labels, and the rarest of {frequencies['labels']:,}. "
        f"{frequencies['labels_with_half']:,} of them make up half of what was learned."
    )


def _quality(facts: dict[str, Any]) -> Iterator[str]:
    yield "## How good it is"
    quality = facts["quality"]
    if quality is None:
        yield "It was not evaluated on rows that it has not learned from."
        return
    whose = f" of {quality['dataset']}" if quality["dataset"] else ""
    yield f"On {quality['rows']:,} held-out rows{whose}."
    scores = quality["scores"].items()
    yield table(["score", "value"], [[name, f"{value:.4f}"] for name, value in scores])
    yield f"![How often labels were true by the probability given to them]({PICTURE})"
    yield (
        f"Bins hold about equally many predictions: {quality['curve_of']}. On the broken line "
        "probabilities are right. ECE@k is the mean distance from it, Brier@k the mean of "
        "(y - p)², both over the first k labels of all rows."
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
        yield "Those in bold are not the defaults."
    else:
        yield "All are the defaults."
    yield table(["setting", "value", "default"], rows)


def _file(facts: dict[str, Any]) -> Iterator[str]:
    yield "## File"
    file = facts["file"]
    named = {
        "estimator": f"`{facts['estimator']}`" if facts["estimator"] else "",
        "model": f"`{facts['model']}`",
        "written by": f"labeltrees {facts['version']}, format {facts['format_version']}",
        "can go on learning": "yes" if facts["can_learn"] else "no",
        "arrays": f"{facts['array_bytes']:,} bytes",
        "file": f"`{file['name']}`, {file['bytes']:,} bytes" if file else "",
        "SHA-256 of the file": f"`{file['sha256']}`" if file else "",
        "SHA-256 of the labels": f"`{facts['label_hash']}`",
    }
    yield table(["", ""], [[name, value] for name, value in named.items() if value])
    yield "The labels' hash is that of `labeltrees.cards.label_hash(model.classes_)`."


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table; the first column is text."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(value: Any) -> str:
    """Return a number as people write it, or text that cannot break a table."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return plain(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def percent(share: float) -> str:
    """Return a share of all; what is not nothing does not look like it.

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
    text = " ".join(str(value).split())
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 3] + "..."
    return text.replace("|", "\\|")
