"""``argmetric stream``, and ``argmetric stream predict``."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
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

    format: blocks.RowFormat | None
    on_error: Literal["stop", "skip"] = "stop"
    neg_label: Annotated[str | None, opt.shown("VALUE")]
    one_vs_rest: bool
    features: Annotated[int | None, opt.bound(gt=0, lt=2**31)]
    hash_bits: Annotated[int | None, opt.bound(gte=1, lte=30)]
    zero_based: bool


class _Learner(opt.Options, group=opt.RULE):
    rule: RuleName | None
    learner: LearnerName = "mixture"
    step: Annotated[float | None, opt.bound(gt=0, lt=math.inf)]
    memory: Annotated[float | None, opt.shown("ROWS"), opt.bound(gte=1, lt=math.inf)]
    seed: opt.Seed = 0


class _Checkpoints(opt.Options, group=Group("Checkpoints", sort_key=6)):
    checkpoint: Annotated[opt.FilePath | None, opt.shown("FOLDER")]
    every: Annotated[int, opt.shown("ROWS"), opt.bound(gt=0, lt=math.inf)] = 100_000
    resume: bool


_OWN = _Rows, _Learner, _Checkpoints, opt.TargetLabel, opt.Text


@command(
    "metric zero_division label pos_label neg_label one_vs_rest drop features "
    "hash_bits zero_based format decimal on_error rule learner step memory seed "
    "checkpoint every resume output report json",
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
        Rows of libsvm (svmlight) text, CSV, TSV, JSONL or Parquet; - is standard input.
    label
        The column, or key, of the labels. By default the one called label, y, y_true or
        target. libsvm has labels of its own.
    pos_label
        The label that means "positive" where labels are not 0/1, -1/1 or true/false.
    neg_label
        The other label. Without it, the first label that is not --pos-label.
    one_vs_rest
        All labels but --pos-label are negative.
    features
        The number of features of libsvm text: the largest index. Without it, a file is
        read twice; standard input needs it.
    hash_bits
        Hash features to 2^B columns: libsvm indices of any size; JSONL with any keys,
        missing ones 0 and text as categories.
    zero_based
        Indices of libsvm text begin with 0, not 1.
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
        Keep the state in this folder: every --every rows, at the end, and when a signal
        or a bad row stops the run. The one before the last stays too.
    every
        Rows between two checkpoints.
    resume
        Continue from the newest checkpoint, or begin if there is none. Predictions and
        state are then those of a run without a stop. Standard input must start from its
        first row again.
    output
        The file for predictions (JSONL): row, score (the probability), decision and
        label; - is standard output.

    Examples
    --------
    argmetric stream train.svm --metric f1 -o predictions.jsonl
    argmetric stream - --format csv --label y --checkpoint kept --resume
    """
    metric = metric_named(o.metric, o.zero_division)
    _check_options(o, metric)
    named = o.pos_label, o.neg_label, o.pos_label is not None, o.one_vs_rest
    configuration: dict[str, Any] = {
        **o.only("pos_label", "neg_label", "one_vs_rest", "features", "hash_bits"),
        **o.only("zero_based", "learner", "step", "memory"),
        "metric": metric.name,
        "zero_division": str(metric.zero_division),
        "target": o.label,
        "drop": sorted(o.drop or []),
        "rule": None if o.learner in _OWN_DECISION else o.rule or "histogram",
        "seed": o.seed if o.learner == "omcsl" else None,
        "output": o.output is not None,
    }
    stopped = runs.Interruption()
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopped.listening())
        folder = found = None
        if o.checkpoint is not None:
            folder = stack.enter_context(runs.checkpoint_folder(o.checkpoint))
            found = runs.checkpoint_to_resume(folder, configuration, resume=o.resume)
        request = blocks.Request(
            o.label,
            tuple(o.drop or ()),
            *(o.features, o.hash_bits, o.zero_based, o.on_error),
            o.every if folder is not None else None,
            decimal=o.decimal,
        )
        try:
            with (
                _report.reading(o.file),
                _say_how_to_unpack("- …"),
            ):  # features are counted first
                rows = blocks.open_rows(
                    o.file,
                    request,
                    format=o.format,
                    classes=blocks.StreamClasses(*named),
                    resumed=None if found is None else runs.resumed_rows(found),
                    stopped=stopped,
                )
        except files.DataError:
            if stopped():  # while it waited for the first bytes
                return stopped.code
            raise
        stack.enter_context(closing(rows))
        model = runs.new_model(metric, configuration, rows.layout.format, o.seed)
        if found is not None and found.arrays:
            model.set_state(found.arrays)
        length = None if found is None else int(found.manifest["output"])
        predictions = stack.enter_context(closing(runs.Predictions(o.output, length)))
        run = runs.StreamRun(
            model, rows, predictions, configuration, folder, o.every, found
        )
        if o.report is not None:
            from argmetric.stream import StreamHistory

            run.history = StreamHistory(run.n_rows)
        run.go(stopped)
    if not run.n_rows and not stopped():
        raise files.DataError(f"no row of {rows.name} could be used")
    if run.finished and run.absence is not None:
        raise files.DataError(run.absence)
    return _summary(run, metric, stopped, o)


@contextlib.contextmanager
def _say_how_to_unpack(again: str) -> Iterator[None]:
    """Let the refusal of a compressed file say how to unpack it."""
    try:
        yield
    except blocks.PackedError as error:
        unpacked = f"{error.command} FILE | argmetric stream {again}"
        raise files.DataError(f"{error.name} is compressed: {unpacked}") from None


def _check_options(o: Arguments, metric: Metric) -> None:
    """Refuse what contradicts itself, has nothing to act on, or cannot be written."""
    from argmetric.stream import get_rule

    load.refuse_shared_output(o.output, json=o.json)
    load.exclude(o, "features", "hash_bits")
    load.check("stream", {n for n in ("pos_label", "checkpoint") if o.has(n)}, o)
    load.exclude(o, "one_vs_rest", "neg_label")
    own, same = f"{o.learner} carries its own decision", "--pos-label and --neg-label"
    cut = "standard output cannot be cut back to a checkpoint: -o FILE, or no"
    wrong = {
        f"{own}: no --rule": o.learner in _OWN_DECISION and o.rule is not None,
        f"{same} are the same": o.pos_label is not None and o.pos_label == o.neg_label,
        f"{cut} --checkpoint": o.checkpoint is not None and o.output == "-",
    }
    refuse_usage(wrong)
    try:
        get_rule(o.rule or "histogram").init_state(metric)
    except ValueError as error:  # no threshold can be learned for it
        raise UsageError(str(error)) from error
    if o.output not in (None, "-"):
        refuse_bad_target(o.output)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(o.file, o.output):
                raise UsageError(f"-o {o.output} is the input: it would be overwritten")


def _summary(
    run: runs.StreamRun, metric: Metric, stopped: runs.Interruption, o: Arguments
) -> int:
    """Print the answer of a run, write its report, and return the exit code."""
    layout, position, counts = run.rows.layout, run.position, run.counts
    options, n, model = run.configuration, run.n_rows, run.model
    values: _report.Values = {
        **_rows_values(run.rows, position, n),
        "features": None if options["hash_bits"] else layout.n_features,
        "hash_bits": options["hash_bits"],
        "target": layout.target,
        "classes": [position.classes.negative, position.classes.positive],
        **{key: options[key] for key in ("metric", "zero_division", "learner", "rule")},
        "counts": counts,
        "score": float(model.score_) if n else None,
        "threshold": float(model.threshold_) if n else None,
        "seconds": run.seconds,
        "rows_per_second": run.learned / run.seconds if run.seconds else None,
        "finished": run.finished,
        "signal": _SIGNALS[stopped.code],
        "checkpoint": run.kept,
        "output": o.output,
    }
    by_rule = "" if options["rule"] is None else f", threshold by {options['rule']}"
    width = f"hashed to {options['hash_bits']} bits"
    if values["features"] is not None:
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
    if run.kept is not None:
        notes.append(("checkpoint", run.kept))
    told: dict[str, Any] = {"json": o.json, "stderr": o.output == "-", "notes": notes}
    _report.print_answer("stream", values, facts, **told)
    return stopped.code or DONE


def _rows_values(
    rows: blocks.TextRows | blocks.ParquetRows, position: blocks.Position, n: int
) -> _report.Values:
    """Return the values on the rows that were read."""
    return {
        "file": rows.name,
        "format": rows.layout.format,
        "rows": n,
        "skipped": position.skipped,
        "errors": [with_flags(error) for error in position.errors],
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
        The folder of --checkpoint, of which the newest is taken, or one of its files.
    file
        Rows of libsvm (svmlight) text, CSV, TSV, JSONL or Parquet; - is standard input.
        In libsvm text each line begins with a label, which may be any, such as 0.

    Examples
    --------
    argmetric stream predict kept new.csv -o predicted.jsonl
    """
    target = text_target(o)
    found = _checkpoint(Path(o.checkpoint))
    options = found.manifest["configuration"]
    known = blocks.RowLayout.from_dict(found.manifest["layout"])
    kept = float(options["zero_division"])
    metric = metric_named(options["metric"], None).with_zero_division(kept)
    model = runs.new_model(metric, options, known.format, options["seed"] or 0)
    model.set_state(found.arrays)
    hashed = options["hash_bits"] is not None and known.format == "jsonl"
    request = blocks.Request(
        drop=(*options["drop"], str(known.target)) if hashed else (),
        hash_bits=options["hash_bits"],
        zero_based=options["zero_based"],
        known=known,
        **o.only("on_error", "decimal"),
    )
    any_label = blocks.StreamClasses(rest=True)  # of svmlight, before each row
    with _say_how_to_unpack("predict CHECKPOINT -"):
        rows = blocks.open_rows(o.file, request, format=o.format, classes=any_label)
    layout, position = rows.layout, rows.position
    order = [layout.names.index(name) for name in known.names]
    n_rows, positives, started = 0, 0, time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(closing(rows))
        stack.enter_context(_report.progress("predicting"))
        out: Any = sys.stdout.buffer if target == "-" else None
        if target not in (None, "-"):
            out = stack.enter_context(written_whole(target))
        for block in rows.blocks():
            position = block.position
            if not block.numbers.size:
                continue
            X = block.X[:, order] if order and layout.names != known.names else block.X
            decisions = np.asarray(model.predict(X)) == model.classes_[1]
            scores = np.ascontiguousarray(model.predict_proba(X)[:, 1])
            if out is not None:
                rows_of = block.numbers, scores, decisions
                out.write(runs.prediction_lines(options, *rows_of))
            n_rows += decisions.size
            positives += int(decisions.sum())
        if not n_rows:
            raise files.DataError(f"no row of {rows.name} could be used")
    sys.stdout.flush()
    values: _report.Values = {
        **_rows_values(rows, position, n_rows),
        "checkpoint": found.path,
        "learned": sum(found.manifest["counts"].values()),
        "metric": options["metric"],
        "threshold": float(model.threshold_),
        "positives": positives,
        "seconds": time.monotonic() - started,
        "output": target,
    }
    learned = f"which has learned from {_report.count(values['learned'], 'row')}"
    facts = [
        *_rows_lines(values, layout.format),
        ("model", f"{found.path}, {learned}"),
        ("threshold", _report.number(model.threshold_)),
        lines.positives_line(positives, n_rows),
        *_skipped_line(values),
    ]
    notes = [("skipped", error) for error in values["errors"]]
    told: dict[str, Any] = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.print_answer("stream predict", values, facts, notes=notes, **told)


def _checkpoint(path: Path) -> runs.Checkpoint:
    """Read a checkpoint that a model can be made from."""
    read = runs.newest_checkpoint if path.is_dir() else runs.read_checkpoint
    try:
        found = read(path)
    except FileNotFoundError:
        raise files.DataError(f"there is no checkpoint {path}") from None
    except files.DataError:
        raise
    except DAMAGE:
        raise files.DataError(
            f"{path} is not a checkpoint of argmetric stream, or it is damaged"
        ) from None
    if found is None:
        raise files.DataError(f"there is no checkpoint in {path}")
    if not found.arrays:
        raise files.DataError(f"{found.path} has learned from no row yet")
    return found


stream.command(predict)
