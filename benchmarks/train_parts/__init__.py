"""The sections of `benchmarks/train.py`, one module each."""
