"""The tree over labels."""

from labeltrees.tree._builders import MAX_LABEL
from labeltrees.tree._formats import unfold
from labeltrees.tree._label_tree import LabelTree

__all__ = ["MAX_LABEL", "LabelTree", "unfold"]
