"""The table of options: of each its type, check, help, group and default.

A command names those that it takes (`argmetric.cli._command`); the docstring of the
command has the help of an option that means something of its own there.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric.cli import _values as values
from argmetric.scale.files import Format, Written

Average = Literal["groups", "pooled"]
WideAverage = Literal["macro", "micro", "samples"]
ClassAverage = Literal["macro", "weighted"]
AnyAverage = Literal["groups", "pooled", "macro", "micro", "samples", "weighted"]
ZeroDivision = Literal["0", "1", "nan"]

COLUMNS = values.COLUMNS
METRIC = Group("Metric", sort_key=2)
LIMITS = Group("Limits", sort_key=3)
RULE = Group("Rule", sort_key=4)
CALIBRATION = Group("Calibration", sort_key=5)
FORECAST = Group("Forecast", sort_key=6)
OUTPUT = values.OUTPUT
MANY = Group("Many files", sort_key=8)

FRACTION = Number(gte=0, lte=1)
INNER_FRACTION = Number(gt=0, lt=1)
COUNT = Number(gte=0, lte=2**53)
AMOUNT = Number(gte=0, lt=math.inf)
FINITE = Number(gt=-math.inf, lt=math.inf)
_SEED = Number(gte=0, lt=2**32)
MAX_LINE = "64MiB"
OTHER_ENCODING = "pass --encoding, for instance latin-1"


def with_help(help: str) -> Parameter:
    """Return the help of an option that several commands share."""
    return Parameter(help=help)


FilePath = Annotated[str, Parameter(converter=values.path, metavar="FILE")]
WrittenPath = Annotated[str, Parameter(converter=values.written_path, metavar="FILE")]
Flag = Parameter(negative="", show_default=False)
ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
Json = Annotated[
    bool, Flag, Parameter(group=OUTPUT), with_help("Print the answer as JSON.")
]
Encoding = Annotated[str, Parameter(metavar="NAME", help="The encoding of the text.")]
METRICS = (
    "The metric: f1, f2, f0.5 (f with any beta), jaccard, mcc, gmean and more; see "
    "`argmetric metrics`."
)
_MOST = Parameter(converter=values.count_or_percent, metavar="COUNT|PERCENT")
_PATTERN = Parameter(metavar="PATTERN")
_WHOLE = Parameter(converter=values.whole)
_PART = Annotated[float | None, Parameter(validator=FRACTION)]
_EFFECT = Number(gte=0, lte=5)
_AVERAGE = (
    'With --group: "groups" is the mean of the metric over groups{}, "pooled" is the '
    "metric of all rows together."
)

RowsFile = Annotated[
    FilePath,
    with_help(
        "One row for each item: CSV, TSV, JSONL (also .gz or .zst), Parquet, Arrow or "
        "Excel; - is standard input. A pattern such as 'part-*.csv' is several files, "
        "taken one after the other."
    ),
]
MoreFiles = Annotated[FilePath, with_help("More files with the same columns.")]


def _option(
    type_: Any, group: Group | None, help: str = "", default: Any = None, *how: Any
) -> tuple[Any, Any]:
    """Return the type of an option with all that the parser needs, and its default."""
    place = Parameter(group=group) if group else Parameter()  # None would hide it
    shown = (place, *how, *([with_help(help)] if help else []))
    if type_ is bool:
        default, shown = bool(default), (Flag, *shown)
    return Annotated[type_, *shown], default


def table(
    group: Group | None, helps: str, /, **types: Any
) -> dict[str, tuple[Any, Any]]:
    """Return options of a group: of each its type, or type and default, and help."""
    told, found = dict(values.entries(helps)), {}
    for name, type_ in types.items():
        type_, default = type_ if isinstance(type_, tuple) else (type_, None)
        found[name] = _option(type_, group, told.get(name, ""), default)
    return found


OPTIONS: dict[str, tuple[Any, Any]] = {
    # What is read
    **table(
        COLUMNS,
        """
        score: The column of probabilities. By default the one called score, prob,
            proba, probability, p, y_score, y_prob or the like.
        logits: The scores are logits (log-odds), not probabilities.
        scores: With a column for each of several labels: the columns of their scores,
            as in 'p_*'. The part that * matches is the name of the label.
        labels: With --scores: the columns of their true labels, as in 'y_*'.
        one_label: Every row has one of several classes, whose names are in the column
            of --label. --zero-division is then the score of a class that is neither
            true nor predicted [default: nan].
        group: The column of group ids (orders, queries, topics), in any order. The
            metric is then taken in each group and averaged as --average says.
        label: The column of true labels, for the actual score. By default the one
            called label, y, y_true or target.
        pos_label: The value that means "positive" where labels are not 0/1 or
            true/false.
        weight: The column of weights of the rows.
        format: The format of the input, if neither its name nor its content shows it.
        encoding: The encoding of the input; output is UTF-8.
        max_line: The longest line of text that is read.
        decimal: The decimal sign of numbers in text: , reads 0,25 as 0.25.
        decision_column: The column of decisions. By default the one called decision,
            prediction, predicted, pred or y_pred.
        """,
        score=ColumnName | None,
        logits=bool,
        scores=Annotated[str | None, _PATTERN],
        labels=Annotated[str | None, _PATTERN],
        one_label=bool,
        group=Annotated[ColumnName | None, Parameter(alias="--groups")],
        label=ColumnName | None,
        pos_label=Annotated[str | None, Parameter(metavar="VALUE")],
        weight=ColumnName | None,
        format=Format | None,
        encoding=(Encoding, "utf-8"),
        max_line=(Annotated[str, Parameter(metavar="SIZE")], MAX_LINE),
        decimal=(Literal[".", ","], "."),
        decision_column=ColumnName | None,
    ),
    # What decisions are judged by, and bounded
    **table(
        METRIC,
        f"""
        metric: {METRICS} [default: f1]
        average: {_AVERAGE.format(" (default)")} With --scores: "macro" is the mean over
            labels (default), "samples" the mean over rows, "micro" the metric of all
            cells together. With --one-label: "macro" is the mean over classes
            (default), "weighted" weighs a class by its rows.
        zero_division: The score of an empty answer where nothing is positive (0/0): 0,
            1, or nan to leave the case out. [default: 0]
        choice: "best" is the threshold with the best score, "one-se" the one with the
            fewest positives whose score is within a standard error of it.
        """,
        metric=Annotated[str | None, Parameter(alias="-m", metavar="NAME")],
        average=AnyAverage | None,
        zero_division=ZeroDivision | None,
        choice=(Literal["best", "one-se"], "best"),
        no_label=bool,
        cost_fp=Annotated[float | None, Parameter(validator=AMOUNT)],
        cost_fn=Annotated[float | None, Parameter(validator=AMOUNT)],
    ),
    **table(
        LIMITS,
        """
        max_positives: Choose at most this many (500), or this share of the rows (5%,
            rounded down); with --group, in each group.
        min_positives: Choose at least this many; with --group, in each group.
        per_row: With --scores: choose exactly this many labels in every row, for the
            mean over labels.
        min_precision: Keep the expected precision at or above this; with --group, in
            each group.
        min_recall: Keep the expected recall at or above this; with --group, in each
            group.
        min_specificity: Keep the share of negatives that are not chosen, on these rows,
            at or above this; a false-positive rate of at most 5 % is 0.95.
        min_npv: Keep the share of negatives among the rows that are not chosen, on
            these rows, at or above this.
        confidence: The limits hold for new rows with this probability, such as 0.95;
            without it they are kept in expectation, or on the rows given. The command
            fails where the labelled rows prove no threshold.
        for_rows: With --confidence: the limits hold for the next so many rows of their
            kind, and not for the population.
        """,
        max_positives=Annotated[int | str | None, _MOST],
        min_positives=(Annotated[int, _WHOLE, Parameter(validator=COUNT)], 0),
        per_row=Annotated[int | None, _WHOLE, Parameter(validator=COUNT)],
        min_precision=_PART,
        min_recall=_PART,
        min_specificity=_PART,
        min_npv=_PART,
        confidence=Annotated[float | None, Parameter(validator=INNER_FRACTION)],
        for_rows=Annotated[int | None, _WHOLE, Parameter(validator=Number(gte=1))],
    ),
    # Rules and maps
    **table(
        RULE,
        """
        rule: A rule of `argmetric tune`: its threshold decides, and its metric is
            forecast.
        """,
        rule=FilePath | None,
        threshold=Annotated[float | None, Parameter(validator=FINITE)],
    ),
    **table(
        CALIBRATION,
        """
        reference: What is known of these scores: labelled rows with scores of the same
            model that it was not trained on, or a map of `argmetric calibrate`. The
            map, or the one that is fitted on the rows, is applied to the scores first.
        reference_score: The column of scores of the reference. By default the same as
            in the rows, or the only one with a default name.
        reference_label: The column of labels of the reference. By default that of
            --label, or the one called label, y, y_true or target.
        prior: The current share of positives, if it differs from the one in training;
            "estimate" estimates it by comparing the scores with those of --reference,
            assuming that each class still has the scores it had there.
        """,
        reference=FilePath | None,
        reference_score=ColumnName | None,
        reference_label=ColumnName | None,
        prior=Annotated[
            float | Literal["estimate"] | None,
            Parameter(converter=values.share_or_estimate, metavar="SHARE|estimate"),
        ],
        map=FilePath | None,
    ),
    # Forecasts and gates
    **table(
        FORECAST,
        """
        known: The column of labels that have arrived, empty where they have not: they
            are used as they are, and the interval shrinks.
        coverage: The probability that the interval contains the score.
        overdispersion: The standard deviation of an effect on the log-odds that all
            rows share; widens the interval.
        """,
        known=ColumnName | None,
        coverage=(Annotated[float, Parameter(validator=INNER_FRACTION)], 0.9),
        overdispersion=(Annotated[float, Parameter(validator=_EFFECT)], 0.0),
    ),
    # How the work is done
    **table(
        None,
        """
        seed: The seed of the random numbers.
        jobs: The number of threads for groups, -1 for one on each core; results do not
            depend on it.
        """,
        seed=(Annotated[int, _WHOLE, Parameter(validator=_SEED)], 0),
        jobs=Annotated[
            int | None, _WHOLE, Parameter(alias="-j", validator=values.jobs)
        ],
    ),
    **table(
        MANY,
        """
        engine: Threads of this machine, or a Dask cluster: that of --scheduler, or
            processes that are started for the run.
        scheduler: The address of a Dask scheduler, such as tcp://10.0.0.1:8786.
        memory: The memory to use, such as 2GB. A larger file is read in pieces.
            [default: half of the machine]
        on_error: Whether a file that cannot be read, or has other columns, stops the
            run, or is skipped and listed.
        work_dir: The folder for intermediate files, about 24 bytes a row; all workers
            must see it. [default: beside the output, or the folder of temporary files]
        """,
        engine=(Literal["local", "dask"], "local"),
        scheduler=Annotated[str | None, Parameter(metavar="ADDRESS")],
        memory=Annotated[str | None, Parameter(metavar="SIZE")],
        on_error=(Literal["stop", "skip"], "stop"),
        work_dir=Annotated[FilePath | None, Parameter(metavar="FOLDER")],
    ),
    "missing_groups": _option(
        Literal["error", "own"],
        MANY,
        "Whether rows without a group are an error, or form a group of their own.",
        "error",
    ),
    "resume": _option(bool, MANY, "Continue a run that was stopped."),
    # What is written
    "output": _option(
        WrittenPath | None,
        OUTPUT,
        "The file to write, replaced whole or not at all. By default, or for -, the "
        "rows go to standard output in the format of the input.",
        None,
        Parameter(alias="-o"),
    ),
    **table(
        OUTPUT,
        """
        output_format: The format of the output, if its name does not show it.
        new_decisions: The name of the column of decisions that is added.
        report: Also write a report: a page (.html), Markdown (.md), JSON (.json) or
            text (.txt).
        fail_under: Exit with code 3 if the score is worse than this: below it, or above
            it for a metric that is minimised.
        fail_on: What --fail-under judges: the mean of the forecast, or the worse end of
            its interval.
        """,
        output_format=Written | None,
        new_decisions=(
            Annotated[ColumnName, Parameter(name="--decision-column")],
            "decision",
        ),
        calibrated_column=(ColumnName, "calibrated"),
        report=WrittenPath | None,
        fail_under=Annotated[float | None, Parameter(validator=FINITE)],
        fail_on=(Literal["mean", "interval"], "mean"),
    ),
    "json": (Json, False),
}


def option(
    type_: Any,
    group: Group | None = None,
    default: Any = None,
    help: str = "",
    **how: Any,
) -> tuple[Any, Any]:
    """Return an option of one command; gt, gte, lt and lte bound a number."""
    bounds = {name: how.pop(name) for name in ("gt", "gte", "lt", "lte") if name in how}
    if bounds:
        how["validator"] = Number(**bounds)
    return _option(type_, group, help, default, Parameter(**how))


# The same options for commands that have signatures of their own
IN_FILE = Parameter(group=COLUMNS)
Column = Annotated[ColumnName | None, IN_FILE]
LearnedLabel = Annotated[Column, Parameter(alias="--target")]
LabelValue = Annotated[str | None, IN_FILE, Parameter(metavar="VALUE")]
Seed = OPTIONS["seed"][0]
ReportTarget = OPTIONS["report"][0]
Drop = Annotated[
    list[str] | None,
    IN_FILE,
    Parameter(metavar="COLUMN", negative=""),
    with_help(
        "A column that is not a feature, such as an id; repeat the option for several."
    ),
]
INPUT_FORMAT = Parameter(
    group=COLUMNS,
    help="The format of the input, if neither its name nor its content shows it.",
)
OUTPUT_FORMAT = Parameter(
    group=OUTPUT, help="The format of the output, if its name does not show it."
)
NAMED_METRIC = Parameter(alias="-m", metavar="NAME", group=METRIC, help=METRICS)
AverageOver = Annotated[
    Average | None,
    Parameter(group=METRIC),
    with_help(f"{_AVERAGE.format('')} [default: groups]"),
]
NewColumn = Annotated[ColumnName, Parameter(group=OUTPUT)]
Target = Annotated[WrittenPath | None, Parameter(group=OUTPUT, alias="-o")]
TextTarget = Annotated[
    Target,
    with_help(
        "The file to write, replaced whole or not at all. By default standard output."
    ),
]
JsonSummary = Annotated[
    Json,
    with_help(
        "Print the summary as JSON to standard output; rows are then written only to "
        "--output."
    ),
]
