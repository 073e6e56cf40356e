"""The sections of `benchmarks/trees.py`, one module each."""
