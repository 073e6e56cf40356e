"""Options that several commands share; their docstrings are the help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from argmetric.cli._errors import UsageError
from argmetric.io import Format
from argmetric.metrics import Metric, get_metric

Average = Literal["groups", "pooled"]
ZeroDivision = Literal["0", "1", "nan"]

# A lone "-" looks like an option to the parser; it travels under another name.
_MARKED_STREAM = "<->"

_COLUMNS = Group("Columns", sort_key=1)
_METRIC = Group("Metric", sort_key=2)
LIMITS = Group("Limits", sort_key=3)
FORECAST = Group("Forecast", sort_key=4)
OUTPUT = Group("Output", sort_key=5)

FRACTION = Number(gte=0, lte=1)
INNER_FRACTION = Number(gt=0, lt=1)
COUNT = Number(gte=0)


def _not_zero(type_: Any, value: Any) -> None:
    if value == 0:
        raise ValueError("Must not be 0.")


Jobs = Annotated[int | None, Parameter(alias="-j", validator=_not_zero)]


def marked_streams(tokens: Sequence[str]) -> list[str]:
    """Return tokens in which a lone ``-`` cannot be taken for an option."""
    return [_MARKED_STREAM if token == "-" else token for token in tokens]


def unmarked(token: str) -> str:
    """Return a token as the user wrote it."""
    return "-" if token == _MARKED_STREAM else token


def _path(type_: Any, tokens: Sequence[Token]) -> str:
    return unmarked(tokens[0].value)


FilePath = Annotated[str, Parameter(converter=_path, metavar="FILE")]
Flag = Parameter(negative="", show_default=False)
ColumnName = Annotated[str, Parameter(metavar="COLUMN")]
_InFile = Parameter(group=_COLUMNS)


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

    score: Annotated[ColumnName | None, _InFile] = None
    logits: Annotated[bool, Flag, _InFile] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where everything else is in the file.

    Parameters
    ----------
    group
        The column of group ids (orders, queries, topics), in any order. The metric is
        then taken in each group and averaged as --average says.
    label
        The column of true labels, for the real score. By default the one called
        label, y, y_true or target.
    pos_label
        The value that means "positive" where labels are not 0/1 or true/false.
    format
        The format of the input, where neither its name nor its content says it.
    """

    group: Annotated[ColumnName | None, _InFile] = None
    label: Annotated[ColumnName | None, _InFile] = None
    pos_label: Annotated[str | None, _InFile, Parameter(metavar="VALUE")] = None
    format: Annotated[Format | None, _InFile] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Judge:
    """What decisions are judged by.

    Parameters
    ----------
    metric
        The metric: f1, f2, f0.5 (f with any beta), jaccard, mcc, gmean and more; see
        `argmetric metrics`.
    average
        With --group: "groups" is the mean of the metric over groups, "pooled" is the
        metric of all rows together. [default: groups]
    zero_division
        What 0/0 counts (a group with no positive, and none predicted): 0, 1, or nan to
        leave the case out. [default: 0]
    """

    metric: Annotated[str, Parameter(alias="-m", metavar="NAME", group=_METRIC)] = "f1"
    average: Annotated[Average | None, Parameter(group=_METRIC)] = None
    zero_division: Annotated[ZeroDivision | None, Parameter(group=_METRIC)] = None

    def resolved(self) -> Metric:
        """Return the metric with its convention."""
        try:
            chosen = get_metric(self.metric)
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from error
        if self.zero_division is None:
            return chosen
        return chosen.with_zero_division(float(self.zero_division))

    def average_for(self, group: str | None) -> Average | None:
        """Return how groups are averaged, None without groups."""
        if group is None and self.average is not None:
            raise UsageError("--average is about groups: pass --group COLUMN too")
        return (self.average or "groups") if group is not None else None


DEFAULT_SCORES = Scores()
DEFAULT_COLUMNS = Columns()
DEFAULT_JUDGE = Judge()
