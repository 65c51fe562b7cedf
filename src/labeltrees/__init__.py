"""Probabilities over millions of labels, in logarithmic time."""

__version__ = "0.1.0"
