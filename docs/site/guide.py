"""The user guide: every page of docs/ in a list of contents, with what the README says of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TOP_PAGES", "contents", "described", "guide_page"]

TOP_PAGES = ("start", "which_model", "moving", "papers", "faq", "glossary")
"""Pages that the whole site's list of contents has, so that the guide need not."""

SECTIONS = {
    "From data to a model": (
        "training", "readers", "text", "streams", "incremental", "python_source",
    ),
    "One label per row": (
        "conditional", "refinement", "pecoc", "self_terminating", "boosting", "lom", "filter",
    ),
    "Many labels per row": ("extreme", "multilabel", "prediction_sets"),
    "What to compare with": ("baselines", "metrics", "multilabel_metrics", "levers"),
    "Models in your program": (
        "models", "tree", "threads", "store", "model_format", "cards", "upgrading",
    ),
    "Serving and scale": ("server", "scale", "dask", "platforms"),
    "Development": ("development/decisions",),
}  # fmt: skip
_REST = "Further pages"


def contents(pages: Iterable[str]) -> dict[str, list[str]]:
    """Return the pages of each section of the guide; those of no section stand at the end.

    >>> contents(["tree", "start", "models", "brand_new"])
    {'Models in your program': ['models', 'tree'], 'Further pages': ['brand_new']}
    """
    left = [page for page in pages if page not in TOP_PAGES]
    found = {title: [name for name in names if name in left] for title, names in SECTIONS.items()}
    placed = {name for names in found.values() for name in names}
    found[_REST] = sorted(set(left) - placed)
    return {title: names for title, names in found.items() if names}


def described(readme: str) -> dict[str, str]:
    r"""Return what the README's tables say of each page of docs/.

    >>> described("| [trees](docs/tree.md) | the tree |\n| [more](docs/tree.md#x) | the rest |")
    {'tree': 'the tree'}
    """
    found: dict[str, str] = {}
    for names, says in re.findall(r"^\| (.+?) \| (.+) \|$", readme, flags=re.MULTILINE):
        for page in re.findall(r"\]\(docs/([\w/]+)\.md", names):
            found.setdefault(page, says)  # the first row that names a page is about it
    return found


def guide_page(titles: dict[str, str], says: dict[str, str]) -> str:
    """Return the guide's first page: each section, its pages and a word about each."""
    lines = [
        "# User guide",
        "",
        "A page for every method and every task. Their examples run as tests.",
        "",
    ]
    for section, pages in contents(titles).items():
        lines += [f"## {section}", ""]
        for page in pages:
            about = says.get(page, "")
            lines.append(f"- [{titles[page]}]({page}.md){': ' + about if about else ''}")
        lines += ["", ":::{toctree}", ":hidden:", f":caption: {section}", "", *pages, ":::", ""]
    return "\n".join(lines)
