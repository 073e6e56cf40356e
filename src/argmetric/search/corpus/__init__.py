"""Labelled text: sentences and trees in files, and counts of chunks."""
