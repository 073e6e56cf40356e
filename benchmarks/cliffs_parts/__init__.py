"""The cells of `benchmarks/cliffs.py`, and how each is measured."""
