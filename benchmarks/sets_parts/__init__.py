"""Sections of `benchmarks/sets.py`."""
