"""``argmetric calibrate``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import METHOD_WORDS, Method
from argmetric._files import Format
from argmetric._input.label_words import Spelled
from argmetric._input.validation import Probabilities
from argmetric._results.whole_files import writing
from argmetric.cli import _option_sets as sets
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, refuse
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import (
    find_score,
    grouping,
    load_groups,
    load_labels,
    load_weights,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._many import IN_MEMORY, NO_PIECES, PieceOptions
from argmetric.cli.scores._recalibrate import read_calibrator
from argmetric.cli.scores._rows import (
    Input,
    gathered,
    refuse_shared_output,
    rows_out,
)
from argmetric.cli.scores._rules import refuse_bad_target

if TYPE_CHECKING:
    from argmetric import CalibrationCheck, Calibrator
    from argmetric._calibration_check import Route

_MOST_CHECKED = 1 << 22  # rows of files that are checked; of more, a sample
_MAPS = ", ".join(f"{name} ({words})" for name, words in METHOD_WORDS.items())


def calibrate(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    scores: sets.Scores = sets.DEFAULT_SCORES,
    wide: sets.Wide = sets.NOT_WIDE,
    one_label: opt.OneLabel = False,
    columns: sets.Columns = sets.DEFAULT_COLUMNS,
    weight: opt.Weight = None,
    judge: sets.Judge = sets.DEFAULT_JUDGE,
    method: Annotated[
        Method | Literal["matrix"] | None,
        Parameter(
            group=opt.CALIBRATION,
            help=f"The kind of map: {_MAPS}; with --one-label, matrix (the default) or "
            f"temperature. [default: {DEFAULT}]",
        ),
    ] = None,
    map: Annotated[opt.FilePath | None, Parameter(group=opt.CALIBRATION)] = None,
    seed: opt.Seed = 0,
    output: opt.Target = None,
    output_format: Annotated[
        opt.OutputFormat,
        Parameter(
            help="With --map: the format of the rows, where the name of the file does "
            "not say it."
        ),
    ] = None,
    calibrated_column: opt.NewColumn = "calibrated",
    json: opt.Json = False,
    pieces: PieceOptions = NO_PIECES,
) -> int:
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
    calibrated_column
        With --map: the name of the column that is added.
    """
    source = gathered(file, more)
    in_pieces = pieces.asked_for(source)
    if one_label:
        from argmetric.cli.scores._class_commands import calibrate_classes
        from argmetric.cli.scores._classes import UNSUPPORTED

        refuse(IN_MEMORY, one_label=in_pieces)
        refuse(UNSUPPORTED, map=map, weight=weight, output_format=output_format)
        if method not in (None, "matrix", "temperature"):
            raise UsageError(
                f"--method {method}: with --one-label it is matrix or temperature"
            )
        if output is not None:
            refuse_bad_target(output)
        options: dict[str, Any] = {"method": method, "seed": seed, "output": output}
        return calibrate_classes(
            source, wide, scores, columns, judge, **options, json=json
        )
    if wide.asked:
        raise UsageError("--scores needs --one-label here: a map has one column")
    if method == "matrix":
        raise UsageError("--method matrix is for class probabilities: --one-label")
    if map is not None:
        refuse(IN_MEMORY, map=in_pieces)
        refuse(
            "--map is applied as it is; {} has no effect beside it",
            method=method,
            weight=weight,
            label=columns.label,
            pos_label=columns.pos_label,
            group=columns.group,
            metric=judge.metric,
            average=judge.average,
            zero_division=judge.zero_division,
        )
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
        refuse(IN_MEMORY, format=columns.format)
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
    asked = _report.described(table, metric, groups, **used)
    summary = _summary(asked, calibrator, check, output)
    return _tell(summary, check, json=json)


def _in_pieces(
    file: Input,
    scores: sets.Scores,
    columns: sets.Columns,
    judge: sets.Judge,
    pieces: PieceOptions,
    output: str | None,
    seed: int,
    *,
    weight: str | None,
    method: Method,
) -> tuple[_report.Values, CalibrationCheck]:
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
    asked = _report.pieces_described(file, calibrator.n, None, average, **used)
    asked |= _report.metric_described(metric)
    return _summary(asked, calibrator, check, output), check


def _summary(
    asked: _report.Values,
    calibrator: Calibrator,
    check: CalibrationCheck,
    output: str | None,
) -> _report.Values:
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


def _tell(summary: _report.Values, check: CalibrationCheck, *, json: bool) -> int:
    facts = partial(_check_facts, check=check)
    notes = [("note", note) for note in check.notes]
    return _report.tell("calibrate", summary, facts, json=json, notes=notes)


def _apply(
    file: Input,
    path: str,
    scores: sets.Scores,
    columns: sets.Columns,
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
    summary: _report.Values = {
        **_report.rows_described(table, score=score),
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "mean_before": None if scores.logits else float(p.mean()),
        "mean": float(mended.mean()),
        "output": out.target,
    }
    out.write(table, {name: mended}, numeric=frozenset({score}))
    facts = partial(_map_facts, map=f"{calibrator.formula} ({calibrator.summary})")
    return _report.tell(
        "calibrate", summary, facts, json=json, stderr=True, unwritten="rows"
    )


def _map_facts(summary: _report.Values, map: str) -> _report.Facts:
    before = summary["mean_before"]
    was = "" if before is None else f", was {_report.number(before)}"
    return [
        ("rows", _report.rows_asked(summary)),
        ("map", map),
        ("mean", f"{_report.number(summary['mean'])}{was}"),
    ]


def _check_facts(summary: _report.Values, check: CalibrationCheck) -> _report.Facts:
    from argmetric._calibration_check import marked, reworded

    share = check.n_positives / check.n
    decides, forecasts = reworded(
        check.advice, "pass the map as --calibrator", "take the cut of argmetric tune"
    )
    expected = {"decide": check.expected, "recalibrate": check.expected_recalibrated}
    return [
        *_report.asked(summary),
        ("truth", f"{check.n_positives:,} positive ({100 * share:.1f} % of the rows)"),
        ("decide with p?", f"{check.fit_to_decide}: {decides}"),
        ("forecast with p?", f"{check.fit_to_forecast}: {forecasts}"),
        *(
            (one.words, _scored(one, expected.get(one.name), marked(check, one)))
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


def _scored(route: Route, expected: float | None, mark: str) -> str:
    text = _report.number(route.score)
    if expected is not None:
        text += f", expected {_report.number(expected)}"
    if route.name != "decide":
        text += f" ({route.gain:+.4f} ± {route.gain_standard_error:.4f})"
    return f"{text}, {mark}" if mark else text


def _pair(value: float, error: float) -> str:
    return f"{value:.4f} ± {error:.4f}"
