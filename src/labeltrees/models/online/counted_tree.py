"""The state that conditional and filter trees share: a binary tree whose regressors count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labeltrees import _core
from labeltrees.errors import ModelFormatError
from labeltrees.models.online.lines import CountedLines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labeltrees.tree import LabelTree

__all__ = ["describe_tree", "have_leaves", "restored", "state_tensors", "untaught"]


def untaught(tree: LabelTree | None = None) -> _core.ConditionalTree:
    """Return a state that has learned nothing yet, on a binary tree or without any label."""
    empty = _core.ConditionalTree()
    if tree is None:
        return empty
    return _core.ConditionalTree(
        tree.core, np.zeros(tree.n_nodes), *empty.lines(), empty.mixtures()
    )


def have_leaves(core: _core.ConditionalTree, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which labels have a leaf."""
    return _core.have_leaves(core, ids).astype(bool)


def state_tensors(core: _core.ConditionalTree, *, frozen: bool) -> dict[str, NDArray[Any]]:
    """Return the state as arrays; ``frozen``: only what answering needs, in float16."""
    tree = core.tree()
    shape: dict[str, NDArray[Any]] = {
        "tree.parent": tree.parents(),
        "tree.label": tree.labels(),
        "tree.mass": core.masses(),
        "mixtures": core.mixtures(),
    }
    return shape | CountedLines(*core.lines()).to_tensors(frozen=frozen)


def restored(
    tensors: dict[str, NDArray[Any]], *, frozen: bool, n_labels: int
) -> _core.ConditionalTree:
    """Return the state that `state_tensors` wrote down; its labels are below ``n_labels``."""
    tree = _core.LabelTree.restore(tensors["tree.parent"], tensors["tree.label"])
    if tensors["tree.label"].max(initial=-1) >= n_labels:
        raise ModelFormatError("the tree has a label that the vocabulary does not name.")
    lines = CountedLines.from_tensors(tensors, frozen=frozen)
    return _core.ConditionalTree(
        tree, tensors["tree.mass"], mixtures=tensors["mixtures"], **vars(lines)
    )


def describe_tree(tree: LabelTree, core: _core.ConditionalTree | _core.PecocTree) -> dict[str, Any]:
    """Return the sizes and shape of a tree of regressors, ready for JSON."""
    is_leaf = tree.label >= 0
    mass, depths = core.masses()[is_leaf], tree.depths[is_leaf]
    facts: dict[str, Any] = {
        "weight_lines": core.n_lines,
        "table_bytes_in_memory": core.n_bytes,
        "nodes": tree.n_nodes,
        "leaves": tree.n_labels,
        "depth": tree.depth,
        "mean_leaf_depth": float(depths.mean()) if len(depths) else 0.0,
        "least_possible_depth": max(0, (tree.n_labels - 1).bit_length()),
    }
    if mass.sum() > 0:
        facts["mean_depth_of_an_example"] = float(np.average(depths, weights=mass))
        facts["examples_learned"] = float(mass.sum())
    return facts
