"""Sets and batches of `classes.py`."""
