"""Python source of many packages, from the ``*.py`` files of wheels of fixed versions."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

LIST = Path(__file__).with_name("packages.txt")
#: The same files on every machine.
CHOICE = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]
CHOICE += ["--implementation", "cp"]
for _platform in ("manylinux_2_28", "manylinux2014", "manylinux_2_17", "manylinux1"):
    CHOICE += ["--platform", f"{_platform}_x86_64"]
CHOICE += ["--platform", "any"]


def requirements() -> list[str]:
    """Return ``name==version`` of every package."""
    lines = LIST.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def source_folder(data: Path) -> tuple[Path, list[str]]:
    """Return the folder with the source of all packages, and what was refused.

    A package that exists is not downloaded again, so an interrupted download can continue.
    """
    wheels, source = data / "wheels", data / "source"
    refused = []
    for requirement in requirements():
        name, version = requirement.split("==")
        target = source / f"{name}-{version}"
        if target.is_dir():
            continue
        wheel = _found(wheels, name, version) or _downloaded(wheels, name, version)
        if wheel is None:
            refused.append(requirement)
        else:
            unpack(wheel, target)
    return source, refused


def unpack(wheel: Path, target: Path) -> int:
    """Write the ``*.py`` files of a wheel below a folder; return how many there are."""
    growing = target.with_name(target.name + ".part")
    n_files = 0
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            parts = Path(member.filename).parts
            if member.filename.endswith(".py") and ".." not in parts and not member.is_dir():
                path = growing / member.filename.lstrip("/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(member))
                n_files += 1
    growing.mkdir(parents=True, exist_ok=True)
    growing.rename(target)
    return n_files


def _found(wheels: Path, name: str, version: str) -> Path | None:
    stem = f"{_normal(name)}-{version}-".lower()
    there = wheels.iterdir() if wheels.is_dir() else ()
    return next((path for path in sorted(there) if _stem(path.name).startswith(stem)), None)


def _stem(file: str) -> str:
    name, _, rest = file.partition("-")
    return f"{_normal(name)}-{rest}".lower()


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _downloaded(wheels: Path, name: str, version: str) -> Path | None:
    wheels.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", *CHOICE, "-d", str(wheels)]
    subprocess.run([*command, f"{name}=={version}"], capture_output=True, check=False)
    return _found(wheels, name, version)
