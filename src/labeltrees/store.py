"""Read and write model files, which are safetensors files that are safe to load.

The metadata of a file has one entry, ``labeltrees``. It is a JSON object with the format's version,
the model's class, its facts (settings included), extra, a SHA-256 of every tensor's type, shape and
bytes, and a SHA-256 of the whole object. The same model always gives the same bytes. A file is
written under another name, flushed to disk and renamed, so that a crash leaves either the old file
or the new one.

Checksums find damage but not intent. For this reason, code that restores a model must take its
arrays with `tensor`, which checks type and dimensions. It must also check starts and ids
(`check_starts`, `check_ids`) before it follows them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from labeltrees.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

Tensors: TypeAlias = "dict[str, NDArray[Any]]"
"""Arrays by name."""
Facts: TypeAlias = dict[str, Any]
"""Values for JSON by name."""

FORMAT = "labeltrees"
FORMAT_VERSION = 2
TRANSFORM = "transform."
"""Prefix of the names of tensors that belong to the transformer in front of the model."""
_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4",
    "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
_FIELDS = {"model": str, "facts": dict, "extra": dict, "library_version": str, "tensors": dict}
"""Required fields of the description, in addition to version and checksum."""


@dataclass(frozen=True)
class StoredModel:
    """The content of a model file."""

    model: str
    """The model's class."""
    facts: dict[str, Any]
    """Settings and sizes, which `from_tensors` of the model needs in addition to the tensors."""
    tensors: Tensors = field(repr=False)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)
    """Other values kept with the model, for example how its input was read."""
    library_version: str = ""
    transform: dict[str, Any] | None = field(default=None, repr=False)
    """The transformer in front of the model, such as a vectoriser (`labeltrees.transforms`)."""

    def model_tensors(self) -> Tensors:
        """Return the tensors of the model itself."""
        named = self.tensors.items()
        return {name: array for name, array in named if not name.startswith(TRANSFORM)}

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of every tensor."""
        return {name: _checksum(array) for name, array in self.tensors.items()}


def write(path: str | os.PathLike[str], model: StoredModel) -> None:
    """Write a model file, which appears whole or not at all."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    description = {
        "format_version": FORMAT_VERSION,
        "model": model.model,
        "facts": model.facts,
        "extra": model.extra,
        "library_version": model.library_version,
        "tensors": model.checksums(),
    }
    if model.transform is not None:
        description["transform"] = model.transform
    description["checksum"] = _sha256(_canonical(description))
    metadata = {FORMAT: _canonical(description).decode()}
    # Safetensors writes the memory of an array without regard to the order of its axes.
    tensors = {name: np.asarray(array, order="C") for name, array in model.tensors.items()}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    try:
        save_file(tensors, temporary, metadata=metadata)
        _flush(Path(temporary))
        Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, target)
        _flush(target.parent)
    except SafetensorError as error:  # This error reports a full disk, for example.
        Path(temporary).unlink(missing_ok=True)
        raise OSError(f"{os.fspath(path)} could not be written: {error}.") from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(
    path: str | os.PathLike[str], *, mapped: bool = False, name: str | None = None
) -> StoredModel:
    """Return the content of a model file, or raise `ModelFormatError` if a bit of it is wrong.

    With ``mapped``, the tensors are views of the file, and their checksums are not compared.
    Errors refer to the file as ``name``, by default its path.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"the model file {os.fspath(path)} does not exist.")
    name = os.fspath(path) if name is None else name
    try:
        with safe_open(path, framework="numpy") as file:
            description = _description(name, file.metadata() or {})
            names = list(file.keys())
            tensors = _map_tensors(path) if mapped else {n: file.get_tensor(n) for n in names}
    except ModelFormatError:
        raise
    # The checks of safetensors raise errors of many types, which do not mention a model. Deeply
    # nested lists raise a RecursionError, which is a RuntimeError.
    except (
        SafetensorError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OSError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise ModelFormatError(f"{name} is not a model file: {error}") from None
    known = description["tensors"]
    found = known if mapped else {n: _checksum(array) for n, array in tensors.items()}
    if set(tensors) != set(known):
        raise ModelFormatError(f"{name} is damaged: its tensors differ from its description.")
    if found != description["tensors"]:
        wrong = sorted(set(found.items()) ^ set(description["tensors"].items()))
        raise ModelFormatError(f"{name} is damaged: tensor {wrong[0][0]!r} has changed.")
    return StoredModel(
        description["model"],
        description["facts"],
        tensors,
        description["extra"],
        description["library_version"],
        description.get("transform"),
    )


def _map_tensors(path: str | os.PathLike[str]) -> Tensors:
    """Return views of the tensors in a file whose header safetensors has checked."""
    content = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    start = 8 + int(content[:8].view("<u8")[0])
    header = json.loads(content[8:start].tobytes())
    tensors: Tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        part = content[start + begin : start + end]
        array = part.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        # The core needs aligned numbers, but a header can place them anywhere.
        tensors[name] = array if array.flags.aligned else array.copy()
    return tensors


def _description(name: str, metadata: dict[str, str]) -> dict[str, Any]:
    if FORMAT not in metadata:
        raise ModelFormatError(f"{name} is a safetensors file, but not a labeltrees model.")
    description = json.loads(metadata[FORMAT], object_pairs_hook=_without_repeats)
    if not isinstance(description, dict):
        raise ModelFormatError(f"{name} is damaged: its description has changed.")
    version = description.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelFormatError(
            f"{name} has format version {version}, but this library reads version "
            f"{FORMAT_VERSION}. Train the model again, or use the version "
            "of the library that wrote the file."
        )
    checksum = description.pop("checksum", None)
    if _sha256(_canonical(description)) != checksum:
        raise ModelFormatError(f"{name} is damaged: its description has changed.")
    for field_name, kind in _FIELDS.items():
        if not isinstance(description.get(field_name), kind):
            raise ModelFormatError(f"{name} is damaged: its description lacks {field_name!r}.")
    if not isinstance(description.get("transform", {}), dict):
        raise ModelFormatError(f"{name} is damaged: its transform is not an object.")
    return description


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or raise ValueError if it has a key twice."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("its description has a key twice")
    return content


def tensor(
    tensors: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike, *, ndim: int = 1
) -> NDArray[Any]:
    """Return a tensor of a file, or raise `ModelFormatError` for a wrong type or dimension.

    >>> tensor({"ends": np.zeros(2)}, "ends", np.int64)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ModelFormatError: tensor 'ends' must have 1 dimension of int64, got (2,) of \
float64.
    """
    if name not in tensors:
        raise ModelFormatError(f"tensor {name!r} is missing.")
    array = tensors[name]
    if array.dtype != dtype or array.ndim != ndim:
        raise ModelFormatError(
            f"tensor {name!r} must have {ndim} dimension{'s' * (ndim > 1)} of "
            f"{np.dtype(dtype).name}, got {array.shape} of {array.dtype.name}."
        )
    return array


def text_tensors(name: str, strings: Sequence[str]) -> Tensors:
    """Return strings as two tensors, with their UTF-8 bytes and the end of each string.

    >>> text_tensors("terms", ["fig", "plum"])["terms.ends"].tolist()
    [3, 7]
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(each) for each in encoded], dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {f"{name}.text": text, f"{name}.ends": ends}


def texts(tensors: Mapping[str, NDArray[Any]], name: str) -> list[str]:
    """Return the strings of `text_tensors`, or raise `ModelFormatError`.

    >>> texts(text_tensors("terms", ["fig", "", "plum"]), "terms")
    ['fig', '', 'plum']
    """
    text = tensor(tensors, f"{name}.text", np.uint8).tobytes()
    ends = tensor(tensors, f"{name}.ends", np.int64)
    starts = np.concatenate([[0], ends])
    check_starts(f"{name}.ends", starts, len(ends), len(text))
    try:
        return [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(starts.tolist())]
    except UnicodeDecodeError:
        raise ModelFormatError(f"the {name} is not UTF-8 text.") from None


def check_starts(name: str, starts: NDArray[np.int64], n_lists: int, n_entries: int) -> None:
    """Raise `ModelFormatError` unless ``starts`` divides the entries into consecutive lists.

    List i has the entries ``starts[i]:starts[i + 1]``.

    >>> check_starts("tail.starts", np.array([0, 3, -1]), 2, 3)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ModelFormatError: 'tail.starts' does not divide 3 entries into 2 lists.
    """
    fits = (
        len(starts) == n_lists + 1
        and int(starts[0]) == 0
        and int(starts[-1]) == n_entries
        and bool((starts[1:] >= starts[:-1]).all())
    )
    if not fits:
        raise ModelFormatError(
            f"{name!r} does not divide {n_entries} entries into {n_lists} lists."
        )


def check_ids(name: str, ids: NDArray[Any], n: int, *, low: int = 0) -> None:
    """Raise `ModelFormatError` unless all ids are in [low, n).

    >>> check_ids("tree.label", np.array([-1, 7]), 7, low=-1)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ModelFormatError: 'tree.label' has the id 7, but ids must be in [-1, 7).
    """
    if not ids.size:
        return
    least, most = int(ids.min()), int(ids.max())
    if least < low or most >= n:
        wrong = least if least < low else most
        raise ModelFormatError(f"{name!r} has the id {wrong}, but ids must be in [{low}, {n}).")


def _canonical(description: dict[str, Any]) -> bytes:
    return json.dumps(description, sort_keys=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _checksum(array: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    contiguous: NDArray[np.uint8] = np.asarray(array, order="C").reshape(-1).view("u1")
    digest.update(contiguous.data)
    return digest.hexdigest()


def _flush(path: Path) -> None:
    """Flush a file or folder to disk. Windows can flush neither folders nor files open to read."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_out(path: str | os.PathLike[str] | None, name: str = "--out") -> None:
    """Raise an `OSError` of one sentence if a file cannot be saved at a path.

    It makes an empty file in the same folder and removes it, because saving a model does the same.
    Errors refer to the path as ``name``. A path of None passes.

    >>> check_out("/no/such/folder/model")
    Traceback (most recent call last):
    ...
    FileNotFoundError: --out /no/such/folder/model: the folder /no/such/folder does not exist.
    """
    if path is None:
        return
    target = Path(path)
    folder, shown = target.parent, f"{name} {os.fspath(path)}"
    try:
        is_folder, is_other = target.is_dir(), target.exists() and not target.is_file()
        has_folder, in_folder = folder.exists(), folder.is_dir()
    except (OSError, ValueError) as error:  # The folder may be closed, or the name too long.
        raise OSError(f"{shown}: {getattr(error, 'strerror', None) or error}.") from None
    if is_folder:
        raise IsADirectoryError(f"{shown}: this is a folder. Name a file in it.")
    if is_other:
        raise FileExistsError(f"{shown}: this is not a regular file, so it is not replaced.")
    if not has_folder:
        raise FileNotFoundError(f"{shown}: the folder {folder} does not exist.")
    if not in_folder:
        raise NotADirectoryError(f"{shown}: {folder} is not a folder.")
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=folder)
        os.close(handle)
        os.unlink(temporary)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(f"{shown}: the folder {folder} cannot be written ({reason}).") from None
