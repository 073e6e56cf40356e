"""The sections of `benchmarks/tune.py`, one module each."""
