"""Model files: one safetensors file that is safe to load, checked to the last bit.

The file's metadata has one entry, ``labeltrees``: a JSON object with the format's version, the
model's class, its facts (settings included), extra, a SHA-256 of every tensor's type, shape and
bytes, and a SHA-256 of all that. The same model always gives the same bytes. A file is written
under another name, flushed to disk and renamed, so that a crash leaves the old file or the new
one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees.errors import ModelFormatError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FORMAT_VERSION", "StoredModel", "read", "write"]

FORMAT = "labeltrees"
FORMAT_VERSION = 2
_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4",
    "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds."""

    model: str
    """The model's class."""
    facts: dict[str, Any]
    """What the model's own `from_tensors` needs besides the tensors: settings and sizes."""
    tensors: dict[str, NDArray[Any]] = field(repr=False)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)
    """Whatever the writer wanted to keep with the model, such as how its input was read."""
    library_version: str = ""

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of every tensor."""
        return {name: _checksum(array) for name, array in self.tensors.items()}


def write(path: str | os.PathLike[str], model: StoredModel) -> None:
    """Write a model file; the file appears whole or not at all."""
    from safetensors.numpy import save_file

    description = {
        "format_version": FORMAT_VERSION,
        "model": model.model,
        "facts": model.facts,
        "extra": model.extra,
        "library_version": model.library_version,
        "tensors": model.checksums(),
    }
    description["checksum"] = _sha256(_canonical(description))
    metadata = {FORMAT: _canonical(description).decode()}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    try:
        save_file(model.tensors, temporary, metadata=metadata)
        _flush(Path(temporary))
        Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, target)
        _flush(target.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str], *, mapped: bool = False) -> StoredModel:
    """Return what a model file holds; raise `ModelFormatError` if any bit of it is wrong.

    With ``mapped`` the tensors are views of the file, and their checksums are not compared.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"no model file at {os.fspath(path)}")
    try:
        with safe_open(path, framework="numpy") as file:
            description = _description(path, file.metadata() or {})
            names = list(file.keys())
            tensors = _map_tensors(path) if mapped else {n: file.get_tensor(n) for n in names}
    except ModelFormatError:
        raise
    # The container's own checks raise errors of many types, none of which says "model".
    except (SafetensorError, ValueError, TypeError, KeyError, OSError, OverflowError) as error:
        raise ModelFormatError(f"{os.fspath(path)} is not a model file: {error}") from None
    known = description["tensors"]
    found = known if mapped else {name: _checksum(array) for name, array in tensors.items()}
    if set(tensors) != set(known):
        raise ModelFormatError(f"{os.fspath(path)} is damaged: it has other tensors.")
    if found != description["tensors"]:
        wrong = sorted(set(found.items()) ^ set(description["tensors"].items()))
        raise ModelFormatError(f"{os.fspath(path)} is damaged: tensor {wrong[0][0]!r} has changed.")
    return StoredModel(
        description["model"],
        description["facts"],
        tensors,
        description["extra"],
        description["library_version"],
    )


def _map_tensors(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return views of the tensors in the file, whose header safetensors has checked."""
    import numpy as np

    content = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    start = 8 + int(content[:8].view("<u8")[0])
    header = json.loads(content[8:start].tobytes())
    tensors: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        part = content[start + begin : start + end]
        tensors[name] = part.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def _description(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    name = os.fspath(path)
    if FORMAT not in metadata:
        raise ModelFormatError(f"{name} is a safetensors file, but not of a labeltrees model.")
    description = json.loads(metadata[FORMAT])
    if not isinstance(description, dict):
        raise ModelFormatError(f"{name} is damaged: its description has changed.")
    version = description.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFormatError(
            f"{name} has format version {version}; this library reads version {FORMAT_VERSION}. "
            "Learn the model again, or use the version of the library that wrote it."
        )
    checksum = description.pop("checksum", None)
    if _sha256(_canonical(description)) != checksum:
        raise ModelFormatError(f"{name} is damaged: its description has changed.")
    return description


def _canonical(description: dict[str, Any]) -> bytes:
    return json.dumps(description, sort_keys=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _checksum(array: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    contiguous: NDArray[np.uint8] = array.reshape(-1).view("u1")
    digest.update(contiguous.data)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
