"""Correct probabilities by monotone maps fitted on labelled rows."""
