"""Small files that ask for much memory; run as a program, with little more than Python needs.

Prints a line for each file that took more than it may, or was not refused with the right error.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.hostile.files import stored

from labeltrees.errors import ModelFormatError
from labeltrees.models.registry import model_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.store import StoredModel

ALLOWED = 400 * 2**20
"""More than this no file here may take; each is below four MB."""
FAR = 1_500_000_000


def with_far_label(name: str, tensor: str) -> StoredModel:
    """Return a file with a label so far off that a table of all labels would take gigabytes."""
    file = stored(name)
    label = file.tensors[tensor].copy()
    label[np.argmax(label)] = FAR
    return replace(file, tensors=file.tensors | {tensor: label})


def with_far_structure() -> StoredModel:
    """Return a file whose settings have such a label."""
    file = stored("conditional, given tree")
    settings = file.facts["settings"]
    tree = json.loads(settings["structure"]["tree"])
    tree["label"][-1] = FAR
    forged = settings | {"structure": {"tree": json.dumps(tree)}}
    return replace(file, facts=file.facts | {"settings": forged})


def with_many_members(name: str, n_members: int, n_labels: int) -> StoredModel:
    """Return a mixture of many small models over many labels."""
    file = stored(name)
    prefix = "members.{}." if name.startswith("Adacond") else "{}."
    first = {n: t for n, t in file.tensors.items() if n.startswith(prefix.format(0))}
    tensors = {n: t for n, t in file.tensors.items() if n.startswith("vocabulary.")}
    more = b"".join(b"%08d" % i for i in range(n_labels))
    text, ends = tensors["vocabulary.text"], tensors["vocabulary.ends"]
    tensors["vocabulary.text"] = np.concatenate([text, np.frombuffer(more, "u1")])
    tensors["vocabulary.ends"] = np.concatenate([ends, ends[-1] + 8 + 8 * np.arange(n_labels)])
    for number in range(n_members):
        tensors |= {
            n.replace(prefix.format(0), prefix.format(number), 1): t for n, t in first.items()
        }
    facts = file.facts | {"members": file.facts["members"][:1] * n_members}
    rounds = {n: t[:1].repeat(n_members) for n, t in file.tensors.items() if "boosting" in n}
    return replace(file, tensors=tensors | rounds, facts=facts)


def with_many_trees(n_trees: int) -> StoredModel:
    """Return a file that says it has more trees than it has."""
    file = stored("refined")
    return replace(file, facts=file.facts | {"n_trees": n_trees})


def with_empty_lines(n_lines: int, name: str, prefix: str = "") -> StoredModel:
    """Return a file of packed lines that have no weight."""
    file = stored(name)
    none = {
        name: file.tensors[f"{prefix}packed.{name}"][:0] for name in ("weights", "left", "right")
    }
    packed = none | {
        "blocks": np.array([1], np.uint32),
        "block_sizes": np.array([n_lines], np.uint32),
        "features": np.arange(n_lines, dtype=np.uint32),
        "masks": np.zeros(n_lines, np.uint8),
    }
    return replace(
        file, tensors=file.tensors | {f"{prefix}packed.{n}": t for n, t in packed.items()}
    )


def bombs() -> Iterator[tuple[str, StoredModel, bool]]:
    """Yield the name of each bomb, the file, and whether it must be refused."""
    yield "a far label", with_far_label("conditional", "tree.label"), True
    yield "a far label, refined", with_far_label("refined", "0.tree.label"), True
    yield "a far label, PECOC", with_far_label("PECOC", "tree.label"), True
    yield "a far label, extreme", with_far_label("extreme", "tree0.label"), True
    yield "a far label in the structure", with_far_structure(), True
    yield "empty lines", with_empty_lines(800_000, "conditional, frozen"), True
    yield "empty lines, refined", with_empty_lines(800_000, "refined, frozen", "0."), True
    yield "many refined trees", with_many_trees(1000), True
    yield "many members", with_many_members("Adacond of trees", 300, 30_000), False
    yield "many trees", with_many_members("pool", 300, 30_000), False


def main() -> None:
    """Load every bomb with so much memory and no more."""
    files = list(bombs())
    model_from(stored("pool"))
    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = n_pages * resource.getpagesize() + ALLOWED
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, file, refused in files:
        try:
            model_from(file)
        except ModelFormatError:
            continue
        except BaseException as error:
            sys.stdout.write(f"{name}: {error!r}\n")
        else:
            if refused:
                sys.stdout.write(f"{name}: loaded\n")


if __name__ == "__main__":
    main()
