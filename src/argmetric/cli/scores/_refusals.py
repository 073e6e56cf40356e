"""What a command does not do with its options, in one table, each with the reason.

An option that has a meaning for a layout or a way works there. What is left out here
and cannot be is refused by the functions of the package.
"""

from __future__ import annotations

import re

from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError
from argmetric.cli._values import entries
from argmetric.cli.scores._rows import is_saved

LIMITS = "min_positives max_positives min_precision min_recall"
# A way, which is "wide" (several labels), "classes" (one of several), "whole" (rows of
# many files at once), an option, or one with "no " before it; the options that it
# refuses, "verb:option" for one command alone; what is said; and why
_TABLE = f"""
wide: score group threshold tune:no_label tune:report
    = {{}} is about one column of scores, not --scores
    # --scores names the columns, and the functions take the others for one column
wide: monitor:scores
    = {{}} goes with --one-label here: pass it too, if each row has one of several
    classes
    # several labels per row have no periods on the command line
wide: label
    = {{}} names one column: with --scores, pass --labels 'y_*' for several labels per
    row; if each row has one of several classes, add --one-label
    # each label has a column of its own
classes: labels
    = {{}} is for several labels per row; with --one-label, --label names the column of
    true classes
    # a row has one label
classes: pos_label score threshold reference_score overdispersion min_positives
    max_positives min_precision no_label cost_fp known tune:group monitor:group jobs
    monitor:by monitor:floor monitor:append monitor:late_labels
    min_specificity min_npv confidence
    tune:choice tune:report forecast:report calibrate:weight map
    = --one-label does not support {{}}: leave one out
    # no class is positive, there is no single cut, or the command does not pass it on
rule: decide:metric forecast:metric decide:zero_division forecast:zero_division
    {LIMITS} confidence
    = --rule brings its own threshold and metric; {{}} has no effect beside it
    # a rule is a threshold that was tuned for a metric
map: method weight label pos_label group metric average zero_division scores
    = --map is applied as it is; {{}} has no effect beside it
    # nothing is fitted or judged
report: forecast:known forecast:overdispersion forecast:prior
    = --report does not support {{}}: leave one out
    # a page on labels compares them with decisions, which take none of these
report of a rule: prior
    = --report does not support {{}}: leave one out
    # the same
no confidence: tune:for_rows
    = {{}} goes with --confidence: pass it too
    # without it nothing is promised for other rows
no reference: decide:confidence
    = {{}} needs labelled rows that prove the limits: pass --reference FILE
    # a promise for new rows rests on labels
no joint: predict:max_positives
    = {{}} is about the whole batch: pass --joint too
    # rows that are labelled one by one have no batch
no map: calibrate:output_format
    = {{}} is about rows: pass --map too
    # without --map no rows are written
no reference: reference_score reference_label
    = {{}} goes with --reference: pass it too
    # they name columns of the reference
saved map: reference_score reference_label confidence
    = --reference is a map; {{}} needs labelled rows there
    # a map has no columns, and keeps no labelled rows
saved map beside a rule: reference
    = --rule brings its own map; a map as {{}} has no effect beside it
    # a rule was tuned on scores that went through its own
no pos_label: stream:neg_label stream:one_vs_rest
    = {{}} is about --pos-label: pass it too
    # it says which label the others are not
no checkpoint: stream:resume
    = {{}} is about --checkpoint: pass the folder too
    # there is nothing to go on from
no scores: decide:labels forecast:labels tune:labels calibrate:labels
    = {{}} goes with --scores: pass the pattern of both
    # labels go with the scores of the same names
whole: engine scheduler on_error work_dir missing_groups resume
    = {{}} is about files that are read in pieces: another option needs all rows
    # rows that are read at once need no workers, folders or second start
"""
REFUSALS = [(way, *re.split(" [=#] ", text)) for way, text in entries(_TABLE)]


def check(verb: str, ways: set[str], given: Given) -> None:
    """Refuse the first option that has no meaning for one of the ways."""
    for way, options, message, _ in REFUSALS:
        absent = way.removeprefix("no ")
        if way not in ways and not (absent != way and absent not in ways):
            continue
        for name in options.split():
            command, _, option = name.rpartition(":")
            if command in ("", verb) and given.has(option):
                raise UsageError(message.format(f"--{option.replace('_', '-')}"))


def checked(verb: str, o: Given) -> None:
    """Refuse options that contradict each other or have nothing to act on."""
    is_map = is_saved(o.reference)
    if o.prior == "estimate" and (o.reference is None or is_map):
        raise UsageError(
            "--prior estimate compares the scores with those of labelled rows: pass "
            "--reference FILE"
        )
    wide = o.scores is not None or o.labels is not None
    ways = {"classes" if o.one_label else "wide" if wide else "one"}
    beside = ("rule", "map", "reference", "scores", "report", "confidence")
    ways |= {name for name in beside if getattr(o, name) is not None}
    ways |= {"joint"} if o.joint else set()
    ways |= {"report of a rule"} if {"rule", "report"} <= ways else set()
    ways |= {"saved map"} if is_map else set()
    ways |= {"saved map beside a rule"} if {"rule", "saved map"} <= ways else set()
    check(verb, ways, o)
    if o.one_label and o.prior not in (None, "estimate"):
        raise UsageError(f"--prior {o.prior:g} is a share of positives, not of classes")


def exclude(given: Given, *names: str) -> None:
    """Refuse two of these options together."""
    found = [f"--{name.replace('_', '-')}" for name in names if given.has(name)]
    if len(found) > 1:
        raise UsageError(f"{found[0]} and {found[1]} exclude each other")
