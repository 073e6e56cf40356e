"""Forecast of a score: its distribution before the true labels are known."""
