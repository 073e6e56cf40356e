"""Rules that were tuned, as values for JSON and as lines for people."""

from __future__ import annotations

from argmetric.cli import _report
from argmetric.cli._errors import DONE
from argmetric.cli._summary import Values
from argmetric.cli.scores._rules import rule_facts


def tell(summary: Values, *, json: bool) -> int:
    """Print what was tuned; return the exit code."""
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return DONE


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    rules = summary["rules"]
    facts = [("rows", _report.rows_asked(summary))]
    facts += _report.groups_asked(summary)
    share = f"{100 * summary['prevalence']:.1f} % positive"
    source = "" if "label" in summary["columns"] else ", if the probabilities are right"
    facts.append(("truth", f"{share}{source}"))
    if len(rules) == 1:
        cost = summary["cost"]
        metric = rules[0]["metric"] if cost is None else _costs(cost)
        rows = "these rows" if "label" in summary["columns"] else "such rows, expected"
        facts += [("metric", metric), *rule_facts(rules[0], rows=rows)]
        _report.print_facts(target, "argmetric tune", facts)
    else:
        _report.print_facts(target, "argmetric tune", facts)
        header = ["metric", "rule", "positives", "score", "other rows", "interval"]
        _report.print_table(target, header, map(_row, rules), numbers_from=2)
    notes = dict.fromkeys(note for rule in rules for note in rule["notes"])
    _report.print_notes(target, "note", notes)
    _report.print_notes(target, "written", summary["output"])


def _costs(cost: Values) -> str:
    alarm, miss = f"false alarm {cost['fp']:g}", f"miss {cost['fn']:g}"
    return f"minus the cost of all rows; {alarm}, {miss}"


def _row(rule: Values) -> list[str]:
    interval = rule["score_interval"]
    shown = "" if interval is None else " to ".join(map(_report.number, interval))
    return [
        rule["metric"],
        rule["rule"],
        f"{100 * rule['positive_rate']:.1f} %",
        _report.number(rule["score"]),
        _report.number(rule["out_of_fold_score"]),
        shown,
    ]
