"""Labelled text: sentences and trees in files, chunks, and how many are right."""
