"""Correct probabilities by monotone functions fitted on labelled rows."""
