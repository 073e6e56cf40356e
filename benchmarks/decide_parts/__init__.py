"""The sections of `benchmarks/decide.py`, one module each."""
