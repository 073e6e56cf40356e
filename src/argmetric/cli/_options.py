"""Options of all commands: type, check, help, group and default of each.

A class of `Options` lists those of a group: annotations are types, the docstring has
the help. A command names those that it takes (`argmetric.cli._command`); the docstring
of the command has the help of an option that means something of its own there.
"""

from __future__ import annotations

import inspect
import math
import re
from inspect import Signature
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric.cli import _values as values
from argmetric.scale.files import Format

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

REQUIRED: Any = Signature.empty
MAX_LINE = "64MiB"
OTHER_ENCODING = "pass --encoding, for instance latin-1"
METRICS = (
    "The metric: f1, f2, f0.5 (f with any beta), jaccard, mcc, gmean and more; see "
    "`argmetric metrics`."
)
_ENTRY = re.compile(r"\w+")


def bound(**limits: float) -> Parameter:
    """Return a validator that refuses numbers outside of limits: gt, gte, lt, lte."""
    return Parameter(validator=Number(**limits))


def shown(metavar: str, **how: Any) -> Parameter:
    """Return the parameter that shows an option's value by a name such as COLUMN."""
    return Parameter(metavar=metavar, **how)


def read_docstring(described: object) -> tuple[str, dict[str, str], list[str]]:
    """Return the text of a docstring, the help of each parameter, and the examples.

    Examples
    --------
    >>> text, helps, examples = read_docstring(bound)
    >>> text
    'Return a validator that refuses numbers outside of limits: gt, gte, lt, lte.'
    """
    whole = inspect.getdoc(described) or ""
    text, _, examples = whole.partition("\nExamples\n--------\n")
    text, *parts = re.split(r"\n(?:Parameters|Attributes)\n-+\n", text)
    helps: dict[str, str] = {}
    name = ""
    for line in "\n".join(parts).splitlines():
        if line.startswith(" "):
            helps[name] = f"{helps.get(name, '')} {line.strip()}".strip()
        elif found := _ENTRY.match(line):
            name = found[0]
    return text.rstrip(), helps, examples.splitlines()


class Options:
    """Options of a group; without a default one is None, or False for a flag."""

    table: ClassVar[dict[str, tuple[Any, Any]]] = {}

    def __init_subclass__(cls, group: Group | None = None) -> None:
        helps, types = read_docstring(cls)[1], get_type_hints(cls, include_extras=True)
        place = Parameter(group=group) if group else Parameter()  # None would hide it
        cls.table = {}
        for name in inspect.get_annotations(cls):
            type_, default = types[name], vars(cls).get(name)
            how = [place, *([Parameter(help=helps[name])] if name in helps else [])]
            if type_ is bool:
                default, how = bool(default), [_FLAG, *how]
            cls.table[name] = Annotated[type_, *how], default


_FLAG = Parameter(negative="", show_default=False)
_WHOLE = Parameter(converter=values.whole)
_OUT = Parameter(alias="-o")
FilePath = Annotated[str, Parameter(converter=values.path, metavar="FILE")]
WrittenPath = Annotated[str, Parameter(converter=values.written_path, metavar="FILE")]
Target = Annotated[WrittenPath | None, _OUT]
ColumnName = Annotated[str, shown("COLUMN")]
Pattern = Annotated[str | None, shown("PATTERN")]
Encoding = Annotated[str, shown("NAME")]
Count = Annotated[int | None, _WHOLE, bound(gte=0, lte=2**53)]
Positive = Annotated[int | None, bound(gte=1)]
Fraction = Annotated[float | None, bound(gte=0, lte=1)]
InnerFraction = Annotated[float, bound(gt=0, lt=1)]
Amount = Annotated[float | None, bound(gte=0, lt=math.inf)]
Finite = Annotated[float | None, bound(gt=-math.inf, lt=math.inf)]
NamedMetric = Annotated[str | None, shown("NAME", alias="-m")]
Seed = Annotated[int, _WHOLE, bound(gte=0, lt=2**32)]

RowsFile = Annotated[
    FilePath,
    Parameter(
        help="One row for each item: CSV, TSV, JSONL (also .gz or .zst), Parquet "
        "or Arrow; - is standard input. A pattern such as 'part-*.csv' is "
        "several files, taken one after the other."
    ),
]
MoreFiles = Annotated[FilePath, Parameter(help="More files with the same columns.")]


class Columns(Options, group=COLUMNS):
    """Options that name the columns to read, and how to read them.

    Attributes
    ----------
    score
        The column of probabilities. By default the one called score, prob, proba,
        probability, p, y_score, y_prob or the like.
    logits
        The scores are logits (log-odds), not probabilities.
    scores
        With a column for each of several labels: the columns of their scores, as in
        'p_*'. The part that * matches is the name of the label. A list such as 'a,b,c'
        names them one by one.
    labels
        With --scores: the columns of their true labels, as in 'y_*'.
    one_label
        Every row has one of several classes, whose names are in the column of --label.
        --zero-division is then the score of a class that is neither true nor predicted
        [default: nan].
    mean
        With --one-label, in place of --scores: the column of what a regression
        predicts, where classes are whole numbers in order.
    group
        The column of group ids (orders, queries, topics), in any order. The metric is
        then taken in each group and averaged as --average says; decide --by-group
        writes the score of each.
    label
        The column of true labels, for the actual score. By default the one called
        label, y, y_true or target.
    pos_label
        The value that means "positive" where labels are not 0/1 or true/false.
    weight
        The column of weights of the rows.
    format
        The format of the input, if neither its name nor its content shows it.
    encoding
        The encoding of the input; output is UTF-8.
    max_line
        The longest line of text that is read.
    decimal
        The decimal sign of numbers in text: , reads 0,25 as 0.25.
    decision_column
        The column of decisions. By default the one called decision, prediction,
        predicted, pred or y_pred.
    drop
        A column that is not a feature, such as an id; repeat the option for several.
    """

    score: ColumnName | None
    logits: bool
    scores: Pattern
    labels: Pattern
    one_label: bool
    mean: ColumnName | None
    group: Annotated[ColumnName | None, Parameter(alias="--groups")]
    label: ColumnName | None
    pos_label: Annotated[str | None, shown("VALUE")]
    weight: ColumnName | None
    format: Format | None
    encoding: Encoding = "utf-8"
    max_line: Annotated[str, shown("SIZE")] = MAX_LINE
    decimal: Literal[".", ","] = "."
    decision_column: ColumnName | None
    drop: Annotated[list[str] | None, shown("COLUMN", negative="")]


class TargetLabel(Options, group=COLUMNS):
    """Option --label of commands that learn."""

    label: Annotated[ColumnName | None, Parameter(alias="--target")]


class Metrics(Options, group=METRIC):
    """Options of the metric, its average and its conventions.

    Attributes
    ----------
    average
        With --group: "groups" is the mean of the metric over groups (default), "pooled"
        is the metric of all rows together. With --scores: "macro" is the mean over
        labels (default), "samples" the mean over rows, "micro" the metric of all cells
        together. With --one-label: "macro" is the mean over classes (default),
        "weighted" weighs a class by its rows.
    zero_division
        The score of an empty answer where nothing is positive (0/0): 0, 1, or nan to
        leave the case out. [default: 0]
    missed
        Positives that are no rows, as a detector has them: a count (12), a rate per
        positive among the rows (0.4), or two counts of a reference, found and missed
        (30,70). They are false negatives of the metric. Experimental.
    amount
        The column with what each row is worth if it is found, instead of a metric: the
        total is maximised, less --cost-fp for each false alarm. Experimental.
    cost_fp
        With --amount: the cost of a false alarm.
    """

    metric: Annotated[NamedMetric, Parameter(help=f"{METRICS} [default: f1]")]
    average: AnyAverage | None
    zero_division: ZeroDivision | None
    missed: Annotated[
        int | float | str | None,
        shown("COUNT|RATE|PAIR", converter=values.missed_positives, n_tokens=1),
    ]
    amount: ColumnName | None
    no_label: bool
    normal: bool
    cost_fp: Amount
    cost_fn: Amount


class OverGroups(Options, group=METRIC):
    """Option --average of commands that take one column of scores.

    Attributes
    ----------
    average
        With --group: "groups" is the mean of the metric over groups, "pooled" is the
        metric of all rows together. [default: groups]
    """

    average: Average | None


class Limits(Options, group=LIMITS):
    """Options that limit decisions.

    Attributes
    ----------
    max_positives
        Choose at most this many (500), or this share of the rows (5%, rounded down);
        with --group, in each group.
    max_per_class
        With --one-label: give a class to at most this many rows, such as cat=10 or
        cat=5%; for each class of its own.
    min_positives
        Choose at least this many; with --group, in each group.
    per_row
        With --scores: choose exactly this many labels in every row, for the mean over
        labels.
    min_precision
        Keep the expected precision at or above this; with --group, in each group.
    min_recall
        Keep the expected recall at or above this; with --group, in each group.
    min_specificity
        Keep the share of negatives that are not chosen, on these rows, at or above
        this; a false-positive rate of at most 5 % is 0.95.
    min_npv
        Keep the share of negatives among the rows that are not chosen, on these rows,
        at or above this.
    confidence
        The limits hold for new rows with this probability, such as 0.95; without it
        they are kept in expectation, or on the rows given. The command fails where the
        labelled rows prove no threshold.
    new_rows
        With --confidence: the limits hold for the next so many rows of their kind, and
        not for the population.
    review
        With --confidence: two thresholds. Rows are accepted, rejected, or left to a
        person. Experimental.
    parity
        With --group and --gap: a threshold for each group, so that recall or
        selection_rate hardly differs between them. Experimental.
    gap
        With --parity: the largest difference between two groups, such as 0.05; on these
        rows, or with --confidence on new ones. Experimental.
    """

    max_positives: Annotated[
        int | str | None, shown("COUNT|PERCENT", converter=values.count_or_percent)
    ]
    max_per_class: Annotated[
        list[str] | None, shown("CLASS=COUNT|PERCENT", negative="")
    ]
    min_positives: Annotated[int, _WHOLE, bound(gte=0, lte=2**53)] = 0
    per_row: Count
    min_precision: Fraction
    min_recall: Fraction
    min_specificity: Fraction
    min_npv: Fraction
    confidence: Annotated[float | None, bound(gt=0, lt=1)]
    new_rows: Annotated[int | None, _WHOLE, bound(gte=1)]
    review: bool
    parity: Annotated[str | None, shown("RATE")]
    gap: Annotated[float | None, bound(gt=0, lt=1)]


class Rules(Options, group=RULE):
    """Options of a rule or a threshold that decides, not the metric.

    Attributes
    ----------
    rule
        A rule of `argmetric tune`: its threshold decides, and its metric is forecast.
    """

    rule: FilePath | None
    threshold: Finite


class Reference(Options, group=CALIBRATION):
    """Options of labelled rows or of a prevalence, by which scores are recalibrated.

    Attributes
    ----------
    reference
        Labelled rows with scores of the same model that it was not trained on, or a
        calibrator of `argmetric calibrate`. The calibrator, or one that is fitted on
        the rows, is applied to the scores first.
    reference_score
        The column of scores of the reference. By default the same as in the rows, or
        the only one with a default name.
    reference_label
        The column of labels of the reference. By default that of --label, or the one
        called label, y, y_true or target.
    prior
        The current prevalence, if it differs from the one in training;
        "estimate" estimates it by comparing the scores with those of --reference,
        assuming that each class still has the scores it had there.
    """

    reference: FilePath | None
    reference_score: ColumnName | None
    reference_label: ColumnName | None
    prior: Annotated[
        float | Literal["estimate"] | None,
        shown("SHARE|estimate", converter=values.share_or_estimate),
    ]
    map: FilePath | None


class Forecasts(Options, group=FORECAST):
    """Forecasts.

    Attributes
    ----------
    known
        The column of labels that have arrived, empty where they have not: they are used
        as they are, and the interval shrinks.
    coverage
        The probability that the interval contains the score.
    overdispersion
        The standard deviation of an effect on the log-odds that all rows share; widens
        the interval.
    """

    known: ColumnName | None
    coverage: InnerFraction = 0.9
    overdispersion: Annotated[float, bound(gte=0, lte=5)] = 0.0


class Working(Options):
    """How the work is done.

    Attributes
    ----------
    seed
        The seed of the random numbers.
    jobs
        The number of threads for groups, -1 for one on each core; results do not depend
        on it.
    """

    seed: Seed = 0
    jobs: Annotated[int | None, _WHOLE, Parameter(alias="-j", validator=values.jobs)]


class Many(Options, group=MANY):
    """How files are worked on in pieces.

    Attributes
    ----------
    memory
        The memory to use, such as 2GB. A larger file is read in pieces. [default: half
        of the machine]
    on_error
        Whether a file that cannot be read, or has other columns, stops the run, or is
        skipped and listed.
    work_dir
        The folder for intermediate files, about 24 bytes a row. [default: beside the
        output, or the folder of temporary files]
    missing_groups
        Whether rows without a group are an error, or form a group of their own.
    resume
        Continue a run that was stopped.
    """

    memory: Annotated[str | None, shown("SIZE")]
    on_error: Literal["stop", "skip"] = "stop"
    work_dir: Annotated[FilePath | None, shown("FOLDER")]
    missing_groups: Literal["error", "own"] = "error"
    resume: bool


class Writing(Options, group=OUTPUT):
    """Options of the output of commands on rows.

    Attributes
    ----------
    output
        The file to write, replaced whole or not at all. By default, or for -, the rows
        go to standard output in the format of the input.
    output_format
        The format of the output, if its name does not show it.
    new_decisions
        The name of the column of decisions that is added.
    by_group
        Also write a row for each group, with its positives and its expected score.
    report
        Also write a report: a page (.html), Markdown (.md), JSON (.json) or text
        (.txt).
    fail_under
        Exit with code 3 if the score is worse than this: below it, or above it for a
        metric that is minimised.
    fail_on
        What --fail-under judges: the mean of the forecast, or the worse end of its
        interval.
    json
        Print the answer as JSON.
    """

    output: Target
    output_format: Format | None
    new_decisions: Annotated[ColumnName, Parameter(name="--decision-column")] = (
        "decision"
    )
    calibrated_column: ColumnName = "calibrated"
    by_group: WrittenPath | None
    report: WrittenPath | None
    fail_under: Finite
    fail_on: Literal["mean", "interval"] = "mean"
    json: bool


class Text(Options, group=OUTPUT):
    """Option --output of commands that write text.

    Attributes
    ----------
    output
        The file to write, replaced whole or not at all. By default standard output.
    """

    output: Target


class Summary(Options, group=OUTPUT):
    """Option --json of commands that write rows.

    Attributes
    ----------
    json
        Print the summary as JSON to standard output; rows are then written only to
        --output.
    """

    json: bool


_TABLES = Columns, Metrics, Limits, Rules, Reference, Forecasts, Working, Many, Writing
OPTIONS = {name: one for table in _TABLES for name, one in table.table.items()}
