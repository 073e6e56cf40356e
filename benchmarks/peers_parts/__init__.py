"""The comparisons of `benchmarks/peers.py`, one module each."""
