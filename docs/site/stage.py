"""Write the source of the site from the documents, the code and the results.

``python -m docs.site.stage FOLDER`` writes it. Only files that change are written, so that the next
build has less to do. Pages that no longer exist are removed.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docs.site import benchmarks, commands, guide, reference
from docs.site.markdown import for_readers, relinked

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ROOT", "documents", "main", "pages", "places", "remove_others"]

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "docs/gallery"
_OWN = ROOT / "docs/site/pages"
_ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "results.md",
    "README.md": "index.md",
}
_PICTURES = {"docs/images": "images", "benchmarks/plots": "plots"}
_GENERATED = "reference/generated"


_RESULTS = "benchmarks/results"


def results() -> list[str]:
    """Return the names of the pages of results."""
    return sorted(file.stem for file in (ROOT / _RESULTS).glob("*.md"))


def documents() -> list[str]:
    """Return the names of all pages of docs/."""
    folder = ROOT / "docs"
    files = [*folder.glob("*.md"), *folder.glob("development/*.md")]
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in files)


def places() -> dict[str, str]:
    """Return where files of the repository are on the site."""
    found = dict(_ROOT_PAGES)
    found |= {f"docs/{name}.md": f"{name}.md" for name in documents()}
    found |= {f"{_RESULTS}/{name}.md": f"results/{name}.md" for name in results()}
    found |= {f"docs/site/pages/{file.name}": file.name for file in _OWN.glob("*.md")}
    for folder, place in _PICTURES.items():
        for file in (ROOT / folder).iterdir():
            found[f"{folder}/{file.name}"] = f"{place}/{file.name}"
    return found


def _read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def pages() -> dict[str, str]:
    """Return every page of the site that Sphinx does not make, by its file."""
    where = places()
    texts = {name: _read(f"docs/{name}.md") for name in documents()}
    found = {
        f"{name}.md": for_readers(relinked(text, f"docs/{name}.md", where))
        for name, text in texts.items()
    }
    for file, place in _ROOT_PAGES.items():
        if place != "index.md":
            found[place] = relinked(_read(file), file, where)
    for name in results():
        file = f"{_RESULTS}/{name}.md"
        found[f"results/{name}.md"] = relinked(_read(file), file, where)
    found["results.md"] += _toctree(f"results/{name}" for name in results())
    for file in _OWN.glob("*.md"):
        text = file.read_text(encoding="utf-8")
        found[file.name] = for_readers(relinked(text, f"docs/site/pages/{file.name}", where))
    if not GALLERY.is_dir():
        found["index.md"] = without_gallery(found["index.md"])
    found["benchmarks.md"] = benchmarks.with_plots(found["benchmarks.md"])
    found["command_line/index.md"] = commands.index_page()
    for name in commands.command_names():
        found[f"command_line/{name}.rst"] = commands.command_page(name)
    found["reference/index.md"] = reference.index_page()
    found |= {f"reference/{file}": text for file, text in reference.module_pages().items()}
    by_name = {file.removesuffix(".md"): text for file, text in found.items()}
    for name, section in guide.SECTIONS.items():
        found[f"{name}.md"] = guide.section_page(section, by_name)
    return found


def _toctree(names: Iterable[str]) -> str:
    return "\n".join(["\n:::{toctree}", ":hidden:", "", *names, ":::", ""])


def without_gallery(page: str) -> str:
    r"""Return the first page without its card and its entry for the gallery.

    >>> without_gallery("a\n::::{x}\n:link: auto_gallery/index\n::::\nauto_gallery/index\nb")
    'a\nb'
    """
    card = r"^::::\{[^\n]*\n:link: auto_gallery/index\n.*?^::::\n"
    page = re.sub(card, "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^.*auto_gallery/index>?\n", "", page, flags=re.MULTILINE)


def _write(file: Path, content: bytes) -> None:
    if file.is_file() and file.read_bytes() == content:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def remove_others(folder: Path, wanted: set[Path]) -> None:
    """Remove files of pages that no longer exist from the source of the site."""
    # The build makes the gallery and the pages of public names, which are kept.
    gallery = folder / "auto_gallery"
    for module in reference.MODULES:
        names = reference.public_names(module)
        wanted |= {folder / _GENERATED / f"{module}.{name}.rst" for name in names}
    for file in [each for each in folder.rglob("*") if each.is_file()]:
        if file not in wanted and not file.is_relative_to(gallery):
            file.unlink()


def main(folder: Path) -> None:
    """Write the source of the site into a folder."""
    files = {name: text.encode() for name, text in pages().items()}
    for origin, place in _PICTURES.items():
        for file in (ROOT / origin).iterdir():
            files[f"{place}/{file.name}"] = file.read_bytes()
    files |= benchmarks.plots(benchmarks.read(ROOT / _RESULTS))
    for name, content in files.items():
        _write(folder / name, content)
    remove_others(folder, {folder / name for name in files})
    if not GALLERY.is_dir():
        shutil.rmtree(folder / "auto_gallery", ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
