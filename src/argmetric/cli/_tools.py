"""``argmetric metrics``, ``expect``, ``export`` and ``--install-completion``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from argmetric._ground.whole_files import writing, written_whole
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import ENDINGS, Arguments, command
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._learning import metric_error
from argmetric.cli._values import refuse_bad_target
from argmetric.cli.scores import _rows as load
from argmetric.metrics import get_metric, metric_names
from argmetric.scale import files

_SIZE_ASKED_FOR = 100
_ALGORITHMS = {
    "MeanForm": "closed form",
    "RatioForm": "exponential sums",
    "ItemForm": "item weights",
    "AffineForm": "affine in tp",
    "RatesForm": "windowed sums",
    "NoneType": "windowed sums",
}
_QUANTILES = (0.05, 0.5, 0.95)
_REFERENCE_NAMES = (*files.LABEL_NAMES, *files.DECISION_NAMES, "reference", "boundary")
_WINDOWED = {"pk": "Pk", "windowdiff": "WindowDiff"}
_PLAIN = {"boundary_similarity": "BoundarySimilarity"}
_PLAIN |= {"hamming": "Hamming", "zero_one": "ZeroOne"}
_SPELLINGS = {"p_k": "pk", "window_diff": "windowdiff"}


@command("json", files={})
def metrics(o: Arguments) -> int:
    """List the metrics with their formulas, values of 0/0 and algorithms.

    Counts: tp true positives, tn true negatives, k predicted positives, t actual
    positives, n rows. Any "f<beta>" up to 10 works, such as f0.3. The ranking principle
    says that the best decision is a set of highest scores.

    Examples
    --------
    argmetric metrics
    argmetric metrics --json
    """
    catalogue = []
    for name in metric_names():
        metric = get_metric(name)
        principle = metric.ranking_principle(_SIZE_ASKED_FOR)
        entry = {
            "name": name,
            "formula": metric.formula,
            "zero_division": metric.convention,
            "ranking_principle": principle.holds,
            "ranking": principle.reason,
            "algorithm": _ALGORITHMS[type(metric.form).__name__],
            "greater_is_better": metric.greater_is_better,
        }
        catalogue.append(entry)
    if o.json:
        _report.print_json(catalogue)
        return DONE
    shown = ("name", "formula", "zero_division", "ranking", "algorithm")
    header = ["0/0" if key == "zero_division" else key for key in shown]
    rows: Any = [[entry[key] for key in shown] for entry in catalogue]
    _report.print_table(_report.console(stderr=False), header, rows, len(header))
    return DONE


class _Expecting(opt.Options):
    utility: Annotated[str, opt.shown("NAME", alias="-u")] = "f1"
    window: int | None
    zero_division: opt.ZeroDivision | None
    beam: Annotated[str | None, opt.shown("L")]


class _Quantiles(opt.Options, group=opt.OUTPUT):
    quantiles: bool


@command(
    "utility window zero_division beam score logits label quantiles json",
    _Expecting,
    _Quantiles,
    files={"probabilities": opt.FilePath, "reference": opt.FilePath},
)
def expect(o: Arguments) -> int:
    """Compute the expected utility of labels drawn from a model against given labels.

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
    label
        The column of labels in the second file. By default its only column, or the one
        called label, y, decision, prediction, reference, boundary or the like.
    quantiles
        Print the 5 %, 50 % and 95 % quantiles of the utility too.

    Examples
    --------
    argmetric expect borders.csv guess.csv --utility windowdiff
    """
    utility, width = _utility(o.utility, o.window, o.zero_division), o.beam
    if width not in (None, "auto"):
        if not width.isdigit() or int(width) < 1:
            raise UsageError(
                f'--beam takes a positive whole number or "auto", not {width!r}'
            )
        width = int(width)
    table, other = load.read_rows(o.probabilities), load.read_rows(o.reference)
    score = load.find_score(table, o.score, logits=o.logits)
    p = files.probabilities(table, score, logits=o.logits)
    label = other.names[0] if o.label is None and len(other.names) == 1 else o.label
    how: Any = {"what": "label", "role": "label"}
    label = files.find_column(other, label, _REFERENCE_NAMES, **how)
    z = files.labels(other, label).astype(np.int64)
    if z.size != p.size:
        raise files.DataError(
            f"{other.source} has {z.size:,} rows but {table.source} has {p.size:,}"
        )
    from argmetric._ground.odds import expit
    from argmetric.sequence import Independent, distribution, expectation

    model = Independent(expit(p) if o.logits else p)
    with _report.progress(f"expecting {utility.name} of {p.size:,} labels"):
        found = expectation(utility, z, model, width)
        mass = distribution(utility, z, model) if o.quantiles else None
    cuts = None if mass is None else {f"{q:g}": mass.quantile(q) for q in _QUANTILES}
    values: _report.Values = {
        "probabilities": table.source,
        "reference": other.source,
        "columns": {"score": score, "label": label},
        "rows": int(p.size),
        "utility": utility.name,
        "window": o.window,
        "greater_is_better": utility.greater_is_better,
        "mean": found.mean,
        "bounds": found.bounds,
        "exact": found.exact,
        "states": found.n_states,
        "quantiles": cuts,
    }
    window = "" if o.window is None else f", window {o.window}"
    better = "" if utility.greater_is_better else ", smaller is better"
    mean, low, high = map(_report.number, (found.mean, *found.bounds))
    facts = [
        ("labels", _report.count(int(p.size))),
        ("model", f"{score!r} of {table.source}, independent"),
        ("reference", f"{label!r} of {other.source}"),
        ("utility", f"{utility.name}{window}{better}"),
        ("mean", mean if found.exact else f"between {low} and {high}"),
    ]
    if cuts is not None:
        texts = [f"{float(q):.0%} {_report.number(x)}" for q, x in cuts.items()]
        facts.append(("quantiles", ", ".join(texts)))
    return _report.print_answer("expect", values, facts, json=o.json)


def _utility(name: str, window: int | None, zero_division: str | None) -> Any:
    """Return the utility of a name; refuse options that it does not take."""
    from argmetric import sequence

    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    key = _SPELLINGS.get(key, key)
    if zero_division is not None and key in _WINDOWED | _PLAIN:
        raise UsageError(f"--zero-division is for metrics of counts, not {name}")
    if key in _WINDOWED and window is None:
        raise UsageError(f"--utility {name} needs --window")
    if key not in _WINDOWED and window is not None:
        raise UsageError(f"--window is for pk and windowdiff, not {name}")
    try:
        if key in _WINDOWED:
            return getattr(sequence, _WINDOWED[key])(window)
        if key in _PLAIN:
            return getattr(sequence, _PLAIN[key])()
        zero = None if zero_division is None else float(zero_division)
        return sequence.CountUtility(get_metric(name, zero_division=zero))
    except ValueError as error:
        known = ", ".join(_WINDOWED | _PLAIN)
        raise UsageError(f"{metric_error(error)}; utilities: {known}") from error


class _Exporting(opt.Options):
    to: Literal["sql", "python", "onnx", "json"] = opt.REQUIRED
    dialect: Literal["duckdb", "postgres", "sqlite", "spark"] = "duckdb"
    column: Annotated[list[str] | None, opt.shown("NAME", negative="")]
    name: str = "label"


class _Completing(opt.Options):
    shell: Literal["bash", "zsh", "fish", "powershell"] | None
    output: Annotated[opt.FilePath | None, Parameter(alias="-o")]


@command(
    "to dialect column name output",
    _Exporting,
    opt.Text,
    files={"rule": Annotated[opt.FilePath, opt.shown("RULE")]},
)
def export(o: Arguments) -> int:
    """Export a rule to SQL, Python, ONNX or JSON, to run without argmetric.

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

    Examples
    --------
    argmetric export rule.json --to sql --column score
    argmetric export rule.json --to python -o label.py
    """
    rule = load.load_saved(o.rule, "rule")
    target = None if o.output == "-" else o.output
    refuse_bad_target(target)
    if o.to == "onnx":
        if target is None:
            raise UsageError("a model of ONNX is a file: pass -o FILE")
        try:
            data = rule.to_onnx().SerializeToString()
        except ImportError as error:
            raise files.DataError(str(error)) from error
    else:
        names: Any = o.column[0] if o.column and len(o.column) == 1 else o.column
        text = {
            "sql": lambda: rule.to_sql(o.dialect, names),
            "python": lambda: rule.to_python(o.name),
            "json": rule.to_json,
        }[o.to]()
        data = f"{text.rstrip()}\n".encode()
    if target is None:
        sys.stdout.write(data.decode())
        return DONE
    with written_whole(target) as file:
        file.write(data)
    say(f"written: {target}")
    return DONE


@command("shell output", _Completing, files={}, ending=ENDINGS)
def install_completion(o: Arguments) -> int:
    """Let the shell complete commands, options and their values.

    The script goes where the shell looks for it, and a line that loads it to the file
    that the shell reads when it starts, if there is none yet.

    Parameters
    ----------
    shell
        The shell. By default the one that this runs in.
    output
        Write the script to this file alone, or for - to standard output.

    Examples
    --------
    argmetric --install-completion
    argmetric --install-completion --shell zsh
    """
    from cyclopts.completion.detect import ShellDetectionError

    from argmetric.cli._command import app

    app.resolved_commands()
    try:
        if o.output == "-":
            sys.stdout.write(app.generate_completion(shell=o.shell))
            return DONE
        path = None if o.output is None else Path(o.output)
        with writing(o.output or "the script"):
            written = app.install_completion(
                shell=o.shell, output=path, add_to_startup=path is None
            )
    except ShellDetectionError:
        raise UsageError(
            f"which shell is this ({os.environ.get('SHELL', 'unknown')})? Pass --shell "
            "bash, zsh, fish or powershell"
        ) from None
    say(f"written: {written}; a new shell completes `argmetric `")
    return DONE
