"""Read dependency trees from files: CoNLL-U, and ``.dp`` (word, tag, head)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise, repeat
from pathlib import PurePath
from typing import Literal, get_args

import numpy as np

from argmetric._ground.arguments import check_path, shown
from argmetric._ground.display import Shown
from argmetric._ground.types import Booleans, Integers
from argmetric._ground.validation import check_choice
from argmetric._ground.whole_files import DataError
from argmetric.search.corpus.heads import NO_HEAD, check_heads
from argmetric.search.corpus.sentences import (
    BYTE_ORDER,
    ENDS,
    cells_of,
    columns_of,
    read_text,
    split_rows,
)

TreeFormat = Literal["conllu", "dp"]

UNKNOWN = "_"
WIDTH = 10  # of CoNLL-U
ID, FORM, UPOS, XPOS, HEAD, RELATION = 0, 1, 3, 4, 6, 7
_WIDTHS: dict[int, TreeFormat] = {WIDTH: "conllu", 3: "dp"}
_EXTENSIONS: dict[str, TreeFormat] = {".conllu": "conllu", ".dp": "dp"}
# 1-2 are several tokens, 3.1 is an empty node
_BESIDE = re.compile(r"[0-9]{1,9}[-.][0-9]{1,9}")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,8}")
Column = list[str]
Parts = tuple[Column, Column | None, Column, Column | None, Integers]


@dataclass(frozen=True, eq=False)
class Tree(Shown):
    """A sentence with the head of each word.

    Parameters
    ----------
    words : list of str
        The words, without empty nodes; parts of a multi-word token are words.
    tags : list of str or None
        Their parts of speech, where the file has some: UPOS, or XPOS where that column
        is empty.
    heads : ndarray of int64
        The number of each word's head, counted from 1; 0 is the root, -1 unknown.
    relations : list of str or None
        The relation of each word to its head, where the file has some.
    source : str
        The part of the file that the sentence was read from: comments, multi-word
        tokens, empty nodes, all columns, and the empty lines behind it.
    format : {"conllu", "dp"} or None
        How `source` is written; None where there is none.
    file : str
        The name of the file in messages.
    line : int
        The line of the file that `source` starts at.
    number : int
        The number of the sentence in its file, counted from 1.

    Examples
    --------
    >>> from argmetric.search import Tree
    >>> tree = Tree(["the", "cat", "sleeps"], ["DET", "NOUN", "VERB"], [2, 3, 0])
    >>> len(tree), tree.heads
    (3, array([2, 3, 0]))
    """

    words: list[str]
    tags: list[str] | None
    heads: Integers
    relations: list[str] | None = None
    source: str = ""
    format: TreeFormat | None = None
    file: str = ""
    line: int = 1
    number: int = 1

    def __post_init__(self) -> None:
        heads = check_heads(self.heads, "heads")
        object.__setattr__(self, "heads", heads)
        for name in ("heads", "tags", "relations"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.words):
                raise ValueError(
                    f"{name} has {len(given)} values for {len(self.words)} words"
                )

    def __len__(self) -> int:
        return len(self.words)

    def _lines(self) -> Sequence[tuple[str, ...]]:
        """Return each word with its tag, its head and its relation."""
        names = dict(enumerate(("root", *self.words)))
        heads = [names.get(head, "") for head in self.heads.tolist()]
        columns = [self.words, self.tags, heads, self.relations]
        return list(zip(*(one for one in columns if one is not None), strict=True))

    @property
    def comments(self) -> list[str]:
        """Return the lines of comment before and among the tokens."""
        lines = self.source.removeprefix(BYTE_ORDER).split("\n")
        if self.format != "conllu":  # where # is a word
            return []
        return [line.rstrip(ENDS) for line in lines if line.startswith("#")]


def token_lines(tree: Tree) -> list[int]:
    """Return which lines of a tree's source are those of words."""
    lines = tree.source.removeprefix(BYTE_ORDER).split("\n")
    if tree.format == "conllu":
        firsts = [line.partition("\t")[0] for line in lines]
        return [i for i, first in enumerate(firsts) if first.isdecimal()]
    return [i for i, line in enumerate(lines) if line.strip()]


def place_of(tree: Tree, number: int, token: int) -> str:
    """Return file, line, sentence and token for a message.

    A sentence of a file has its number in that file, counted from 1; any other one
    has its place in the list, counted from 0.
    """
    what = f"token {token + 1} ({shown(tree.words[token])})"
    lines = token_lines(tree)
    if tree.format is None or len(lines) != len(tree):  # made or changed by hand
        return f"sentence {number}, {what}"
    line = tree.line + lines[token]
    return f"{tree.file}, line {line}: sentence {tree.number}, {what}"


def read_trees(
    path: str | os.PathLike[str], *, format: TreeFormat | None = None
) -> list[Tree]:
    r"""Read dependency trees from CoNLL-U, or from lines of word, tag and head.

    Heads must be numbers but need not form a tree: a file with a cycle or two roots is
    read.

    Parameters
    ----------
    path : str or path-like
        The file, UTF-8; ``"-"`` is standard input.
    format : {"conllu", "dp"}, optional
        By default what the extension says (.conllu, .dp), and else the first line with
        a word: CoNLL-U has ten columns, .dp has three.

    Returns
    -------
    list of Tree
        The sentences, in the order of the file.

    Raises
    ------
    DataError
        With the number of the line that is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric.search import read_trees
    >>> path = Path(tempfile.mkdtemp(), "trees.dp")
    >>> size = path.write_text("the DET 2\ncat NOUN 0\n")
    >>> read_trees(path)[0].words
    ['the', 'cat']
    """
    path = check_path(path)
    if format is not None:
        check_choice(format, "format", get_args(TreeFormat))
    name, text = read_text(path)
    lines = text.split("\n")
    bodies = [line.rstrip("\r") for line in lines] if "\r" in text else lines.copy()
    bodies[0] = bodies[0].removeprefix(BYTE_ORDER)
    filled = np.fromiter(map(bool, map(str.strip, bodies)), np.bool_, len(bodies))
    kind = format or format_of_name(path) or _format_of_lines(bodies, filled, name)
    read = _conllu if kind == "conllu" else _dp
    words, tags, heads, relations, places = read(bodies, filled, name)
    sentences = _sentences(filled, places)

    def head_number(text: str) -> int:
        """Return the number of the head of a word, NO_HEAD for _."""
        if text == UNKNOWN:
            return NO_HEAD
        if _WHOLE.fullmatch(text):
            return int(text)
        raise DataError(
            f"{name}, line {places[heads.index(text)] + 1}: the head must be a whole "
            f"number, or _ where it is unknown, not {shown(text)}"
        )

    numbered = _Codes(head_number).of(heads)
    numbered.flags.writeable = False
    cuts = _cuts(filled, places, sentences)
    sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
    offsets = np.append(0, np.cumsum(sizes))[cuts].tolist()
    return [
        Tree(
            words[a:b],
            None if tags is None else tags[a:b],
            numbered[a:b],
            None if relations is None else relations[a:b],
            text[first:behind],
            kind,
            name,
            line + 1,
            number,
        )
        for number, ((a, b), (first, behind), line) in enumerate(
            zip(
                pairwise(sentences.tolist()),
                pairwise(offsets),
                cuts.tolist(),
                strict=False,
            ),
            start=1,
        )
    ]


def format_of_name(path: str | os.PathLike[str]) -> TreeFormat | None:
    """Return the format that the extension of a file says."""
    return _EXTENSIONS.get(PurePath(path).suffix.lower())


def _format_of_lines(bodies: list[str], filled: Booleans, name: str) -> TreeFormat:
    """Return the format of a file of trees, by the number of its columns."""
    for body in compress(bodies, filled.tolist()):
        # In a .dp file # is a word, with a tab behind it
        if body[0] == "#" and body[1:2] != "\t":
            continue
        width = len(cells_of(body.strip(ENDS)))
        if width not in _WIDTHS:
            raise DataError(
                f"{name} has {width} columns: CoNLL-U has 10, .dp has 3 (word, tag, "
                "head); if it is one of them, say so by `format`"
            )
        return _WIDTHS[width]
    return "conllu"


def _conllu(bodies: list[str], filled: Booleans, name: str) -> Parts:
    """Return words, tags, heads and relations of all tokens, and their lines."""
    is_comment = map(str.startswith, bodies, repeat("#"))
    is_node = filled & ~np.fromiter(is_comment, np.bool_, len(bodies))
    places = np.flatnonzero(is_node)
    if not places.size:
        raise DataError(f"{name} has no sentences")
    nodes = places
    rows = list(compress(bodies, is_node.tolist()))
    cells, width = split_rows(rows, "\t", places, name)
    if width != WIDTH:
        raise DataError(
            f"{name}, line {places[0] + 1}: {width} columns, but CoNLL-U has {WIDTH}, "
            "with tabs between them"
        )
    used = (ID, FORM, UPOS, XPOS, HEAD, RELATION)
    columns = {i: cells[i::WIDTH] for i in used}
    ids, at = columns[ID], places

    def token_number(text: str) -> int:
        """Return the number of a token, 0 for several tokens or an empty node."""
        if _BESIDE.fullmatch(text):
            return 0
        if text != "0" and _WHOLE.fullmatch(text):
            return int(text)
        raise DataError(
            f"{name}, line {at[ids.index(text)] + 1}: {shown(text)} is no number "
            "of a token (1), of several (1-2) or of an empty node (3.1)"
        )

    numbers = _Codes(token_number).of(ids)
    is_token = numbers > 0
    if not is_token.all():
        places, numbers, kept = places[is_token], numbers[is_token], is_token.tolist()
        columns = {i: list(compress(column, kept)) for i, column in columns.items()}
    if not places.size:
        raise DataError(f"{name} has no sentences")
    sentences = _sentences(filled, places)
    expected = np.arange(1, len(places) + 1)
    expected -= np.repeat(sentences[:-1], np.diff(sentences))
    for i in np.flatnonzero(numbers != expected)[:1].tolist():
        raise DataError(
            f"{name}, line {places[i] + 1}: sentence "
            f"{np.searchsorted(sentences, i, side='right')}: token {expected[i]} "
            f"({shown(columns[FORM][i])}) has the number {numbers[i]}"
        )
    if not is_token.all():
        _check_ranges(cells[ID::WIDTH], nodes, filled, places, sentences, name=name)
    tags = _known_column(columns[UPOS]) or _known_column(columns[XPOS])
    return columns[FORM], tags, columns[HEAD], _known_column(columns[RELATION]), places


def _check_ranges(
    ids: Column,
    nodes: Integers,
    filled: Booleans,
    places: Integers,
    sentences: Integers,
    *,
    name: str,
) -> None:
    """Refuse a line of several tokens that is not right before its first.

    Nodes are the lines of all `ids`, places those of the tokens.
    """
    rows = [row for row, text in enumerate(ids) if "-" in text]
    if not rows:
        return
    first, last = np.array([ids[row].split("-") for row in rows], dtype=np.int64).T
    lines, blanks = nodes[rows], np.flatnonzero(~filled)
    block = np.searchsorted(blanks, lines)
    blocks = np.searchsorted(blanks, places[sentences[:-1]])
    own = np.searchsorted(blocks, block).clip(max=len(blocks) - 1)
    size = np.where(blocks[own] == block, np.diff(sentences)[own], 0)
    behind = np.searchsorted(places, lines) - sentences[own] + 1
    before = np.where(np.diff(own, prepend=-1) == 0, np.append(0, last[:-1]), 0)
    wrong = (first != behind) | (first <= before) | (first >= last) | (last > size)
    for i in np.flatnonzero(wrong)[:1].tolist():
        what = f"must stand right before token {first[i]}"
        if not 1 <= first[i] < last[i] <= size[i]:
            what = f"is none among the {size[i]} tokens of the sentence"
        elif first[i] <= before[i]:
            what = f"begins in the range before, which ends with token {before[i]}"
        raise DataError(
            f"{name}, line {lines[i] + 1}: sentence {own[i] + 1}: the range "
            f"{ids[rows[i]]} {what}"
        )


def _dp(bodies: list[str], filled: Booleans, name: str) -> Parts:
    """Return words, tags and heads of the lines of a .dp file."""
    places = np.flatnonzero(filled)
    if not places.size:
        raise DataError(f"{name} has no sentences")
    rows = [body.strip(ENDS) for body in compress(bodies, filled.tolist())]
    n_sentences = len(_sentences(filled, places)) - 1
    columns = columns_of(rows, places, n_sentences, name)
    if len(columns) != 3:
        raise DataError(
            f"{name}, line {places[0] + 1}: {len(columns)} columns, but .dp has 3: "
            "word, tag, head"
        )
    words, tags, heads = columns
    return words, _known_column(tags), heads, None, places


def _known_column(column: Column) -> Column | None:
    """Return a column, or None if all of its cells are unknown."""
    return None if column.count(UNKNOWN) == len(column) else column


def _sentences(filled: Booleans, places: Integers) -> Integers:
    """Return the first token of each sentence, and the number of tokens."""
    block = np.searchsorted(np.flatnonzero(~filled), places)
    return np.append(np.flatnonzero(np.diff(block, prepend=-1)), len(places))


def _cuts(filled: Booleans, places: Integers, sentences: Integers) -> Integers:
    """Return the lines where the sources start, and the number of lines.

    Empty lines go with the sentence before them, comments with the one behind.
    """
    n_lines = len(filled)
    blanks = np.flatnonzero(~filled)
    last = places[sentences[1:-1] - 1]
    behind = blanks[np.searchsorted(blanks, last)]
    starts = np.flatnonzero(filled)
    return np.concatenate(
        [[0], starts[np.searchsorted(starts, behind)], [n_lines]], dtype=np.int64
    )


class _Codes(dict[str, int]):
    """Numbers of texts; each distinct text is parsed once."""

    def __init__(self, number_of: Callable[[str], int]) -> None:
        self._number_of = number_of

    def __missing__(self, text: str) -> int:
        number = self[text] = self._number_of(text)
        return number

    def of(self, column: Column) -> Integers:
        return np.fromiter(map(self.__getitem__, column), np.int64, len(column))
