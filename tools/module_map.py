"""Draw the packages of labeltrees and their imports, and measure the code.

    python tools/module_map.py             write docs/images/modules.svg
    python tools/module_map.py --check     exit with 1 if the picture is out of date
    python tools/module_map.py --measure   print sizes of the code
    python tools/module_map.py --walks     print how many modules four typical calls enter

The rows of the picture are the layers in pyproject.toml, which import-linter enforces. An arrow
means that the upper package imports the lower one. An arrow is left out if a longer chain of arrows
implies it.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "modules.svg"
PACKAGE = "labeltrees"
#: Width and height of a box, gaps between boxes, and margin, in pixels.
BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 112, 46, 26, 44, 20
STYLE = """
  .box { fill: #eef3fb; stroke: #41699f; }  .name { font: 600 13px sans-serif; fill: #14253d; }
  .size { font: 11px sans-serif; fill: #4a5a70; }  .arrow { stroke: #8496ad; fill: none; }
  .head { fill: #8496ad; }
  @media (prefers-color-scheme: dark) {
    .box { fill: #1d2a3d; stroke: #7fa3d4; }  .name { fill: #e8eef7; }  .size { fill: #b3c0d2; }
    .arrow { stroke: #6f8099; }  .head { fill: #6f8099; }
  }
"""


@dataclass(frozen=True)
class Module:
    """One Python module: its path, its syntax tree, and the modules that it imports."""

    path: Path
    tree: ast.Module
    imports: frozenset[str]

    @property
    def n_lines(self) -> int:
        """Number of lines that hold code: no blank lines, comments or docstrings."""
        return len(_code_lines(self.tree))


def read_modules(root: Path = ROOT) -> dict[str, Module]:
    """Return all modules of the package by dotted name."""
    source = root / "src"
    paths = {_dotted(path.relative_to(source)): path for path in source.rglob(f"{PACKAGE}/**/*.py")}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    return {
        name: Module(paths[name], tree, frozenset(_imported(tree, set(paths)) - {name}))
        for name, tree in sorted(trees.items())
    }


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports, except for type checking only."""
    found = set()
    for node in _nodes_at_run_time(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
    return found & known


def _nodes_at_run_time(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes except those below ``if TYPE_CHECKING``."""
    nodes, left = [], [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            left += node.orelse
            continue
        nodes.append(node)
        left += ast.iter_child_nodes(node)
    return nodes


def _code_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    texts: set[int] = set()
    for node in ast.walk(tree):
        is_text = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if is_text:
            texts |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.stmt):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return _not_blank(tree, lines - texts)


def _not_blank(tree: ast.Module, lines: set[int]) -> set[int]:
    held = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.arg, ast.alias, ast.keyword)):
            held |= {node.lineno, node.end_lineno or node.lineno}
    return lines & held


def layers(root: Path = ROOT) -> list[list[str]]:
    """Return the layers of packages from top to bottom, as pyproject.toml has them."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (whole,) = [each for each in contracts if each.get("containers") == [PACKAGE]]
    return [[name.strip() for name in layer.split("|")] for layer in whole["layers"]]


def package_of(module: str) -> str:
    """Return the child of the package that a module belongs to, or "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def edges(modules: dict[str, Module]) -> set[tuple[str, str]]:
    """Return which package imports which, without edges that a longer chain implies."""
    direct: dict[str, set[str]] = {}
    for name, module in modules.items():
        targets = {package_of(each) for each in module.imports} - {package_of(name), ""}
        direct.setdefault(package_of(name), set()).update(targets)
    for entry in ("", "__main__"):
        direct.pop(entry, None)

    def reaches(start: str) -> set[str]:
        found: set[str] = set()
        left = [start]
        while left:
            for each in direct.get(left.pop(), set()) - found:
                found.add(each)
                left.append(each)
        return found

    below = {name: reaches(name) for name in direct}
    return {
        (upper, lower)
        for upper, targets in direct.items()
        for lower in targets
        if not any(lower in below.get(other, set()) for other in targets - {lower})
    }


def draw(root: Path = ROOT) -> str:
    """Return the picture as SVG."""
    modules = read_modules(root)
    rows = [row for row in layers(root) if row != ["__main__"]]
    width = max(len(row) for row in rows) * (BOX_WIDTH + GAP_X) - GAP_X + 2 * MARGIN
    height = len(rows) * (BOX_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
    at: dict[str, tuple[float, float]] = {}
    for i, row in enumerate(rows):
        own = len(row) * (BOX_WIDTH + GAP_X) - GAP_X
        for j, name in enumerate(row):
            x = (width - own) / 2 + j * (BOX_WIDTH + GAP_X)
            at[name] = (x, MARGIN + i * (BOX_HEIGHT + GAP_Y))
    parts = [_arrow(at[upper], at[lower]) for upper, lower in sorted(edges(modules))]
    parts += [_box(name, place, modules) for name, place in at.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>Packages of labeltrees and their imports</title>",
            f"<style>{STYLE}</style>",
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker>',
            *parts,
            "</svg>\n",
        ]
    )


def _arrow(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    """Return a curve between two boxes, to the right of the boxes in between."""
    x0, y0 = upper[0] + BOX_WIDTH / 2, upper[1] + BOX_HEIGHT
    x1, y1 = lower[0] + BOX_WIDTH / 2, lower[1] - 2
    is_long = y1 - y0 > GAP_Y
    side = BOX_WIDTH * 0.9 if is_long and abs(x1 - x0) < BOX_WIDTH else 0
    if side:
        x0, x1 = x0 + BOX_WIDTH * 0.3, x1 + BOX_WIDTH * 0.3
    bend = GAP_Y * (0.8 if not side else 1.2)
    curve = f"C{x0 + side:g} {y0 + bend:g} {x1 + side:g} {y1 - bend:g} {x1:g} {y1:g}"
    return f'<path class="arrow" d="M{x0:g} {y0:g}{curve}" marker-end="url(#head)"/>'


def _box(name: str, place: tuple[float, float], modules: dict[str, Module]) -> str:
    n_modules = sum(package_of(each) == name for each in modules)
    size = "1 module" if n_modules == 1 else f"{n_modules} modules"
    x, y = place
    middle = x + BOX_WIDTH / 2
    shape = f'x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"'
    return (
        f'<g><rect class="box" {shape}/>'
        f'<text class="name" x="{middle:g}" y="{y + 20:g}" text-anchor="middle">{name}</text>'
        f'<text class="size" x="{middle:g}" y="{y + 36:g}" text-anchor="middle">{size}</text></g>'
    )


def measure(root: Path = ROOT) -> dict[str, Any]:
    """Return sizes of the code: lines, modules, importers, imports and repeated class names."""
    modules = read_modules(root)
    importers = Counter(each for module in modules.values() for each in module.imports)
    classes: Counter[str] = Counter()
    n_statements = n_imports = 0
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            n_statements += isinstance(node, ast.stmt)
            n_imports += isinstance(node, (ast.Import, ast.ImportFrom)) or _is_all(node)
    plain = [name for name, module in modules.items() if module.path.name != "__init__.py"]
    repeated = sorted(name for name, n in classes.items() if n > 1)
    return {
        "lines of code without docstrings and comments": sum(m.n_lines for m in modules.values()),
        "lines of all files": sum(
            len(m.path.read_text(encoding="utf-8").splitlines()) for m in modules.values()
        ),
        "modules": len(modules),
        "modules with at most one importer": sum(importers[name] <= 1 for name in plain),
        "share of imports and __all__ among statements": f"{n_imports / n_statements:.1%}",
        "class names used more than once": f"{len(repeated)} ({', '.join(repeated)})",
        "lines of the longest module": max(
            len(m.path.read_text(encoding="utf-8").splitlines()) for m in modules.values()
        ),
    }


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
    )


_WALKS = """
import json, os, signal, sys, tempfile, threading, urllib.request
from pathlib import Path

entered = set()

def note(frame, event, argument):
    name = str(frame.f_globals.get("__name__"))
    if event == "call" and name.startswith("labeltrees.") and frame.f_code.co_name != "<module>":
        entered.add(name)

def count(walk):
    walk()  # the first call imports and caches
    entered.clear()
    sys.setprofile(note)
    walk()
    sys.setprofile(None)
    return len(entered)

import labeltrees
rows, labels = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], ["a", "b", "c"]
tree = labeltrees.ConditionalTreeClassifier()
extreme = labeltrees.ExtremeRegressor(n_trees=1)
print("one row through partial_fit:", count(lambda: tree.partial_fit(rows[:1], labels[:1])))
print("ExtremeRegressor.fit:", count(lambda: extreme.fit(rows, [[each] for each in labels])))
folder = tempfile.mkdtemp()
file = Path(folder, "rows.tsv")
lines = [f"{'ab'[i % 2]}\\twords of {'sun moon'.split()[i % 2]} {i}\\n" for i in range(60)]
file.write_text("".join(lines))
if hasattr(labeltrees, "train"):
    print('labeltrees.train("file.tsv"):', count(lambda: labeltrees.train(str(file))))
else:
    from labeltrees.cli import main
    train = ["train", str(file), "--out", folder + "/m.safetensors", "--quiet"]
    with open(os.devnull, "w") as nowhere:
        own, sys.stdout = sys.stdout, nowhere
        n = count(lambda: main(train))
        sys.stdout = own
    print("the command train:", n)

def post(url):
    body = json.dumps({"features": [1.0, 0, 0], "label": "a"}).encode()
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()

def client():
    import socket, time
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    for _ in range(2):
        time.sleep(0.5)
        entered.clear()
        post(f"http://127.0.0.1:{port}/v1/models/m/learn")
    n = len(entered)
    print("POST learn:", n, file=sys.__stdout__, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

import socket
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
threading.Thread(target=client, daemon=True).start()
threading.setprofile(note)
sys.setprofile(note)
from labeltrees.cli import main
tree.save(folder + "/tree.safetensors")
sys.stdout = open(os.devnull, "w")
served = ["--model", f"m={folder}/tree.safetensors", "--port", str(port), "--quiet"]
main(["serve", folder + "/served", *served])
"""


def print_walks(root: Path = ROOT) -> int:
    """Print how many modules each of four typical calls enters, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    return subprocess.run([sys.executable, "-c", _WALKS], env=environment, check=False).returncode


def main() -> int:
    """Draw, check or measure, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true")
    what.add_argument("--measure", action="store_true")
    what.add_argument("--walks", action="store_true")
    options = parser.parse_args()
    if options.walks:
        return print_walks(options.root)
    if options.measure:
        for name, value in measure(options.root).items():
            print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
        return 0
    picture = draw(options.root)
    if options.check:
        return int(PICTURE.read_text(encoding="utf-8") != picture)
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
