"""The sections of `benchmarks/search.py`, one module each."""
