"""Recorded public calls: the calls, what is kept of an answer, times."""
