"""Libraries that only some functions need: what a message says where one is missing."""

from __future__ import annotations


def install(extra: str) -> str:
    """How to install the libraries of an extra; the package is on no index yet."""
    return f"pip install '.[{extra}]' in a checkout of argmetric"
