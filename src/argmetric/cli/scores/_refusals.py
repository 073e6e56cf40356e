"""What a command does not do with its options, in one table, each with the reason.

An option that has a meaning for a layout or a way works there. What is left out here
and cannot be is refused by the functions of the package.
"""

from __future__ import annotations

from typing import NamedTuple

from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError

LIMITS = "min_positives max_positives min_precision min_recall"


class Refusal(NamedTuple):
    """Options that a way refuses.

    Attributes
    ----------
    way : str
        "wide" (several labels), "classes" (one of several), "rule", "map", "whole"
        (rows of many files at once), or an option with "no " before it.
    options : str
        Their names; "verb:option" is refused by one command alone.
    message : str
        What is said; {} is the option.
    reason : str
        Why it has no meaning there.
    """

    way: str
    options: str
    message: str
    reason: str


_ONE_COLUMN = "{} is about one column of scores, not --scores"
_UNSUPPORTED = "--one-label does not support {}: leave one out"
_BESIDE_RULE = "--rule brings its own threshold and metric; {} has no effect beside it"
_BESIDE_MAP = "--map is applied as it is; {} has no effect beside it"
REFUSALS = (
    Refusal("wide", "score", _ONE_COLUMN, "--scores names the columns already"),
    Refusal(
        "wide",
        "group threshold tune:no_label tune:report",
        _ONE_COLUMN,
        "the functions take groups, one threshold and tuning without labels for one "
        "column",
    ),
    Refusal(
        "wide",
        "label",
        "{} names one column: with --scores, pass --labels 'y_*' for several labels "
        "per row; if each row has one of several classes, decide takes --one-label",
        "each label has a column of its own",
    ),
    Refusal(
        "classes",
        "labels",
        "{} is for several labels per row; with --one-label, --label names the column "
        "of true classes",
        "a row has one label",
    ),
    Refusal(
        "classes",
        "pos_label score threshold reference_score overdispersion min_positives "
        "max_positives min_precision tune:min_recall no_label cost_fp known tune:group "
        "tune:choice tune:report forecast:report calibrate:weight map",
        _UNSUPPORTED,
        "there is no positive class and no single cut, and the functions of several "
        "classes do not take it",
    ),
    Refusal(
        "rule",
        "decide:metric forecast:metric decide:zero_division forecast:zero_division "
        f"{LIMITS} calibrator",
        _BESIDE_RULE,
        "a rule is a threshold that was tuned for a metric",
    ),
    Refusal(
        "map",
        "method weight label pos_label group metric average zero_division scores",
        _BESIDE_MAP,
        "nothing is fitted or judged",
    ),
    Refusal(
        "report",
        "forecast:known forecast:overdispersion forecast:prior",
        "--report does not support {}: leave one out",
        "a page on labels compares them with decisions, which take none of these",
    ),
    Refusal(
        "report of a rule",
        "prior",
        "--report does not support {}: leave one out",
        "the same",
    ),
    Refusal(
        "no map",
        "calibrate:output_format",
        "{} is about rows: pass --map too",
        "without --map no rows are written",
    ),
    Refusal(
        "no reference",
        "reference_score reference_label",
        "{} goes with --reference: pass it too",
        "it names a column of the reference",
    ),
    Refusal(
        "no pos_label",
        "stream:neg_label stream:one_vs_rest",
        "{} is about --pos-label: pass it too",
        "it says which label the others are not",
    ),
    Refusal(
        "no checkpoint",
        "stream:resume",
        "{} is about --checkpoint: pass the folder too",
        "there is nothing to go on from",
    ),
    Refusal(
        "no scores",
        "decide:labels forecast:labels tune:labels calibrate:labels",
        "{} goes with --scores: pass the pattern of both",
        "labels go with the scores of the same names",
    ),
    Refusal(
        "whole",
        "engine scheduler on_error work_dir missing_groups resume",
        "{} is about files that are read in pieces: another option needs all rows",
        "rows that are read at once need no workers, folders or second start",
    ),
)


def check(verb: str, ways: set[str], given: Given) -> None:
    """Refuse the first option that has no meaning for one of the ways."""
    for one in REFUSALS:
        absent = one.way.removeprefix("no ")
        if one.way not in ways and not (absent != one.way and absent not in ways):
            continue
        for name in one.options.split():
            command, _, option = name.rpartition(":")
            if command in ("", verb) and given.has(option):
                flag = f"--{option.replace('_', '-')}"
                raise UsageError(one.message.format(flag))


def checked(verb: str, o: Given) -> None:
    """Refuse options that contradict each other or have nothing to act on."""
    exclude(o, "calibrator", "reference")
    if o.prior == "estimate" and o.reference is None:
        raise UsageError(
            "--prior estimate compares the scores with those of labelled rows: pass "
            "--reference FILE"
        )
    wide = o.scores is not None or o.labels is not None
    way = "classes" if o.one_label else "wide" if wide else "one"
    there = {name for name in ("rule", "map", "reference", "scores", "report")
             if getattr(o, name) is not None}  # fmt: skip
    if {"rule", "report"} <= there:
        there.add("report of a rule")
    check(verb, {way, *there}, o)
    if way == "classes" and o.prior not in (None, "estimate"):
        raise UsageError(f"--prior {o.prior:g} is a share of positives, not of classes")


def exclude(given: Given, *names: str) -> None:
    """Refuse two of these options together."""
    found = [name for name in names if given.has(name)]
    if len(found) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in found[:2])
        raise UsageError(f"{first} and {second} exclude each other")
