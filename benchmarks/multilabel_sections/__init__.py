"""The sections of `benchmarks/online_multilabel.py`."""
