"""The sections of `benchmarks/tensors.py`."""
