"""``argmetric calibrate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import METHOD_WORDS, Method
from argmetric._files import Format
from argmetric._input.label_words import Spelled
from argmetric._input.validation import Probabilities
from argmetric._results.whole_files import writing
from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._option_sets import (
    DEFAULT_COLUMNS,
    DEFAULT_GROUP_JUDGE,
    DEFAULT_SCORES,
    Columns,
    GroupJudge,
    Judge,
    Scores,
)
from argmetric.cli._options import (
    CALIBRATION,
    FilePath,
    Json,
    MoreFiles,
    NewColumn,
    OutputFormat,
    RowsFile,
    Seed,
    Target,
    Weight,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import (
    Values,
    described,
    metric_described,
    rows_described,
)
from argmetric.cli.scores._inputs import Input, gathered, shown_input
from argmetric.cli.scores._load import (
    find_score,
    grouping,
    load_groups,
    load_labels,
    load_weights,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._many import NO_PIECES, Pieces, refuse_beside_pieces
from argmetric.cli.scores._recalibrate import read_calibrator
from argmetric.cli.scores._rows_out import refuse_shared_output, rows_out
from argmetric.cli.scores._rules import refuse_bad_target

if TYPE_CHECKING:
    from argmetric import CalibrationCheck, Calibrator
    from argmetric._calibration_check import Route

_MOST_CHECKED = 1 << 22  # rows of files that are checked; of more, a sample
_MAPS = ", ".join(f"{name} ({words})" for name, words in METHOD_WORDS.items())


def calibrate(
    file: RowsFile,
    /,
    *more: MoreFiles,
    scores: Scores = DEFAULT_SCORES,
    columns: Columns = DEFAULT_COLUMNS,
    weight: Weight = None,
    judge: GroupJudge = DEFAULT_GROUP_JUDGE,
    method: Annotated[
        Method | None,
        Parameter(
            group=CALIBRATION,
            help=f"The kind of map: {_MAPS}. [default: {DEFAULT}]",
        ),
    ] = None,
    map: Annotated[FilePath | None, Parameter(group=CALIBRATION)] = None,
    seed: Seed = 0,
    output: Target = None,
    output_format: Annotated[
        OutputFormat,
        Parameter(
            help="With --map: the format of the rows, where the name of the file does "
            "not say it."
        ),
    ] = None,
    calibrated_column: NewColumn = "calibrated",
    json: Json = False,
    pieces: Pieces = NO_PIECES,
) -> int:
    """Check probabilities against labels and fit a map that mends them, or apply one.

    Without --map: what deciding with the probabilities as they stand costs, in units of
    the metric, goes to standard output, and the map goes to --output. The labels must
    be ones that the model has not been trained on. `argmetric decide --calibrator` and
    `argmetric forecast --calibrator` use the map.

    With --map: the rows come out as they went in, with a column of calibrated
    probabilities added.

    A folder or a pattern such as 'labelled/*.parquet', and a file larger than --memory,
    are read in pieces.

    Parameters
    ----------
    map
        Apply this map, which an earlier call wrote, instead of fitting one.
    output
        The file for the map (JSON), or with --map for the rows; replaced whole or not
        at all. Rows go to standard output by default.
    calibrated_column
        With --map: the name of the column that is added.
    """
    source = gathered(file, more)
    in_pieces = pieces.asked_for(source)
    if map is not None:
        refuse_beside_pieces(map=in_pieces)
        _refuse_beside_map(columns, judge, weight, method)
        refuse_shared_output(output, json=json)
        return _apply(
            source, map, scores, columns, output, output_format, calibrated_column, json
        )
    if output_format is not None:
        raise UsageError("--output-format is about rows: pass --map too")
    metric = judge.resolved()
    judge.average_for(columns.group)
    if output is not None:
        refuse_bad_target(output)
    if in_pieces:
        refuse_beside_pieces(format=columns.format is not None)
        summary, check = _in_pieces(
            source,
            scores,
            columns,
            judge,
            pieces,
            output,
            seed,
            weight=weight,
            method=method or DEFAULT,
        )
        return _tell(summary, check, json=json)
    table = read_rows(source, **columns.reading)
    score = find_score(table, scores, taken=[columns.group, columns.label, weight])
    taken = [score, columns.group, weight]
    label, y = load_labels(table, columns, taken=taken)
    refuse_shared(score=score, label=label, group=columns.group, weight=weight)
    p = files.probabilities(table, score, logits=scores.logits)
    groups = load_groups(table, columns, judge)
    weights = load_weights(table, weight)
    with progress(f"calibrating on {table.n_rows:,} rows"):
        from argmetric import calibrate as fitted
        from argmetric import calibration_check

        labels, checked = y.astype(bool), Probabilities(p, scores.logits)
        how: dict[str, Any] = {"sample_weight": weights, "logits": scores.logits}
        how["method"] = method or DEFAULT
        calibrator = fitted(labels, checked, **how)
        check = calibration_check(
            labels, checked, metric, **grouping(groups), **how, random_state=seed
        )
    used = {"score": score, "label": label, "weight": weight}
    asked = described(table, metric, groups, **used)
    summary = _summary(asked, calibrator, check, output)
    return _tell(summary, check, json=json)


def _in_pieces(
    file: Input,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    pieces: Pieces,
    output: str | None,
    seed: int,
    *,
    weight: str | None,
    method: Method,
) -> tuple[Values, CalibrationCheck]:
    """Fit a map on files of any size, and check as many of their rows as may be."""
    from argmetric import scale

    score, label = scale.columns_of(
        file,
        score=(scores.score, files.SCORE_NAMES + files.LOGIT_NAMES),
        label=(columns.label, files.LABEL_NAMES),
    )
    used = {"score": score, "label": label, "weight": weight}
    metric, average = judge.resolved(), judge.average_for(columns.group)
    options: dict[str, Any] = {**used, "logits": scores.logits, "method": method}
    options |= {"pos_label": Spelled(columns.pos_label), "random_state": seed}
    with pieces.running() as how:
        calibrator = scale.calibrate(file, **options, **how)
        check = scale.calibration_check(
            file,
            metric,
            group=columns.group,
            average=average,
            n_sample=None if columns.group is not None else _MOST_CHECKED,
            **options,
            **how,
        )
    used["group"] = columns.group
    asked: Values = {
        "file": shown_input(file),
        "format": "parquet",
        "rows": calibrator.n,
        "columns": {role: name for role, name in used.items() if name is not None},
        "groups": None,
        "average": average,
        **metric_described(metric),
    }
    return _summary(asked, calibrator, check, output), check


def _summary(
    asked: Values, calibrator: Calibrator, check: CalibrationCheck, output: str | None
) -> Values:
    """What was found; the map is written first."""
    if output is not None:
        with writing(output):
            calibrator.save(output)
    return {
        **asked,
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "check": check.to_dict(),
        "output": output,
    }


def _tell(summary: Values, check: CalibrationCheck, *, json: bool) -> int:
    if json:
        _report.print_json(summary)
    else:
        _print_check(summary, check)
    return DONE


def _refuse_beside_map(
    columns: Columns, judge: Judge, weight: str | None, method: str | None
) -> None:
    given = {
        "--method": method,
        "--weight": weight,
        "--label": columns.label,
        "--pos-label": columns.pos_label,
        "--group": columns.group,
        "--metric": judge.metric,
        "--average": judge.average,
        "--zero-division": judge.zero_division,
    }
    for option, value in given.items():
        if value is not None:
            raise UsageError(
                f"--map is applied as it is; {option} has no effect beside it"
            )


def _apply(
    file: Input,
    path: str,
    scores: Scores,
    columns: Columns,
    output: str | None,
    output_format: Format | None,
    name: str,
    json: bool,
) -> int:
    calibrator = read_calibrator(path)
    table = read_rows(file, **columns.reading)
    score = find_score(table, scores)
    p = files.probabilities(table, score, logits=scores.logits)
    new = {name: "--calibrated-column"}
    out = rows_out(table, output, output_format, json=json, new=new)
    with progress(f"calibrating {table.n_rows:,} rows"):
        mended = calibrator.apply(p, logits=scores.logits)
    summary: Values = {
        **rows_described(table, score=score),
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "mean_before": None if scores.logits else float(p.mean()),
        "mean": float(mended.mean()),
        "output": out.target,
    }
    out.write(table, {name: mended}, numeric=frozenset({score}))
    if json:
        out.print_json(summary)
        return DONE
    target = _report.console(stderr=True)
    before = summary["mean_before"]
    was = "" if before is None else f", was {_report.number(before)}"
    facts = [
        ("rows", _report.rows_asked(summary)),
        ("map", f"{calibrator.formula} ({calibrator.summary})"),
        ("mean", f"{_report.number(summary['mean'])}{was}"),
    ]
    _report.print_facts(target, "argmetric calibrate", facts)
    _report.print_written(target, summary["output"])
    return DONE


def _print_check(summary: Values, check: CalibrationCheck) -> None:
    from argmetric._calibration_check import reworded

    target = _report.console(stderr=False)
    share = check.n_positives / check.n
    decides, forecasts = reworded(
        check.advice, "pass the map as --calibrator", "take the cut of argmetric tune"
    )
    expected = {"decide": check.expected, "recalibrate": check.expected_recalibrated}
    facts = [
        *_report.asked(summary),
        ("truth", f"{check.n_positives:,} positive ({100 * share:.1f} % of the rows)"),
        ("fit to decide with?", f"{check.fit_to_decide}: {decides}"),
        ("fit to forecast with?", f"{check.fit_to_forecast}: {forecasts}"),
        *(
            (one.words, _scored(one, expected.get(one.name), check._mark(one)))
            for one in check.routes
        ),
        ("slope", f"{_pair(check.slope, check.slope_standard_error)}, 1 is right"),
        (
            "intercept",
            f"{_pair(check.intercept, check.intercept_standard_error)}, 0 is right",
        ),
        ("ECE", f"{check.ece:.4f}, recalibrated {check.recalibrated.ece:.4f}"),
        ("map", summary["formula"]),
    ]
    _report.print_facts(target, "argmetric calibrate", facts)
    _report.print_notes(target, "note", check.notes)
    if summary["output"] is not None:
        _report.print_notes(target, "written", [summary["output"]])


def _scored(route: Route, expected: float | None, mark: str) -> str:
    text = _report.number(route.score)
    if expected is not None:
        text += f", expected {_report.number(expected)}"
    if route.name != "decide":
        text += f" ({route.gain:+.4f} ± {route.gain_standard_error:.4f})"
    return f"{text}, {mark}" if mark else text


def _pair(value: float, error: float) -> str:
    return f"{value:.4f} ± {error:.4f}"
