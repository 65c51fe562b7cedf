"""Filter trees (paper 2 compares itself with them)."""
