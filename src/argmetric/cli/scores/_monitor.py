"""``argmetric monitor``: the command, and what it tells."""

from __future__ import annotations

import math
import os
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

import argmetric as am
from argmetric import _monitor as watching
from argmetric._monitor import values_of
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Arguments, command
from argmetric.cli._errors import DONE, GATE_NOT_MET, UsageError, naming, say
from argmetric.cli._learning import average_of, metric_named, warnings_in
from argmetric.cli._values import flag_of, refuse_bad_target
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._lines import rule_text, save
from argmetric.cli.scores._monitor_rows import RowReader, State, only_run, with_labels
from argmetric.scale import files

_SHOWN_PERIODS, _SHOWN_SEGMENTS = 60, 20
_PROMISING = am.ReviewRule, am.ParityRule  # their promises are monitored
# Options without a meaning for these
_OF_METRIC = "metric average zero_division floor by append late_labels"


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
        A score that is still good enough: periods say whether it may be missed, and an
        alarm is raised where the last 4 together are below it.
    false_alarms
        The probability of an alarm of each kind in a year in which nothing happens.
    """

    every: Annotated[str | None, opt.shown("LENGTH")]
    shift: Literal["auto", "none", "prior"] = "auto"
    floor: opt.Finite
    false_alarms: opt.InnerFraction = 0.05


class _Files(opt.Options, group=opt.OUTPUT):
    """Options of the files that `monitor` keeps and writes.

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


_OWN = _Rows, _Periods, _Files, opt.OverGroups


@command(
    "score scores one_label mean logits time by group label late_labels "
    "decision_column pos_label metric average zero_division rule threshold reference "
    "reference_score reference_label every shift coverage floor false_alarms append "
    f"output report json {layout.READING}",
    *_OWN,
)
def monitor(o: Arguments) -> int:
    """Forecast the score of each period before its labels arrive, and raise alarms.

    Each period has a forecast of the score and a verdict: no shift, prevalence shift,
    or cannot say without labels. Rows are predicted by --rule, --threshold or
    --decision-column, else by a column called decision, prediction, predicted, pred or
    y_pred, else by the threshold that is best on the reference. The exit code is 3 on
    an alarm. Of a rule that leaves rows to a person, or that has a threshold for each
    group, the promises are monitored.

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
    source = io.join_inputs(o.file, o.more)
    refuse_bad_target(o.output)
    if not (o.output or ".csv").lower().endswith((".json", ".csv")):
        raise UsageError(
            f"-o {o.output}: the name of the file must end in .json or .csv; "
            "--report writes a page"
        )
    if o.append is not None:
        State.check_file(o.append)
    io.exclude(o, "rule", "threshold", "decision_column")
    io.check_options("monitor", o)
    every = _length(o.every, o.time)
    if o.reference is None and o.append is None:
        raise UsageError(
            "pass --reference FILE: labelled rows to compare with; without any, "
            "argmetric forecast takes the rows of each period"
        )
    if o.rule is not None:
        of_classes = (am.classes.ClassReviewRule,) if o.one_label else ()
        promising: tuple[type, ...] = of_classes or _PROMISING
        rule = io.load_rule(o.rule, layout.way_of(o), *promising)
        if isinstance(rule, promising):
            return _of_promise(o, source, every, rule)
    work = _of_classes if o.one_label else _in_blocks
    return _answer(o, source, work(o, source, every))


class _Run(NamedTuple):
    """Periods of some files, None without rows, and those known before."""

    periods: Any
    reader: RowReader
    n_files: int
    before: am.Monitoring | None = None


def _in_blocks(o: Arguments, source: io.Input, every: int | str) -> _Run:
    """Count rows file by file, on top of what --append keeps."""
    decider, metric = o.threshold, metric_named(o.metric, o.zero_division)
    if o.rule is not None:
        decider = _checked_rule(o)
        metric = decider.metric if o.metric is None else metric
        if layout.is_named(decider) and o.pos_label is None:  # it has seen both classes
            o = o.but(pos_label=str(decider.pos_label))
    options = o.only("shift", "coverage", "floor", "false_alarms", "logits", "average")
    options |= {"every": every}
    if o.floor is not None:
        with naming("--floor"):
            watching.check_floor(o.floor, metric)
    average_of(o.average, o.group)
    labelled = True if o.decision_column else None if decider is None else False
    reader, reference = RowReader(o, labelled), _reference(o)
    count = _Count(reader, metric, decider, reference, options)
    late = [] if o.late_labels is None else io.list_files(o.late_labels, remote=True)
    alone = only_run(o.append) if o.append else nullcontext()
    with alone, warnings_in(reader.notes):
        paths = io.list_files(source, remote=True)
        if o.append is None:
            return _Run(count.periods(paths, late), reader, len(paths))
        same = o.only("zero_division", "threshold", "decision_column")
        same |= {**options, **o.only("time", "by", "group")}
        fixed = {f"--{k.replace('_', '-')}": v for k, v in same.items()}
        fixed["--metric"] = metric.name
        fixed["--rule"] = decider.to_dict() if o.rule is not None else None
        state = State.load(o.append, fixed, reference)
        fresh = state.new_files([*paths, *late], reader.notes)
        names = [os.path.relpath(one[0]) for one in fresh]
        labelled_now = {os.path.relpath(one) for one in late}
        paths = [one for one in names if one not in labelled_now]
        late = [one for one in names if one in labelled_now]
        before, reader.zoned = state.monitoring, state.zoned
        found = count.periods(paths, late, before)
        if names and found is not None:
            state.save(o.append, found, fresh, reader.zoned)
    return _Run(found, reader, len(paths), before)


def _checked_rule(o: Arguments) -> am.Rule:
    """Read the rule; one that was tuned on another kind of scores is refused."""
    rule: am.Rule = io.load_rule(o.rule)
    if rule.probabilities == o.logits:
        was, way_out = "scores, not on probabilities", "pass --logits if they are"
        if o.logits:
            was, way_out = "probabilities", "leave out --logits if they are not"
        raise files.DataError(
            f"{o.rule} was tuned on {was}: {way_out} log-odds, here and in the "
            "reference"
        )
    return rule


def _of_classes(o: Arguments, source: io.Input, every: int | str) -> _Run:
    """Return periods of rows of one of several classes, which are read at once."""
    metric, _ = layout.metric_of(o, "classes")  # wrong usage comes before the files
    rule = None if o.rule is None else io.load_rule(o.rule, "classes")
    labelled = True if o.decision_column else None if rule is None else False
    reader = RowReader(o, labelled, rule=rule)
    paths = io.list_files(source, remote=True)
    with _report.reading(io.shown_input(source)), warnings_in(reader.notes):
        rows = reader.at_once(paths, source)
        classes = rule.classes if rule else io.as_classes([*reader.columns])
        if rule is not None and o.metric is None:
            metric = rule.metric
        else:
            metric, _ = layout.metric_of(o, "classes", len(classes))
        named = o.scores or o.mean
        _, *known = layout.read_reference(o, named, reader.columns, rule)
        how = {"classes": classes, "reference": tuple(known), "every": every}
        labels = rows.pop("labels")
        decided = rule if labels is None else labels
        found = _watch(o, source, decided, metric, **rows, **how)
    return _Run(found, reader, len(paths))


def _watch(
    o: Arguments, source: io.Input, decided: Any, *metric: Any, **how: Any
) -> Any:
    """Monitor rows that were read at once."""
    verb: Any = am.classes.monitor if o.one_label else am.monitor
    how |= o.only("shift", "coverage", "false_alarms", "logits")
    p = how.pop("p")
    if o.mean is not None:
        how["mean"], p = p, None
    with naming(io.shown_input(source)):
        return verb(p, decided, *metric, **how)


def _of_promise(o: Arguments, source: io.Input, every: int | str, rule: Any) -> int:
    """Monitor what a rule of several thresholds promises; rows are read at once."""
    parity = rule if isinstance(rule, am.ParityRule) else None
    group = [] if parity else ["group"]
    for name in (*_OF_METRIC.split(), *group, *(["logits"] if o.one_label else [])):
        if o.has(name):
            raise UsageError(
                f"{flag_of(name)} has no meaning with {o.rule}: what is monitored is "
                "what the rule promises"
            )
    if parity and o.group is None:
        raise UsageError(
            f"{o.rule} has a threshold for each group: pass --group COLUMN"
        )
    if not o.one_label:
        one = rule.cuts[0] if parity is None else parity.rules[0]
        if layout.is_named(one) and o.pos_label is None:
            o = o.but(pos_label=str(one.pos_label))
    reader = RowReader(o, False, rule=rule if o.one_label else None, parity=parity)
    paths = io.list_files(source, remote=True)
    table, *reference = layout.read_reference(o, o.score or "", rule=reader.rule)
    if not o.one_label:
        layout.require_both_classes(o.reference, reference[0])
    if parity and o.group in table.names:
        groups = io.load_groups(table, o.group)
        assert groups is not None
        groups = io.groups_of_rule(table, o, groups, parity)
        reference.append(groups.ids[groups.codes])
    with _report.reading(io.shown_input(source)), warnings_in(reader.notes):
        rows = reader.at_once(paths, source)
        del rows["labels"]
        rows |= {"reference": tuple(reference), "every": every}
        found = _watch(o, source, rule, **rows)
    facts = [*found.lines()]
    facts += [(x.start, "  ".join(x.cells())) for x in found.periods[-_SHOWN_PERIODS:]]
    values: _report.Values = {
        "file": io.shown_input(source),
        "rows": reader.rows,
        "columns": dict(reader.names),
        "rule": rule.to_dict(),
        "alarms": len(found.alarms),
        "periods": [x.to_dict() for x in found.periods],
        "notes": [*dict.fromkeys([*reader.notes, *found.notes])],
    }
    return _tell(o, _Run(found, reader, len(paths)), values, facts)


def _answer(o: Arguments, source: io.Input, counted: _Run) -> int:
    """Print the periods, write them, and say which alarms are new."""
    found, reader, n_files, _ = counted
    if found is None:
        raise files.DataError(f"{io.shown_input(source)} has no rows")
    values = _values(found, reader, io.shown_input(source), n_files)
    values |= {"state": o.append, "output": o.output}
    level = 100 * values["false_alarms"]
    alarms_of_a_year = f"{level:g} % probability of a false alarm per year"
    parts = [(x.start, x) for x in found.periods[-_SHOWN_PERIODS:]]
    last = ((name, x.periods[-1]) for name, x in getattr(found, "segments", {}).items())
    parts += [*last][:_SHOWN_SEGMENTS]
    facts = [
        _report.metric_line(found.metric),
        ("decision", values["decision"]),
        found.lines()[0],
        ("alarms", f"{values['alarms']}; {alarms_of_a_year}"),
        *((name, "  ".join(one.cells())) for name, one in parts),
    ]
    note = found._notes()[-1].replace(": to_label(", ": in Python, to_label(")
    note = note.replace("pass them as known=", "add them as the column of --label")
    return _tell(o, counted, values, facts, note)


def _tell(
    o: Arguments, run: _Run, values: _report.Values, facts: _report.Facts, *notes: str
) -> int:
    """Write and print what was found; return the exit code."""
    found, reader, n_files, before = run
    _write(o, found)
    save(found, o.report)
    used = ", ".join(f"{k} {v!r}" for k, v in reader.names.items()) or "none is new"
    rows = f"{reader.rows:,} of {_report.count(n_files, 'file')} ({used})"
    said = [("note", one) for one in (*values["notes"], *notes)]
    facts = [("rows", rows), *facts]
    _report.print_answer("monitor", values, facts, json=o.json, notes=said)
    return _say_alarms(_alarms(found, before))


def _write(o: Arguments, found: Any) -> None:
    """Write a monitoring to -o: all of it as JSON, or a row per period."""
    if o.output is None:
        return
    if o.output.lower().endswith(".json"):
        found.save(o.output)
    else:
        frame = found.to_frame("pyarrow")
        files.write_table(files.Table(frame, "csv", o.output), o.output, "csv")


def _say_alarms(alarms: dict[str, list[Any]]) -> int:
    """Print the last alarm of each segment; return the exit code."""
    for where, raised in alarms.items():
        newest, many = raised[-1], _report.count(len(raised), "period")
        when = f"{newest.start} to {newest.end} ({newest.alarm})"
        say(f"alarm{where}: {many}, the last {when}")
    return GATE_NOT_MET if alarms else DONE


def _length(every: str | None, time: str | None) -> int | str:
    """Return the length of periods by --every and --time: rows, or such as "1w"."""
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
    except ValueError:
        wanted = "day, week, month, quarter, 2w or a number of rows"
        raise UsageError(f"--every must be {wanted}, not {every!r}") from None
    return int(text) if text.isdecimal() else text


def _reference(o: Arguments) -> tuple[Any, ...] | None:
    """Return labels and scores of --reference, and segments if it has the column."""
    if o.reference is None:
        return None
    if io.is_saved(o.reference):
        raise UsageError(
            f"--reference {o.reference} is a saved map or rule: monitor compares with "
            "labelled rows, and needs these"
        )
    table, y, p = layout.read_reference(o, o.score or "")
    layout.require_both_classes(o.reference, y)
    if o.by is None or o.by not in table.names:
        return y, p
    codes, ids = files.groups(table, files.named_column(table, o.by))
    return y, p, np.array([str(one) for one in ids], dtype=object)[codes]


@dataclass
class _Count:
    """Counter of rows of files by period; `decider` None: tuned on the reference."""

    reader: RowReader
    metric: Any
    decider: Any
    reference: tuple[Any, ...] | None
    options: dict[str, Any]

    def periods(
        self, paths: list[str], late: list[str], found: am.Monitoring | None = None
    ) -> am.Monitoring | None:
        """Return the monitoring with the rows of files and late labels added."""
        reader, overlap = self.reader, None
        if found is not None and reader.labelled is None:  # as when the state was begun
            reader.labelled = found.watch.rule is None
        if self.reference is not None:
            overlap = watching.Overlap(self.reference[1])
        with _report.reading(paths[0] if len(paths) == 1 else f"{len(paths)} files"):
            for path, block in ((x, one) for x in paths for one in reader.blocks(x)):
                if overlap is not None:
                    overlap.add(block["p"])
                with naming(path):
                    found = self._begin(block) if found is None else found.add(**block)
        if found is not None:
            for path, block in ((x, one) for x in late for one in reader.blocks(x)):
                found = _add_labels(found, with_labels(block, path), path)
        reader.check()
        if overlap is not None and overlap.message:
            reader.notes += [overlap.message] * (overlap.message not in reader.notes)
        return found

    def _begin(self, block: dict[str, Any]) -> am.Monitoring:
        """Monitor first rows."""
        reader = self.reader
        if not reader.labelled and self.decider is None:
            assert self.reference is not None
            self.decider = am.tune(self.reference[0], self.reference[1], self.metric)
            reader.notes.append(
                f"rows are predicted by {rule_text(self.decider, 'score')}, the "
                "best threshold on the reference: --rule or --threshold names another"
            )
        how = {**self.options, **block, "reference": self.reference}
        p, labels = how.pop("p"), how.pop("labels")
        decided = labels if reader.labelled else self.decider
        found: am.Monitoring = am.monitor(p, decided, self.metric, **how)
        return found


def _add_labels(found: am.Monitoring, some: dict[str, Any], path: str) -> am.Monitoring:
    """Add labels that came late, of rows that were counted."""
    try:
        return found.add_labels(**some) if some["p"].size else found
    except (ValueError, TypeError) as error:
        said, cut, _ = str(error).partition(": rows are added")
        said = said.replace("y has", "it has")
        more = "; rows are counted first, with the same score and time"
        raise files.DataError(f"{path}: {said}{more * bool(cut)}") from error


# -------------------------------------------------------------------------- telling


def _values(found: Any, reader: RowReader, source: str, n_files: int) -> _report.Values:
    """Return the monitoring as values of JSON, documented in docs/results.rst."""
    watch, rule, metric = found.watch, found.watch.rule, found.metric
    zero, segments = metric.zero_division, getattr(found, "segments", {})
    if reader.o.one_label:
        classes: Any = [str(one) for one in watch.classes]
        reference = [watch.code.size, None]
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
    """Return alarms by segment, of periods with new rows or else of the last one."""
    alarms: dict[str, list[Any]] = {}
    old = {} if before is None else {"": before, **before.segments}
    for name, one in {"": found, **getattr(found, "segments", {})}.items():
        counts = {x.start: x.n for x in old[name].periods} if name in old else {}
        new = [x for x in one.periods if counts.get(x.start) != x.n]
        if raised := [x for x in new or one.periods[-1:] if x.alarm]:
            alarms[f" in {name}" if name else ""] = raised
    return alarms
