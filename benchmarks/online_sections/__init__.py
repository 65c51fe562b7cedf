"""The sections of `benchmarks/online.py`, one file each, and what they share."""
