"""Where sentences end in plain text: between white-space words, by rules.

Written for text as people type it: marks are doubled or forgotten, sentences start in
lower case, lines are wrapped or are sentences of their own.
"""

from __future__ import annotations

import re

import numpy as np

from argmetric._types import Booleans, Integers

_MARKS = ".!?…。！？؟۔।"
_CLOSERS = "\"')]}»”’"
_OPENERS = "\"'([{«“‘*_–—•-"
_EACH_MARK = tuple(_MARKS)
_LIST_NUMBER = re.compile(r"[0-9]{1,2}\.\Z")
_ACRONYM = re.compile(r"[^\W\d_]{1,2}(?:\.[^\W\d_])+\Z")
_INITIAL = re.compile(r"[^\W\d_]\Z")


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What a point behind these means: never an end; an end unless a number follows; an end
# if a capital follows; an end only before a word that likes to begin sentences
_NEVER = _set_of(
    "mr mrs ms mx dr prof messrs mme mlle capt lt col sgt gen sen gov rev hon vs cf "
    "e.g eg i.e ie viz approx ca"
)
_BEFORE_NUMBERS = _set_of("no nos nr p pp vol vols fig figs eq sec ch art")
_BEFORE_CAPITALS = _set_of(
    "etc al a.m p.m oz lb lbs ft qt gal hr hrs mins secs jan feb apr aug sept oct nov "
    "dec"
)
_IN_NAMES = _set_of("inc ltd co corp bros jr sr st ave blvd rd mt dept")
_STARTERS = _set_of(
    "a after all also an and as at but for from great he her here his how however i "
    "i'd i'll i'm i've if in it it's its just my no not on once one our overall she so "
    "that the their then there these they this those to very was we were what when "
    "while who why will with would you your"
)

_NARROWEST = 40  # characters of a line; nobody wraps text by hand at less
# Of the lines of a wrapped text that end inside of a sentence
_MOST = 0.8  # are full,
_FULL = 0.9  # that is, with the next word they would be longer than this of the width
_SOME = 1 / 3  # go on in lower case
_SHORT = 0.6  # of the width; a shorter line of a wrapped text ends a paragraph


def sentence_starts(text: str, words: list[str], spans: Integers) -> Integers:
    """Numbers of the words that begin sentences.

    Parameters
    ----------
    text : str
        The text.
    words : list of str
        Its white-space words, at least one.
    spans : ndarray of shape (n, 2)
        Their first characters, and those behind their last ones.
    """
    following = [*words[1:], ""]
    marked = np.array([word.rstrip(_CLOSERS).endswith(_EACH_MARK) for word in words])
    bare = np.array([not word.strip(_MARKS + _CLOSERS) for word in words])
    goes_on = np.append(bare[1:], False)  # "Wow ! ! !" ends but once
    ends = np.zeros(len(words), dtype=np.bool_)
    for i in np.flatnonzero(marked & ~goes_on).tolist():
        ends[i] = _is_end(words[i], following[i])
    for i in np.flatnonzero(ends & np.append(True, ends[:-1])).tolist():
        ends[i] = _LIST_NUMBER.match(words[i]) is None  # "1. Cheap. 2. Light."
    ends |= _line_ends(text, following, spans, marked)
    return np.append(0, np.flatnonzero(ends[:-1]) + 1)


def _is_end(word: str, following: str) -> bool:
    """Whether a word with an end mark ends its sentence."""
    body = word.rstrip(_CLOSERS)
    stem = body.rstrip(_MARKS)
    closers, marks = word[len(body) :], body[len(stem) :]
    first = following.lstrip(_OPENERS)
    in_lower_case = first[:1].islower()
    if in_lower_case and (closers or "…" in marks or ".." in marks):
        return False  # "Really?" he said. Well... that is that
    return marks != "." or _point_ends(stem.lstrip(_OPENERS), first, in_lower_case)


def _point_ends(stem: str, first: str, in_lower_case: bool) -> bool:
    key = stem.lower().lstrip("0123456789")  # 12oz.
    if key in _NEVER:
        return False
    if key in _BEFORE_NUMBERS:
        return not first[:1].isdigit()
    if key in _BEFORE_CAPITALS:
        return first[:1].isupper()
    if key in _IN_NAMES or _is_initial(stem):
        return not in_lower_case and first.lower().rstrip(",") in _STARTERS
    return True


def _is_initial(stem: str) -> bool:
    """Whether this is the letter of a name, or letters with points between them."""
    is_capital = _INITIAL.match(stem) is not None and stem.isupper() and stem != "I"
    return is_capital or _ACRONYM.match(stem) is not None


def _line_ends(
    text: str, following: list[str], spans: Integers, marked: Booleans
) -> Booleans:
    """Words behind which a line ends a sentence, whatever their marks.

    An empty line always does, another one where the text is not wrapped. Wrapped is a
    text where most lines that end inside of sentences have no room for the next word.
    """
    feeds = np.array([m.start() for m in re.finditer("\n", text)], dtype=np.int64)
    gaps = np.searchsorted(spans[:, 0], feeds, side="right") - 1  # the word before
    n_feeds = np.bincount(gaps[gaps >= 0], minlength=len(spans))
    ends = n_feeds > 1
    breaks = np.flatnonzero(n_feeds == 1)
    if breaks.size and breaks[-1] == len(spans) - 1:
        breaks = breaks[:-1]
    if not breaks.size:
        return ends
    last = np.append(np.flatnonzero(n_feeds), len(spans) - 1)  # words of all lines
    first = np.append(0, last[:-1] + 1).clip(max=len(spans) - 1)
    lengths = np.maximum(spans[last, 1] - spans[first, 0], 0)
    width = lengths.max()
    own = lengths[np.searchsorted(last, breaks)]
    next_word = spans[breaks + 1, 1] - spans[breaks + 1, 0]
    in_lower_case = np.array([following[i][0].islower() for i in breaks.tolist()])
    inside = ~marked[breaks]
    is_full = own + 1 + next_word > _FULL * width
    is_wrapped = (
        width >= _NARROWEST
        and inside.any()
        and is_full[inside].mean() >= _MOST
        and in_lower_case[inside].mean() >= _SOME
    )
    is_soft = is_wrapped & ((own >= _SHORT * width) | in_lower_case)
    ends[breaks[~is_soft]] = True
    return ends
