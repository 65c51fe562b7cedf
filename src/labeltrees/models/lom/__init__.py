"""LOMtree (paper 2)."""
