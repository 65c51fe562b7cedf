"""How node regressors read rows and learn, and how their weights are written down."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees.errors import ArgumentError, ModelFormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SLOTS", "OnlineRegression", "pack_weights", "unpack_weights"]

LOSSES = {"logistic": _core.Loss.logistic, "squared": _core.Loss.squared}
OPTIMIZERS = {"adagrad": _core.Optimizer.adagrad, "sgd": _core.Optimizer.sgd}
STRUCTURES = ("online", "random", "balanced", "huffman", "kmeans", "given")
BALANCES = {"labels": _core.Balance.labels, "examples": _core.Balance.examples}

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
    learning_rate: float = 1.5
    structure: str = "online"
    balance: str = "examples"
    alpha: float = 0.6
    seed: int = 0

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
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ArgumentError.of("normalize", self.normalize, "True or False")
        _check_number("learning_rate", self.learning_rate, 0, 1e6, open_below=True)
        _check_number("bias", self.bias, 0, 1e6)
        _check_number("alpha", self.alpha, 0, 1)
        if not isinstance(self.seed, (int, np.integer)) or not 0 <= self.seed < 2**64:
            raise ArgumentError.of("seed", self.seed, "an integer in [0, 2^64)")

    @property
    def reading(self) -> _core.Reading:
        """How the core reads rows under these settings."""
        return _core.Reading(
            loss=LOSSES[self.loss], normalize=bool(self.normalize), bias=float(self.bias)
        )

    @property
    def learning(self) -> _core.Learning:
        """How the core learns under these settings."""
        balanced = self.structure == "balanced"
        insertion = _core.Insertion.random if self.structure == "random" else None
        return _core.Learning(
            reading=self.reading,
            optimizer=OPTIMIZERS[self.optimizer],
            learning_rate=float(self.learning_rate),
            insertion=insertion or _core.Insertion.objective,
            # A random tree has no balance to keep: counting labels switches the guard off.
            balance=BALANCES["labels" if balanced or insertion else self.balance],
            alpha=1.0 if balanced else float(self.alpha),
            seed=int(self.seed),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, ready for JSON."""
        plain = asdict(self)
        for name in ("bias", "learning_rate", "alpha"):
            plain[name] = float(plain[name])
        return plain | {"normalize": bool(self.normalize), "seed": int(self.seed)}


def _check_number(
    name: str, value: object, low: float, high: float, *, open_below: bool = False
) -> None:
    allowed = f"in {'(' if open_below else '['}{low:g}, {high:g}]"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        raise ArgumentError.of(name, value, allowed)
    number = float(value)
    if not math.isfinite(number) or not low <= number <= high or (open_below and number == low):
        raise ArgumentError.of(name, value, allowed)


def pack_weights(keys: NDArray[np.uint64], weights: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Return the weights as float16 without zeros: about 8 bytes a line instead of 64.

    ``keys`` are (block << 32 | feature), increasing. Of a line only the mask of its non-zero
    slots and those slots' weights are kept; a line without any is dropped.
    """
    with np.errstate(over="ignore"):
        halves = weights.astype(np.float16)
    if not np.isfinite(halves).all():
        raise ArgumentError(
            "keep_state=False stores weights as float16, and a weight is past 65504; "
            "save with keep_state=True."
        )
    used = halves != 0
    lines = used.any(axis=1)
    keys, halves, used = keys[lines], halves[lines], used[lines]
    blocks, sizes = np.unique((keys >> np.uint64(32)).astype(np.uint32), return_counts=True)
    return {
        "packed.blocks": blocks,
        "packed.block_sizes": sizes.astype(np.uint32),
        "packed.features": (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        "packed.masks": np.packbits(used, axis=1).ravel(),
        "packed.weights": halves[used],
    }


def unpack_weights(
    tensors: dict[str, NDArray[Any]],
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Return the keys and weights that `pack_weights` wrote down."""
    blocks, sizes = tensors["packed.blocks"], tensors["packed.block_sizes"]
    features, masks = tensors["packed.features"], tensors["packed.masks"]
    used = np.unpackbits(masks[:, None], axis=1, count=SLOTS).astype(bool)
    if (
        len(blocks) != len(sizes)
        or int(sizes.sum(dtype=np.uint64)) != len(features)
        or len(masks) != len(features)
        or int(used.sum()) != len(tensors["packed.weights"])
    ):
        raise ModelFormatError("the packed weights do not fit together.")
    keys = np.repeat(blocks.astype(np.uint64), sizes) << np.uint64(32) | features
    weights = np.zeros((len(keys), SLOTS), dtype=np.float32)
    weights[used] = tensors["packed.weights"]
    return keys, weights
