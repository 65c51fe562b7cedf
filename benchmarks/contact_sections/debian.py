"""Debian's package descriptions and their tags, from `apt-cache dumpavail`."""

from __future__ import annotations

import shutil
import subprocess

from contact_sections.person_files import PersonRows, read, write
from harness import peers

FEWEST_PACKAGES = 1_000


def described_packages() -> PersonRows:
    """Return the packages that have tags; those of the first time are kept and used again."""
    path = peers.WORK / "contact" / "debian.tsv"
    if not path.exists():
        if shutil.which("apt-cache") is None:
            raise OSError("there is no apt-cache")
        done = subprocess.run(
            ["apt-cache", "dumpavail"], capture_output=True, text=True, check=False
        )
        rows = tagged(done.stdout)
        if len(rows) < FEWEST_PACKAGES:
            raise OSError("apt-cache knows hardly any package; run `apt-get update` first")
        write(rows, path)
    return read(path)


def tagged(available: str) -> PersonRows:
    """Return descriptions and tags, a package once, in the order of its name in the list."""
    found = {}
    for fields in map(_fields, available.split("\n\n")):
        tags = sorted({tag.strip() for tag in fields.get("Tag", "").split(",")} - {""})
        text = " ".join(fields.get("Description", fields.get("Description-en", "")).split())
        if tags and text:
            found.setdefault(fields["Package"], (tuple(tags), text))
    return PersonRows("text", [tags for tags, _ in found.values()], [t for _, t in found.values()])


def _fields(stanza: str) -> dict[str, str]:
    """Return the values by name; a line that starts with a space continues the one before."""
    lines = (line.partition(":") for line in stanza.replace("\n ", " ").splitlines())
    return {name: value.strip() for name, _, value in lines}
