"""What taggers start from: tables of templates, and the most that makes sense."""

from __future__ import annotations


def _near(part: str, reach: int) -> str:
    """A part of the tokens up to `reach` away: w[-1], w[0], w[1]."""
    return "\n".join(f"{part}[{i}]" for i in range(-reach, reach + 1))


def _ends(part: str, longest: int) -> str:
    """First or last letters of the token, one to `longest` of them."""
    return "\n".join(f"{part}{n}[0]" for n in range(1, longest + 1))


def _labels(most: int) -> str:
    """The last label, the last two, up to `most` of them."""
    back = [f"t[-{n}]" for n in range(most, 0, -1)]
    return "\n".join("|".join(back[-n:]) for n in range(1, most + 1))


_WORD_PAIRS = """\
w[-2]|w[-1]
w[-1]|w[0]
w[0]|w[1]
w[1]|w[2]
w[-1]|w[1]"""

_ENDS_BESIDE = """\
suffix2[-1]
suffix3[-1]
suffix2[1]
suffix3[1]"""

_LABEL_AND_WORD = """\
t[-1]|w[0]
t[-1]|w[-1]
t[-1]|w[1]"""

_CHUNK = f"""
bias
# words
{_near("w", 2)}
{_near("lower", 1)}
{_WORD_PAIRS}
# forms
{_ends("prefix", 4)}
{_ends("suffix", 4)}
{_ENDS_BESIDE}
{_near("shape", 1)}
# parts of speech
{_near("pos", 3)}
pos[-2]|pos[-1]
pos[-1]|pos[0]
pos[0]|pos[1]
pos[1]|pos[2]
pos[-1]|pos[1]
pos[-2]|pos[-1]|pos[0]
pos[-1]|pos[0]|pos[1]
pos[0]|pos[1]|pos[2]
pos[-2]|pos[-1]|pos[0]|pos[1]
pos[-1]|pos[0]|pos[1]|pos[2]
pos[-2]|pos[-1]|pos[0]|pos[1]|pos[2]
pos[1]|pos[2]|pos[3]
# words with parts of speech
w[0]|pos[0]
w[0]|pos[-1]
w[0]|pos[1]
w[-1]|pos[0]
w[1]|pos[0]
w[0]|pos[-1]|pos[0]
w[0]|pos[0]|pos[1]
w[0]|pos[-1]|pos[1]
w[-1]|pos[-1]|pos[0]
w[1]|pos[0]|pos[1]
w[2]|pos[0]|pos[1]
# labels before
{_labels(3)}
{_LABEL_AND_WORD}
t[-1]|pos[0]
t[-1]|pos[1]
t[-1]|pos[-1]|pos[0]
t[-1]|pos[0]|pos[1]
t[-1]|pos[-1]|pos[0]|pos[1]
t[-1]|pos[0]|pos[1]|pos[2]
t[-1]|suffix3[0]
t[-1]|w[-1]|w[0]
t[-1]|w[0]|w[1]
t[-2]|t[-1]|w[0]
t[-2]|t[-1]|pos[0]
t[-2]|t[-1]|pos[0]|pos[1]
t[-2]|t[-1]|pos[-1]|pos[0]
"""

_NER = f"""
bias
# words
{_near("w", 2)}
{_near("lower", 3)}
w[-1]|w[0]
w[0]|w[1]
lower[-2]|lower[-1]
lower[-1]|lower[1]
lower[1]|lower[2]
lower[-1]|lower[0]|lower[1]
# forms
{_ends("prefix", 5)}
{_ends("suffix", 5)}
prefix3[-1]
suffix3[-1]
prefix3[1]
suffix3[1]
{_near("shape", 2)}
shape[-1]|shape[0]
shape[0]|shape[1]
shape[-1]|shape[0]|shape[1]
case[-2]|case[-1]|case[0]|case[1]|case[2]
lower[-1]|case[0]
lower[-2]|case[0]
lower[1]|case[0]
lower[-1]|shape[0]
case[-1]|lower[0]
case[1]|lower[0]
# parts of speech
{_near("pos", 2)}
pos[-1]|pos[0]
pos[0]|pos[1]
pos[-1]|pos[0]|pos[1]
# memory of the same word elsewhere, where the tagger keeps one
memory[0]
memory[-1]
memory[1]
memory[0]|case[0]
memory[-1]|memory[0]
memory[0]|memory[1]
# labels before
{_labels(6)}
t[-1]|w[0]
t[-1]|lower[0]
t[-1]|lower[-1]
t[-1]|lower[1]
t[-1]|lower[-1]|lower[0]
t[-1]|shape[0]
t[-1]|case[0]|case[1]
t[-1]|shape[-1]|shape[0]
t[-1]|pos[0]
t[-1]|pos[0]|pos[1]
t[-1]|suffix3[0]
t[-2]|t[-1]|lower[0]
t[-2]|t[-1]|shape[0]
t[-2]|t[-1]|lower[-1]
t[-1]|memory[0]
"""

_POS = f"""
bias
{_near("w", 2)}
lower[0]
w[-1]|w[0]
w[0]|w[1]
w[-1]|w[1]
{_ends("prefix", 4)}
{_ends("suffix", 5)}
{_ENDS_BESIDE}
{_near("shape", 1)}
case[0]|suffix2[0]
{_labels(3)}
{_LABEL_AND_WORD}
t[-1]|suffix3[0]
t[-2]|t[-1]|w[0]
t[-1]|suffix2[0]|suffix2[1]
"""

_LABEL = f"""
{_labels(6)}
"""

# Tiers of the joint task take turns: tag, chunk, tag, chunk, ...
_JOINT_TAG = (
    _POS
    + """
chunk[-1]
chunk[-1]|t[-1]
chunk[-1]|w[0]
chunk[-1]|t[-1]|w[0]
chunk[-1]|suffix3[0]
chunk[-2]|chunk[-1]|t[-1]
"""
)

_JOINT_CHUNK = f"""
bias
{_near("w", 2)}
lower[0]
{_WORD_PAIRS}
prefix2[0]
prefix3[0]
suffix2[0]
suffix3[0]
suffix2[1]
suffix3[1]
suffix3[2]
{_near("shape", 1)}
suffix2[0]|suffix2[1]
suffix3[0]|suffix3[1]
# labels before
{_labels(3)}
{_LABEL_AND_WORD}
t[-1]|w[-1]|w[0]
t[-1]|w[0]|w[1]
t[-2]|t[-1]|w[0]
# tags: at this token, and crossing
tag[0]
tag[-1]
tag[-2]
tag[-1]|tag[0]
tag[-2]|tag[-1]
tag[-2]|tag[-1]|tag[0]
t[-1]|tag[0]
t[-1]|tag[-1]
t[-1]|tag[-1]|tag[0]
t[-2]|t[-1]|tag[0]
t[-2]|t[-1]|tag[-1]|tag[0]
t[-1]|tag[-2]|tag[-1]|tag[0]
tag[0]|w[0]
tag[0]|w[1]
tag[0]|w[-1]
tag[0]|suffix3[1]
tag[0]|suffix2[1]|suffix2[2]
tag[-1]|tag[0]|w[0]
tag[-1]|tag[0]|w[1]
tag[-1]|tag[0]|suffix2[1]
t[-1]|tag[0]|w[0]
t[-1]|tag[0]|w[1]
t[-1]|tag[0]|suffix2[1]
t[-1]|tag[0]|suffix3[1]
t[-1]|tag[-1]|tag[0]|suffix2[1]
"""

TABLES = {
    "chunk": _CHUNK,
    "ner": _NER,
    "pos": _POS,
    "label": _LABEL,
    "joint tag": _JOINT_TAG,
    "joint chunk": _JOINT_CHUNK,
}
