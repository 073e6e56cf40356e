"""Sections of `benchmarks/compare.py`."""
