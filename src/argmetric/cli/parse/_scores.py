"""Scores of trees as plain values, and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric.cli._report import count, number
from argmetric.cli._summary import Values

if TYPE_CHECKING:
    from argmetric._text.corpus.tree_scores import Share
    from argmetric.search import TreeScores


def right_of(share: Share) -> Values:
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
