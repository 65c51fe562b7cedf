"""Adacond, boosting of conditional distributions (paper 5)."""
