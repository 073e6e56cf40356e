"""Detect the layout of a plain text: markup, blocks and sentences.

Headings, tables, fenced code and rules are no sentences. The marks of lists, quotes,
emphasis and links are no part of words. Rules for the ends of sentences are written for
text as people type it: marks are doubled or forgotten, sentences start in lower case,
lines are wrapped or are sentences of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from argmetric._ground.types import Booleans, Floats, Integers

_QUOTE = re.compile(r"\s*(?:>\s?)+")
_BULLET = re.compile(r"\s*[-*+•‣◦]\s+(?:\[[ xX]\]\s+)?")
_NUMBER = re.compile(r"\s*[0-9]{1,3}[.)]\s+")
_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*\Z")
_RULE = re.compile(r"([-=*_~^+#\"])\1{2,}\Z")
_BORDER = re.compile(r"(?=.*[-=]{2})[-=+|:\s]{3,}\Z")
_DEFINITION = re.compile(r"\[[^\]]+\]:\s+\S+")
_SENTENCE = re.compile(r"[.!?…][\"')\]}»”’*_]*\Z")

# What is hidden of inline markup: all but the second group
_INLINE = tuple(
    map(
        re.compile,
        (
            r"(!\[[^\[\]]*\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\))()()",
            r"(\[)([^\[\]]+)(\](?:\([^()\s]*(?:\s+\"[^\"\n]*\")?\)|\[[^\[\]\n]*\]))",
            r"(?<![\w`])(`{1,2})(?=[^\s`])([^`\n]*[^\s`])(\1)(?![\w`])",
            r"(?<![\w*])(\*{1,3})(?=[^\s*])((?:[^*\n]|\n(?!\s))*[^\s*])(\1)(?![\w*])",
            r"(?<!\w)(_{1,3})(?=[^\s_])((?:[^_\n]|\n(?!\s))*[^\s_])(\1)(?!\w)",
        ),
    )
)
_MARKS = ".!?…。！？؟۔।"
_CLOSERS = "\"')]}»”’"
_OPENERS = "\"'([{«“‘*_–—•-"
_EACH_MARK = tuple(_MARKS)
_LIST_NUMBER = re.compile(r"[0-9]{1,2}\.\Z")
_ACRONYM = re.compile(r"[^\W\d_]{1,2}(?:\.[^\W\d_])+\Z")
_SPACED = re.compile(r"[^\W\d_]\. (?:[^\W\d_]|ej|Chr)\.")
_INITIAL = re.compile(r"[^\W\d_]\Z")
_NARROWEST = 40  # characters of a line; nobody wraps text by hand at less
# Of the lines of a wrapped text that end inside of a sentence
_MOST = 0.8  # are full,
_FULL = 0.9  # that is, with the next word they would be longer than this of the width
_SOME = 1 / 3  # go on in lower case
_SHORT = 0.6  # of the width; a shorter line of a wrapped text ends a paragraph


@dataclass(frozen=True, eq=False)
class TextLayout:
    """Layout of a text: its markup, lines, paragraphs and items of lists.

    Arrays are by character (`hidden`) or by line.
    """

    hidden: Booleans  # which characters are markup, or of lines that are no sentences
    lines: Integers  # the first character of each line
    blocks: Integers  # the block of each line: a paragraph, or an item of a list
    is_item: Booleans  # which lines begin an item of a list, or go on with one
    # which lines go on with an item of a list, because they are indented
    is_indented: Booleans


def plain_layout(text: str) -> TextLayout:
    """Return the layout of a text without markup: empty lines separate blocks."""
    lines = text.split("\n")
    filled = np.array([bool(line.strip()) for line in lines])
    none = np.zeros(len(lines), dtype=np.bool_)
    hidden = np.zeros(len(text), dtype=np.bool_)
    return TextLayout(
        hidden, _firsts(lines), np.cumsum(~filled, dtype=np.int64), none, none
    )


def read_layout(text: str) -> TextLayout:
    """Return the layout of a text that may have marks of Markdown."""
    lines = text.split("\n")
    quotes = [_length(_QUOTE.match(line)) for line in lines]
    bodies = [line[n:].strip() for line, n in zip(lines, quotes, strict=True)]
    out = _left_out(bodies)
    filled = np.array([bool(body) for body in bodies]) & ~out
    numbered = [_length(_NUMBER.match(line)) for line in lines]
    if np.count_nonzero(numbered) < 2:  # one number makes no list
        numbered = [0] * len(lines)
    marks = np.array(
        [
            n + (_length(_BULLET.match(line, n)) or number)
            for line, n, number in zip(lines, quotes, numbered, strict=True)
        ]
    )
    begins = filled & (marks > quotes)
    blocks = np.cumsum(~filled | begins, dtype=np.int64)
    of_items = np.isin(blocks, blocks[begins]) & filled
    is_indented = of_items & ~begins & np.array([line[:1].isspace() for line in lines])
    firsts = _firsts(lines)
    sizes = np.array([len(line) for line in lines])
    behind = firsts + np.where(out, sizes, np.where(filled, marks, 0))
    inline = [m for one in _INLINE for m in one.finditer(text)]
    edges = np.zeros(len(text) + 1, dtype=np.int64)
    np.add.at(edges, [*firsts, *(m.start(i) for m in inline for i in (1, 3))], 1)
    np.add.at(edges, [*behind, *(m.end(i) for m in inline for i in (1, 3))], -1)
    hidden = np.cumsum(edges[:-1]) > 0
    return TextLayout(hidden, firsts, blocks, begins | is_indented, is_indented)


def _firsts(lines: list[str]) -> Integers:
    sizes = (len(line) + 1 for line in lines[:-1])
    return np.array([0, *accumulate(sizes)], dtype=np.int64)


def _length(found: re.Match[str] | None) -> int:
    return 0 if found is None else found.end() - found.start()


def _left_out(bodies: list[str]) -> Booleans:
    """Return lines of headings, tables, fenced code, rules and link definitions."""
    out = np.array(
        [
            any(one.match(body) for one in (_HEADING, _RULE, _BORDER, _DEFINITION))
            or (body.startswith("|") and body.count("|") > 1)
            for body in bodies
        ]
    )
    fence, opened, in_table = "", 0, False
    for i, body in enumerate(bodies):
        if out[i] and i and _RULE.match(body):  # a title stands alone, no sentence
            alone = i == 1 or not bodies[i - 2] or out[i - 2]
            out[i - 1] |= alone and _SENTENCE.search(bodies[i - 1]) is None
        if "|" not in body:
            in_table = False
        elif out[i] and _BORDER.match(body):  # rows need no bars at their ends
            out[i - 1] |= i > 0 and "|" in bodies[i - 1]
            in_table = True
        out[i] |= in_table
        if fence and body.startswith(fence) and not body.strip(fence[0]):
            out[opened : i + 1] = True
            fence = ""
        elif not fence and (found := _FENCE.match(body)):
            fence, opened = found[1], i
            out[i] = True
    return out


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What a point behind these means: never an end; an end unless a number follows; an end
# if a capital follows; an end only before a word that likes to begin sentences
_NEVER = _set_of(
    "mr mrs ms mx dr prof messrs mme mlle capt lt col sgt gen sen gov rev hon vs cf "
    "e.g eg i.e ie viz approx ca z.b d.h p.ej"
)
_BEFORE_NUMBERS = _set_of("no nos nr p pp vol vols fig figs eq sec ch art")
_BEFORE_CAPITALS = _set_of(
    "etc al a.m p.m oz lb lbs ft qt gal hr hrs mins secs jan feb apr aug sept oct nov "
    "dec v.chr n.chr"
)
_IN_NAMES = _set_of("inc ltd co corp bros jr sr st ave blvd rd mt dept")
_STARTERS = _set_of(
    "a after all also an and as at but for from great he her here his how however i "
    "i'd i'll i'm i've if in it it's its just my no not on once one our overall she so "
    "that the their then there these they this those to very was we were what when "
    "while who why will with would you your"
)


def cut_sentences(
    words: list[str], spans: Integers, layout: TextLayout
) -> tuple[Integers, Booleans]:
    """Return the words that begin sentences, and which sentences are whole.

    An item of a list is whole where it has an end mark; any other sentence is. There is
    at least one white-space word; spans are their first characters, and those behind
    their last ones.
    """
    following = [*words[1:], ""]
    marked = np.array([has_end_mark(word) for word in words])
    bare = np.array([not word.strip(_MARKS + _CLOSERS) for word in words])
    goes_on = np.append(bare[1:], False)  # "Wow ! ! !" ends but once
    ends = np.zeros(len(words), dtype=np.bool_)
    for i in np.flatnonzero(marked & ~goes_on).tolist():
        ends[i] = _is_end(words, i)
    for i in np.flatnonzero(ends & np.append(True, ends[:-1])).tolist():
        ends[i] = _LIST_NUMBER.match(words[i]) is None  # "1. Cheap. 2. Light."
    lines = np.searchsorted(layout.lines, spans[:, 0], side="right") - 1
    ends |= _line_ends(following, spans, marked, lines, layout)
    ends[-1] = True
    starts = np.append(0, np.flatnonzero(ends[:-1]) + 1)
    return starts, marked[ends] | ~layout.is_item[lines[starts]]


def has_end_mark(word: str) -> bool:
    """Return whether a word ends with a mark that may end a sentence."""
    return word.rstrip(_CLOSERS).endswith(_EACH_MARK)


def _is_end(words: list[str], i: int) -> bool:
    """Return whether a word with an end mark ends its sentence."""
    word, following = words[i], words[i + 1] if i + 1 < len(words) else ""
    body = word.rstrip(_CLOSERS)
    stem = body.rstrip(_MARKS)
    closers, marks = word[len(body) :], body[len(stem) :]
    first = following.lstrip(_OPENERS)
    in_lower_case = first[:1].islower()
    if in_lower_case and (closers or "…" in marks or ".." in marks):
        return False  # "Really?" he said. Well... that is that
    if marks != ".":
        return True
    if _is_spaced(word, following):
        return False
    begin = i
    while begin and _is_spaced(words[begin - 1], words[begin]):
        begin -= 1
    stem = "".join([*words[begin:i], stem]).lstrip(_OPENERS)  # z. B. as z.B.
    key = stem.lower().lstrip("0123456789")  # 12oz.
    if key in _NEVER:
        return False
    if key in _BEFORE_NUMBERS:
        return not first[:1].isdigit()
    if key in _BEFORE_CAPITALS:
        return first[:1].isupper()
    # The letter of a name, or letters with points between them
    is_capital = _INITIAL.match(stem) is not None and stem.isupper() and stem != "I"
    if key in _IN_NAMES or is_capital or _ACRONYM.match(stem) is not None:
        return not in_lower_case and first.lower().rstrip(",") in _STARTERS
    return True


def _is_spaced(word: str, following: str) -> bool:
    """Return whether two words are an abbreviation with blanks, such as z. B."""
    pair = f"{word.lstrip(_OPENERS)} {following}"
    return _SPACED.match(pair) is not None and not pair.isupper()


def _line_ends(
    following: list[str],
    spans: Integers,
    marked: Booleans,
    lines: Integers,
    layout: TextLayout,
) -> Booleans:
    """Return words after which the end of a line ends a sentence.

    The last line of a block always does, another one where the block is not wrapped.
    Wrapped is a block where most lines that end inside of sentences have no room for
    the next word, and some go on in lower case; in a text with such blocks, any block
    whose lines have no room within the widest of them.
    """
    first = np.flatnonzero(np.diff(lines, prepend=-1))  # words of all lines with words
    last = np.append(first[1:], len(lines)) - 1
    blocks = np.unique(layout.blocks[lines[first]], return_inverse=True)[1]
    lengths = spans[last, 1] - spans[first, 0]
    is_break = np.diff(blocks, append=-1) == 0
    ends = np.zeros(len(lines), dtype=np.bool_)
    ends[last[~is_break]] = True
    if not is_break.any():
        return ends
    widths = np.maximum.reduceat(lengths, np.flatnonzero(np.diff(blocks, prepend=-1)))
    breaks, block, own = last[is_break], blocks[is_break], lengths[is_break]
    with_next = own + 1 + spans[breaks + 1, 1] - spans[breaks + 1, 0]
    in_lower_case = np.array([following[i][0].islower() for i in breaks.tolist()])
    inside = ~marked[breaks]

    def share(of: Booleans) -> Floats:
        """Return by block the share of `of` among lines that end inside sentences."""
        n = np.bincount(block, inside, len(widths))
        return np.bincount(block, inside & of, len(widths)) / np.maximum(n, 1)

    is_wrapped = (
        (widths >= _NARROWEST)
        & (share(with_next > _FULL * widths[block]) >= _MOST)
        & (share(in_lower_case) >= _SOME)
    )
    if is_wrapped.any():
        width = widths[is_wrapped].max()
        is_full = share(with_next > _FULL * width) == 1.0
        is_wrapped |= is_full & (_FULL * widths <= width)
    is_soft = is_wrapped[block] & ((own >= _SHORT * widths[block]) | in_lower_case)
    is_soft |= layout.is_indented[lines[breaks + 1]]
    ends[breaks[~is_soft]] = True
    return ends
