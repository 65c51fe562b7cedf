"""Trees of the core, built from checked arguments."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees.checks import choice, integer
from labeltrees.data.rows import as_rows, as_weights
from labeltrees.errors import ArgumentError, TooLargeError, TreeStructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Int32Array = NDArray[np.int32]

MAX_LABEL = 2**31 - 3
"""Maximum label id, because node and label ids have 32 bits in the core."""

_MAX_NODE = 2**31 - 2
_MAX_LEAVES = 2**30  # A tree of n leaves has up to 2 n - 1 nodes.
_BYTES_PER_NODE = 72  # Peaks with 5 M labels are 48 (balanced), 50 (random), 69 (Huffman).


def balanced(n_labels: int, *, arity: int) -> _core.LabelTree:
    """Return the tree of `LabelTree.balanced`.

    >>> balanced(4, arity=2).n_nodes
    7
    """
    n_labels, arity = _n_leaves(n_labels), _arity(arity)
    return _core.balanced_tree(np.arange(n_labels, dtype=np.int32), arity)


def random(n_labels: int, *, arity: int, seed: int) -> _core.LabelTree:
    """Return the tree of `LabelTree.random`.

    >>> random(4, arity=4, seed=1).n_nodes
    5
    """
    n_labels, arity = _n_leaves(n_labels), _arity(arity)
    return _core.random_tree(n_labels, arity, _seed(seed))


def huffman(weights: ArrayLike, *, arity: int) -> _core.LabelTree:
    """Return the tree of `LabelTree.huffman`.

    >>> huffman([8, 1, 1], arity=2).labels().tolist()
    [-1, 0, -1, 1, 2]
    """
    arity = _arity(arity)
    weight = _checked_weights(weights)
    _check_memory(2 * len(weight), len(weight))
    return _core.huffman_tree(weight, arity)


def kmeans(
    X: Any,
    labels: ArrayLike,
    *,
    n_labels: int | None,
    weights: ArrayLike | None,
    arity: int,
    balance: str,
    seed: int,
) -> _core.LabelTree:
    """Return the tree of `LabelTree.kmeans`.

    >>> options = dict(n_labels=None, weights=None, arity=2, balance="labels", seed=0)
    >>> kmeans([[1, 0.1], [0, 1], [1, 0]], [0, 1, 2], **options).n_labels
    3
    """
    rows = as_rows(X)
    weight = as_weights(weights, rows.n_rows, name="weights")
    label = checked_ids("labels", labels, MAX_LABEL)
    if len(label) != rows.n_rows:
        raise ArgumentError(f"labels has {len(label)} entries for the {rows.n_rows} rows of X.")
    learned = label[weight > 0] if len(weight) else label
    most = int(learned.max(initial=-1))
    n_labels = _n_leaves(most + 1 if n_labels is None else n_labels)
    if most >= n_labels or learned.min(initial=0) < 0:
        wrong = most if most >= n_labels else -1
        raise ArgumentError.of("each label", wrong, f"in [0, n_labels={n_labels})")
    by_mass = choice("balance", balance, ("labels", "examples")) == "examples"
    arity, seed = _arity(arity), _seed(seed)
    options = _core.Clustering(arity=arity, seed=seed, by_mass=by_mass)
    return _core.kmeans_tree(*rows.arrays, label, weight, n_labels, options)


def from_parents(parent: ArrayLike, label: ArrayLike) -> _core.LabelTree:
    """Return the tree of these arrays, with nodes renumbered breadth first.

    >>> from_parents([2, 2, -1], [7, 5, -1]).labels().tolist()
    [-1, 7, 5]
    """
    return _of_arrays(_core.LabelTree.from_parents, parent, label)


def restored(parent: ArrayLike, label: ArrayLike) -> _core.LabelTree:
    """Return the tree of these arrays, with the given numbers of nodes.

    >>> restored([-1, 0, 0], [-1, 7, 5]).labels().tolist()
    [-1, 7, 5]
    """
    return _of_arrays(partial(_core.LabelTree.restore, max_labels=MAX_LABEL + 1), parent, label)


@contextmanager
def core_errors() -> Iterator[None]:
    """Raise what the core says about a tree's structure as `TreeStructureError`."""
    try:
        yield
    except _core.TreeError as error:
        raise TreeStructureError(f"{error}.") from None


def checked_ids(name: str, values: ArrayLike, high: int) -> Int32Array:
    """Return ids in [-1, high] as 32-bit integers, or raise `TreeStructureError`."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise TreeStructureError(f"must be a list of integers: {error}", argument=name) from None
    if array.ndim != 1:
        raise TreeStructureError.of(f"the shape of {name}", array.shape, "one-dimensional")
    if array.size and array.dtype.kind not in "iu":
        raise TreeStructureError.of(f"the type of {name}", array.dtype.name, "an integer type")
    # This comes before the cast, so that an id of more than 32 bits raises an error.
    for value in (array.min(initial=0), array.max(initial=0)) if array.size else ():
        if not -1 <= int(value) <= high:
            raise TreeStructureError.of(f"each {name}", int(value), f"in [-1, {high}]")
    return np.ascontiguousarray(array, dtype=np.int32)


def _of_arrays(
    make: Callable[[Int32Array, Int32Array], _core.LabelTree], parent: ArrayLike, label: ArrayLike
) -> _core.LabelTree:
    parents = checked_ids("parent", parent, _MAX_NODE)
    labels = checked_ids("label", label, MAX_LABEL)
    _check_memory(len(parents), int(labels.max(initial=-1)) + 1)
    with core_errors():
        return make(parents, labels)


def _n_leaves(n_labels: int) -> int:
    """Return the number of labels of a tree that fits into memory."""
    n_labels = integer("n_labels", n_labels, 0, _MAX_LEAVES)
    _check_memory(2 * n_labels, n_labels)
    return n_labels


def _arity(arity: int) -> int:
    return integer("arity", arity, 2, MAX_LABEL)


def _seed(seed: int) -> int:
    return integer("seed", seed, 0, 2**64 - 1)


def _checked_weights(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        weight = np.ascontiguousarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"must be a list of numbers: {error}", argument="weights") from None
    if weight.ndim != 1 or np.asarray(weights).ndim != 1:
        raise ArgumentError.of("the shape of weights", np.shape(weights), "one-dimensional")
    if len(weight) > _MAX_LEAVES:
        raise ArgumentError.of("the length of weights", len(weight), f"in [0, {_MAX_LEAVES}]")
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if bad.size:
        raise ArgumentError.of(f"weights[{bad[0]}]", float(weight[bad[0]]), "finite and >= 0")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ArgumentError.of("the sum of weights", float("inf"), "finite")
    return weight


def _memory_limit() -> int:
    """Return half of the machine's memory in bytes, or no limit if it is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 2**63


def _check_memory(n_nodes: int, label_bound: int) -> None:
    # The core finds a label's leaf in a table over all ids, so one huge id takes memory as well.
    need, limit = _BYTES_PER_NODE * n_nodes + 4 * label_bound, _memory_limit()
    if need > limit:
        raise TooLargeError(
            f"A tree of {n_nodes} nodes with labels below {label_bound} needs {need} bytes, more "
            f"than half of this machine's memory ({limit})."
        )
