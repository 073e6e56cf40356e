"""What the letters of a word look like."""

from __future__ import annotations

from itertools import pairwise


def word_shape(word: str) -> str:
    """Shape of a word with runs shortened: "Sant Boi-2" is "Xx Xx-d".

    Examples
    --------
    >>> word_shape("EFE-1999")
    'X-d'
    """
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        for c in word
    ]
    return "".join(kinds[:1] + [b for a, b in pairwise(kinds) if a != b])
