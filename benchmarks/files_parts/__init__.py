"""The sections of `benchmarks/files.py` that are not about speed alone."""
