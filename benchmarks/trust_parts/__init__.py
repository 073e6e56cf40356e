"""The sections of `benchmarks/trust.py`, one module each."""
