"""The standard features of a token, for models that are read from files."""

from __future__ import annotations

from collections.abc import Sequence

from argmetric._input.arguments import check_items, check_texts
from argmetric._text.corpus import word_shape

_NEIGHBOURS = (-2, -1, 1, 2)
_AFFIXES = (1, 2, 3, 4)
_EDGE = "<edge>"


def standard_features(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Attributes of every token of a sentence, as crfsuite takes them.

    Word, affixes up to four letters, shape and further columns (part of speech) of
    the token, and word, shape and further columns of its neighbours up to two places
    away, one pair of neighbouring columns at each side.

    Parameters
    ----------
    columns : sequence of sequences of str
        The columns of the sentence without that of the labels: words first.

    Returns
    -------
    list of lists of str
        One list of attributes for each token.

    Examples
    --------
    >>> standard_features([["Hola", "Ana"], ["I", "NP"]])[1][:5]
    ['bias', 'w=Ana', 'lower=ana', 'shape=Xx', 'tag1=NP']
    """
    words, *tags = _texts(columns)
    n = len(words)
    lower = [word.lower() for word in words]
    shapes = [word_shape(word) for word in words]
    result = []
    for i, word in enumerate(words):
        row = ["bias", f"w={word}", f"lower={lower[i]}", f"shape={shapes[i]}"]
        row += [f"tag{j}={tag[i]}" for j, tag in enumerate(tags, start=1)]
        row += [f"prefix={lower[i][:k]}" for k in _AFFIXES if k < len(word)]
        row += [f"suffix={lower[i][-k:]}" for k in _AFFIXES if k < len(word)]
        for step in _NEIGHBOURS:
            there = i + step
            if not 0 <= there < n:
                row.append(f"{step}:{_EDGE}")
                continue
            row += [f"{step}:lower={lower[there]}", f"{step}:shape={shapes[there]}"]
            row += [f"{step}:tag{j}={tag[there]}" for j, tag in enumerate(tags, 1)]
        for side in (-1, 1):
            if 0 <= i + side < n:
                row += [
                    f"{side}:tags{j}={tag[i + side]}|{tag[i]}"
                    for j, tag in enumerate(tags, start=1)
                ]
        result.append(row)
    return result


def _texts(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Columns of text, all as long as the words."""
    wanted = "a list of columns, words first"
    found = [
        check_texts(column, f"columns[{number}]")
        for number, column in enumerate(check_items(columns, "columns", wanted))
    ]
    if not found:
        raise ValueError(f"columns must be {wanted}; there is none")
    for number, column in enumerate(found):
        if len(column) != len(found[0]):
            raise ValueError(
                f"columns[{number}] has {len(column)} values for {len(found[0])} words"
            )
    return found
