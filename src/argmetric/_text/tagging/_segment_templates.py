"""Templates that read a chunk as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from argmetric._text.kernels.tagging_layout import SpanPlan
from argmetric._text.tagging.templates import known_attribute

SEGMENT_TEMPLATES = """
# s and e are the first and the last token of the chunk, * all of them, + each of them
length
w[*]
pos[*]
shape[*]
length|pos[e]
pos[s-1]|pos[*]
pos[*]|pos[e+1]
pos[s-1]|pos[*]|pos[e+1]
w[s-1]
w[s]
w[e]
w[e+1]
w[s-1]|w[s]
w[e]|w[e+1]
w[s]|w[e]
pos[s-2]
pos[s-1]
pos[e+1]
pos[e+2]
pos[s-2]|pos[s-1]
pos[e+1]|pos[e+2]
pos[s-1]|pos[s]
pos[e]|pos[e+1]
w[s]|pos[s-1]
w[e]|pos[e+1]
w[e+1]|pos[e]
w[e+1]|pos[e+2]
pos[s-1]|pos[s]|pos[e]|pos[e+1]
pos[e]|pos[e+1]|pos[e+2]
pos[s-2]|pos[s-1]|pos[s]
suffix2[e]
suffix3[e]
suffix3[s]
prefix3[e]
shape[e]
w[+]
pos[+]
suffix3[+]
pos[+-1]|pos[+]
w[+-1]|w[+]
w[+]|pos[+]
pos[+-2]|pos[+-1]|pos[+]
t[-1]
t[-2]|t[-1]
t[-1]|w[s]
t[-1]|pos[s]
t[-1]|pos[*]
t[-1]|pos[e+1]
t[-1]|w[e]
t[-1]|w[s-1]
t[-2]|t[-1]|pos[s]
t[-1]|pos[s-1]|pos[s]
"""

_PART = re.compile(r"([a-z]+\d*)\[(?:([se*+])([+-]\d+)?|(-\d+))\]")
_ANCHORS = {"s": 0, "e": 1, "*": 2, "+": 3}
_LENGTH = 4


def template_lines(table: str | Sequence[str]) -> list[str]:
    """The templates of a table, without comments, blanks and repetitions."""
    lines = table.splitlines() if isinstance(table, str) else list(table)
    texts = dict.fromkeys("".join(x.partition("#")[0].split()) for x in lines)
    return [text for text in texts if text]


def read_span_templates(
    table: str | Sequence[str], hash_bits: int
) -> tuple[SpanPlan, list[str]]:
    """Templates of spans, and the attributes that they read."""
    attributes: dict[str, int] = {}
    parts: list[tuple[int, int, int]] = []
    ends, salts, kinds, places = [0], [], [], []
    masks: list[int] = []
    for text in template_lines(table):
        mask, within = 0, False
        for piece in text.split("|"):
            if piece == "length":
                parts.append((0, _LENGTH, 0))
                continue
            match = _PART.fullmatch(piece)
            if match is None or (match[4] is None) == (match[1] == "t"):
                raise ValueError(
                    f"{piece!r} in {text!r} is no part of a template of chunks; write "
                    "for instance 'w[s]', 'pos[e+1]', 'pos[*]', 'w[+]', 't[-1]'"
                )
            if match[1] == "t":
                if not 1 <= -int(match[4]) <= 8:
                    raise ValueError(f"{piece!r}: at most 8 labels are looked back at")
                mask |= 0xFF << 8 * (-int(match[4]) - 1)
                continue
            if not known_attribute(match[1]):
                raise ValueError(f"there is no attribute {match[1]!r} for {text!r}")
            number = attributes.setdefault(match[1], len(attributes))
            within |= match[2] == "+"
            parts.append((number, _ANCHORS[match[2]], int(match[3] or 0)))
        if within and mask:
            raise ValueError(f"{text!r} has labels and tokens within the chunk")
        ends.append(len(parts))
        salts.append(crc32(text.encode()) << 32 | crc32(text.encode()[::-1]))
        kinds.append(2 if mask else int(within))
        places.append(len(masks))
        if mask:
            masks.append(mask)
    plan = SpanPlan(
        np.array(parts, dtype=np.int64).reshape(-1, 3),
        np.array(ends, dtype=np.int64),
        np.array(salts, dtype=np.uint64),
        np.array(kinds, dtype=np.int64),
        np.array(places, dtype=np.int64),
        np.array(masks, dtype=np.uint64),
        np.uint64(64 - hash_bits),
    )
    return plan, list(attributes)
