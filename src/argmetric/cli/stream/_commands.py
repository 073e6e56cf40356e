"""``argmetric stream``."""

from __future__ import annotations

import contextlib
import math
import os
from contextlib import closing
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric import _files as files
from argmetric._files import blocks
from argmetric.cli import _options as opt
from argmetric.cli._command import Given
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._examples import ENDINGS
from argmetric.cli._judge import metric_named
from argmetric.cli._learning import command_group
from argmetric.cli._progress import reading
from argmetric.cli.scores._page import require
from argmetric.cli.scores._refusals import check, exclude
from argmetric.cli.scores._rows import refuse_shared_output
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.stream._checkpoint import Checkpoint, CheckpointFolder
from argmetric.cli.stream._out import (
    STANDARD_STREAM,
    Predictions,
    class_names,
    new_model,
)
from argmetric.cli.stream._predict import predict
from argmetric.cli.stream._report import save_report, stream_summary, tell_stream
from argmetric.cli.stream._run import (
    Counts,
    Interruption,
    Status,
    StreamRun,
    refuse_other_options,
    resumed_rows,
)
from argmetric.metrics import Metric
from argmetric.stream import LearnerName, RuleName

_OWN_DECISION = ("stamp", "omcsl")

_CHECKPOINTS = Group("Checkpoints", sort_key=6)
_POSITIVE = Number(gt=0, lt=math.inf)
_WIDTH = Number(gt=0, lt=2**31)
_Model = Parameter(group=opt.RULE)
_Kept = Parameter(group=_CHECKPOINTS)


def stream_rows(
    file: opt.FilePath,
    /,
    *,
    metric: opt.MetricName = "f1",
    zero_division: opt.ZeroOverZero = None,
    label: opt.LearnedLabel = None,
    pos_label: opt.LabelValue = None,
    neg_label: opt.LabelValue = None,
    one_vs_rest: Annotated[bool, opt.Flag, opt.IN_FILE] = False,
    drop: opt.Drop = None,
    features: Annotated[int | None, opt.IN_FILE, Parameter(validator=_WIDTH)] = None,
    hash_bits: Annotated[
        int | None, opt.IN_FILE, Parameter(validator=Number(gte=1, lte=30))
    ] = None,
    zero_based: Annotated[bool, opt.Flag, opt.IN_FILE] = False,
    format: Annotated[blocks.RowFormat | None, opt.INPUT_FORMAT] = None,
    decimal: opt.Decimal = ".",
    on_error: Annotated[Literal["stop", "skip"], opt.IN_FILE] = "stop",
    rule: Annotated[RuleName | None, _Model] = None,
    learner: Annotated[LearnerName, _Model] = "mixture",
    step: Annotated[float | None, _Model, Parameter(validator=_POSITIVE)] = None,
    memory: Annotated[
        float | None,
        _Model,
        Parameter(validator=Number(gte=1, lt=math.inf), metavar="ROWS"),
    ] = None,
    seed: Annotated[
        opt.Seed, _Model, Parameter(help='The seed of what is drawn ("omcsl").')
    ] = 0,
    checkpoint: Annotated[
        opt.FilePath | None, _Kept, Parameter(metavar="FOLDER", show_default=False)
    ] = None,
    every: Annotated[
        int, _Kept, Parameter(validator=_POSITIVE, metavar="ROWS")
    ] = 100_000,
    resume: Annotated[bool, opt.Flag, _Kept] = False,
    output: opt.Target = None,
    report: opt.ReportTarget = None,
    json: opt.Json = False,
) -> int:
    """Learn from a stream in one pass, for the metric; every row is predicted first.

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
    on_error
        A row that cannot be used: "stop", or "skip" and count it.
    rule
        How the threshold is learned. [default: histogram]
    learner
        How the probability is learned; the mixture needs no step. "stamp" and "omcsl"
        learn labels without a threshold rule.
    step
        The step size of the learner, or a factor for all steps of the mixture.
    memory
        The rows that the learner remembers, where the stream drifts.
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
    """
    judge = metric_named(metric, zero_division)
    refuse_shared_output(output, json=json)
    _check_options(Given({}, locals()))
    _check_metric(judge, rule)
    if report is not None:
        require(report)
    if output is not None and output != STANDARD_STREAM:
        refuse_bad_target(output)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(file, output):
                raise UsageError(f"-o {output} is the input: it would be overwritten")
    configuration: dict[str, Any] = {
        "metric": judge.name,
        "zero_division": str(judge.zero_division),
        "target": label,
        "pos_label": pos_label,
        "neg_label": neg_label,
        "one_vs_rest": one_vs_rest,
        "drop": sorted(drop or []),
        "features": features,
        "hash_bits": hash_bits,
        "zero_based": zero_based,
        "rule": None if learner in _OWN_DECISION else rule or "histogram",
        "learner": learner,
        "step": step,
        "memory": memory,
        "seed": seed if learner == "omcsl" else None,
        "output": output is not None,
    }
    request = blocks.Request(
        label,
        tuple(drop or ()),
        features,
        hash_bits,
        zero_based,
        on_error,
        every if checkpoint is not None else None,
        decimal=decimal,
    )
    stopped = Interruption()
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopped.listening())
        folder = found = None
        if checkpoint is not None:
            folder = stack.enter_context(closing(CheckpointFolder(checkpoint)))
            found = _found(folder, configuration, resume=resume)
        try:
            with reading(file):  # features are counted before the first row
                rows = blocks.open_rows(
                    file,
                    request,
                    format=format,
                    classes=blocks.StreamClasses(
                        pos_label, neg_label, pos_label is not None, one_vs_rest
                    ),
                    resumed=None if found is None else resumed_rows(found),
                    stopped=stopped,
                )
        except blocks.PackedError as error:
            raise files.DataError(
                f"{error.name} is compressed: {error.command} FILE | argmetric stream "
                "- …"
            ) from None
        except files.DataError:
            if stopped():  # while it waited for the first bytes
                return stopped.code
            raise
        stack.enter_context(closing(rows.source))
        model = new_model(judge, configuration, rows.reader.layout.format, seed)
        if found is not None and found.arrays:
            model.set_state(found.arrays)
        length = None if found is None else int(found.manifest["output"])
        names = class_names(pos_label, neg_label)
        predictions = stack.enter_context(closing(Predictions(output, names, length)))
        run = StreamRun(model, rows, predictions, configuration, folder, every)
        if found is not None and folder is not None:
            run.counts = Counts(**found.manifest["counts"])
            folder.set_aside_newer(found)
            say(f"going on after {run.position.rows:,} rows, from {found.path}")
        if report is not None:
            from argmetric.stream import StreamHistory

            run.history = StreamHistory(run.counts.rows)
        run.go(stopped, Status())
    if not run.counts.rows and not stopped():
        raise files.DataError(f"no row of {rows.source.name} could be used")
    if run.finished and run.absence is not None:
        raise files.DataError(run.absence)
    summary = stream_summary(run, judge, stopped, output)
    if run.history is not None and report is not None:
        save_report(summary, judge, run.history, report)
    tell_stream(summary, json=json, stderr=output == STANDARD_STREAM)
    return stopped.code or DONE


def _check_options(o: Given) -> None:
    """Refuse options that contradict each other or have nothing to act on."""
    if o.learner in _OWN_DECISION and o.rule is not None:
        raise UsageError(f"{o.learner} carries its own decision: no --rule")
    exclude(o, "features", "hash_bits")
    there = [name for name in ("pos_label", "checkpoint") if o.has(name)]
    check("stream", {*there}, o)
    exclude(o, "one_vs_rest", "neg_label")
    if o.pos_label is not None and o.pos_label == o.neg_label:
        raise UsageError("--pos-label and --neg-label are the same")
    if o.checkpoint is not None and o.output == STANDARD_STREAM:
        raise UsageError(
            "standard output cannot be cut back to a checkpoint: -o FILE, or no "
            "--checkpoint"
        )


def _check_metric(metric: Metric, rule: RuleName | None) -> None:
    """Refuse a metric that no threshold can be learned for."""
    from argmetric.stream import get_rule

    try:
        get_rule(rule or "histogram").init_state(metric)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _found(
    folder: CheckpointFolder, configuration: dict[str, Any], *, resume: bool
) -> Checkpoint | None:
    """Return the checkpoint to go on from."""
    folder.remove_leftovers()
    if not resume:
        if not folder.empty:
            raise files.DataError(
                f"{folder.path} holds checkpoints: pass --resume to go on, or another "
                "folder to begin anew"
            )
        return None
    newest = folder.newest()
    if newest is None:
        say(f"no checkpoint in {folder.path} yet: beginning with the first row")
    else:
        refuse_other_options(newest, configuration)
    return newest


stream = command_group(
    "stream",
    "",
    ENDINGS,
    predict,
    default=stream_rows,
    hint="A file that is called predict is ./predict.",
)
