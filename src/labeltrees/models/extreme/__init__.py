"""Extreme regression (paper 4)."""
