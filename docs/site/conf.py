"""Sphinx's settings; the source is made by `docs.site.stage`."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from docs.site.docstrings import borrowed, completed, exemplified, lender, linked  # noqa: E402
from docs.site.reference import maker_of  # noqa: E402

_VERSION = re.compile(r'^__version__ = "(.+)"', re.MULTILINE)

project = "labeltrees"
author = "the labeltrees authors"
copyright = author  # noqa: A001 - Sphinx's name
release = version = _VERSION.findall((ROOT / "src/labeltrees/__init__.py").read_text())[0]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
]
if (ROOT / "docs/gallery").is_dir():
    extensions.append("sphinx_gallery.gen_gallery")
exclude_patterns = ["auto_gallery/**/*.ipynb", "auto_gallery/**/*.py.md5"]
templates_path = [str(ROOT / "docs/site/_templates")]  # autosummary looks beside the pages
nitpicky = True
toc_object_entries_show_parents = "hide"
default_role = "py:obj"
highlight_language = "text"  # Python is marked as such
smartquotes = False  # an option has two dashes
suppress_warnings = ["config.cache"]  # settings that hold functions are read anew each time

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's tables have them
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "docs/gallery")],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "docs.site.gallery.Order",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 0,
    "download_all_examples": False,
    "plot_gallery": True,
    "backreferences_dir": None,
    "write_computation_times": False,  # its pages would fetch scripts from elsewhere
    "show_signature": False,
}

# Only typed lines are copied, without their prompts.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_here_doc_delimiter = "END"
copybutton_line_continuation_character = "\\"
copybutton_selector = "div.highlight pre:not(.sphx-glr-script-out pre)"

html_theme = "pydata_sphinx_theme"
html_title = f"labeltrees {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs/site/scorer.js")
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "benchmarks": []}
html_theme_options: dict[str, Any] = {
    "logo": {
        "text": "labeltrees",
        "image_light": "_static/favicon.svg",
        "image_dark": "_static/favicon.svg",
    },
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _is_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:  # noqa: ARG001
    """Leave out members that a class inherits from other packages."""
    if (inspect.getdoc(obj) or "").startswith("Alias for field number"):
        return True  # The signature of a named tuple names its fields.
    home = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "__objclass__", None), "__module__", None
    )
    if home is not None and not str(home).startswith("labeltrees"):
        return True
    return None


def _public_or_code(app: Any, env: Any, node: Any, words: Any) -> Any:
    """Link what is in backticks if one public name ends so; otherwise show it as code."""
    if node.get("reftype") != "obj":
        return None
    python, target = env.domains["py"], node["reftarget"]
    found = [name for name in python.objects if name.endswith(f".{target}")]
    if len(found) != 1:
        return words
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, words)


def _complete(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Say what a signature says, and link the documents that a docstring names as files."""
    whole = [linked(line) for line in lines]
    if what in ("function", "method") and any(whole):
        with contextlib.suppress(TypeError, ValueError):
            signature = inspect.signature(obj)
            other = getattr(sys.modules[obj.__module__], lender(whole) or "", None)
            if other is not None:
                told = (inspect.getdoc(other) or "").splitlines()
                whole = borrowed(whole, told, signature)
            whole = completed(whole, signature)
    if what == "class" and not any(line.strip().startswith(">>>") for line in whole):
        whole += exemplified(maker_of(name))
    lines[:] = whole


def _first_page_s_title(app: Any, name: str, template: str, context: Any, tree: Any) -> None:  # noqa: ARG001
    """Say in the browser's title of the first page what the library is for."""
    if name == "index":
        context["title"] = "Classification with up to millions of labels"


def setup(app: Any) -> None:
    """Register what is our own."""
    app.connect("autodoc-skip-member", _is_foreign)
    app.connect("autodoc-process-docstring", _complete, priority=400)  # before numpydoc
    app.connect("missing-reference", _public_or_code)
    app.connect("html-page-context", _first_page_s_title)
