"""``argmetric expect`` and ``argmetric export``."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from argmetric import _files as files
from argmetric._results.whole_files import written_whole
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import find_score, read_rows
from argmetric.cli.scores._rules import load_any_rule, refuse_bad_target

_QUANTILES = (0.05, 0.5, 0.95)
_REFERENCE_NAMES = (*files.LABEL_NAMES, *files.DECISION_NAMES, "reference", "boundary")
_WINDOWED = ("pk", "windowdiff")


def expect(
    probabilities: opt.FilePath,
    reference: opt.FilePath,
    /,
    *,
    utility: Annotated[str, Parameter(alias="-u", metavar="NAME")] = "f1",
    window: int | None = None,
    zero_division: opt.ZeroDivision | None = None,
    beam: Annotated[str | None, Parameter(metavar="L")] = None,
    score: opt.Column = None,
    logits: Annotated[bool, opt.Flag, opt.IN_FILE] = False,
    label: opt.Column = None,
    quantiles: Annotated[bool, opt.Flag, Parameter(group=opt.OUTPUT)] = False,
    json: opt.Json = False,
) -> int:
    """Expected utility of one label sequence when the other is drawn from a model.

    The labels of the first file are independent with the given probabilities; the
    second file holds the labels to compare with, one row for each position in the same
    order. The answer goes to standard output.

    Parameters
    ----------
    probabilities
        The probability of a 1 at every position: CSV, TSV, Parquet, Arrow or JSONL.
    reference
        The labels, 0 and 1, for as many positions.
    utility
        pk, windowdiff, boundary_similarity, hamming or zero_one, or any metric of
        `argmetric metrics`, such as f1.
    window
        The number of labels in a window, for pk and windowdiff.
    zero_division
        What 0/0 counts, for metrics: 0, 1, or nan to leave the case out. [default: 0]
    beam
        Keep so many states at every position, or "auto"; gives bounds. By default the
        expectation is exact.
    score
        The column of probabilities. By default the one called score, prob, proba,
        probability, p, y_score, y_prob or the like.
    logits
        The scores are logits (log-odds), not probabilities.
    label
        The column of labels in the second file. By default its only column, or the one
        called label, y, decision, prediction, reference, boundary or the like.
    quantiles
        Print the 5 %, 50 % and 95 % quantiles of the utility too.
    """
    chosen = _utility(utility, window, zero_division)
    width: Any = beam
    if beam not in (None, "auto"):
        if not beam.isdigit() or int(beam) < 1:
            raise UsageError(
                f'--beam takes a positive whole number or "auto", not {beam!r}'
            )
        width = int(beam)
    table = read_rows(probabilities)
    score = find_score(table, score, logits=logits)
    p = files.probabilities(table, score, logits=logits)
    other = read_rows(reference)
    if label is None and len(other.names) == 1:
        label = other.names[0]
    label = files.find_column(
        other, label, _REFERENCE_NAMES, what="label", role="label"
    )
    z = files.labels(other, label).astype(np.int64)
    if z.size != p.size:
        raise files.DataError(
            f"{other.source} has {z.size:,} rows but {table.source} has {p.size:,}"
        )
    from argmetric._input.odds import expit
    from argmetric.sequence import Independent, distribution, expectation

    model = Independent(expit(p) if logits else p)
    with progress(f"expecting {chosen.name} of {p.size:,} labels"):
        found = expectation(chosen, z, model, width)
        law = distribution(chosen, z, model) if quantiles else None
    cuts = None if law is None else {f"{q:g}": law.quantile(q) for q in _QUANTILES}
    summary: _report.Values = {
        "probabilities": table.source,
        "reference": other.source,
        "columns": {"score": score, "label": label},
        "rows": int(p.size),
        "utility": chosen.name,
        "window": window,
        "greater_is_better": chosen.greater_is_better,
        "value": found.value,
        "lower": found.lower,
        "upper": found.upper,
        "exact": found.exact,
        "states": found.n_states,
        "quantiles": cuts,
    }
    better = "" if chosen.greater_is_better else ", smaller is better"
    width = "" if window is None else f", window {window}"
    value, low, high = map(_report.number, (found.value, found.lower, found.upper))
    facts = [
        ("labels", _report.count(int(p.size))),
        ("model", f"{score!r} of {table.source}, independent"),
        ("reference", f"{label!r} of {other.source}"),
        ("utility", f"{chosen.name}{width}{better}"),
        ("expected", value if found.exact else f"between {low} and {high}"),
    ]
    if cuts is not None:
        texts = [f"{float(q):.0%} {_report.number(x)}" for q, x in cuts.items()]
        facts.append(("quantiles", ", ".join(texts)))
    return _report.tell("expect", summary, facts, json=json)


def _utility(name: str, window: int | None, zero_division: str | None) -> Any:
    """The automaton of a name, with what it needs and nothing else."""
    from argmetric import sequence

    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    windowed = {"pk": sequence.Pk, "windowdiff": sequence.WindowDiff}
    windowed |= {"p_k": sequence.Pk, "window_diff": sequence.WindowDiff}
    plain = {
        "boundary_similarity": sequence.BoundarySimilarity,
        "hamming": sequence.Hamming,
        "zero_one": sequence.ZeroOne,
    }
    if zero_division is not None and key in windowed | plain:
        raise UsageError(f"--zero-division is for metrics of counts, not {name}")
    try:
        if key in windowed:
            if window is None:
                raise UsageError(f"--utility {name} needs --window")
            return windowed[key](window)
        if window is not None:
            raise UsageError(f"--window is for {' and '.join(_WINDOWED)}, not {name}")
        if key in plain:
            return plain[key]()
        utility = sequence.CountUtility(name)
    except ValueError as error:
        raise UsageError(
            f"{error}; utilities: {', '.join((*_WINDOWED, *plain))}"
        ) from error
    if zero_division is None:
        return utility
    metric = utility.counts.with_zero_division(float(zero_division))
    return sequence.CountUtility(metric)


def export(
    rule: Annotated[opt.FilePath, Parameter(metavar="RULE")],
    /,
    *,
    to: Literal["sql", "python", "onnx", "json"],
    dialect: Literal["duckdb", "postgres", "sqlite", "spark"] = "duckdb",
    column: Annotated[list[str] | None, Parameter(negative="", metavar="NAME")] = None,
    name: str = "label",
    output: opt.TextTarget = None,
) -> int:
    """Write a rule for a program that does not have argmetric.

    Nothing but numbers is left of the rule: a cut on calibrated scores becomes a cut
    on the scores as they are.

    Parameters
    ----------
    rule
        A rule of `argmetric tune`.
    to
        An expression of SQL, a function of Python, a model of ONNX, or JSON.
    dialect
        With --to sql: whose SQL.
    column
        With --to sql: the column of scores; for several labels or classes one for
        each, in their order. [default: p, or the names of the labels]
    name
        With --to python: the name of the function.
    """
    found = load_any_rule(rule)
    if output not in (None, "-"):
        refuse_bad_target(output)
    if to == "onnx":
        if output in (None, "-"):
            raise UsageError("a model of ONNX is a file: pass -o FILE")
        try:
            data = found.to_onnx().SerializeToString()
        except ImportError as error:
            raise files.DataError(str(error)) from error
    else:
        names: Any = column[0] if column and len(column) == 1 else column
        text = {
            "sql": lambda: found.to_sql(dialect, names),
            "python": lambda: found.to_python(name),
            "json": found.to_json,
        }[to]()
        data = f"{text.rstrip()}\n".encode()
    if output in (None, "-"):
        sys.stdout.write(data.decode())
        return DONE
    with written_whole(output) as file:
        file.write(data)
    say(f"written: {output}")
    return DONE
