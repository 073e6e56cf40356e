"""Dependency trees into files: CoNLL-U, and ``.dp`` (word, tag, head)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args

import numpy as np

from argmetric._ground.arguments import check_items, check_path, check_texts, shown
from argmetric._ground.validation import check_choice
from argmetric.search.corpus.files import write_text
from argmetric.search.corpus.heads import NO_HEAD, Heads, check_heads
from argmetric.search.corpus.sentences import ENDS
from argmetric.search.corpus.tree_scores import check_inside, tree_list
from argmetric.search.corpus.trees import (
    FORM,
    HEAD,
    ID,
    RELATION,
    UNKNOWN,
    UPOS,
    WIDTH,
    XPOS,
    Tree,
    TreeFormat,
    format_of_name,
    token_lines,
)

UNIVERSAL_TAGS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART"),
    *("PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
}


def write_trees(
    path: str | os.PathLike[str],
    trees: Sequence[Tree],
    *,
    heads: Sequence[Any] | None = None,
    relations: Sequence[Sequence[str]] | None = None,
    format: TreeFormat | None = None,
) -> None:
    """Write dependency trees, optionally with other heads and relations.

    A tree that was read from a file of the same format is written as it was, comments,
    multi-word tokens, empty nodes and all columns included, but for heads, relations,
    and tags where the file has none: other words or tags need a new Tree. What is not
    known is ``_``. In a
    new CoNLL-U file tags are UPOS where all of them are universal ones, and else XPOS;
    a .dp file has no relations.

    Parameters
    ----------
    path : str or path-like
        The file, replaced whole or not at all; ``"-"`` is standard output.
    trees : sequence of Tree
        As they were read, or made.
    heads : sequence of arrays of int, optional
        Heads to write in place of those of the trees; -1 is unknown.
    relations : sequence of sequences of str, optional
        Relations to write in place of those of the trees.
    format : {"conllu", "dp"}, optional
        By default what the extension says, else that of the first tree, else CoNLL-U.
    """
    path = check_path(path)
    trees = tree_list(trees, "trees")
    if format is not None:
        check_choice(format, "format", get_args(TreeFormat))
    read_as = trees[0].format if trees else None
    kind = format or format_of_name(path) or read_as or "conllu"
    numbers = [tree.heads for tree in trees]
    if heads is not None:
        numbers = _given(heads, "heads", trees, check_heads)
        check_inside(trees, Heads.of(numbers), NO_HEAD, "heads: ")
    names = [tree.relations or [UNKNOWN] * len(tree) for tree in trees]
    if relations is not None:
        names = _given(relations, "relations", trees, check_texts)
        for i, one in enumerate(names):
            _check_cells(one, f"relations[{i}]")
    if kind == "dp" and relations is not None:
        raise ValueError("relations have no place in a .dp file: write CoNLL-U")
    tags = {tag for tree in trees for tag in set(tree.tags or ())}
    tag_column = UPOS if tags <= UNIVERSAL_TAGS | {UNKNOWN} else XPOS
    parts = []
    for i, (tree, own, named) in enumerate(zip(trees, numbers, names, strict=True)):
        shown_heads = [UNKNOWN if h == NO_HEAD else str(h) for h in own.tolist()]
        if tree.format == kind:
            parts.append(_rewritten(tree, shown_heads, named, i, tag_column))
        else:
            rows = list(_rows(tree, shown_heads, named, kind, tag_column))
            _check_cells((cell for row in rows for cell in row), f"trees[{i}]")
            parts.append("".join("\t".join(row) + "\n" for row in rows) + "\n")
    write_text(path, "".join(_parted(parts)))


def _given(
    given: Any, name: str, trees: Sequence[Tree], check: Callable[[Any, str], Any]
) -> list[Any]:
    """Heads or relations of every sentence, one for each word."""
    found = check_items(given, name, f"a list of {name} for each sentence")
    if len(found) != len(trees):
        raise ValueError(
            f"{name} has {len(found)} sentences but trees has {len(trees)}"
        )
    values = [check(one, f"{name}[{i}]") for i, one in enumerate(found)]
    for i, (one, tree) in enumerate(zip(values, trees, strict=True)):
        if len(one) != len(tree):
            raise ValueError(f"{name}[{i}] has {len(one)} {name} for {len(tree)} words")
    return values


def _check_cells(cells: Iterable[str], name: str) -> None:
    """Refuse what would be no cell, or several."""
    for cell in dict.fromkeys(cells):
        if not cell.strip() or any(c in cell for c in "\t\n\r"):
            raise ValueError(f"{name}: {shown(cell)} cannot be written into a column")


def _rewritten(
    tree: Tree, heads: list[str], relations: list[str], number: int, column: int
) -> str:
    """The piece of the file that a tree was read from, with other heads."""
    lines, places = tree.source.split("\n"), token_lines(tree)
    if len(places) != len(tree):
        raise ValueError(
            f"trees[{number}] has {len(tree)} words, but {len(places)} in its source: "
            "make a new Tree without one"
        )
    tags = tree.tags or [UNKNOWN] * len(tree)
    for place, tag, head, relation in zip(places, tags, heads, relations, strict=True):
        line = lines[place]
        if tree.format == "conllu":
            cells = line.split("\t")
            cells[HEAD], cells[RELATION] = head, relation
            if cells[UPOS] == cells[XPOS] == UNKNOWN:
                cells[column] = tag
            lines[place] = "\t".join(cells)
        else:
            body = line.rstrip(ENDS)
            before = body.rstrip("_0123456789")
            known = before.rstrip("\t ")
            if known[-2:] in ("\t_", " _"):
                before = f"{known[:-1]}{tag}{before[len(known) :]}"
            lines[place] = f"{before}{head}{line[len(body) :]}"
    return "\n".join(lines)


def _rows(
    tree: Tree, heads: list[str], relations: list[str], kind: TreeFormat, column: int
) -> Iterator[tuple[str, ...]]:
    """The lines of a tree that was not read from a file of this format."""
    nothing = [UNKNOWN] * len(tree)
    tags = tree.tags or nothing
    if kind == "dp":
        return zip(tree.words, tags, heads, strict=True)
    columns = [nothing] * WIDTH
    columns[ID] = np.arange(1, len(tree) + 1).astype(str).tolist()
    columns[FORM], columns[column] = tree.words, tags
    columns[HEAD], columns[RELATION] = heads, relations
    return zip(*columns, strict=True)


def _parted(parts: Sequence[str]) -> Iterator[str]:
    """Pieces with an empty line between any two, which the end of a file may lack."""
    for part in parts[:-1]:
        yield part
        last = part.rpartition("\n")[2]
        if last.strip():
            yield "\n\n"
        elif part[: -len(last) - 1].rpartition("\n")[2].strip():
            yield "\n"
    yield from parts[-1:]
