"""The tree over labels."""

from labeltrees.tree.label_tree import MAX_LABEL, LabelTree, unfold

__all__ = ["MAX_LABEL", "LabelTree", "unfold"]
