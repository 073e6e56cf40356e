"""The command line: ``argmetric decide scores.csv --metric f1 -o decided.csv``."""

from argmetric.cli._main import main

__all__ = ["main"]
