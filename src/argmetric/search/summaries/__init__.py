"""Summaries: words of the sources within a budget, chosen by search."""
