"""Rules: as values, as lines for people, from and to files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric.cli._errors import UsageError
from argmetric.cli._report import Values, count, number, short_threshold

if TYPE_CHECKING:
    from argmetric import MultiLabelRule, Rule

_SHOWN_OPTIMA = 5
_DECIDES = "threshold", "operator", "pos_label", "neg_label"
_TUNED = (
    *("n", "prevalence", "positive_rate", "score", "out_of_fold_score", "optimism"),
    *("score_interval", "coverage", "threshold_interval", "plateau"),
)
_KINDS = {"MultiClassRule": "several classes", "MultiLabelRule": "several labels"}


def refuse_bad_target(path: str) -> None:
    """Refuse an output that cannot be before the work, not after it."""
    if path == "-":
        raise UsageError("the output is a file, not standard output: -o FILE")
    if os.path.isdir(path):
        raise files.DataError(f"cannot write {path}: it is a folder")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise files.DataError(f"cannot write {path}: there is no folder {folder}")


def load_rule(path: str) -> Rule:
    """Read a rule for one column of scores."""
    from argmetric import Rule

    rule = _load(path)
    if not isinstance(rule, Rule):
        what = _KINDS.get(type(rule).__name__, "something else")
        hint = ": pass --scores" if what == "several labels" else ""
        raise files.DataError(
            f"{path} is a rule for {what}; here there is one column of scores{hint}"
        )
    return rule


def load_wide_rule(path: str) -> MultiLabelRule:
    """Read a rule for several labels."""
    from argmetric import MultiLabelRule

    rule = _load(path)
    if not isinstance(rule, MultiLabelRule):
        raise files.DataError(f"{path} is not a rule for several labels")
    return rule


def _load(path: str) -> object:
    from argmetric import Rule

    if path == "-":
        raise UsageError("a rule is read from a file, not from standard input")
    try:
        return Rule.load(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        reason = str(error).removeprefix(f"{path}: ")
        for said in (f"{path} is no rule: ", f"{path} is no rule, or "):
            reason = reason.removeprefix(said)
        reason = reason.removeprefix("this is no saved rule: ")
        raise files.DataError(
            f"{path} is not a rule: {reason}; argmetric tune -o rule.json writes rules"
        ) from None


def rule_values(rule: Rule, score: str, p: Floats | None) -> Values:
    """Return a rule as plain values.

    Parameters
    ----------
    rule : Rule
        The rule.
    score : str
        What the threshold is compared with.
    p : ndarray or None
        The scores it was tuned on, so that the threshold can be shown with no more
        digits than cut them in the same place.
    """
    return {
        "metric": rule.metric.name,
        "greater_is_better": rule.metric.greater_is_better,
        "rule": rule_text(rule, score, p),
        **{name: getattr(rule, name) for name in _DECIDES},
        "calibrator": None if rule.calibrator is None else rule.calibrator.summary,
        **{name: getattr(rule, name) for name in _TUNED},
        "optimal_thresholds": rule.optimal_thresholds.tolist(),
        "choice": rule.choice,
        "constraints": dict(rule.constraints),
        "notes": list(rule.notes),
    }


def rule_text(rule: Rule, score: str, p: Floats | None = None) -> str:
    """Return a rule as people write it down."""
    everything, nothing = "every row", "no row"
    if not math.isfinite(rule.threshold):
        above = rule.threshold < 0
        return everything if above == (rule.operator == ">=") else nothing
    cut = rule.threshold
    shown = f"{cut:.6g}" if p is None else short_threshold(p, cut)
    what = score if rule.calibrator is None else f"calibrated {score}"
    return f"{what} {rule.operator} {shown}"


def rule_facts(values: Values, *, rows: str = "these rows") -> list[tuple[str, str]]:
    """Return the lines that tell of a rule.

    Parameters
    ----------
    values : dict
        What `rule_values` gave.
    rows : str, optional
        What the rows are called that it was tuned on.
    """
    facts = [("rule", f"{values['rule']} is positive{_labels(values)}")]
    facts.append(("score", f"{number(values['score'])} on {rows}{_share(values)}"))
    if _is_known(values["out_of_fold_score"]):
        facts.append(("new rows", _new_rows(values)))
    if (best := values["threshold_interval"]) is not None:
        facts.append(("best cut", _interval(values, best, _digits)))
    if (plateau := values["plateau"]) is not None:
        facts.append(("as good", _as_good(plateau, values["choice"])))
    optima = values["optimal_thresholds"]
    if len(optima) > 1:
        shown = ", ".join(_half_open(pair) for pair in optima[:_SHOWN_OPTIMA])
        more = f" and {len(optima) - _SHOWN_OPTIMA:,} more" * (
            len(optima) > _SHOWN_OPTIMA
        )
        facts.append(("optima", f"{shown}{more}: equally good"))
    if values["constraints"]:
        limits = [f"{key} {value:g}" for key, value in values["constraints"].items()]
        facts.append(("limits", ", ".join(limits).replace("_", " ")))
    return facts


def rule_row(values: Values) -> list[str]:
    """Return a rule as a row: metric, rule, positives, score, new rows, interval."""
    interval = values["score_interval"]
    return [
        values["metric"],
        values["rule"],
        f"{100 * values['positive_rate']:.1f} %",
        number(values["score"]),
        number(values["out_of_fold_score"]),
        "" if interval is None else " to ".join(map(number, interval)),
    ]


def _labels(values: Values) -> str:
    names = values["pos_label"], values["neg_label"]
    return "" if names == (1, 0) else f": {names[0]!r}, else {names[1]!r}"


def _share(values: Values) -> str:
    share = values["positive_rate"]
    return f", {100 * share:.1f} % of them chosen" if _is_known(share) else ""


def _new_rows(values: Values) -> str:
    gap = values["optimism"] if values["greater_is_better"] else -values["optimism"]
    text = f"{number(values['out_of_fold_score'])} on {values['n']:,} rows like these"
    if values["score_interval"] is not None:
        text += f", {_interval(values, values['score_interval'], number)}"
    return f"{text} (tuning overstates by {number(gap)})"


def _interval(
    values: Values, pair: Sequence[float], shown: Callable[[float], str]
) -> str:
    low, high = map(shown, pair)
    return f"{100 * values['coverage']:g} % interval {low} to {high}"


def _as_good(pair: Sequence[float], choice: str) -> str:
    same = {"best": "scores the same", "one_se": "is within one standard error"}
    return f"any threshold in {_half_open(pair)} {same[choice]}"


def _half_open(pair: Sequence[float]) -> str:
    return f"({_digits(pair[0])}, {_digits(pair[1])}]"


def _digits(value: float) -> str:
    return f"{value:.4g}"


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def tuned_on(rule: Rule) -> str:
    """Return where a rule comes from, in a few words."""
    known = (
        f", {rule.metric.name} {number(rule.score)}" if _is_known(rule.score) else ""
    )
    return f"tuned on {count(rule.n, 'row')}{known}" if rule.n else "not tuned"
