"""Rules: as lines for people, from and to files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import argmetric as am
from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric.cli._errors import UsageError
from argmetric.cli._report import Facts, count, number, short_threshold

_SHOWN_OPTIMA = 5
_WAYS = {"Rule": "one", "MultiLabelRule": "wide", "MultiClassRule": "classes"}
_KINDS = {"wide": "several labels", "classes": "several classes"}


def refuse_bad_target(path: str) -> None:
    """Refuse an output that cannot be before the work, not after it."""
    if path == "-":
        raise UsageError("the output is a file, not standard output: -o FILE")
    if os.path.isdir(path):
        raise files.DataError(f"cannot write {path}: it is a folder")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise files.DataError(f"cannot write {path}: there is no folder {folder}")


def load_rule(path: str, way: str = "one") -> Any:
    """Read a rule for rows of a layout."""
    rule = load_any_rule(path)
    kind = _WAYS.get(type(rule).__name__, "")
    if kind == way:
        return rule
    if way != "one":
        raise files.DataError(f"{path} is not a rule for {_KINDS[way]}")
    hint = ": pass --scores" if kind == "wide" else ""
    raise files.DataError(
        f"{path} is a rule for {_KINDS.get(kind, 'something else')}; here there is one "
        f"column of scores{hint}"
    )


def load_any_rule(path: str) -> Any:
    """Read a rule of any kind."""
    if path == "-":
        raise UsageError("a rule is read from a file, not from standard input")
    try:
        return am.Rule.load(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        reason = str(error)
        for said in (": ", " is no rule: ", " is no rule, or "):
            reason = reason.removeprefix(f"{path}{said}")
        reason = reason.removeprefix("this is no saved rule: ")
        raise files.DataError(
            f"{path} is not a rule: {reason}; argmetric tune -o rule.json writes rules"
        ) from None


def rule_text(rule: am.Rule, score: str, p: Floats | None = None) -> str:
    """Return a rule as people write it down; `score` is what the cut is compared with.

    With `p`, the scores it was tuned on, the threshold has no more digits than cut
    them in the same place.
    """
    cut = rule.threshold
    if not math.isfinite(cut):
        return "every row" if (cut < 0) == (rule.operator == ">=") else "no row"
    shown = f"{cut:.6g}" if p is None else short_threshold(p, cut)
    what = score if rule.calibrator is None else f"calibrated {score}"
    return f"{what} {rule.operator} {shown}"


def rule_facts(
    rule: am.Rule, score: str, p: Floats | None = None, *, rows: str = "these rows"
) -> Facts:
    """Return the lines that tell of a rule; `rows` are those that it was tuned on."""
    names = rule.pos_label, rule.neg_label
    labels = "" if names == (1, 0) else f": {names[0]!r}, else {names[1]!r}"
    facts = [("rule", f"{rule_text(rule, score, p)} is positive{labels}")]
    part = rule.positive_rate
    chosen = f", {100 * part:.1f} % of them chosen" if _is_known(part) else ""
    facts.append(("score", f"{number(rule.score)} on {rows}{chosen}"))
    if _is_known(rule.out_of_fold_score):
        gap = rule.optimism if rule.metric.greater_is_better else -rule.optimism
        text = f"{number(rule.out_of_fold_score)} on {rule.n:,} such rows"
        if rule.score_interval is not None:
            text += f", {_interval(rule, rule.score_interval, number)}"
        facts.append(("new rows", f"{text} (optimism {number(gap)})"))
    if rule.threshold_interval is not None:
        told = _interval(rule, rule.threshold_interval, "{:.4g}".format)
        facts.append(("best cut", told))
    if rule.plateau is not None:
        same = {"best": "scores the same", "one_se": "is within one standard error"}
        where = f"any threshold in {_half_open(rule.plateau)}"
        facts.append(("as good", f"{where} {same[rule.choice]}"))
    optima = rule.optimal_thresholds.tolist()
    if len(optima) > 1:
        shown = ", ".join(map(_half_open, optima[:_SHOWN_OPTIMA]))
        left = len(optima) - _SHOWN_OPTIMA
        more = f" and {left:,} more" if left > 0 else ""
        facts.append(("optima", f"{shown}{more}: equally good"))
    if rule.constraints:
        limits = [f"{key} {value:g}" for key, value in rule.constraints.items()]
        facts.append(("limits", ", ".join(limits).replace("_", " ")))
    return facts


def rule_row(rule: am.Rule, score: str, p: Floats | None) -> list[str]:
    """Return a rule as a row: metric, rule, positives, score, new rows, interval."""
    interval = rule.score_interval
    return [
        rule.metric.name,
        rule_text(rule, score, p),
        f"{100 * rule.positive_rate:.1f} %",
        number(rule.score),
        number(rule.out_of_fold_score),
        "" if interval is None else " to ".join(map(number, interval)),
    ]


def _interval(
    rule: am.Rule, pair: Sequence[float], shown: Callable[[float], str]
) -> str:
    low, high = map(shown, pair)
    return f"{100 * rule.coverage:g} % interval {low} to {high}"


def _half_open(pair: Sequence[float]) -> str:
    return f"({pair[0]:.4g}, {pair[1]:.4g}]"


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def tuned_on(rule: Any) -> str:
    """Return where a rule comes from, in a few words."""
    score = rule.score
    known = f", {rule.metric.name} {number(score)}" if _is_known(score) else ""
    return f"tuned on {count(rule.n, 'row')}{known}" if rule.n else "not tuned"
