"""``argmetric monitor``: the command, and what it tells."""

from __future__ import annotations

import math
import os
from contextlib import nullcontext
from typing import Annotated, Any, Literal

import numpy as np

import argmetric as am
from argmetric import _monitor as watching
from argmetric._monitor import values_of
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import DONE, GATE_NOT_MET, UsageError, say
from argmetric.cli._learning import average_of, metric_named, warnings_in
from argmetric.cli._progress import reading
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._layout import is_named, metric_of, read_reference
from argmetric.cli.scores._lines import rule_text, save
from argmetric.cli.scores._monitor_rows import RowReader, State, only_run, with_labels
from argmetric.cli.scores._rows import checked, exclude
from argmetric.scale import files

_SHOWN_PERIODS, _SHOWN_SEGMENTS = 60, 20


class _Rows(opt.Options, group=opt.COLUMNS):
    """Columns of periods.

    Attributes
    ----------
    time
        The column of times: dates, times or ISO text, in any order.
    by
        A column of segments, such as countries: each is monitored by itself, too.
    late_labels
        A file or a pattern of rows that were counted before without labels, and have
        them now: score, time, label, and the other columns that are used.
    """

    time: opt.ColumnName | None
    by: opt.ColumnName | None
    late_labels: opt.FilePath | None


class _Periods(opt.Options, group=opt.FORECAST):
    """Periods and alarms.

    Attributes
    ----------
    every
        The length of a period: day, week, month, quarter, 2w, or a number of rows.
        [default: week]
    shift
        What may have happened: "auto" weighs all readings, "none" adjusts nothing,
        "prior" takes it that only the prevalence changed.
    floor
        A score that is still good enough: an alarm is raised below it.
    false_alarms
        The probability of an alarm of each kind in a year in which nothing happens.
    """

    every: Annotated[str | None, opt.shown("LENGTH")]
    shift: Literal["auto", "none", "prior"] = "auto"
    floor: opt.Finite
    false_alarms: opt.InnerFraction = 0.05


class _Kept(opt.Options, group=opt.OUTPUT):
    """What is kept and written.

    Attributes
    ----------
    append
        A file that keeps what was counted: files in it are not read again, and those
        that are new are added. It is made if it is not there.
    output
        Also write all numbers (.json, which `Monitoring.load` reads) or a row per
        period (.csv).
    """

    append: opt.WrittenPath | None
    output: opt.Target


_OWN = _Rows, _Periods, _Kept, opt.OverGroups


@command(
    "score scores one_label logits time by group label late_labels decision_column "
    "pos_label metric "
    "average zero_division rule threshold reference reference_score reference_label "
    "every shift coverage floor false_alarms append output report json format encoding "
    "max_line decimal",
    *_OWN,
)
def monitor(o: Given) -> int:
    """Say whether the model is still good, period by period, before the labels come.

    Each period has a forecast of the score and a verdict: no shift, prevalence shift,
    or cannot say without labels. Rows are predicted by --rule, --threshold or
    --decision-column, else by a column called decision, prediction, predicted, pred or
    y_pred, else by the threshold that is best on the reference. The exit code is 3 on
    an alarm.

    Parameters
    ----------
    label
        The column of true labels, empty where they have not come. By default the one
        called label, y, y_true or target.
    threshold
        Rows of this score and above are predicted positive.
    reference
        Labelled rows that the model was not trained on, such as the validation set.

    Examples
    --------
    argmetric monitor 'scores/*.parquet' --reference val.parquet --time scored_at
    argmetric monitor new.csv --reference val.csv --every 1000 --floor 0.6
    argmetric monitor a.csv --scores 'p_*' --one-label --reference v.csv --time t
    """
    source = io.gathered(o.file, o.more)
    if o.output is not None:
        io.refuse_bad_target(o.output)
        if not o.output.lower().endswith((".json", ".csv")):
            raise UsageError(
                f"-o {o.output}: the name of the file must end in .json or .csv; "
                "--report writes a page"
            )
    if o.append is not None:
        State.check_file(o.append)
    exclude(o, "rule", "threshold", "decision_column")
    checked("monitor", o)
    every = _length(o.every, o.time)
    if o.reference is None and o.append is None:
        raise UsageError("pass --reference FILE: labelled rows to compare with")
    if o.one_label:
        return _ended(o, source, *_of_classes(o, source, every), None)
    chosen, metric = o.threshold, metric_named(o.metric, o.zero_division)
    if o.rule is not None:
        chosen = io.load_rule(o.rule)
        if chosen.probabilities == o.logits:
            was, way_out = "scores, not on probabilities", "pass --logits if they are"
            if o.logits:
                was, way_out = "probabilities", "leave out --logits if they are not"
            raise files.DataError(
                f"{o.rule} was tuned on {was}: {way_out} log-odds, here and in the "
                "reference"
            )
        metric = chosen.metric if o.metric is None else metric
        if is_named(chosen) and o.pos_label is None:  # it has seen both classes
            o = o.but(pos_label=str(chosen.pos_label))
    options = {
        "every": every,
        **o.only("shift", "coverage", "floor", "false_alarms", "logits", "average"),
    }
    average_of(o.average, o.group)
    labelled = True if o.decision_column else None if chosen is None else False
    reader, reference, before = RowReader(o, labelled), _reference(o), None
    compared: Any = (metric, chosen, reference, options)
    late = [] if o.late_labels is None else io.listed(o.late_labels, remote=True)
    alone = only_run(o.append) if o.append else nullcontext()
    with alone, warnings_in(reader.notes):
        paths = io.listed(source, remote=True)
        if o.append is None:
            found = _over(reader, None, paths, late, *compared)
        else:
            same = o.only("zero_division", "threshold", "decision_column")
            same |= {**options, **o.only("time", "by", "group")}
            asked = {f"--{k.replace('_', '-')}": v for k, v in same.items()}
            asked["--metric"] = metric.name
            asked["--rule"] = chosen.to_dict() if o.rule is not None else None
            state = State.load(o.append, asked, reference)
            fresh = state.new_files([*paths, *late], reader.notes)
            names = [os.path.relpath(one[0]) for one in fresh]
            labelled_now = {os.path.relpath(one) for one in late}
            paths = [one for one in names if one not in labelled_now]
            late = [one for one in names if one in labelled_now]
            before, reader.zoned = state.monitoring, state.zoned
            found = _over(reader, before, paths, late, *compared)
            if names and found is not None:
                state.save(o.append, found, fresh, reader.zoned)
    return _ended(o, source, found, reader, len(paths), before)


def _of_classes(
    o: Given, source: io.Input, every: int | str
) -> tuple[am.classes.ClassMonitoring | None, RowReader, int]:
    """Periods of rows of one of several classes, which are read at once."""
    metric, _ = metric_of(o, "classes")  # wrong usage comes before the files
    rule = None if o.rule is None else io.load_rule(o.rule, "classes")
    labelled = True if o.decision_column else None if rule is None else False
    reader, paths = RowReader(o, labelled, rule=rule), io.listed(source, remote=True)
    with reading(io.shown_input(source)), warnings_in(reader.notes):
        rows = reader.at_once(paths)
        if rows is None:
            return None, reader, len(paths)
        classes = io.as_classes([*reader.columns])
        if rule is not None and o.metric is None:
            metric = rule.metric
        else:
            metric, _ = metric_of(o, "classes", len(classes))
        _, *known = read_reference(o, o.scores, reader.columns)
        p, labels = rows.pop("p"), rows.pop("labels")
        how = {**rows, **o.only("shift", "coverage", "false_alarms", "logits")}
        how |= {"classes": classes, "reference": tuple(known), "every": every}
        decided = rule if labels is None else labels
        try:
            found = am.classes.monitor(p, decided, metric, **how)
        except (ValueError, TypeError) as error:
            raise files.DataError(f"{io.shown_input(source)}: {error}") from error
    return found, reader, len(paths)


def _ended(
    o: Given, source: io.Input, found: Any, reader: RowReader, n_files: int, before: Any
) -> int:
    """Tell what was found, write it, and say which alarms are new."""
    if found is None:
        raise files.DataError(f"{io.shown_input(source)} has no rows")
    summary = _summary(found, reader, io.shown_input(source), n_files)
    summary |= {"state": o.append, "output": o.output}
    if o.output is not None:
        if o.output.lower().endswith(".json"):
            found.save(o.output)
        else:
            frame = found.to_frame("pyarrow")
            files.write_table(files.Table(frame, "csv", o.output), o.output, "csv")
    if o.report is not None:
        save(am.report(found), o.report)
    used = ", ".join(f"{k} {v!r}" for k, v in summary["columns"].items())
    n, level = _report.count(n_files, "file"), 100 * summary["false_alarms"]
    alarms_of_a_year = f"{level:g} % chance of a false alarm per year"
    parts = [(x.start, x) for x in found.periods[-_SHOWN_PERIODS:]]
    last = ((name, x.periods[-1]) for name, x in getattr(found, "segments", {}).items())
    parts += [*last][:_SHOWN_SEGMENTS]
    facts = [
        ("rows", f"{reader.rows:,} of {n} ({used or 'none is new'})"),
        _report.metric_asked(found.metric),
        ("decision", summary["decision"]),
        found.lines()[0],
        ("alarms", f"{summary['alarms']}; {alarms_of_a_year}"),
        *((name, "  ".join(one.cells())) for name, one in parts),
    ]
    notes = [("note", one) for one in (*summary["notes"], found._notes()[-1])]
    _report.tell("monitor", summary, facts, json=o.json, notes=notes)
    alarms = _alarms(found, before)
    for where, raised in alarms.items():
        newest, many = raised[-1], _report.count(len(raised), "period")
        when = f"{newest.start} to {newest.end} ({newest.alarm})"
        say(f"alarm{where}: {many}, the last {when}")
    return GATE_NOT_MET if alarms else DONE


def _length(every: str | None, time: str | None) -> int | str:
    if every is None and time is None:
        raise UsageError(
            "pass --time COLUMN, or --every with a number of rows, to make periods"
        )
    if every is not None and time is None and not every.isdecimal():
        raise UsageError(
            f"--every {every} needs --time COLUMN; without times pass a number of rows"
        )
    value = int(every) if every is not None and every.isdecimal() else every
    try:
        text = watching.check_every(value, with_time=time is not None).text
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    return int(text) if text.isdecimal() else text


def _reference(o: Given) -> tuple[Any, ...] | None:
    """Labels and scores of --reference, and segments where it has the column."""
    if o.reference is None:
        return None
    if io.is_saved(o.reference):
        raise UsageError(
            f"--reference {o.reference} is a saved map or rule: monitor compares with "
            "labelled rows, and needs these"
        )
    table, y, p = read_reference(o, o.score or "")
    if y.min() == y.max():
        raise files.DataError(
            f"{o.reference}: every label is {y[0]}; rows of both classes are needed"
        )
    if o.by is None or o.by not in table.names:
        return y, p
    codes, ids = files.groups(table, files.named_column(table, o.by))
    return y, p, np.array([str(one) for one in ids], dtype=object)[codes]


def _over(
    reader: RowReader,
    found: am.Monitoring | None,
    paths: list[str],
    late: list[str],
    metric: Any,
    chosen: Any,
    reference: Any,
    options: dict[str, Any],
) -> am.Monitoring | None:
    """What was counted before, with the rows of the files and labels that are late."""
    if found is not None and reader.labelled is None:  # as when the state was begun
        reader.labelled = found.watch.rule is None
    overlap = None if reference is None else watching.Overlap(reference[1])
    with reading(paths[0] if len(paths) == 1 else f"{len(paths)} files"):
        for path in paths:
            for block in reader.blocks(path):
                if overlap is not None:
                    overlap.add(block["p"])
                try:
                    if found is not None:
                        found = found.add(**block)
                        continue
                    if not reader.labelled and chosen is None:
                        chosen = am.tune(reference[0], reference[1], metric)
                        reader.notes.append(
                            f"rows are predicted by {rule_text(chosen, 'score')}, the "
                            "best threshold on the reference: --rule or --threshold "
                            "names another"
                        )
                    how = {**options, **block, "reference": reference}
                    p, labels = how.pop("p"), how.pop("labels")
                    decided = labels if reader.labelled else chosen
                    found = am.monitor(p, decided, metric, **how)
                except (ValueError, TypeError) as error:
                    raise files.DataError(f"{path}: {error}") from error
    for path in late if found is not None else ():
        for block in reader.blocks(path):
            some = with_labels(block, path)
            try:
                if some["p"].size:
                    found = found.add_labels(**some)  # type: ignore[union-attr]
            except (ValueError, TypeError) as error:
                said, cut, _ = str(error).partition(": rows are added")
                said = said.replace("y has", "it has")
                more = "; rows are counted first, with the same score and time"
                raise files.DataError(f"{path}: {said}{more * bool(cut)}") from error
    reader.check()
    if overlap is not None and overlap.message:
        reader.notes += [overlap.message] * (overlap.message not in reader.notes)
    return found


# -------------------------------------------------------------------------- telling


def _summary(
    found: Any, reader: RowReader, source: str, n_files: int
) -> _report.Values:
    """Return what was found, as docs/results.rst tells it."""
    watch, rule, metric = found.watch, found.watch.rule, found.metric
    zero, segments = metric.zero_division, getattr(found, "segments", {})
    if reader.o.one_label:
        classes, reference = (
            [str(one) for one in watch.classes],
            [watch.code.size, None],
        )
        decision = "the most probable class" if rule is None else "the rule"
        decision = "a column" if watch.passed else decision
    else:
        classes, reference = None, watch.reference.sum(axis=1).tolist()
        reference[0] += reference[1]
        decision = "a column" if rule is None else f"score >= {rule}"
        if isinstance(rule, am.Rule):
            decision = rule_text(rule, "score")
    alarms = [len(one.alarms) for one in (found, *segments.values())]
    same = ("shift", "coverage", "floor", "false_alarms")
    return {
        "file": source,
        "files": n_files,
        "rows": reader.rows,
        "columns": dict(reader.names),
        "metric": metric.name,
        "greater_is_better": metric.greater_is_better,
        "zero_division": "nan" if math.isnan(zero) else zero,
        "convention": metric.convention,
        "decision": decision,
        "classes": classes,
        "reference_rows": reference[0],
        "reference_positives": reference[1],
        "average": getattr(watch, "average", None),
        "every": watch.every.text,
        **{name: getattr(watch, name, None) for name in same},
        "alarms": sum(alarms),
        "periods": [values_of(one) for one in found.periods],
        "segments": [
            {"segment": name, "periods": [values_of(x) for x in one.periods]}
            for name, one in segments.items()
        ],
        "notes": [*dict.fromkeys([*reader.notes, *found._notes()[:-1]])],
    }


def _alarms(found: Any, before: am.Monitoring | None) -> dict[str, list[Any]]:
    """Alarms of periods that have new rows; of the last one where there are none."""
    alarms: dict[str, list[Any]] = {}
    for name, one in (("", found), *getattr(found, "segments", {}).items()):
        old = before
        if before is not None and name:
            old = before.segments.get(name)
        counted = {} if old is None else {x.start: x.n for x in old.periods}
        new = [x for x in one.periods if counted.get(x.start) != x.n]
        raised = [x for x in new or one.periods[-1:] if x.alarm]
        if raised:
            alarms[f" in {name}" if name else ""] = raised
    return alarms
