"""How node regressors read rows and learn, and how their weights are written down."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "OPTIMIZERS",
    "SLOTS",
    "Lines",
    "OnlineRegression",
    "check_number",
    "n_threads_of",
    "pack_lines",
    "unpack_lines",
]

LOSSES = {"logistic": _core.Loss.logistic, "squared": _core.Loss.squared}
OPTIMIZERS = {"adagrad": _core.Optimizer.adagrad, "sgd": _core.Optimizer.sgd}
STRUCTURES = ("online", "random", "balanced", "huffman", "kmeans", "given")
BALANCES = {"labels": _core.Balance.labels, "examples": _core.Balance.examples}

MAX_THREADS = 256
MIN_TABLE = 2**20
"""The least memory, in bytes, that a table can be kept within."""

SLOTS = 7
"""Regressors in a line of the table: a binary subtree of three levels."""


@dataclass(frozen=True)
class OnlineRegression:
    """The checked settings of an online conditional tree.

    Examples
    --------
    >>> OnlineRegression(alpha=2)
    Traceback (most recent call last):
    ...
    labeltrees.errors.ArgumentError: alpha must be in [0, 1], got 2.
    """

    loss: str = "logistic"
    normalize: bool = True
    bias: float = 0.25
    optimizer: str = "adagrad"
    learning_rate: float = 1.0
    mixing: bool = True
    sharpness: float = 1.2
    structure: str = "online"
    balance: str = "examples"
    alpha: float = 0.6
    seed: int = 0
    novelty: bool = False
    max_memory: int | None = None
    n_threads: int = 1

    def __post_init__(self) -> None:
        for name, table in (
            ("loss", LOSSES),
            ("optimizer", OPTIMIZERS),
            ("structure", STRUCTURES),
            ("balance", BALANCES),
        ):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in table:
                raise ArgumentError.of(name, value, f"one of {', '.join(table)}")
        for name in ("normalize", "mixing", "novelty"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ArgumentError.of(name, getattr(self, name), "True or False")
        check_number("learning_rate", self.learning_rate, 0, 1e6, open_below=True)
        check_number("bias", self.bias, 0, 1e6)
        check_number("alpha", self.alpha, 0, 1)
        check_number("sharpness", self.sharpness, 0, 10, open_below=True)
        if not isinstance(self.seed, (int, np.integer)) or not 0 <= self.seed < 2**64:
            raise ArgumentError.of("seed", self.seed, "an integer in [0, 2^64)")
        if self.max_memory is not None and not (
            isinstance(self.max_memory, (int, np.integer)) and MIN_TABLE <= self.max_memory < 2**63
        ):
            raise ArgumentError.of("max_memory", self.max_memory, "None or bytes >= 2^20")
        if not isinstance(self.n_threads, int) or not 1 <= self.n_threads <= MAX_THREADS:
            raise ArgumentError.of("n_threads", self.n_threads, f"an integer in [1, {MAX_THREADS}]")

    @property
    def mixes(self) -> bool:
        """Whether log-odds are mixed; squared loss has none to mix."""
        return bool(self.mixing) and self.loss == "logistic"

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows under these settings."""
        return _core.Reading(
            loss=LOSSES[self.loss],
            normalize=bool(self.normalize),
            bias=float(self.bias),
            mixing=self.mixes,
            sharpness=float(self.sharpness),
        )

    def learning(self, *, again: bool = False) -> _core.Learning:
        """Return how regressors learn, from new rows or ``again`` from rows they have seen."""
        return _core.Learning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=float(self.learning_rate),
            again=again,
        )

    def conditional_learning(self, *, again: bool = False) -> _core.ConditionalLearning:
        """Return how a tree learns, from new rows or ``again`` from rows it has seen."""
        balanced = self.structure == "balanced"
        insertion = _core.Insertion.random if self.structure == "random" else None
        return _core.ConditionalLearning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=float(self.learning_rate),
            insertion=insertion or _core.Insertion.objective,
            # A random tree has no balance to keep: counting labels switches the guard off.
            balance=BALANCES["labels" if balanced or insertion else self.balance],
            alpha=1.0 if balanced else float(self.alpha),
            seed=int(self.seed),
            n_threads=self.n_threads,
            again=again,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, ready for JSON."""
        plain = asdict(self)
        for name in ("bias", "learning_rate", "alpha", "sharpness"):
            plain[name] = float(plain[name])
        plain |= {name: bool(plain[name]) for name in ("normalize", "mixing", "novelty")}
        if self.max_memory is not None:
            plain["max_memory"] = int(self.max_memory)
        return plain | {"seed": int(self.seed)}

    def limit(self, core: _core.ConditionalTree | _core.PecocTree | _core.OneAgainstAll) -> None:
        """Keep a core's table within ``max_memory``."""
        if self.max_memory is not None:
            core.limit_bytes(int(self.max_memory))


def n_threads_of(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for: None is 1, -1 all cores, -2 all but one.

    >>> n_threads_of(None), n_threads_of(3)
    (1, 3)
    """
    asked = 1 if n_jobs is None else n_jobs
    whole = isinstance(asked, (int, np.integer)) and not isinstance(asked, bool)
    if not whole or asked == 0:
        raise ArgumentError.of("n_jobs", n_jobs, "None or an integer other than 0")
    if asked < 0:
        asked = max((os.cpu_count() or 1) + 1 + asked, 1)
    return min(int(asked), MAX_THREADS)


def check_number(
    name: str, value: object, low: float, high: float, *, open_below: bool = False
) -> None:
    """Raise `ArgumentError` unless the value is a number between low and high."""
    allowed = f"in {'(' if open_below else '['}{low:g}, {high:g}]"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        raise ArgumentError.of(name, value, allowed)
    number = float(value)
    if not math.isfinite(number) or not low <= number <= high or (open_below and number == low):
        raise ArgumentError.of(name, value, allowed)


@dataclass(frozen=True)
class Lines:
    """The lines of the weight table, by increasing key; every matrix has `SLOTS` columns."""

    keys: NDArray[np.uint64]
    """(block << 32) + feature"""
    weights: NDArray[np.float32]
    sums: NDArray[np.uint16]
    """The optimiser's sums, in the core's 16-bit code."""
    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    """Examples counted on each side."""


def pack_lines(
    keys: NDArray[np.uint64],
    weights: NDArray[np.float32],
    counts: Mapping[str, NDArray[np.uint8]],
) -> dict[str, NDArray[Any]]:
    """Return what prediction needs of a table's lines: float16 weights and counts, without zeros.

    Of a line only the mask of its slots in use and those slots' weights and counts are kept; a
    line without any is dropped.
    """
    with np.errstate(over="ignore"):
        halves = weights.astype(np.float16)
    if not np.isfinite(halves).all():
        raise ArgumentError(
            "keep_state=False stores weights as float16, and a weight is past 65504; "
            "save with keep_state=True."
        )
    used = halves != 0
    for matrix in counts.values():
        used |= matrix != 0
    kept = used.any(axis=1)
    keys, used = keys[kept], used[kept]
    blocks, sizes = np.unique((keys >> np.uint64(32)).astype(np.uint32), return_counts=True)
    return {
        "packed.blocks": blocks,
        "packed.block_sizes": sizes.astype(np.uint32),
        "packed.features": (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        "packed.masks": np.packbits(used, axis=1).ravel(),
        "packed.weights": halves[kept][used],
    } | {f"packed.{name}": matrix[kept][used] for name, matrix in counts.items()}


def unpack_lines(
    tensors: dict[str, NDArray[Any]], counts: Sequence[str] = ()
) -> tuple[NDArray[np.uint64], NDArray[np.float32], dict[str, NDArray[np.uint8]]]:
    """Return the keys, weights and counts that `pack_lines` wrote down."""
    blocks, sizes = tensors["packed.blocks"], tensors["packed.block_sizes"]
    features, masks = tensors["packed.features"], tensors["packed.masks"]
    used = np.unpackbits(masks[:, None], axis=1, count=SLOTS).astype(bool)
    packed = {name: tensors[f"packed.{name}"] for name in ("weights", *counts)}
    if (
        len(blocks) != len(sizes)
        or int(sizes.sum(dtype=np.uint64)) != len(features)
        or len(masks) != len(features)
        or any(array.shape != (int(used.sum()),) for array in packed.values())
    ):
        raise ModelFormatError("the packed weights do not fit together.")
    keys = np.repeat(blocks.astype(np.uint64), sizes) << np.uint64(32) | features
    weights = np.zeros((len(keys), SLOTS), np.float32)
    weights[used] = packed.pop("weights")
    counted = {name: np.zeros((len(keys), SLOTS), np.uint8) for name in counts}
    for name, matrix in counted.items():
        matrix[used] = packed[name]
    return keys, weights, counted
