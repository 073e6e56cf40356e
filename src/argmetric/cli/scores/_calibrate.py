"""``argmetric calibrate``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import METHOD_WORDS, Method
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
    rows, calibrator, check = (_in_pieces if in_pieces else _fitted)(o, source)
    if o.output is not None:
        with writing(o.output):
            calibrator.save(o.output)
    values = {
        **rows.described(),
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "check": check.to_dict(),
        "output": o.output,
    }
    facts = [*lines.asked_of(rows), *lines.check_facts(check, calibrator)]
    table = lines.checked_classes(check) if way == "classes" else None
    notes = [("note", note) for note in check.notes]
    return _report.tell(
        "calibrate", values, facts, json=o.json, table=table, notes=notes
    )


def _fitted(o: Given, source: Input) -> tuple[layout.Rows, Any, Any]:
    """Return rows, the map that is fitted on them, and the check of both."""
    from argmetric import calibrate as fitted
    from argmetric import calibration_check

    rows = layout.read(o, source, labels="required")
    with progress(f"calibrating on {rows.table.n_rows:,} rows"):
        how: dict[str, Any] = {"logits": rows.logits, "method": o.method}
        y, metric, more = rows.y, rows.metric, rows.how
        if rows.way == "classes":
            how["classes"], metric = more.pop("classes"), o.metric or "f1"
            more |= {} if o.average is None else {"average": o.average}
            if o.zero_division is not None:
                more["zero_division"] = float(o.zero_division)
        else:
            y, weights = y.astype(bool), load_weights(rows.table, o.weight)
            how |= {"method": o.method or DEFAULT, "sample_weight": weights}
        calibrator = fitted(y, rows.checked, **how)
        how |= {**more, "random_state": o.seed}
        check = calibration_check(y, rows.checked, metric, **how)
    rows.metric = check.metric
    return rows, calibrator, check


def _in_pieces(o: Given, source: Input) -> tuple[layout.Rows, Any, Any]:
    """Fit a map on files of any size, and check as many of their rows as may be."""
    from argmetric import scale

    used = pieces.columns(o, source, "score", "label", logits=True)
    used["weight"] = o.weight
    metric, average = layout.metric_of(o, "one")
    how = {**used, "logits": o.logits, "method": o.method or DEFAULT}
    how |= {"pos_label": pieces.spelled(o), "random_state": o.seed}
    with pieces.running(o) as where:
        calibrator = scale.calibrate(source, **how, **where)
        most = None if o.group is not None else _MOST_CHECKED
        how |= {"group": o.group, "average": average, "n_sample": most}
        check = scale.calibration_check(source, metric, **how, **where)
    used["group"] = o.group
    return pieces.rows_of(source, calibrator.n, metric, **used), calibrator, check


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
    numeric = frozenset(rows.columns.values())
    out.write(rows.table, {o.calibrated_column: mended}, numeric=numeric)
    was = "" if before is None else f", was {_report.number(before)}"
    facts = [
        ("rows", _report.rows_asked(values)),
        ("map", f"{calibrator.formula} ({calibrator.summary})"),
        ("mean", f"{_report.number(values['mean'])}{was}"),
    ]
    how: Any = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.tell("calibrate", values, facts, **how)
