"""``argmetric calibrate``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import METHOD_WORDS, Method
from argmetric._input.label_words import Spelled
from argmetric._results.whole_files import writing
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _maps as maps
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores._load import load_weights
from argmetric.cli.scores._refusals import checked
from argmetric.cli.scores._rows import (
    Input,
    gathered,
    refuse_shared_output,
    rows_out,
)
from argmetric.cli.scores._rules import refuse_bad_target

_MOST_CHECKED = 1 << 22  # rows of files that are checked; of more, a sample
_MAPS = ", ".join(f"{name} ({words})" for name, words in METHOD_WORDS.items())
_METHOD = (
    Annotated[
        Method | Literal["matrix"] | None,
        Parameter(
            group=opt.CALIBRATION,
            help=f"The kind of map: {_MAPS}; with --one-label, matrix (the default) or "
            f"temperature. [default: {DEFAULT}]",
        ),
    ],
    None,
)


@command(
    f"score logits {layout.COLUMNS} {layout.READING} weight {layout.JUDGED} method map "
    f"seed output output_format calibrated_column json {pieces.RUNNING}",
    changed={"method": _METHOD},
)
def calibrate(o: Given) -> int:
    """Check probabilities against labels; fit or apply a map that recalibrates them.

    Without --map, the command prints how much score is lost by deciding with the
    probabilities as they are, and writes the map to --output. Use labels that the model
    was not trained on. `argmetric decide --calibrator` and `argmetric forecast
    --calibrator` apply the map.

    With --map, the rows are written with a column of calibrated probabilities added.

    A folder or a pattern such as `'labelled/*.parquet'`, and a file larger than
    --memory, are read in pieces.

    Parameters
    ----------
    map
        Apply this map, which an earlier call wrote, instead of fitting one.
    output
        The file for the map (JSON), or with --map for the rows; replaced whole or not
        at all. Rows go to standard output by default.
    output_format
        With --map: the format of the rows, where the name of the file does not say it.
    calibrated_column
        With --map: the name of the column that is added.
    """
    source = gathered(o.file, o.more)
    checked("calibrate", o)
    way = layout.way_of(o)
    if way == "classes" and o.method not in (None, "matrix", "temperature"):
        raise UsageError(
            f"--method {o.method}: with --one-label it is matrix or temperature"
        )
    if way == "one" and o.method == "matrix":
        raise UsageError("--method matrix is for class probabilities: --one-label")
    in_pieces = pieces.asked("calibrate", o, source)
    if o.map is not None:
        refuse_shared_output(o.output, json=o.json)
        return _apply(o, source)
    layout.metric_of(o, way)  # wrong usage comes before the file is read
    if o.output is not None:
        refuse_bad_target(o.output)
    if in_pieces:
        return _calibrate_pieces(o, source)
    rows = layout.read(o, source, labels="required")
    with progress(f"calibrating on {rows.table.n_rows:,} rows"):
        from argmetric import calibrate as fitted
        from argmetric import calibration_check

        how: dict[str, Any] = {"logits": rows.logits, "method": o.method}
        y = rows.y
        if way == "classes":
            how["classes"] = rows.classes
        else:
            y, weights = y.astype(bool), load_weights(rows.table, o.weight)
            how |= {"method": o.method or DEFAULT, "sample_weight": weights}
        calibrator = fitted(y, rows.checked, **how)
        metric: Any = rows.metric
        if way == "classes":
            metric, how["groups"] = o.metric or "f1", rows.how["groups"]
            how |= {} if o.average is None else {"average": o.average}
            if o.zero_division is not None:
                how["zero_division"] = float(o.zero_division)
        else:
            how |= rows.how
        check = calibration_check(y, rows.checked, metric, random_state=o.seed, **how)
    rows.metric = check.metric
    table = lines.checked_classes(check) if way == "classes" else None
    return _told(o, rows.described(), lines.asked_of(rows), calibrator, check, table)


def _told(
    o: Given,
    described: _report.Values,
    asked: _report.Facts,
    calibrator: Any,
    check: Any,
    table: Any = None,
) -> int:
    """Write the map, and tell what was found."""
    if o.output is not None:
        with writing(o.output):
            calibrator.save(o.output)
    values = {
        **described,
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "check": check.to_dict(),
        "output": o.output,
    }
    facts = [*asked, *lines.check_facts(check, calibrator)]
    notes = [("note", note) for note in check.notes]
    return _report.tell(
        "calibrate", values, facts, json=o.json, table=table, notes=notes
    )


def _calibrate_pieces(o: Given, source: Input) -> int:
    """Fit a map on files of any size, and check as many of their rows as may be."""
    from argmetric import scale

    score, label = scale.columns_of(
        source,
        score=(o.score, files.SCORE_NAMES + files.LOGIT_NAMES),
        label=(o.label, files.LABEL_NAMES),
    )
    used = {"score": score, "label": label, "weight": o.weight}
    metric, average = layout.metric_of(o, "one")
    options: dict[str, Any] = {
        **used,
        "logits": o.logits,
        "method": o.method or DEFAULT,
    }
    options |= {"pos_label": Spelled(o.pos_label), "random_state": o.seed}
    with pieces.running(o) as how:
        calibrator = scale.calibrate(source, **options, **how)
        check = scale.calibration_check(
            source,
            metric,
            group=o.group,
            average=average,
            n_sample=None if o.group is not None else _MOST_CHECKED,
            **options,
            **how,
        )
    described = pieces.described(source, calibrator.n, **used, group=o.group)
    asked = lines.asked(described, metric)
    return _told(o, described, asked, calibrator, check)


def _apply(o: Given, source: Input) -> int:
    """Write rows with a column of calibrated probabilities."""
    calibrator = maps.read_calibrator(o.map)
    rows = layout.read(o, source, labels="none")
    new = {o.calibrated_column: "--calibrated-column"}
    out = rows_out(rows.table, o.output, o.output_format, json=o.json, new=new)
    with progress(f"calibrating {rows.table.n_rows:,} rows"):
        mended = calibrator.apply(rows.p, logits=rows.logits)
    before = None if rows.logits else float(rows.p.mean())
    values = {
        **rows.described(),
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "mean_before": before,
        "mean": float(mended.mean()),
        "output": out.target,
    }
    out.write(
        rows.table,
        {o.calibrated_column: mended},
        numeric=frozenset(rows.columns.values()),
    )
    was = "" if before is None else f", was {_report.number(before)}"
    facts = [
        ("rows", _report.rows_asked(values)),
        ("map", f"{calibrator.formula} ({calibrator.summary})"),
        ("mean", f"{_report.number(values['mean'])}{was}"),
    ]
    return _report.tell(
        "calibrate",
        values,
        facts,
        json=o.json,
        stderr=True,
        unwritten="rows",
    )
