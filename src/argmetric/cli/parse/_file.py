"""Files of trees and of parsers, as the commands of parsing take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.trees import Tree, TreeFormat, read_trees
from argmetric.cli._errors import UsageError
from argmetric.cli._options import FilePath
from argmetric.cli._progress import reading
from argmetric.cli._summary import Values

if TYPE_CHECKING:
    from argmetric.search import Tagger

InputFormat = Annotated[
    TreeFormat | None,
    Parameter(
        help="The format of the input, where neither its name nor its content says it."
    ),
]
TaggerFile = Annotated[
    FilePath | None,
    Parameter(
        help="A tagger of `argmetric tag train --task pos`: its tags take the place of "
        "those of the file."
    ),
]


def read_file(path: str, format: TreeFormat | None) -> list[Tree]:
    """Read trees; what is wrong with them is told with the line."""
    with reading(path):
        return read_trees(path, format=format)


def refuse_untagged(trees: Sequence[Tree], what_to_do: str) -> None:
    """Refuse sentences without parts of speech."""
    bare = next((tree for tree in trees if tree.tags is None), None)
    if bare is not None:
        raise DataError(f"{bare.file} has no parts of speech: {what_to_do}")


def read_tagger(path: str | None) -> Tagger | None:
    """Read a tagger of parts of speech, where one is named."""
    from argmetric.search import Tagger

    if path is None:
        return None
    if path == "-":
        raise UsageError("a tagger is read from a file, not from standard input")
    with reading(path):
        tagger = Tagger.load(path)
    if tagger.task != "pos":
        raise DataError(
            f"{path} is a tagger of the task {tagger.task}: parts of speech are needed "
            "(--task pos)"
        )
    return tagger


def sentences_described(trees: Sequence[Tree]) -> Values:
    """Return which sentences of which file."""
    return {
        "file": trees[0].file,
        "sentences": len(trees),
        "tokens": sum(map(len, trees)),
    }
