"""Plain text as tokens that know their characters, and as sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from argmetric._input.types import Integers
from argmetric._text.corpus._sentence import Sentence

_TOKEN = re.compile(
    r"""https?://[^\s<>"]*[^\s<>".,;:!?)\]]  # an address, without the mark behind it
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | (?:[^\W\d_]\.){2,}                     # U.S.
    | \d+(?:[.,:/-]\d+)*                     # 1,250.50 and 12:30
    | \w+(?:[-'’&]\w+)*                      # well-known, don't
    | \.{2,}
    | \S""",
    re.VERBOSE,
)
# A line ends a sentence, and so does an end mark, unless the text goes on in lower
# case, or the mark is the point of a title, of the initial of a name, or of an
# abbreviation with blanks (z. B., i. d. R.)
_NO_END = "".join(
    rf"(?<!\b{one})"
    for one in ("[A-Z]", "Mr", "Mrs", "Ms", "Dr", "Prof", r"d\. h", r"e\. g", "ej")
)
_CLOSERS = r"[\"')\]}»”’]*"
_END = re.compile(
    rf"(?:{_NO_END}\.(?!(?<=\b[a-z]\.)\s(?:[^\W\d_]|Chr)\.)|[!?…؟۔।])[.!?…]*{_CLOSERS}(?=\s)(?!\s+[a-zà-öø-ÿ])"
    rf"|[。！？]+{_CLOSERS}|\n"
)


@dataclass(frozen=True, eq=False)
class PlainText:
    """A text, its tokens and its sentences.

    Attributes
    ----------
    name : str
        What messages call it.
    text : str
        All of it.
    tokens : list of str
        The tokens: ``text[spans[i, 0]:spans[i, 1]]`` is the i-th.
    spans : ndarray of shape (n, 2)
        The first character of each token, and that behind its last one.
    sentences : ndarray of int64
        Token numbers where sentences start, and the number of tokens.
    """

    name: str
    text: str
    tokens: list[str]
    spans: Integers
    sentences: Integers

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentences) - 1

    def objects(self) -> list[Sentence]:
        """Sentences with words alone."""
        bounds = pairwise(self.sentences.tolist())
        return [Sentence((self.tokens[a:b],)) for a, b in bounds]


def tokenized(text: str, name: str = "text") -> PlainText:
    """Find the tokens and the sentences of a text.

    Parameters
    ----------
    text : str
        Plain text, a sentence on each line or several.
    name : str, optional
        What messages call it.

    Examples
    --------
    >>> plain = tokenized("Dr. Silva left. She's in Porto now.")
    >>> [sentence.tokens for sentence in plain.objects()]
    [['Dr', '.', 'Silva', 'left', '.'], ["She's", 'in', 'Porto', 'now', '.']]
    """
    spans = np.array([one.span() for one in _TOKEN.finditer(text)], dtype=np.int64)
    spans = spans.reshape(-1, 2)
    ends = np.array([one.end() for one in _END.finditer(text)], dtype=np.int64)
    starts = np.searchsorted(spans[:, 0], ends)
    bounds = np.unique(np.concatenate([[0], starts, [len(spans)]]))
    return PlainText(name, text, _TOKEN.findall(text), spans, bounds)
