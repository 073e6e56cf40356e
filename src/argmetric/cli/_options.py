"""Options that several commands share; their docstrings are the help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from argmetric._files import Format
from argmetric.cli._errors import UsageError
from argmetric.metrics import Metric, get_metric

Average = Literal["groups", "pooled"]
ZeroDivision = Literal["0", "1", "nan"]

# A lone "-" looks like an option to the parser; it travels under another name.
_MARKED_STREAM = "<->"

COLUMNS = Group("Columns", sort_key=1)
METRIC = Group("Metric", sort_key=2)
LIMITS = Group("Limits", sort_key=3)
RULE = Group("Rule", sort_key=4)
CALIBRATION = Group("Calibration", sort_key=5)
FORECAST = Group("Forecast", sort_key=6)
OUTPUT = Group("Output", sort_key=7)

FRACTION = Number(gte=0, lte=1)
INNER_FRACTION = Number(gt=0, lt=1)
COUNT = Number(gte=0, lte=2**53)
AMOUNT = Number(gte=0, lt=math.inf)
FINITE = Number(gt=-math.inf, lt=math.inf)
_SEED = Number(gte=0, lt=2**32)
_MOST_JOBS = 10_000


def _jobs(type_: Any, value: Any) -> None:
    if value == 0:
        raise ValueError("Must not be 0.")
    if value is not None and abs(value) > _MOST_JOBS:
        raise ValueError(f"Must be at most {_MOST_JOBS:,}.")


def _told(help: str) -> Parameter:
    """What an option is for, in the words that every command has for it."""
    return Parameter(help=help)


def marked_streams(tokens: Sequence[str]) -> list[str]:
    """Return tokens in which a lone ``-`` cannot be taken for an option."""
    return [_MARKED_STREAM if token == "-" else token for token in tokens]


def unmarked(token: str) -> str:
    """Return a token as the user wrote it."""
    return "-" if token == _MARKED_STREAM else token


def _path(type_: Any, tokens: Sequence[Token]) -> str:
    return unmarked(tokens[0].value)


def _share_or_count(type_: Any, tokens: Sequence[Token]) -> int | float:
    """Read 500 as a count and 0.05 as a share."""
    text = tokens[0].value
    try:
        if text.lstrip("+").isdigit():
            return int(text)
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise ValueError("A count (500) or a share (0.05) is needed.")
    return share


FilePath = Annotated[str, Parameter(converter=_path, metavar="FILE")]
Flag = Parameter(negative="", show_default=False)
ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
IN_FILE = Parameter(group=COLUMNS)
_WRITTEN = Parameter(group=OUTPUT)
_MAPPED = Parameter(group=CALIBRATION)

# What is read
RowsFile = Annotated[
    FilePath,
    _told(
        "One row for each item: CSV, TSV, Parquet, Arrow or JSONL; - is standard input."
    ),
]
Column = Annotated[ColumnName | None, IN_FILE]
LabelValue = Annotated[str | None, IN_FILE, Parameter(metavar="VALUE")]
Weight = Annotated[Column, _told("The column of weights of the rows.")]
GroupColumn = Annotated[
    Column,
    Parameter(alias="--groups"),
    _told(
        "The column of group ids (orders, queries, topics), in any order. The metric "
        "is then taken in each group and averaged as --average says."
    ),
]
PosLabel = Annotated[
    LabelValue,
    _told('The value that means "positive" where labels are not 0/1 or true/false.'),
]
Drop = Annotated[
    list[str] | None,
    IN_FILE,
    Parameter(metavar="COLUMN"),
    _told("A column that is no feature, such as an id; repeat it for several."),
]
Decisions = Annotated[
    Column,
    _told(
        "The column of decisions. By default the one called decision, prediction, "
        "predicted, pred or y_pred."
    ),
]
INPUT_FORMAT = Parameter(
    group=COLUMNS,
    help="The format of the input, where neither its name nor its content says it.",
)
InputFormat = Annotated[Format | None, INPUT_FORMAT]
RuleFile = Annotated[
    FilePath | None,
    Parameter(group=RULE),
    _told(
        "A file of `argmetric tune`: its threshold decides, and its metric is forecast."
    ),
]

# What decisions are judged by, and bounded
METRICS = (
    "The metric: f1, f2, f0.5 (f with any beta), jaccard, mcc, gmean and more; see "
    "`argmetric metrics`."
)
NAMED_METRIC = Parameter(alias="-m", metavar="NAME", group=METRIC, help=METRICS)
MetricName = Annotated[str, NAMED_METRIC]
AverageOver = Annotated[
    Average | None,
    Parameter(group=METRIC),
    _told(
        'With --group: "groups" is the mean of the metric over groups, "pooled" is the '
        "metric of all rows together. [default: groups]"
    ),
]
ZeroOverZero = Annotated[
    ZeroDivision | None,
    Parameter(group=METRIC),
    _told(
        "What 0/0 counts (no positive, and none predicted): 0, 1, or nan to leave the "
        "case out. [default: 0]"
    ),
]
Choice = Annotated[
    Literal["best", "one-se"],
    Parameter(group=METRIC),
    _told(
        '"best" is the threshold with the best score, "one-se" the one with the fewest '
        "positives whose score is within a standard error of it."
    ),
]
Most = Annotated[
    int | None,
    Parameter(group=LIMITS, validator=COUNT),
    _told("Choose at most this many; with --group, in each group."),
]
MostOrShare = Annotated[
    int | float | None,
    Parameter(converter=_share_or_count, metavar="COUNT|SHARE", group=LIMITS),
    _told(
        "Choose at most this many of these rows, or this share of them: 500, or 0.05."
    ),
]
Share = Annotated[float | None, Parameter(group=LIMITS, validator=FRACTION)]
Coverage = Annotated[
    float,
    Parameter(group=FORECAST, validator=INNER_FRACTION),
    _told("The probability with which the interval holds the score."),
]
FailUnder = Annotated[
    float | None,
    Parameter(group=OUTPUT, validator=FINITE),
    _told(
        "Exit with 3 if the score is worse than this: under it, or over it for a "
        "metric that is minimised."
    ),
]

# How the work is done
Seed = Annotated[
    int, Parameter(validator=_SEED), _told("The seed of all that is drawn.")
]
Jobs = Annotated[
    int | None,
    Parameter(alias="-j", validator=_jobs),
    _told(
        "The number of threads for groups, -1 for one on each core; results do not "
        "depend on it."
    ),
]

# What is written
Target = Annotated[FilePath | None, _WRITTEN, Parameter(alias="-o")]
RowsTarget = Annotated[
    Target,
    _told(
        "The file to write, replaced whole or not at all. By default, or for -, the "
        "rows go to standard output in the format of the input."
    ),
]
TextTarget = Annotated[
    Target,
    _told(
        "The file to write, replaced whole or not at all. By default standard output."
    ),
]
ReportTarget = Annotated[
    FilePath | None,
    _WRITTEN,
    _told(
        "Also write a report: a page (.html), or the same as Markdown (.md), JSON "
        "(.json) or text (.txt)."
    ),
]
OUTPUT_FORMAT = Parameter(
    group=OUTPUT, help="The format of the output, where its name does not say it."
)
OutputFormat = Annotated[Format | None, OUTPUT_FORMAT]
NewColumn = Annotated[ColumnName, _WRITTEN]
NewDecisions = Annotated[
    NewColumn, _told("The name of the column of decisions that is added.")
]
Json = Annotated[bool, Flag, _WRITTEN, _told("Print the answer as JSON.")]
JsonSummary = Annotated[
    Json,
    _told(
        "Print the summary as JSON to standard output; all else is then written only "
        "where --output names a file."
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Scores:
    """Which column holds the probabilities.

    Parameters
    ----------
    score
        The column of probabilities. By default the one called score, prob, proba,
        probability, p, y_score, y_prob or the like.
    logits
        The scores are logits (log-odds), not probabilities.
    """

    score: Column = None
    logits: Annotated[bool, Flag, IN_FILE] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where everything else is in the file.

    Parameters
    ----------
    label
        The column of true labels, for the real score. By default the one called
        label, y, y_true or target.
    """

    group: GroupColumn = None
    label: Column = None
    pos_label: PosLabel = None
    format: InputFormat = None


def metric_named(name: str, zero_division: ZeroDivision | None) -> Metric:
    """Return a metric with its convention; an unknown name is wrong usage."""
    try:
        chosen = get_metric(name)
        if zero_division is None:
            return chosen
        return chosen.with_zero_division(float(zero_division))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Judge:
    """What decisions are judged by."""

    metric: Annotated[str | None, NAMED_METRIC, _told(f"{METRICS} [default: f1]")] = (
        None
    )
    average: AverageOver = None
    zero_division: ZeroOverZero = None

    def resolved(self) -> Metric:
        """Return the metric with its convention."""
        return metric_named(self.metric or "f1", self.zero_division)

    def average_for(self, group: str | None) -> Average | None:
        """Return how groups are averaged, None without groups."""
        if group is None and self.average is not None:
            raise UsageError("--average is about groups: pass --group COLUMN too")
        return (self.average or "groups") if group is not None else None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Recalibration:
    """How scores become probabilities that can be believed.

    Parameters
    ----------
    calibrator
        A map that `argmetric calibrate` wrote; the scores go through it first.
    reference
        Labelled rows with scores of the same model, which it has not been trained on:
        a map is fitted on them, and the scores go through it first.
    reference_score
        The column of scores of the reference. By default the same as in the rows, or
        the only one with a default name.
    reference_label
        The column of labels of the reference. By default that of --label, or the one
        called label, y, y_true or target.
    """

    calibrator: Annotated[FilePath | None, _MAPPED] = None
    reference: Annotated[FilePath | None, _MAPPED] = None
    reference_score: Annotated[ColumnName | None, _MAPPED] = None
    reference_label: Annotated[ColumnName | None, _MAPPED] = None

    @property
    def wanted(self) -> bool:
        """Whether there is anything to do."""
        return self.calibrator is not None or self.reference is not None

    def check(self) -> None:
        """Refuse options that contradict each other or have nothing to act on."""
        if self.calibrator is not None and self.reference is not None:
            raise UsageError("--calibrator and --reference exclude each other")
        for option in ("reference_score", "reference_label"):
            if getattr(self, option) is not None and self.reference is None:
                shown = option.replace("_", "-")
                raise UsageError(f"--{shown} is about --reference: pass it too")


DEFAULT_SCORES = Scores()
DEFAULT_COLUMNS = Columns()
DEFAULT_JUDGE = Judge()
NO_RECALIBRATION = Recalibration()
