"""The sections of `benchmarks/first_contact.py`."""
