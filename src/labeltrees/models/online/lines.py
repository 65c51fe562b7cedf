"""The lines of a weight table, and how they are packed for a file that only answers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import store
from labeltrees.errors import ArgumentError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labeltrees.store import Tensors

SLOTS = 7
"""Regressors in a line of the table: a binary subtree of three levels."""


@dataclass(frozen=True)
class CountedLines:
    """The lines of a table that counts examples, by increasing key; matrices have 7 columns."""

    keys: NDArray[np.uint64]
    """(block << 32) + feature"""
    weights: NDArray[np.float32]
    sums: NDArray[np.uint16]
    """The optimiser's sums, in the core's 16-bit code."""
    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    """Examples counted on each side."""

    def to_tensors(self, *, frozen: bool) -> Tensors:
        """Return the lines as arrays, or only what answering needs of them."""
        if frozen:
            return pack_lines(self.keys, self.weights, {"left": self.left, "right": self.right})
        return {f"table.{name}": array for name, array in vars(self).items()}

    @classmethod
    def from_tensors(cls, tensors: Tensors, *, frozen: bool) -> CountedLines:
        """Return the lines that `to_tensors` wrote down."""
        if frozen:
            keys, weights, counts = unpack_lines(tensors, ("left", "right"))
            return cls(keys, weights, np.zeros(weights.shape, np.uint16), **counts)
        return cls(*(tensors[f"table.{each.name}"] for each in fields(cls)))


def pack_lines(
    keys: NDArray[np.uint64],
    weights: NDArray[np.float32],
    counts: Mapping[str, NDArray[np.uint8]],
) -> Tensors:
    """Return what prediction needs of a table's lines: float16 weights and counts, without zeros.

    Of a line only the mask of its slots in use and those slots' weights and counts are kept; a
    line without any is dropped.
    """
    halves = halved(weights)
    used = halves != 0
    for matrix in counts.values():
        used |= matrix != 0
    kept = used.any(axis=1)
    keys, used = keys[kept], used[kept]
    return (
        {f"packed.{name}": array for name, array in pack_keys(keys).items()}
        | {
            "packed.masks": np.packbits(used, axis=1).ravel(),
            "packed.weights": halves[kept][used],
        }
        | {f"packed.{name}": matrix[kept][used] for name, matrix in counts.items()}
    )


def halved(weights: NDArray[np.float32]) -> NDArray[np.float16]:
    """Return weights as a file that only answers has them, or raise `ArgumentError`."""
    with np.errstate(over="ignore"):
        halves = weights.astype(np.float16)
    if not np.isfinite(halves).all():
        raise ArgumentError(
            "keep_state=False stores weights as float16, but a weight is above 65504. Save with "
            "keep_state=True."
        )
    return halves


def pack_keys(keys: NDArray[np.uint64]) -> dict[str, NDArray[np.uint32]]:
    """Return increasing keys (block << 32) + feature as blocks, how many each has, and features.

    >>> keys = np.array([(1 << 32) + 5, (1 << 32) + 7, (4 << 32) + 5], np.uint64)
    >>> {name: array.tolist() for name, array in pack_keys(keys).items()}
    {'blocks': [1, 4], 'block_sizes': [2, 1], 'features': [5, 7, 5]}
    """
    blocks, sizes = np.unique((keys >> np.uint64(32)).astype(np.uint32), return_counts=True)
    features = (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return {"blocks": blocks, "block_sizes": sizes.astype(np.uint32), "features": features}


def unpack_keys(tensors: Mapping[str, NDArray[Any]], prefix: str) -> NDArray[np.uint64]:
    """Return the keys that `pack_keys` wrote down, or raise `ModelFormatError`."""
    blocks, sizes, features = (
        store.tensor(tensors, f"{prefix}{name}", np.uint32)
        for name in ("blocks", "block_sizes", "features")
    )
    if len(blocks) != len(sizes) or int(sizes.sum(dtype=np.uint64)) != len(features):
        raise ModelFormatError("the packed weights do not fit together.")
    keys: NDArray[np.uint64] = np.repeat(blocks.astype(np.uint64), sizes) << np.uint64(32)
    return keys | features.astype(np.uint64)


def unpack_lines(
    tensors: Tensors, counts: Sequence[str] = ()
) -> tuple[NDArray[np.uint64], NDArray[np.float32], dict[str, NDArray[np.uint8]]]:
    """Return the keys, weights and counts that `pack_lines` wrote down."""
    keys = unpack_keys(tensors, "packed.")
    masks = store.tensor(tensors, "packed.masks", np.uint8)
    packed = {"weights": store.tensor(tensors, "packed.weights", np.float16)}
    packed |= {name: store.tensor(tensors, f"packed.{name}", np.uint8) for name in counts}
    if len(masks) != len(keys) or not (masks > 1).all():
        raise ModelFormatError("the packed weights do not fit together.")
    # A line without a slot in use is not written: it would take ten times its place in memory.
    used = np.unpackbits(masks[:, None], axis=1, count=SLOTS).astype(bool)
    if any(len(array) != int(used.sum()) for array in packed.values()):
        raise ModelFormatError("the packed weights do not fit together.")
    weights = np.zeros((len(keys), SLOTS), np.float32)
    weights[used] = packed.pop("weights")
    counted = {name: np.zeros((len(keys), SLOTS), np.uint8) for name in counts}
    for name, matrix in counted.items():
        matrix[used] = packed[name]
    return keys, weights, counted


_PAIRS: dict[str, Any] = {
    "keys": np.uint64,
    "weights": np.float32,
    "sums": np.uint16,
    "others": np.uint8,
    "own": np.uint8,
}
"""Arrays of the rerankers' table, one entry for each pair of label and feature."""


def reranker_tensors(
    pairs: Sequence[NDArray[Any]], mixtures: NDArray[np.float32], *, frozen: bool
) -> Tensors:
    """Return the rerankers' table as arrays of a model file, whose names say "experts"."""
    found: Tensors = dict(zip(_PAIRS, pairs, strict=True))
    found["mixtures"] = mixtures
    if frozen:
        del found["sums"]
        found["weights"] = halved(found["weights"])
        found |= pack_keys(found.pop("keys"))
    return {f"experts.{name}": array for name, array in found.items()}


def reranker_pairs(tensors: Tensors, *, frozen: bool) -> Tensors:
    """Return the rerankers' table that `reranker_tensors` wrote down, by names of the core."""
    found: Tensors = {}
    for name, kind in _PAIRS.items():
        if not frozen:
            found[name] = store.tensor(tensors, f"experts.{name}", kind)
        elif name == "keys":
            found[name] = unpack_keys(tensors, "experts.")
        elif name == "sums":
            found[name] = np.zeros(len(found["keys"]), kind)
        else:
            stored = np.float16 if name == "weights" else kind
            found[name] = store.tensor(tensors, f"experts.{name}", stored).astype(kind)
    return found
