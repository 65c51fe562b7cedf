"""Make the pages of the API reference, with every public name by module."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

from labeltrees.models.registry import methods

__all__ = [
    "MODULES",
    "index_page",
    "maker_of",
    "makers",
    "methods_table",
    "module_pages",
    "public_names",
]


class Part(NamedTuple):
    """Names of a module that stand together."""

    title: str
    names: tuple[str, ...]


MODULES = {
    "labeltrees": "Estimators, and files that keep them.",
    "labeltrees.metrics": "Functions of truth and prediction, and running scores of a stream.",
    "labeltrees.evaluation": "Scores of models on rows with known labels.",
    "labeltrees.decisions": "Which labels to answer with, from the probability of each.",
    "labeltrees.tree": "The tree over labels.",
    "labeltrees.data.readers": "Files, read in chunks at constant memory.",
    "labeltrees.transforms": "Fitted transformers of scikit-learn beside a model.",
    "labeltrees.models.capabilities": "What only some models answer: a protocol for each.",
    "labeltrees.client": "A client of the learning server.",
    "labeltrees.cards": "What a model is, learned from and is worth, as Markdown.",
    "labeltrees.hub": "Models on a model hub.",
    "labeltrees.dask": "Training and predicting on a cluster of Dask.",
    "labeltrees.errors": "Every error that the library raises on purpose.",
}
"""The public modules, and what each is for."""

_CONSTANTS = "Constants"
_TRAINING = ("train", "TrainingReport")
_RULE = {1: "=", 2: "-"}


def public_names(module: str) -> list[str]:
    """Return the public names of a module that are no modules themselves.

    >>> public_names("labeltrees.tree")
    ['MAX_LABEL', 'LabelTree', 'unfold']
    """
    found = import_module(module)
    names = found.__all__
    return [name for name in names if not isinstance(getattr(found, name), ModuleType)]


@cache
def makers() -> dict[str, str]:
    """Return for the name of a class a public function or method with an example that makes one."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name in public_names(module):
            thing = getattr(import_module(module), name)
            members = vars(thing) if isinstance(thing, type) else {"": thing}
            for member, each in members.items():
                says = f"{thing.__doc__} {each.__doc__}"
                if isinstance(each, FunctionType) and member[:1] != "_" and ">>>" in says:
                    kind = str(each.__annotations__.get("return", ""))
                    found.setdefault(kind, f"{module}.{name}.{member}".rstrip("."))
    return found


def maker_of(name: str) -> str | None:
    """Return the function that returns a record of this class, or None if users create it.

    >>> maker_of("labeltrees.decisions.ExpectedF1Sets")
    'labeltrees.decisions.expected_f1_sets'
    """
    maker = makers().get(name.rpartition(".")[2])
    return None if maker is None or maker.startswith(f"{name}.") else maker


def _heading(title: str, level: int) -> list[str]:
    return [title, _RULE[level] * len(title), ""]


def _table(names: list[str]) -> list[str]:
    return [".. autosummary::", "   :toctree: generated", "   :nosignatures:", "",
            *(f"   {name}" for name in names), ""]  # fmt: skip


def parts(module: str) -> list[Part]:
    """Return a module's names by kind; of `labeltrees` by what they are for."""
    names = public_names(module)
    if module == "labeltrees":
        return _parts_of_package(names)
    found = import_module(module)
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], _CONSTANTS: []}
    for name in names:
        thing = getattr(found, name)
        kind = "Classes" if isinstance(thing, type) else "Functions"
        kinds[kind if callable(thing) else _CONSTANTS].append(name)
    return [Part(kind, tuple(sorted(some))) for kind, some in kinds.items() if some]


def _parts_of_package(names: list[str]) -> list[Part]:
    """Return the names of `labeltrees` by what they are for, estimators by their methods."""
    kinds: dict[str, list[str]] = {"One label per row": [], "Many labels per row": []}
    baselines = []
    for method in methods().values():
        name = method.estimator.partition(":")[2]
        title = "Many labels per row" if method.several_labels else "One label per row"
        if name in names:
            (baselines if method.is_baseline else kinds[title]).append(name)
    known = {"LabelTree", "TextClassifier", *_TRAINING, *baselines}.union(*kinds.values())
    parts = [Part(title, tuple(some)) for title, some in kinds.items()]
    rest = tuple(name for name in names if name not in known)
    parts = [Part("Training", _TRAINING), *parts, Part("Texts", ("TextClassifier",))]
    return [*parts, Part("Files", rest), Part("Baselines", tuple(baselines))]


def methods_table() -> list[str]:
    """Return the lines of a table with every method: its name, its model, and its estimator."""
    lines = ["| `--model` | model | labels per row | row by row | estimator |",
             "|---|---|---|---|---|"]  # fmt: skip
    for name, method in methods().items():
        labels = "many" if method.several_labels else "one"
        streams = "yes" if method.streams else "no"
        estimator = method.estimator.partition(":")[2]
        lines.append(f"| `{name}` | {method.description} | {labels} | {streams} | `{estimator}` |")
    return lines


def said_of(module: str, name: str) -> str:
    """Return the words below the line that names a constant of a module.

    >>> said_of("labeltrees.tree", "MAX_LABEL")[:16]
    'Maximum label id'
    """
    home = Path(str(import_module(module).__file__)).parent
    pattern = rf'^{name}\b[^\n]* = [^\n]*\n"""(.+?)"""'
    for file in sorted(home.glob("*.py")):
        found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if found:
            return found[1]
    raise LookupError(f"nothing is said of {module}.{name}")


def module_page(module: str) -> str:
    """Return the page of a module with its purpose and a table of its names."""
    lines = _heading(module, 1)
    lines += [MODULES[module], "", f".. currentmodule:: {module}", ""]
    if module == "labeltrees.errors":
        lines += [".. code-block:: text", ""]
        drawn = (import_module(module).__doc__ or "").partition("\n\n")[2].partition("\n\n")[0]
        lines += [*(f"   {line}" for line in drawn.splitlines()), ""]
    if module == "labeltrees":
        lines += ["`labeltrees.LabelTree` is `labeltrees.tree.LabelTree`; `labeltrees.metrics` and",
                  "`labeltrees.decisions` need no import of their own.", ""]  # fmt: skip
    for part in parts(module):
        lines += _heading(part.title, 2)
        if part.title != _CONSTANTS:
            lines += _table(list(part.names))
            continue
        for name in part.names:
            lines += [f".. py:data:: {name}", "", f"   {said_of(module, name)}", ""]
    return "\n".join(lines)


def module_pages() -> dict[str, str]:
    """Return the page of each public module, by its file."""
    return {f"{module}.rst": module_page(module) for module in MODULES}


def index_page() -> str:
    """Return the first page of the reference."""
    lines = ["# API reference", "",
             "Every public name: parameters, what is returned, and examples that run as tests.",
             "Which model answers which question: [models](../models.md).", "",
             "| module | what is in it |", "|---|---|"]  # fmt: skip
    lines += [f"| [`{module}`]({module}.rst) | {about} |" for module, about in MODULES.items()]
    lines += ["", "## Methods", "", *methods_table()]
    lines += ["", ":::{toctree}", ":hidden:", "", *MODULES, ":::", ""]
    return "\n".join(lines)
