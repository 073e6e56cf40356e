"""``argmetric monitor``."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from cyclopts import Parameter

import argmetric as am
from argmetric import _files as files
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import DONE, GATE_NOT_MET, UsageError, say
from argmetric.cli._judge import average_of, metric_named
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import reading
from argmetric.cli.scores._layout import is_named
from argmetric.cli.scores._maps import read_reference
from argmetric.cli.scores._monitor_rows import (
    RowReader,
    State,
    check_state_file,
    only_run,
    with_labels,
)
from argmetric.cli.scores._monitor_tell import alarms_of, summary_of, tell, write
from argmetric.cli.scores._page import require
from argmetric.cli.scores._refusals import checked, exclude
from argmetric.cli.scores._rows import gathered, listed, shown_input
from argmetric.cli.scores._rules import load_rule, refuse_bad_target, rule_text

_ENDINGS = (".html", ".md", ".txt", ".json", ".csv")
_OWN = {
    **opt.table(
        opt.COLUMNS,
        """
        time: The column of times: dates, times or ISO text, in any order.
        by: A column of segments, such as countries: each is monitored by itself, too.
        late_labels: A file or a pattern of rows that were counted before without
            labels, and have them now: score, time, label, and the other columns that
            are used.
        """,
        time=opt.ColumnName | None,
        by=opt.ColumnName | None,
        late_labels=opt.FilePath | None,
    ),
    **opt.table(
        opt.FORECAST,
        """
        every: The length of a period: day, week, month, quarter, 2w, or a number of
            rows. [default: week]
        shift: What may have happened: "auto" weighs all readings, "none" adjusts
            nothing, "prior" takes it that only the share of positives moved.
        floor: A score that is still good enough: an alarm is raised below it.
        false_alarms: The probability of an alarm of each kind in a year in which
            nothing happens.
        """,
        every=Annotated[str | None, Parameter(metavar="LENGTH")],
        shift=(Literal["auto", "none", "prior"], "auto"),
        floor=Annotated[float | None, Parameter(validator=opt.FINITE)],
        false_alarms=(Annotated[float, Parameter(validator=opt.INNER_FRACTION)], 0.05),
    ),
    **opt.table(
        opt.OUTPUT,
        """
        append: A file that keeps what was counted: files in it are not read again, and
            those that are new are added. It is made if it is not there.
        output: Also write a page (.html), Markdown (.md), text (.txt), all numbers
            (.json, which `Monitoring.load` reads) or a row per period (.csv).
        """,
        append=opt.WrittenPath | None,
        output=opt.Target,
    ),
}


@command(
    "score logits time by group label late_labels decision_column pos_label metric "
    "average zero_division rule threshold reference reference_score reference_label "
    "every shift coverage floor false_alarms append output json format encoding "
    "max_line decimal",
    changed={"average": (opt.AverageOver, None), **_OWN},
)
def monitor(o: Given) -> int:
    """Say whether the model is still good, period by period, before the labels come.

    Each period has a forecast of the score and a verdict: fine, share moved, or cannot
    say without labels. Rows are predicted by --rule, --threshold or --decision-column,
    else by a column called decision, prediction, predicted, pred or y_pred, else by the
    threshold that is best on the reference. The exit code is 3 on an alarm.

    Parameters
    ----------
    label
        The column of true labels, empty where they have not come. By default the one
        called label, y, y_true or target.
    threshold
        Rows of this score and above are predicted positive.
    reference
        Labelled rows that the model was not trained on, such as the validation set.
    """
    source = gathered(o.file, o.more)
    if o.output is not None:
        _check_output(o.output)
    if o.append is not None:
        check_state_file(o.append)
    exclude(o, "rule", "threshold", "decision_column")
    chosen, metric = o.threshold, metric_named(o.metric, o.zero_division)
    if o.rule is not None:
        chosen = load_rule(o.rule)
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
    options: dict[str, Any] = {
        "every": _length(o.every, o.time),
        **o.only("shift", "coverage", "floor", "false_alarms", "logits", "average"),
    }
    average_of(o.average, o.group)
    checked("monitor", o)
    if o.reference is None and o.append is None:
        raise UsageError("pass --reference FILE: labelled rows to compare with")
    labelled = True if o.decision_column else None if chosen is None else False
    reader = RowReader(o, labelled)
    watch = _Watch(reader, metric, chosen, _reference(o), options)
    late = [] if o.late_labels is None else listed(o.late_labels, remote=True)
    before, notes = None, reader.notes
    with only_run(o.append) if o.append else nullcontext(), warnings_in(notes):
        paths = listed(source, remote=True)
        if o.append is None:
            found = watch.over(None, paths, late)
        else:
            same = o.only("zero_division", "threshold", "decision_column")
            same |= {**options, **o.only("time", "by", "group")}
            asked = {f"--{k.replace('_', '-')}": v for k, v in same.items()}
            asked["--metric"] = metric.name
            asked["--rule"] = chosen.to_dict() if o.rule is not None else None
            state = State.load(o.append, asked, watch.reference)
            fresh = state.new_files([*paths, *late], notes)
            names = [os.path.relpath(one[0]) for one in fresh]
            labelled_now = {os.path.relpath(one) for one in late}
            paths = [one for one in names if one not in labelled_now]
            late = [one for one in names if one in labelled_now]
            before, reader.zoned = state.monitoring, state.zoned
            found = watch.over(before, paths, late)
            if names and found is not None:
                state.save(o.append, found, fresh, reader.zoned)
    if found is None:
        raise files.DataError(f"{shown_input(source)} has no rows")
    summary = summary_of(found, reader, shown_input(source), len(paths))
    summary |= {"state": o.append, "output": o.output}
    if o.output is not None:
        write(found, o.output)
    tell(summary, found, json=o.json)
    alarms = alarms_of(found, before)
    for where, raised in alarms.items():
        last, many = raised[-1], _report.count(len(raised), "period")
        say(f"alarm{where}: {many}, the last {last.start} to {last.end} ({last.alarm})")
    return GATE_NOT_MET if alarms else DONE


def _check_output(path: str) -> None:
    refuse_bad_target(path)
    if not path.lower().endswith(_ENDINGS):
        known = f"{', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"
        raise UsageError(f"-o {path}: the name of the file must end in {known}")
    if path.lower().endswith(".html"):
        require(path)


def _length(every: str | None, time: str | None) -> int | str:
    from argmetric._monitor import check_every

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
        text = check_every(value, with_time=time is not None).text
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    return int(text) if text.isdecimal() else text


def _reference(o: Given) -> tuple[Any, ...] | None:
    """Labels and scores of --reference, and segments where it has the column."""
    if o.reference is None:
        return None
    table, y, p = read_reference(o, o.score or "")
    if y.min() == y.max():
        raise files.DataError(
            f"{o.reference}: every label is {y[0]}; rows of both classes are needed"
        )
    if o.by is None or o.by not in table.names:
        return y, p
    codes, ids = files.groups(table, files.named_column(table, o.by))
    return y, p, np.array([str(one) for one in ids], dtype=object)[codes]


class _Watch(NamedTuple):
    """What rows are compared with, and how."""

    reader: RowReader
    metric: Any
    chosen: Any
    reference: tuple[Any, ...] | None
    options: dict[str, Any]

    def over(
        self, found: am.Monitoring | None, paths: list[str], late: list[str]
    ) -> am.Monitoring | None:
        """What was counted before, with the rows of the files."""
        from argmetric._monitor import Overlap

        reader, notes = self.reader, self.reader.notes
        if found is not None and reader.labelled is None:  # as when the state was begun
            reader.labelled = found.watch.rule is None
        overlap = None if self.reference is None else Overlap(self.reference[1])
        blocks = ((path, block) for path in paths for block in reader.blocks(path))
        with reading(paths[0] if len(paths) == 1 else f"{len(paths)} files"):
            for path, block in blocks:
                if overlap is not None:
                    overlap.look(block["p"])
                try:
                    found = self._begun(block) if found is None else found.add(**block)
                except (ValueError, TypeError) as error:
                    raise files.DataError(f"{path}: {error}") from error
        blocks = ((path, block) for path in late for block in reader.blocks(path))
        for path, block in blocks:
            if found is None:
                break
            some = with_labels(block, path)
            try:
                found = found.add_labels(**some) if some["p"].size else found
            except (ValueError, TypeError) as error:
                said, cut, _ = str(error).partition(": rows are added")
                said = said.replace("y has", "it has")
                more = "; rows are counted first, with the same score and time"
                raise files.DataError(f"{path}: {said}{more * bool(cut)}") from error
        reader.check()
        if overlap is not None and overlap.message and overlap.message not in notes:
            notes.append(overlap.message)
        return found

    def _begun(self, block: dict[str, Any]) -> am.Monitoring:
        """The first rows, with what predicts labels where no column has them."""
        assert self.reference is not None
        rule: Any = self.chosen
        how = {**self.options, **block, "reference": self.reference}
        p, labels = how.pop("p"), how.pop("labels")
        if not self.reader.labelled and rule is None:
            rule = am.tune(self.reference[0], self.reference[1], self.metric)
            self.reader.notes.append(
                f"rows are predicted by {rule_text(rule, 'score')}, the best threshold "
                "on the reference: --rule or --threshold names another"
            )
        decided = labels if self.reader.labelled else rule
        return am.monitor(p, decided, self.metric, **how)
