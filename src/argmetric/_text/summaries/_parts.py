"""White-space words cut into the parts that a treebank has as words."""

from __future__ import annotations

import re

_WORD = re.compile(r"(\W*?)([$€£#]?)(\w(?:.*\w)?)(\W*)")
_CLITIC = re.compile(r"(.+)(n't|'(?:s|re|ve|ll|d|m))", re.IGNORECASE)
_MARK = re.compile(r"\.{2,}|-{2,}|\S")
_SHORT = re.compile(r"(?:[a-z]\.){2,}|(?:mr|mrs|ms|dr|prof|st|jr|sr|vs)\.", re.I)
_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LRB-", "]": "-RRB-"}


def parts_of(word: str) -> list[str]:
    """The parts of a white-space word as the Penn Treebank has them.

    Marks, signs of money and clitics (n't, 's) are parts of their own; "cannot" is
    two words.
    """
    word = word.replace("’", "'").replace("‘", "'")
    found = _WORD.fullmatch(word)
    if found is None:  # nothing but marks
        return [_written(mark, 0) for mark in _MARK.findall(word)]
    before, money, core, after = found.groups()
    if after.startswith(".") and _SHORT.fullmatch(core + "."):
        core, after = core + ".", after[1:]
    if core.lower() == "cannot":
        parts = [core[:3], core[3:]]
    else:
        clitic = _CLITIC.fullmatch(core)
        parts = list(clitic.groups()) if clitic else [core]
    return [
        *(_written(mark, 0) for mark in _MARK.findall(before)),
        *([money] if money else []),
        *parts,
        *(_written(mark, 1) for mark in _MARK.findall(after)),
    ]


def _written(mark: str, side: int) -> str:
    """A mark as the treebank writes it; side is 0 before a word and 1 behind it."""
    if mark in '"“”':
        return ("``", "''")[side]
    return _BRACKETS.get(mark, mark)
