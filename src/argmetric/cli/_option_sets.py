"""Sets of options that several commands share; their docstrings are the help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from cyclopts import Parameter

from argmetric.cli._errors import UsageError
from argmetric.cli._options import (
    CALIBRATION,
    IN_FILE,
    MAX_LINE,
    METRICS,
    NAMED_METRIC,
    Average,
    AverageOver,
    Column,
    ColumnName,
    FilePath,
    Flag,
    GroupColumn,
    InputEncoding,
    InputFormat,
    MaxLine,
    PosLabel,
    WideAverage,
    WideAverageOver,
    ZeroDivision,
    ZeroOverZero,
    told,
)
from argmetric.metrics import Metric, get_metric

_MAPPED = Parameter(group=CALIBRATION)


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
    encoding: InputEncoding = "utf-8"
    max_line: MaxLine = MAX_LINE

    @property
    def reading(self) -> dict[str, Any]:
        """How text is to be read, as `read_rows` takes it."""
        names = ("format", "encoding", "max_line")
        return {name: getattr(self, name) for name in names}


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

    metric: Annotated[str | None, NAMED_METRIC, told(f"{METRICS} [default: f1]")] = None
    average: WideAverageOver = None
    zero_division: ZeroOverZero = None

    def resolved(self) -> Metric:
        """Return the metric with its convention."""
        return metric_named(self.metric or "f1", self.zero_division)

    def average_for(self, group: str | None) -> Average | None:
        """Return how groups are averaged, None without groups."""
        if self.average in ("macro", "micro", "samples"):
            raise UsageError(
                f"--average {self.average} is about several labels: pass --scores"
            )
        if group is None and self.average is not None:
            raise UsageError("--average is about groups: pass --group COLUMN too")
        if group is None:
            return None
        return "pooled" if self.average == "pooled" else "groups"

    def wide_average(self) -> WideAverage:
        """Return how several labels are averaged."""
        if self.average in ("groups", "pooled"):
            raise UsageError(
                f"--average {self.average} is about groups; several labels have macro, "
                "micro and samples"
            )
        return cast("WideAverage", self.average or "macro")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GroupJudge(Judge):
    """What decisions on one column of scores are judged by."""

    average: AverageOver = None


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
                raise UsageError(f"--{shown} is about --reference: pass it too")


DEFAULT_SCORES = Scores()
DEFAULT_COLUMNS = Columns()
DEFAULT_JUDGE = Judge()
DEFAULT_GROUP_JUDGE = GroupJudge()
NO_RECALIBRATION = Recalibration()
