"""The sections of `benchmarks/calibration.py`, and the programs that it starts."""
