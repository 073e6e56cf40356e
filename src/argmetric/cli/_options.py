"""Options that several commands share, and what each of them is for."""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from cyclopts import UNSET, App, ArgumentCollection, Group, Parameter, Token
from cyclopts.validators import Number

from argmetric._files import Format, Written
from argmetric.cli._errors import UsageError

Average = Literal["groups", "pooled"]
WideAverage = Literal["macro", "micro", "samples"]
ClassAverage = Literal["macro", "weighted"]
AnyAverage = Literal["groups", "pooled", "macro", "micro", "samples", "weighted"]
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
_ROUNDING = 1e-12  # 29% of 100 rows are 29, though 0.29 * 100 is a little less


def _jobs(type_: Any, value: Any) -> None:
    if value == 0:
        raise ValueError("Must not be 0.")
    if value is not None and abs(value) > _MOST_JOBS:
        raise ValueError(f"Must be at most {_MOST_JOBS:,}.")


def with_help(help: str) -> Parameter:
    """Return the help of an option that several commands share."""
    return Parameter(help=help)


def marked_streams(tokens: Sequence[str]) -> list[str]:
    """Return tokens in which a lone ``-`` cannot be taken for an option."""
    return [_MARKED_STREAM if token == "-" else token for token in tokens]


def unmarked(token: str) -> str:
    """Return a token as the user wrote it."""
    return "-" if token == _MARKED_STREAM else token


def _path(type_: Any, tokens: Sequence[Token]) -> str:
    return unmarked(tokens[0].value)


def _written_path(type_: Any, tokens: Sequence[Token]) -> str:
    """Return the path; `refuse_overwriting` knows written files by this function."""
    return unmarked(tokens[0].value)


def refuse_overwriting(app: App, commands: Any, arguments: ArgumentCollection) -> None:
    """Refuse an output that is a file which the same command reads.

    The parser calls this with what it found, for every command.
    """

    def given(converter: Any) -> Iterator[tuple[str, str]]:
        for one in arguments:
            if one.parameter.converter is converter:
                yield from ((one.name, unmarked(token.value)) for token in one.tokens)

    written = [pair for pair in given(_written_path) if os.path.isfile(pair[1])]
    if not written:
        return
    for _, pattern in given(_path):
        found = glob.glob(pattern, recursive=True) if glob.has_magic(pattern) else ()
        for path in (pattern, *found):
            for option, target in written:
                if os.path.isfile(path) and os.path.samefile(path, target):
                    raise UsageError(
                        f"{option} {target} is also an input: pass another name, "
                        "or --force to overwrite it"
                    )


def refuse_empty(app: App, commands: Any, arguments: ArgumentCollection) -> None:
    """Refuse options and files of no characters, as an unset variable of a shell gives.

    The name of a column that is read may be empty: that of an index, say.
    """
    for one in arguments:
        groups: Any = one.parameter.group
        if COLUMNS in groups and one.parameter.metavar == "COLUMN":
            continue
        for token in one.tokens:
            if token.value == "" and token.implicit_value is UNSET:
                name = token.keyword or "the name of a file"
                raise UsageError(f"{name} is empty: give it a value, or leave it out")


def _whole(type_: Any, tokens: Sequence[Token]) -> int:
    """Read a whole number; the parser's own way would round 2.9 to 3."""
    text = tokens[0].value
    if re.fullmatch(r"[+-]?\d{1,30}", text, re.ASCII) is None:
        raise ValueError(f"A whole number is needed, not {text!r}.")
    return int(text)


def _count_or_percent(type_: Any, tokens: Sequence[Token]) -> int | float:
    """Read 500 as a count, and 5% as a share of 0.05."""
    text = tokens[0].value
    if re.fullmatch(r"\+?\d{1,16}", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"\+?(\d+\.?\d*|\.\d+)%", text, re.ASCII):
        share = float(text[:-1]) / 100
        if 0 < share <= 1:
            return share
    raise ValueError(
        f"A whole number (500) or a percentage (5%) is needed, not {text!r}."
    )


def as_count(most: int | float | None, rows: int, average: str | None) -> int | None:
    """Return a limit as a number of rows: 5% is that share of them, rounded down."""
    if not isinstance(most, float):
        return most
    if average == "groups":
        raise UsageError(
            f"--max-positives {100 * most:g}% is a share of all rows; with --group it "
            "is a number of rows in each group"
        )
    return math.floor(most * rows * (1 + _ROUNDING))


def refuse_percent(most: int | float | None, where: str) -> None:
    """Refuse a share of the rows where it is not known what that is."""
    if isinstance(most, float):
        raise UsageError(
            f"--max-positives {100 * most:g}%: {where} takes a whole number of rows"
        )


def _share_or_estimate(type_: Any, tokens: Sequence[Token]) -> float | str:
    text = tokens[0].value
    if text == "estimate":
        return text
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise ValueError("A share between 0 and 1 (0.05), or estimate, is needed.")
    return share


FilePath = Annotated[str, Parameter(converter=_path, metavar="FILE")]
WrittenPath = Annotated[str, Parameter(converter=_written_path, metavar="FILE")]
Flag = Parameter(negative="", show_default=False)
ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
IN_FILE = Parameter(group=COLUMNS)
_WRITTEN = Parameter(group=OUTPUT)
_MAPPED = Parameter(group=CALIBRATION)

Encoding = Annotated[str, Parameter(metavar="NAME", help="The encoding of the text.")]
OTHER_ENCODING = "pass --encoding, for instance latin-1"


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that nobody knows."""
    try:
        "a".encode(encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding}: there is no such encoding") from None


# What is read
RowsFile = Annotated[
    FilePath,
    with_help(
        "One row for each item: CSV, TSV, JSONL (also .gz or .zst), Parquet, Arrow or "
        "Excel; - is standard input. A pattern such as 'part-*.csv' is several files, "
        "taken one after the other."
    ),
]
MoreFiles = Annotated[FilePath, with_help("More files with the same columns.")]
Column = Annotated[ColumnName | None, IN_FILE]
LearnedLabel = Annotated[Column, Parameter(alias="--target")]
LabelValue = Annotated[str | None, IN_FILE, Parameter(metavar="VALUE")]
Weight = Annotated[Column, with_help("The column of weights of the rows.")]
GroupColumn = Annotated[
    Column,
    Parameter(alias="--groups"),
    with_help(
        "The column of group ids (orders, queries, topics), in any order. The metric "
        "is then taken in each group and averaged as --average says."
    ),
]
PosLabel = Annotated[
    LabelValue,
    with_help(
        'The value that means "positive" where labels are not 0/1 or true/false.'
    ),
]
OneLabel = Annotated[
    bool,
    Flag,
    IN_FILE,
    with_help(
        "Every row has one of several classes, whose names are in the column of "
        "--label. --zero-division is then the score of a class that is neither true "
        "nor predicted [default: nan]."
    ),
]
Drop = Annotated[
    list[str] | None,
    IN_FILE,
    Parameter(metavar="COLUMN", negative=""),
    with_help(
        "A column that is not a feature, such as an id; repeat the option for several."
    ),
]
Decisions = Annotated[
    Column,
    with_help(
        "The column of decisions. By default the one called decision, prediction, "
        "predicted, pred or y_pred."
    ),
]
INPUT_FORMAT = Parameter(
    group=COLUMNS,
    help="The format of the input, if neither its name nor its content shows it.",
)
InputFormat = Annotated[Format | None, INPUT_FORMAT]
InputEncoding = Annotated[
    Encoding,
    IN_FILE,
    with_help("The encoding of the input; output is UTF-8."),
]
MaxLine = Annotated[
    str,
    IN_FILE,
    Parameter(metavar="SIZE"),
    with_help("The longest line of text that is read."),
]
MAX_LINE = "64MiB"
Decimal = Annotated[
    Literal[".", ","],
    IN_FILE,
    with_help("The decimal sign of numbers in text: , reads 0,25 as 0.25."),
]
RuleFile = Annotated[
    FilePath | None,
    Parameter(group=RULE),
    with_help(
        "A rule of `argmetric tune`: its threshold decides, and its metric is forecast."
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
    with_help(
        'With --group: "groups" is the mean of the metric over groups, "pooled" is the '
        "metric of all rows together. [default: groups]"
    ),
]
WideAverageOver = Annotated[
    AnyAverage | None,
    Parameter(group=METRIC),
    with_help(
        'With --group: "groups" is the mean of the metric over groups (default), '
        '"pooled" is the metric of all rows together. With --scores: "macro" is the '
        'mean over labels (default), "samples" the mean over rows, "micro" the metric '
        'of all cells together. With --one-label: "macro" is the mean over classes '
        '(default), "weighted" weighs a class by its rows.'
    ),
]
ZeroOverZero = Annotated[
    ZeroDivision | None,
    Parameter(group=METRIC),
    with_help(
        "The score of an empty answer where nothing is positive (0/0): 0, 1, or nan to "
        "leave the case out. [default: 0]"
    ),
]
Choice = Annotated[
    Literal["best", "one-se"],
    Parameter(group=METRIC),
    with_help(
        '"best" is the threshold with the best score, "one-se" the one with the fewest '
        "positives whose score is within a standard error of it."
    ),
]
_MOST = Parameter(
    converter=_count_or_percent, metavar="COUNT|PERCENT", group=LIMITS, validator=COUNT
)
Most = Annotated[
    int | float | None,
    _MOST,
    with_help(
        "Choose at most this many (500), or this share of all rows (5%); with --group, "
        "this many in each group."
    ),
]
MostTuned = Annotated[
    int | float | None,
    _MOST,
    with_help(
        "Choose at most this many of these rows, or this share of them: 500, or 5%."
    ),
]
Least = Annotated[int, Parameter(converter=_whole, group=LIMITS, validator=COUNT)]
Share = Annotated[float | None, Parameter(group=LIMITS, validator=FRACTION)]
Coverage = Annotated[
    float,
    Parameter(group=FORECAST, validator=INNER_FRACTION),
    with_help("The probability that the interval contains the score."),
]
PriorShare = Annotated[
    float | Literal["estimate"] | None,
    Parameter(
        converter=_share_or_estimate, metavar="SHARE|estimate", group=CALIBRATION
    ),
    with_help(
        "The current share of positives, if it differs from the one in training; "
        '"estimate" estimates it by comparing the scores with those of --reference, '
        "assuming that each class still has the scores it had there."
    ),
]
FailUnder = Annotated[
    float | None,
    Parameter(group=OUTPUT, validator=FINITE),
    with_help(
        "Exit with code 3 if the score is worse than this: below it, or above it for "
        "a metric that is minimised."
    ),
]

# How the work is done
Seed = Annotated[
    int,
    Parameter(converter=_whole, validator=_SEED),
    with_help("The seed of the random numbers."),
]
Jobs = Annotated[
    int | None,
    Parameter(alias="-j", converter=_whole, validator=_jobs),
    with_help(
        "The number of threads for groups, -1 for one on each core; results do not "
        "depend on it."
    ),
]

# What is written
Target = Annotated[WrittenPath | None, _WRITTEN, Parameter(alias="-o")]
RowsTarget = Annotated[
    Target,
    with_help(
        "The file to write, replaced whole or not at all. By default, or for -, the "
        "rows go to standard output in the format of the input."
    ),
]
TextTarget = Annotated[
    Target,
    with_help(
        "The file to write, replaced whole or not at all. By default standard output."
    ),
]
ReportTarget = Annotated[
    WrittenPath | None,
    _WRITTEN,
    with_help(
        "Also write a report: a page (.html), Markdown (.md), JSON (.json) or text "
        "(.txt)."
    ),
]
OUTPUT_FORMAT = Parameter(
    group=OUTPUT, help="The format of the output, if its name does not show it."
)
OutputFormat = Annotated[Written | None, OUTPUT_FORMAT]
NewColumn = Annotated[ColumnName, _WRITTEN]
NewDecisions = Annotated[
    NewColumn, with_help("The name of the column of decisions that is added.")
]
Json = Annotated[bool, Flag, _WRITTEN, with_help("Print the answer as JSON.")]
JsonSummary = Annotated[
    Json,
    with_help(
        "Print the summary as JSON to standard output; rows are then written only to "
        "--output."
    ),
]
