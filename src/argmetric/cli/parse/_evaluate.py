"""``argmetric parse evaluate``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from argmetric._text.corpus.heads import draw_tree
from argmetric._text.corpus.tree_scores import N_WORST, score_trees
from argmetric._text.corpus.trees import Tree
from argmetric.cli import _report
from argmetric.cli._errors import UsageError
from argmetric.cli._gate import gate
from argmetric.cli._options import FRACTION, FailUnder, FilePath, Json
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values
from argmetric.cli.parse._file import InputFormat, read_file, sentences_described
from argmetric.cli.parse._scores import attachment, right_of, score_facts
from argmetric.metrics import get_metric

_BETWEEN = "   "


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
    """Compare predicted with right trees.

    UAS is the share of words with the right head, LAS that with the right relation
    too; punctuation is told by the right tags. The sentences with most wrong heads are
    drawn, the right tree to the left of the predicted one. The answer goes to standard
    output.

    Parameters
    ----------
    file
        The right trees; - is standard input.
    predicted
        The same sentences with predicted heads, as `argmetric parse predict` wrote
        them.
    worst
        How many of the worst sentences are drawn.
    """
    if file == predicted == "-":
        raise UsageError("only one of the files can be standard input")
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
    if json:
        _report.print_json(summary)
    else:
        _print(summary, [(gold[i], found[i]) for i in chosen])
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


def _print(summary: Values, worst: Sequence[tuple[Tree, Tree]]) -> None:
    target = _report.console(stderr=False)
    facts = [
        _report.sentences_asked(summary),
        ("predicted", summary["predicted"]),
        *score_facts(summary["scores"]),
    ]
    _report.print_facts(target, "argmetric parse evaluate", facts)
    header = "words", "sentences", "UAS", "exact match"
    rows = [
        [
            one["length"],
            f"{one['exact_match']['total']:,}",
            _report.number(one["uas"]["share"]),
            _report.number(one["exact_match"]["share"]),
        ]
        for one in summary["lengths"]
    ]
    _report.print_table(target, header, rows)
    from rich.text import Text

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
