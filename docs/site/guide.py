"""Make a page for each section of the site, with a line about every page in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SECTIONS", "Section", "first_sentence", "placed", "section_page"]


class Section(NamedTuple):
    """Title of a section, what its pages are for, and their names in order."""

    title: str
    about: str
    pages: tuple[str, ...]


SECTIONS = {
    "get_started": Section(
        "Get started",
        "Install labeltrees, train a first model, and learn the few ideas that you need.",
        ("install", "start", "concepts", "which_model"),
    ),
    "how_to": Section(
        "How-to",
        "Each page solves one task. All examples run as tests.",
        (
            "training", "readers", "text", "incremental", "prediction_sets", "scale", "server",
            "store", "moving",
        ),
    ),
    "methods": Section(
        "Models",
        "Each page describes one family of models: what it is for, its settings and its limits.",
        ("conditional", "extreme", "multilabel", "self_terminating", "other_models"),
    ),
    "reference": Section(
        "Reference",
        "Look up a class, a command, a metric, a file format or a word.",
        (
            "reference/index", "command_line/index", "metrics", "models", "tree",
            "model_format", "glossary",
        ),
    ),
    "explanation": Section(
        "Explanation", "Read where the methods come from and why they work.", ("papers",)
    ),
    "development": Section(
        "Development",
        "Read these pages if you want to change labeltrees.",
        (
            "contributing", "architecture", "development/decisions", "development/levers",
            "development/platforms", "security",
        ),
    ),
    "releases": Section("Releases", "See what changed and what to do about it.", ("changelog",)),
}  # fmt: skip
"""Sections by the name of their page."""

_NO_PROSE = re.compile(r"^(#|\||<!--|- |\d+\. |>|!\[|:::)")
_SENTENCE = re.compile(r".+?(?<!\bal)(?<!e\.g)(?<!i\.e)[.!?](?=\s|$)")


def first_sentence(text: str) -> str:
    r"""Return the first sentence of a page without its links, or "" if it has none.

    >>> first_sentence("# Trees\n\n```\ncode\n```\n\nA [tree](tree.md) is\n1.5 m high. Fine.")
    'A tree is 1.5 m high.'
    >>> first_sentence("# Trees\n\n## A tree\n\nText.")
    ''
    """
    body = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL).partition("\n")[2]
    for paragraph in re.split(r"\n\s*\n", body.strip()):
        words = " ".join(paragraph.split())
        if not words:
            continue
        if _NO_PROSE.match(words):
            return ""
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
        found = _SENTENCE.match(plain)
        return found[0] if found else plain
    return ""


def placed() -> list[str]:
    """Return the names of all pages of all sections."""
    return [name for section in SECTIONS.values() for name in section.pages]


def section_page(section: Section, texts: Mapping[str, str]) -> str:
    r"""Return the page of a section, with a link to each page and the page's first sentence.

    >>> section = Section("How-to", "Tasks.", ("text",))
    >>> print(section_page(section, {"text": "# Texts\n\nModels read texts.\n"}))
    # How-to
    <BLANKLINE>
    Tasks.
    <BLANKLINE>
    - [Texts](text.md): Models read texts.
    <BLANKLINE>
    :::{toctree}
    :hidden:
    <BLANKLINE>
    text
    :::
    <BLANKLINE>
    """
    lines = [f"# {section.title}", "", section.about, ""]
    for name in section.pages:
        title = re.search(r"^# (.+)$", texts[name], flags=re.MULTILINE)
        assert title is not None, f"{name}.md has no title"
        about = first_sentence(texts[name])
        lines.append(f"- [{title[1]}]({name}.md){': ' + about if about else ''}")
    return "\n".join([*lines, "", ":::{toctree}", ":hidden:", "", *section.pages, ":::", ""])
