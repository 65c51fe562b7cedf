"""Complete docstrings for the reference with what only signatures show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import inspect

__all__ = ["borrowed", "completed", "exemplified", "lender", "linked"]

_RULE = re.compile(r"^-{3,}\s*$")
_AFTER_PARAMETERS = ("Returns", "Yields", "Raises", "See Also", "Notes", "References", "Examples")
_AFTER_RETURNS = _AFTER_PARAMETERS[2:]


def linked(line: str) -> str:
    """Return a line in which documents that are named as files are links.

    >>> linked("at some cost (docs/store.md)")
    'at some cost (:doc:`/store`)'
    """
    return re.sub(r"\bdocs/(\w+)\.md\b", r":doc:`/\1`", line)


def _sections(lines: list[str]) -> dict[str, int]:
    """Return where each section begins; a bare example is one, too."""
    found = {
        lines[i - 1].strip(): i - 1
        for i in range(1, len(lines))
        if _RULE.match(lines[i]) and lines[i - 1].strip()
    }
    if "Examples" not in found:
        bare = next((i for i, line in enumerate(lines) if line.startswith(">>>")), None)
        found |= {} if bare is None else {"Examples": bare}
    return found


def lender(lines: list[str]) -> str | None:
    """Return the name of the function whose arguments a docstring says it takes.

    >>> lender(["Return ECE@k.", "", "The arguments", "are those of `curve_at_k`."])
    'curve_at_k'
    """
    found = re.search(r"arguments\s+are\s+those\s+of\s+`(\w+)`", "\n".join(lines))
    return None if found is None else found[1]


def borrowed(lines: list[str], other: list[str], signature: inspect.Signature) -> list[str]:
    """Return a docstring with those parameters of another one that the signature has.

    >>> import inspect
    >>> other = ["x.", "", "Parameters", "----------", "a, b : int", "    Both.", "c : int", ""]
    >>> borrowed(["y."], other, inspect.signature(lambda b: b))
    ['y.', '', 'Parameters', '----------', 'a, b : int', '    Both.', '']
    """
    found = _sections(other)
    if "Parameters" in _sections(lines) or "Parameters" not in found:
        return lines
    begin = found["Parameters"] + 2
    end = min((place for place in found.values() if place >= begin), default=len(other))
    body: list[str] = []
    is_taken = False
    for line in other[begin:end]:
        if line and not line.startswith(" "):
            names = line.partition(" : ")[0].split(", ")
            is_taken = bool(set(names) & set(signature.parameters))
        if is_taken and line:
            body.append(line)
    return _with(lines, "Parameters", body, _AFTER_PARAMETERS)


def exemplified(maker: str | None) -> list[str]:
    """Return what the page of a record says instead of an example.

    >>> exemplified("labeltrees.decisions.threshold_for")[-2:]
    ['It is what :py:obj:`~labeltrees.decisions.threshold_for` returns; there is an example.', '']
    """
    if maker is None:
        return []
    says = f"It is what :py:obj:`~{maker}` returns; there is an example."
    return ["", "Examples", "--------", says, ""]


def _with(lines: list[str], title: str, body: list[str], after: tuple[str, ...]) -> list[str]:
    found = _sections(lines)
    place = min((found[name] for name in after if name in found), default=len(lines))
    head = [title, "-" * len(title), *body, ""]
    gap = [""] if place and lines[place - 1].strip() else []
    return [*lines[:place], *gap, *head, *lines[place:]]


def _type_of(annotation: object) -> str:
    words = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    words = words.replace(" | None", " or None").replace("'", "").replace('"', "")
    return "" if words == "Any" else words


def _told(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else f", default {parameter.default!r}"
    kind = "" if parameter.annotation is parameter.empty else _type_of(parameter.annotation)
    return f"{stars}{parameter.name} : {kind}{default}".rstrip(" :")


def completed(lines: list[str], signature: inspect.Signature) -> list[str]:
    """Return a docstring's lines with the sections that it leaves to the signature.

    >>> import inspect
    >>> def halved(n: float, *, twice: bool = False) -> float: ...
    >>> lines = completed(["Return half of it."], inspect.signature(halved))
    >>> [line for line in lines if line][1:]
    ['Parameters', '----------', 'n : float', 'twice : bool, default False',
     'Returns', '-------', 'float']
    """
    taken = [each for name, each in signature.parameters.items() if name not in ("self", "cls")]
    found = _sections(lines)
    if taken and "Parameters" not in found:
        lines = _with(lines, "Parameters", [_told(each) for each in taken], _AFTER_PARAMETERS)
    kind = _type_of(signature.return_annotation)
    says_none = kind in ("", "None", "NoReturn", "_empty")
    if not says_none and not {"Returns", "Yields"} & found.keys():
        lines = _with(lines, "Returns", [kind], _AFTER_RETURNS)
    return lines
