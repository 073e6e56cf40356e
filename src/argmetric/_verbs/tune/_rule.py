"""Rules that were tuned: what they hold, say and save."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.display import (
    Field,
    Headline,
    between,
    cut_text,
    documented,
    hide_private,
    metric_title,
    number,
    with_interval,
)
from argmetric._ground.labels import plain_label
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    Booleans,
    CalibratorLike,
    Floats,
    Interval,
    Label,
    Series,
)
from argmetric._ground.validation import (
    check_choice,
    check_scores,
    read_scores,
    same_kind,
    to_floats,
    warn_user,
)
from argmetric._verbs._drawing import RuleDrawing, small_curve
from argmetric._verbs.guarantees import Guarantee, at_prevalence, guarantee_sentence
from argmetric._verbs.tune import files
from argmetric._verbs.tune._portable import PortableRule, portable_cut, raw_cut
from argmetric._verbs.tune._scan import limit_words
from argmetric._verbs.tune.files import (
    CURVE,
    FrozenDict,
    SavedRule,
    apply_calibrator,
    current_versions,
    read_only,
)
from argmetric.metrics import Metric, get_metric, metric_to_dict

if TYPE_CHECKING:
    from argmetric._calibrate.kept_reference import KeptReference
    from argmetric._calibrate.resolve import FittedReference


Operator = Literal[">=", "<"]
KEPT_POINTS = 2000  # of the curve, in a pickle


def _cuts(form: str, digits: int) -> Callable[[Interval], str]:
    """Return the text of a pair of thresholds in this form."""
    return lambda pair: form.format(*(cut_text(one, digits) for one in pair))


@hide_private
@dataclass(frozen=True, repr=False, eq=False)
class Rule(SavedRule):
    """A threshold, the metric it was tuned for, and the uncertainty of both.

    Parameters
    ----------
    metric : Metric
        Metric that the threshold optimises.
    threshold : float
        On the scale of the scores, after the calibrator where there is one; infinite
        where nothing is predicted.
    operator : {">=", "<"}
        `p >= threshold` is positive. "<" only where a metric rewards misses.
    pos_label, neg_label : object
        What `apply` calls the two classes.
    calibrator : Calibrator or None
        Applied to the scores first.
    prevalence : float
        Prevalence among the rows it was tuned on.
    positive_rate : float
        Share of these rows that the rule predicts positive.
    n : int
        Number of rows.
    score : float
        The metric on these rows.
    interval : Interval or None
        For the score of this rule on `n` new rows, as many as it was tuned on
        (in as many groups). It is corrected for the optimism of tuning and includes
        the noise of these rows and of the new ones. On very many new rows the score
        varies less, by a factor of about √2.
    threshold_interval : Interval or None
        Bootstrap interval of the best threshold.
    plateau : Interval
        All thresholds in (low, high] are as good: the run of optimal cuts around the
        chosen one.
    optimal_thresholds : ndarray of shape (m, 2)
        All optimal thresholds, as intervals (low, high] in descending order.
    optimism : float
        How much `score` exceeds `mean`; nan where it is not known.
    mean : float
        Score to expect on new rows: the score of rows by thresholds that were tuned
        on the other folds. It stands beside `interval`.
    constraints : dict
        The limits that the cut meets.
    average : str or None
        "groups" where the mean over groups was maximised; "micro", "samples" for a
        matrix.
    coverage : float
        Nominal coverage of both intervals.
    probabilities : bool
        Whether the scores it was tuned on lay between 0 and 1.
    guarantee : Guarantee or None
        Limits that hold for new rows, where `tune` got a `confidence`.
    notes : tuple of str
        Remarks on the rule.
    versions : dict
        Versions of argmetric and numpy that made it.
    thresholds, scores : ndarray or None
        The curve: `p >= thresholds[i]` scores `scores[i]`. Not saved to files.

    Examples
    --------
    >>> import argmetric as am
    >>> rule = am.tune([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.9])
    >>> rule.threshold, round(rule.score, 4)
    (0.25, 0.8571)
    >>> rule.apply([0.2, 0.7])
    array([0, 1])
    """

    kind: ClassVar[str] = "rule"

    metric: Metric
    threshold: float
    operator: Operator = ">="
    pos_label: Label = 1
    neg_label: Label = 0
    calibrator: CalibratorLike | None = None
    prevalence: float = math.nan
    positive_rate: float = math.nan
    n: int = 0
    score: float = math.nan
    interval: Interval | None = None
    threshold_interval: Interval | None = None
    plateau: Interval | None = None
    optimal_thresholds: Floats = field(default_factory=lambda: np.empty((0, 2)))
    optimism: float = math.nan
    mean: float = math.nan
    constraints: dict[str, float] = field(default_factory=dict)
    average: str | None = None
    coverage: float = 0.9
    probabilities: bool = True
    guarantee: Guarantee | None = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=current_versions)
    thresholds: Floats | None = None
    scores: Floats | None = None
    _kept: KeptReference | None = None

    def __post_init__(self) -> None:
        check_choice(self.operator, "operator", (">=", "<"))
        known = {
            "metric": get_metric(self.metric),
            "threshold": files.plain_float(self.threshold, "threshold"),
            "pos_label": plain_label(self.pos_label),
            "neg_label": plain_label(self.neg_label),
            "constraints": FrozenDict(self.constraints),
            **files.check_fields(self),
        }
        if math.isnan(known["threshold"]):
            raise ValueError("threshold must be a number, not nan")
        if known["pos_label"] == known["neg_label"]:
            raise ValueError(
                f"pos_label and neg_label are both {shown(self.pos_label)}: a rule "
                "tells two labels apart"
            )
        for name in ("optimal_thresholds", "thresholds", "scores"):
            values = getattr(self, name)
            if values is not None:
                known[name] = read_only(values)
        self._freeze(**known)

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickle, with a coarse curve: rows may be many."""
        state = super().__getstate__()
        if self.thresholds is not None and self.thresholds.size > KEPT_POINTS:
            last = self.thresholds.size - 1
            index = np.linspace(0, last, KEPT_POINTS).astype(np.int64)
            for name in CURVE:
                state[name] = getattr(self, name)[index]
        return state

    @property
    def reference(self) -> FittedReference | None:
        """Return calibrator and binned scores of the rows that the rule was tuned on.

        Their calibrator, with its uncertainty, and their binned scores. As
        `reference=` of `forecast` it says what the rule will score on new rows. None
        with a calibrator, which then serves; for rules without labels, of matrices
        or of files in batches; and where the scores do not rank the labels.
        """
        return None if self._kept is None else self._kept.fit_result

    @cached_property
    def threshold_raw(self) -> float | None:
        """Return the threshold on raw scores, before the calibrator.

        The smallest probability whose calibrated value reaches `threshold`; -inf where
        all do, inf where none does, None where the calibrator is a function.
        """
        from argmetric._calibrate.calibrator import Calibrator, FunctionCalibrator

        calibrator = self.calibrator
        if calibrator is None:
            return self.threshold
        if not isinstance(calibrator, Calibrator) or not calibrator.parts:
            return None
        if any(isinstance(one, FunctionCalibrator) for one in calibrator.parts):
            return None
        return raw_cut(calibrator, self.threshold)

    def applies(self, p: ArrayLike) -> Booleans:
        """Return which scores are positive.

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on, not calibrated by hand.

        Returns
        -------
        ndarray of bool
            True where the label is positive.
        """
        scores = read_scores(p, "p", logits=True)  # any real score, but no NaN
        if scores.ndim != 1 and self.average not in ("micro", "samples"):
            raise ValueError(
                f"p must be one column of scores, not of shape {scores.shape}: pass "
                "the column of the positive class, such as p[:, 1]"
            )
        cut = self.threshold_raw
        if cut is None:
            cut = self.threshold
            scores = to_floats(
                apply_calibrator(self.calibrator, scores), "calibrated p"
            )
        elif self.calibrator is not None:
            scores = check_scores(scores, "p", logits=False)
        elif self.probabilities and scores.size:
            low, high = float(scores.min()), float(scores.max())
            if low < 0.0 or high > 1.0:
                warn_user(
                    f"scores from {low:g} to {high:g} meet a rule that was tuned on "
                    "scores between 0 and 1: are these logits or percentages?"
                )
        if self.operator == "<":
            return scores < cut
        if cut == math.inf:
            return np.zeros(scores.shape, dtype=bool)
        return scores >= cut

    def apply(self, p: ArrayLike) -> AnyArray | Series:
        """Return labels of the scores, in the type of the input (array, series).

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on, not calibrated by hand.

        Returns
        -------
        array-like
            0 and 1, or the labels that `y` had.
        """
        return same_kind(p)(self.named(self.applies(p)))

    def named(self, positive: Booleans) -> AnyArray:
        """Return booleans as labels of the two classes.

        Parameters
        ----------
        positive : ndarray of bool
            Whether rows are positive, as `applies` returns it.

        Returns
        -------
        ndarray
            `pos_label` where it is, else `neg_label`.
        """
        names = (self.neg_label, self.pos_label)
        kind = None if type(names[0]) is type(names[1]) else object
        return np.array(names, dtype=kind)[positive.astype(np.intp)]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind `mean` and `interval`."""
        units = "groups" if self.average == "groups" else "rows"
        held = f"new {units} come from where these {units} came from"
        return (held, f"{units} are independent") if self.n else ()

    def _columns(self) -> Mapping[str, object]:
        if self.thresholds is None or self.scores is None:
            return super()._columns()
        return {"threshold": self.thresholds, "score": self.scores}

    _told = ("interval",)

    def _headline(self) -> Headline:
        title = metric_title(self.metric.name)
        more = f"for {title}"
        if self.n and not math.isnan(self.mean):
            told = with_interval(self.interval, self.coverage)
            more = f"{title} {number(self.mean)} on new rows"
            more += f", {told}" if told else ""
        elif self.n and not math.isnan(self.score):
            more = f"{title} {number(self.score)} on these rows"
        cut = f"{self._scale} {self.operator} {cut_text(self.threshold)}"
        return Headline("", cut, more)

    def _picture(self) -> str:
        return small_curve(self)

    def fields(self) -> list[Field]:
        coverage = f" ({self.coverage:.0%})"

        def on_new(pair: Interval) -> str:
            return f"{between(pair)} ({self.coverage:.0%}, on {self.n:,} new rows)"

        score = held = rows = labels = how = None
        if self.n and not math.isnan(self.score):
            score = number(self.score)
        if self.n:
            rows = f"{self.n:,}, {self.prevalence:.1%} positive"
            if not math.isnan(self.positive_rate):
                rows += f", {self.positive_rate:.1%} predicted positive"
        if self.n and not math.isnan(self.mean):
            held = f"{number(self.mean)} (optimism {self.optimism:+.3f})"
        count = len(self.optimal_thresholds)
        more = f", one of {count:,} such intervals" if count > 1 else ""
        limits = limit_words(self.constraints)
        where = "on these rows" if self.guarantee is None else "limits"
        if self.guarantee is not None and limits:
            limits += at_prevalence(self.guarantee.prior)
        if self.calibrator is not None:
            kind = type(self.calibrator).__name__
            how = str(getattr(self.calibrator, "summary", kind))
        if (self.neg_label, self.pos_label) != (0, 1):
            labels = f"{self.pos_label!r}, else {self.neg_label!r}"
        return [
            *self._header(),
            Field("metric", lambda: metric_to_dict(self.metric)),
            *self._keys("threshold", "operator", "pos_label", "neg_label"),
            *self._keys("prevalence", "positive_rate", "n"),
            Field("score", self.score, "score", score),
            Field(words="mean", text=held),
            self._field("interval", "interval", on_new),
            self._field(
                "threshold_interval", "best threshold", _cuts("{} to {}" + coverage, 3)
            ),
            self._field("plateau", "as good", _cuts("({}, {}]" + more, 4)),
            *self._keys("optimal_thresholds", "optimism", "mean"),
            Field("constraints", self.constraints, where, limits or None),
            Field("guarantee", self.guarantee, "guarantee", self._promise or None),
            Field(words="rows", text=rows),
            self._field("average", "average"),
            *self._keys("coverage", "probabilities", "notes", "versions"),
            Field(
                "calibrator",
                lambda: files.saved_calibrator(self.calibrator),
                "calibrator",
                how,
            ),
            Field(words="labels", text=labels),
            Field("reference", self._kept),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Rule:
        """Return the rule of a dict whose header is already checked."""
        values = {"guarantee": None, **values}  # the oldest files have none
        known = files.read_fields(cls, values, *CURVE, "_kept")
        pairs = [files.interval(pair) for pair in known["optimal_thresholds"]]
        known["optimal_thresholds"] = np.array(pairs, dtype=float).reshape(-1, 2)
        if values["format"] > 1:
            known["_kept"] = files.loaded_reference(values["reference"])
        return cls(**known)

    def _portable(self) -> PortableRule:
        """Return the rule as a cut on raw scores, for code in other languages."""
        unit = self.calibrator is not None
        cut = portable_cut(self.threshold_raw, self.operator, unit=unit)
        labels = (self.neg_label, self.pos_label)
        promise = self._promise
        return PortableRule(
            self._title(), ("p",), labels, (cut,), single=True, promise=promise
        )

    @property
    def _promise(self) -> str:
        return guarantee_sentence({"": self.guarantee})

    def _title(self) -> str:
        return (
            f"Rule({self._scale} {self.operator} {cut_text(self.threshold, 4)}, "
            f"metric={self.metric.name})"
        )

    @property
    def _scale(self) -> str:
        if self.calibrator is not None:
            return "calibrated p"
        return "p" if self.probabilities else "score"

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score against the threshold, and where the best one may lie."""
        drawn: Axes = RuleDrawing(self).plot(ax).ax_
        return drawn
