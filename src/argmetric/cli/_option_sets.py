"""Sets of options that several commands share; their docstrings are the help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast, get_args

from cyclopts import Parameter

from argmetric.cli import _options as opt
from argmetric.cli._errors import UsageError
from argmetric.metrics import (
    ClassMetric,
    Metric,
    averaged_name,
    get_class_metric,
    get_metric,
)

_MAPPED = Parameter(group=opt.CALIBRATION)
_Pattern = Annotated[str | None, opt.IN_FILE, Parameter(metavar="PATTERN")]


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

    score: opt.Column = None
    logits: Annotated[bool, opt.Flag, opt.IN_FILE] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Columns:
    """Where everything else is in the file.

    Parameters
    ----------
    label
        The column of true labels, for the actual score. By default the one called
        label, y, y_true or target.
    """

    group: opt.GroupColumn = None
    label: opt.Column = None
    pos_label: opt.PosLabel = None
    format: opt.InputFormat = None
    encoding: opt.InputEncoding = "utf-8"
    max_line: opt.MaxLine = opt.MAX_LINE
    decimal: opt.Decimal = "."

    @property
    def reading(self) -> dict[str, Any]:
        """How text is read, as `read_rows` takes it."""
        names = ("format", "encoding", "max_line", "decimal")
        return {name: getattr(self, name) for name in names}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wide:
    """Which columns hold the scores and labels of several labels.

    Parameters
    ----------
    scores
        With a column for each of several labels: the columns of their scores, as in
        'p_*'. The part that * matches is the name of the label.
    labels
        With --scores: the columns of their true labels, as in 'y_*'.
    """

    scores: _Pattern = None
    labels: _Pattern = None

    @property
    def asked(self) -> bool:
        """Whether rows have several labels."""
        if self.labels is not None and self.scores is None:
            raise UsageError("--labels goes with --scores: pass the pattern of both")
        return self.scores is not None


def metric_named(
    name: str, zero_division: opt.ZeroDivision | None, *, several: bool = False
) -> Metric:
    """Return a metric with its convention; an unknown name is wrong usage.

    Parameters
    ----------
    name, zero_division : str
        The options.
    several : bool, optional
        Whether the command takes rows with several labels.
    """
    if averaged := averaged_name(name):
        metric, average = averaged
        message = f"--metric {name}: pass --metric {metric}"
        if average in get_args(opt.WideAverage):
            message += (
                f" --average {average}, with --scores 'p_*' for a column per label"
                if several
                else f"; with one label there is no {average} average"
            )
        elif average == "weighted":
            message += "; there is no weighted average"
        raise UsageError(message)
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

    metric: Annotated[
        str | None, opt.NAMED_METRIC, opt.with_help(f"{opt.METRICS} [default: f1]")
    ] = None
    average: opt.WideAverageOver = None
    zero_division: opt.ZeroOverZero = None
    wide: ClassVar[bool] = True  # whether the command takes several labels

    def resolved(self) -> Metric:
        """Return the metric with its convention."""
        return metric_named(self.metric or "f1", self.zero_division, several=self.wide)

    def average_for(self, group: str | None) -> opt.Average | None:
        """Return how groups are averaged, None without groups."""
        self._refuse_weighted()
        if self.average in ("macro", "micro", "samples"):
            raise UsageError(
                f"--average {self.average} needs several labels: pass --scores 'p_*'"
            )
        if group is None and self.average is not None:
            raise UsageError(
                f"--average {self.average} needs groups: pass --group COLUMN too"
            )
        if group is None:
            return None
        return "pooled" if self.average == "pooled" else "groups"

    def wide_average(self) -> opt.WideAverage:
        """Return how several labels are averaged."""
        self._refuse_weighted()
        if self.average in ("groups", "pooled"):
            raise UsageError(
                f"--average {self.average} is for groups; for several labels, pass "
                "macro, micro or samples"
            )
        return cast("opt.WideAverage", self.average or "macro")

    def _refuse_weighted(self) -> None:
        if self.average == "weighted":
            raise UsageError(
                "--average weighted is for one label per row: pass --one-label"
            )

    def of_classes(self, n_classes: int = 2) -> ClassMetric:
        """Return the metric of one label per row, with its convention."""
        name, zero = self.metric or "f1", self.zero_division
        average: str | None = self.average
        if averaged := averaged_name(name):
            name, average = averaged
            if average in get_args(opt.ClassAverage):
                raise UsageError(
                    f"--metric {self.metric}: pass --metric {name} --average {average}"
                )
        if average not in (None, *get_args(opt.ClassAverage)):
            raise UsageError(
                f"--average {average}: with --one-label it is macro or weighted"
            )
        try:
            return get_class_metric(
                name,
                average=average,
                zero_division=None if zero is None else float(zero),
                n_classes=n_classes,
            )
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from error


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GroupJudge(Judge):
    """What decisions on one column of scores are judged by."""

    average: opt.AverageOver = None
    wide: ClassVar[bool] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RecalibrationOptions:
    """How scores become probabilities that can be believed.

    Parameters
    ----------
    calibrator
        A map of `argmetric calibrate`, applied to the scores first.
    reference
        Labelled rows with scores of the same model that it was not trained on: a map
        is fitted on them and applied to the scores first.
    reference_score
        The column of scores of the reference. By default the same as in the rows, or
        the only one with a default name.
    reference_label
        The column of labels of the reference. By default that of --label, or the one
        called label, y, y_true or target.
    """

    calibrator: Annotated[opt.FilePath | None, _MAPPED] = None
    reference: Annotated[opt.FilePath | None, _MAPPED] = None
    reference_score: Annotated[opt.ColumnName | None, _MAPPED] = None
    reference_label: Annotated[opt.ColumnName | None, _MAPPED] = None

    @property
    def wanted(self) -> bool:
        """Whether there is anything to do."""
        return self.calibrator is not None or self.reference is not None

    def check(self, prior: float | str | None = None) -> None:
        """Refuse options that contradict each other or have nothing to act on."""
        if prior == "estimate" and self.reference is None:
            raise UsageError(
                "--prior estimate compares the scores with those of labelled rows: "
                "pass --reference FILE"
            )
        if self.calibrator is not None and self.reference is not None:
            raise UsageError("--calibrator and --reference exclude each other")
        for option in ("reference_score", "reference_label"):
            if getattr(self, option) is not None and self.reference is None:
                shown = option.replace("_", "-")
                raise UsageError(f"--{shown} goes with --reference: pass it too")


DEFAULT_SCORES = Scores()
DEFAULT_COLUMNS = Columns()
NOT_WIDE = Wide()
DEFAULT_JUDGE = Judge()
DEFAULT_GROUP_JUDGE = GroupJudge()
NO_RECALIBRATION = RecalibrationOptions()
