"""Compiled taggers: labels token by token, or segment by segment."""
