"""Summaries: words of the sources that fit a budget, chosen by search."""
