"""The sections of `benchmarks/monitor.py`."""
