"""``argmetric parse evaluate``: files of trees, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.heads import draw_tree
from argmetric._text.corpus.tree_scores import N_WORST, score_trees
from argmetric._text.corpus.trees import Tree, TreeFormat, read_trees
from argmetric.cli import _report
from argmetric.cli._errors import gate
from argmetric.cli._learning import load_learned, refuse_two_streams
from argmetric.cli._options import FRACTION, FailUnder, FilePath, Json
from argmetric.cli._progress import progress, reading
from argmetric.cli._report import Values, count, number
from argmetric.metrics import get_metric

if TYPE_CHECKING:
    from argmetric._text.corpus.tree_scores import ShareRight
    from argmetric.search import Tagger, TreeScores

InputFormat = Annotated[
    TreeFormat | None,
    Parameter(
        help="The format of the input, if neither its name nor its content shows it."
    ),
]
TaggerFile = Annotated[
    FilePath | None,
    Parameter(
        help="A tagger from `argmetric tag train --task pos`; its tags replace those "
        "of the file."
    ),
]


_BETWEEN = "   "


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
    tagger: Tagger = load_learned(Tagger, "tagger", path)
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


def right_of(share: ShareRight) -> Values:
    """A share with its counts."""
    return {"share": share.value, "right": share.right, "total": share.total}


def attachment(found: TreeScores) -> Values:
    """All scores that are no table."""
    return {
        "uas": right_of(found.heads),
        "uas_without_punctuation": right_of(found.without_punctuation),
        "las": None if found.labelled is None else right_of(found.labelled),
        "exact_match": right_of(found.sentences),
        "roots": right_of(found.roots),
    }


def score_facts(scores: Values) -> list[tuple[str, str]]:
    """Lines of a name and a score."""
    las = scores["las"]
    labelled = [] if las is None else [("LAS", _words(las))]
    return [
        ("UAS", _words(scores["uas"])),
        ("without punctuation", _words(scores["uas_without_punctuation"])),
        *labelled,
        ("exact match", _sentences(scores["exact_match"])),
        ("roots", _sentences(scores["roots"])),
    ]


def _words(found: Values) -> str:
    return f"{number(found['share'])}, {found['right']:,} of {found['total']:,} words"


def _sentences(found: Values) -> str:
    total = count(found["total"], "sentence")
    return f"{number(found['share'])}, {found['right']:,} of {total}"


def evaluate(
    file: FilePath,
    predicted: FilePath,
    /,
    *,
    format: InputFormat = None,
    worst: Annotated[int, Parameter(validator=Number(gte=0, lte=N_WORST))] = N_WORST,
    fail_under: Annotated[
        FailUnder,
        Parameter(validator=FRACTION, help="Exit with 3 if the UAS is under this."),
    ] = None,
    json: Json = False,
) -> int:
    """Compare predicted with true trees.

    UAS is the share of words with the right head, LAS the share with the right head and
    relation. The tags of the true trees define punctuation. The sentences with the most
    wrong heads are drawn, the true tree to the left of the predicted one. The answer
    goes to standard output.

    Parameters
    ----------
    file
        The true trees; - is standard input.
    predicted
        The same sentences with predicted heads, as `argmetric parse predict` wrote
        them.
    worst
        How many of the worst sentences are drawn.
    """
    refuse_two_streams(file, predicted)
    gold, found = read_file(file, format), read_file(predicted, format)
    with progress(f"comparing {len(gold):,} sentences"):
        scores = score_trees(gold, found)
    chosen = scores.worst[:worst]
    summary: Values = {
        **sentences_described(gold),
        "predicted": found[0].file,
        "scores": attachment(scores),
        "lengths": [
            {
                "length": one.length,
                "uas": right_of(one.heads),
                "exact_match": right_of(one.sentences),
            }
            for one in scores.by_length
            if one.heads.total
        ],
        "worst": [_described(i, gold[i], found[i]) for i in chosen],
    }
    _report.tell("parse evaluate", summary, _facts, json=json, table=_lengths)
    if not json:
        _draw_worst(summary, [(gold[i], found[i]) for i in chosen])
    return gate(scores.uas, fail_under, get_metric("accuracy"), "the UAS")


def _described(number: int, gold: Tree, found: Tree) -> Values:
    return {
        "sentence": number + 1,
        "line": gold.line,
        "wrong": int((gold.heads != found.heads).sum()),
        "words": gold.words,
        "heads": gold.heads.tolist(),
        "predicted": found.heads.tolist(),
    }


def _facts(summary: Values) -> _report.Facts:
    return [
        _report.sentences_asked(summary),
        ("predicted", summary["predicted"]),
        *score_facts(summary["scores"]),
    ]


def _lengths(summary: Values) -> _report.Table:
    rows = [
        [
            one["length"],
            f"{one['exact_match']['total']:,}",
            _report.number(one["uas"]["share"]),
            _report.number(one["exact_match"]["share"]),
        ]
        for one in summary["lengths"]
    ]
    return ("words", "sentences", "UAS", "exact match"), rows


def _draw_worst(summary: Values, worst: Sequence[tuple[Tree, Tree]]) -> None:
    from rich.text import Text

    target = _report.console(stderr=False)
    for one, (gold, found) in zip(summary["worst"], worst, strict=True):
        wrong = f"{one['wrong']} of {_report.count(len(gold), 'head')} wrong"
        title = f"\nsentence {one['sentence']}, line {one['line']}: {wrong}"
        target.print(Text(title, style="bold"))
        for line in _drawn(gold, found, target.width):
            target.print(Text(line), no_wrap=True, crop=True)


def _drawn(gold: Tree, found: Tree, width: int) -> list[str]:
    """The right tree, and beside it the predicted one with its wrong heads marked."""
    each = max((min(width, 160) - len(_BETWEEN)) // 2, 20)
    try:
        right = draw_tree(
            found.words, found.heads, found.relations, gold.heads, width=each
        )
    except ValueError:  # another parser's heads may be none of a tree
        right = "no tree"
    left = draw_tree(gold.words, gold.heads, gold.relations, width=each).split("\n")
    left = ["right", *left]
    column = max(map(len, left))
    pairs = zip_longest(left, ["predicted", *right.split("\n")], fillvalue="")
    return [f"{one:<{column}}{_BETWEEN}{other}".rstrip() for one, other in pairs]
