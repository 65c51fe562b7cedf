"""The sections of `benchmarks/batch.py`, and the programs that it starts."""
