"""The parts of benchmarks/scale.py."""
