"""The sections of `benchmarks/summaries.py`, and what they share."""
