"""Libraries that only some functions need: what a message says where one is missing."""

from __future__ import annotations


def install(extra: str) -> str:
    """How to install the libraries of an extra; the package is on no index yet.

    Examples
    --------
    >>> install("plot")
    "pip install '.[plot]' in a checkout of argmetric"
    """
    return f"pip install '.[{extra}]' in a checkout of argmetric"
