"""The tree over labels."""

from labeltrees.tree.builders import MAX_LABEL
from labeltrees.tree.formats import unfold
from labeltrees.tree.label_tree import LabelTree

__all__ = ["MAX_LABEL", "LabelTree", "unfold"]
