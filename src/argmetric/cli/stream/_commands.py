"""``argmetric stream``, and ``argmetric stream predict``."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from contextlib import closing
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Group

from argmetric._ground.saving import DAMAGE
from argmetric._ground.whole_files import written_whole
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import ENDINGS, Arguments, command
from argmetric.cli._errors import (
    DONE,
    INTERRUPTED,
    TERMINATED,
    UsageError,
    refuse_usage,
    with_flags,
)
from argmetric.cli._learning import metric_named, text_target
from argmetric.cli._values import refuse_bad_target
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _rows as load
from argmetric.cli.stream import _run as runs
from argmetric.metrics import Metric
from argmetric.scale import files
from argmetric.scale.files import blocks
from argmetric.stream import LearnerName, RuleName

_OWN_DECISION = ("stamp", "omcsl")
_SIGNALS = {0: None, INTERRUPTED: "SIGINT", TERMINATED: "SIGTERM"}


class _Rows(opt.Options, group=opt.COLUMNS):
    """Rows of a stream.

    Attributes
    ----------
    format
        The format of the input, if neither its name nor its content shows it.
    on_error
        A row that cannot be used: "stop", or "skip" and count it.
    """

    format: files.Format | None
    on_error: Literal["stop", "skip"] = "stop"
    neg_label: Annotated[str | None, opt.shown("VALUE")]
    one_vs_rest: bool


class _Learner(opt.Options, group=opt.RULE):
    rule: RuleName | None
    learner: LearnerName = "mixture"
    step: Annotated[float | None, opt.bound(gt=0, lt=math.inf)]
    memory: Annotated[float | None, opt.shown("ROWS"), opt.bound(gte=1, lt=math.inf)]
    seed: opt.Seed = 0


class _Checkpoints(opt.Options, group=Group("Checkpoints", sort_key=6)):
    checkpoint: opt.FilePath | None
    every: Annotated[int, opt.shown("ROWS"), opt.bound(gt=0, lt=math.inf)] = 100_000


_OWN = _Rows, _Learner, _Checkpoints, opt.TargetLabel, opt.Text


@command(
    "metric zero_division label pos_label neg_label one_vs_rest drop format decimal "
    "on_error rule learner step memory seed checkpoint every output report json",
    *_OWN,
    files={"file": opt.FilePath},
    ending=f"A file that is called predict is ./predict.\n\n{ENDINGS}",
)
def stream(o: Arguments) -> int:
    """Learn from a stream in one pass for the metric, predicting each row first.

    Model and threshold are learned together. Each row is predicted before its label is
    seen, so the score is that of new rows. Memory does not grow with their number.
    The answer goes to standard output; on a terminal, score, threshold and rate are
    shown meanwhile. Ctrl-C stops after the current block and prints the summary.

    Parameters
    ----------
    file
        Rows of CSV, TSV, JSONL, Parquet or Arrow; - is standard input.
    label
        The column, or key, of the labels. By default the one called label, y, y_true or
        target.
    pos_label
        The label that means "positive" where labels are not 0/1, -1/1 or true/false.
    neg_label
        The other label. Without it, the first label that is not --pos-label.
    one_vs_rest
        All labels but --pos-label are negative.
    rule
        How the threshold is learned. [default: histogram]
    learner
        How the probability is learned; the mixture needs no step. "stamp" and "omcsl"
        learn labels without a threshold rule.
    step
        The step size of the learner, or a factor for all steps of the mixture.
    memory
        The rows that the learner remembers, where the stream drifts.
    seed
        The seed of what is drawn ("omcsl").
    checkpoint
        Write what was learned to this file: every --every rows, at the end, and when a
        signal or a bad row stops the run. `argmetric stream predict` takes it.
    every
        Rows between two checkpoints.
    output
        The file for predictions (JSONL): row, score (the probability), decision and
        label; - is standard output.

    Examples
    --------
    argmetric stream train.csv --metric f1 -o predictions.jsonl
    argmetric stream - --format csv --label y --checkpoint kept.npz
    """
    metric = metric_named(o.metric, o.zero_division)
    _check_options(o, metric)
    named = o.pos_label, o.neg_label, o.pos_label is not None, o.one_vs_rest
    configuration: dict[str, Any] = {
        **o.only("pos_label", "neg_label", "learner", "step", "memory"),
        "metric": metric.name,
        "zero_division": str(metric.zero_division),
        "rule": None if o.learner in _OWN_DECISION else o.rule or "histogram",
        "seed": o.seed,
    }
    stopped = runs.Interruption()
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopped.listening())
        try:
            with _report.reading(o.file):
                rows = blocks.LabelledRows(
                    *(o.file, o.label, tuple(o.drop or ())),
                    **o.only("on_error", "format", "decimal"),
                    classes=blocks.StreamClasses(*named),
                    stopped=stopped,
                )
        except files.DataError:
            if stopped():  # while it waited for the first bytes
                return stopped.code
            raise
        stack.enter_context(closing(rows))
        model = runs.new_model(metric, configuration, o.seed)
        write = None
        if o.output is not None:
            write = stack.enter_context(runs.predictions_to(o.output))
        run = runs.StreamRun(model, rows, write, configuration, o.checkpoint, o.every)
        if o.report is not None:
            from argmetric.stream import StreamHistory

            run.history = StreamHistory(run.n_rows)
        run.go(stopped)
    if not run.n_rows and not stopped():
        raise files.DataError(f"no row of {rows.name} could be used")
    if run.finished and run.absence is not None:
        raise files.DataError(run.absence)
    return _summary(run, metric, stopped, o)


def _check_options(o: Arguments, metric: Metric) -> None:
    """Refuse what contradicts itself, has nothing to act on, or cannot be written."""
    from argmetric.stream import get_rule

    load.refuse_shared_output(o.output, json=o.json)
    load.check("stream", {n for n in ("pos_label", "checkpoint") if o.has(n)}, o)
    load.exclude(o, "one_vs_rest", "neg_label")
    own, same = f"{o.learner} carries its own decision", "--pos-label and --neg-label"
    wrong = {
        f"{own}: no --rule": o.learner in _OWN_DECISION and o.rule is not None,
        f"{same} are the same": o.pos_label is not None and o.pos_label == o.neg_label,
    }
    refuse_usage(wrong)
    try:
        get_rule(o.rule or "histogram").init_state(metric)
    except ValueError as error:  # no threshold can be learned for it
        raise UsageError(str(error)) from error
    refuse_bad_target(o.checkpoint)
    refuse_bad_target(o.output, stream=True)
    if o.output not in (None, "-"):
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(o.file, o.output):
                raise UsageError(f"-o {o.output} is the input: it would be overwritten")


def _summary(
    run: runs.StreamRun, metric: Metric, stopped: runs.Interruption, o: Arguments
) -> int:
    """Print the answer of a run, write its report, and return the exit code."""
    layout, classes, counts = run.rows.layout, run.rows.classes, run.counts
    options, n, model = run.configuration, run.n_rows, run.model
    assert layout is not None
    values: _report.Values = {
        **_rows_values(run.rows, n),
        "features": len(layout.names),
        "target": layout.target,
        "classes": [classes.negative, classes.positive],
        **{key: options[key] for key in ("metric", "zero_division", "learner", "rule")},
        "counts": counts,
        "score": float(model.score_) if n else None,
        "threshold": float(model.threshold_) if n else None,
        "seconds": run.seconds,
        "rows_per_second": n / run.seconds if run.seconds else None,
        "finished": run.finished,
        "signal": _SIGNALS[stopped.code],
        "checkpoint": o.checkpoint if run.kept else None,
        "output": o.output,
    }
    by_rule = "" if options["rule"] is None else f", threshold by {options['rule']}"
    width = _report.count(values["features"], "feature")
    facts = _rows_lines(values, f"{layout.format}, {width}")
    facts.append(("model", f"{options['learner']}{by_rule}"))
    notes = [("skipped", error) for error in values["errors"]]
    if values["skipped"] > len(notes):
        notes.append(("skipped", f"{values['skipped'] - len(notes):,} more"))
    stop = f"stopped by {values['signal']} before the end"
    notes += [("note", stop)] if values["signal"] else []
    results: _report.Facts = []
    if n:
        true, chosen = counts["tp"] + counts["fn"], counts["tp"] + counts["fp"]
        score = _report.number(values["score"])
        results = [
            ("score", f"{score}, every row predicted before its label was seen"),
            ("threshold", _report.number(values["threshold"])),
            ("truth", f"{true:,} positive ({100 * true / n:.1f} % of the rows)"),
            ("predicted", f"{chosen:,} positive ({100 * chosen / n:.1f} %)"),
        ]
        facts += [*results[2:], *results[:2]]
    if run.history is not None:
        from argmetric._report import report_stream

        said = [f"skipped: {x}" if kind == "skipped" else x for kind, x in notes]
        how = {"metric": metric, "rows": n, "file": values["file"], "lines": results}
        lines.save(report_stream(run.history.looks, **how, notes=said), o.report)
    facts += _skipped_line(values)
    if values["rows_per_second"]:
        facts.append(("rate", f"{values['rows_per_second']:,.0f} rows a second"))
    if run.kept:
        notes.append(("checkpoint", o.checkpoint))
    told: dict[str, Any] = {"json": o.json, "stderr": o.output == "-", "notes": notes}
    _report.print_answer("stream", values, facts, **told)
    return stopped.code or DONE


def _rows_values(rows: blocks.LabelledRows, n: int) -> _report.Values:
    """Return the values on the rows that were read."""
    assert rows.layout is not None
    return {
        "file": rows.name,
        "format": rows.layout.format,
        "rows": n,
        "skipped": rows.skipped,
        "errors": [with_flags(error) for error in rows.errors],
    }


def _rows_lines(values: _report.Values, kind: str) -> _report.Facts:
    """Return the lines on the rows and on the metric."""
    rows = f"{_report.count(values['rows'], 'row')} of {values['file']} ({kind})"
    return [("rows", rows), ("metric", values["metric"])]


def _skipped_line(values: _report.Values) -> _report.Facts:
    n = values["skipped"]
    return [("skipped", _report.count(n, "bad row"))] if n else []


# ------------------------------------------------------------------------- predict


@command(
    "format decimal on_error output json",
    *_OWN,
    opt.Summary,
    files={
        "checkpoint": Annotated[opt.FilePath, opt.shown("CHECKPOINT")],
        "file": opt.FilePath,
    },
    ending=ENDINGS,
)
def predict(o: Arguments) -> int:
    """Predict rows without labels by the model of a checkpoint; nothing is learned.

    Features are found by their names, so that columns may come in another order and
    others may be there, such as labels, which are not read. A run that still writes
    checkpoints is not disturbed.

    Parameters
    ----------
    checkpoint
        The file of --checkpoint.
    file
        Rows of CSV, TSV, JSONL, Parquet or Arrow; - is standard input.

    Examples
    --------
    argmetric stream predict kept.npz new.csv -o predicted.jsonl
    """
    target = text_target(o)
    found = _checkpoint(o.checkpoint)
    options = found.manifest["configuration"]
    kept = float(options["zero_division"])
    metric = metric_named(options["metric"], None).with_zero_division(kept)
    model = runs.new_model(metric, options, options["seed"])
    model.set_state(found.arrays)
    how = o.only("on_error", "format", "decimal")
    rows = blocks.LabelledRows(o.file, names=tuple(found.manifest["names"]), **how)
    n_rows, positives, started = 0, 0, time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(closing(rows))
        stack.enter_context(_report.progress("predicting"))
        out: Any = sys.stdout.buffer if target == "-" else None
        if target not in (None, "-"):
            out = stack.enter_context(written_whole(target))
        for block in rows.blocks():
            if not block.numbers.size:
                continue
            decisions = np.asarray(model.predict(block.X)) == model.classes_[1]
            scores = np.ascontiguousarray(model.predict_proba(block.X)[:, 1])
            if out is not None:
                rows_of = block.numbers, scores, decisions
                out.write(runs.prediction_lines(options, *rows_of))
            n_rows += decisions.size
            positives += int(decisions.sum())
        if not n_rows:
            raise files.DataError(f"no row of {rows.name} could be used")
    sys.stdout.flush()
    values: _report.Values = {
        **_rows_values(rows, n_rows),
        "checkpoint": found.path,
        "learned": found.manifest["rows"],
        "metric": options["metric"],
        "threshold": float(model.threshold_),
        "positives": positives,
        "seconds": time.monotonic() - started,
        "output": target,
    }
    learned = f"which has learned from {_report.count(values['learned'], 'row')}"
    facts = [
        *_rows_lines(values, values["format"]),
        ("model", f"{found.path}, {learned}"),
        ("threshold", _report.number(model.threshold_)),
        lines.positives_line(positives, n_rows),
        *_skipped_line(values),
    ]
    notes = [("skipped", error) for error in values["errors"]]
    told: dict[str, Any] = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.print_answer("stream predict", values, facts, notes=notes, **told)


def _checkpoint(path: str) -> runs.Checkpoint:
    """Read a checkpoint that a model can be made from."""
    try:
        return runs.read_checkpoint(path)
    except FileNotFoundError:
        raise files.DataError(f"there is no checkpoint {path}") from None
    except files.DataError:
        raise
    except (IsADirectoryError, *DAMAGE):
        raise files.DataError(
            f"{path} is not a checkpoint of argmetric stream, or it is damaged"
        ) from None


stream.command(predict)
