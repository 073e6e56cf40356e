"""monitor for several classes: is my model still good, before the labels come?"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from argmetric._ground.arguments import check_choice, check_flag, check_share, refuses
from argmetric._ground.display import Field, as_frame, documented
from argmetric._ground.labels import predicted_labels, scoring_metric
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
    ClassTuple,
    Floats,
    Frame,
    LabelsLike,
    ReferenceLike,
)
from argmetric._ground.validation import warn_user
from argmetric._monitor import (
    SHIFTS,
    AllPeriods,
    Overlap,
    Shift,
    check_every,
    number_rows,
    restore_period,
)
from argmetric.classes._calibrate import resolve_calibrator
from argmetric.classes._calibrators import log_softmax
from argmetric.classes._input import check_class_probabilities, class_names, codes_of
from argmetric.classes._means import (
    MeanScores,
    check_means,
    read_means,
    require_scores,
)
from argmetric.classes._monitor_period import (
    ClassPeriod,
    ClassWatch,
    PeriodRows,
    with_alarms,
)
from argmetric.classes._review import ClassReviewRule
from argmetric.classes._review_monitor import ClassReviewMonitoring, monitor_review
from argmetric.classes._weights import MultiClassRule
from argmetric.metrics import ClassAverage, ClassMetric, MetricLike, get_class_metric

FEW_OF_A_CLASS = 8  # rows of the reference, below which little is known of a class
# Columns of the table of periods for each class
TITLES = {"counts": "counts {}", "prevalences": "prevalence {}"}
TITLES["prevalence_intervals"] = "prevalence {} interval"
UNSEEN = (
    "scores alone cannot reveal a changed label definition, not even where the "
    "verdict is 'no shift': "
    "label some rows, drawn at random, and pass them as known="
)


@refuses()
def monitor(
    p: ArrayLike | None = None,
    labels: LabelsLike | None = None,
    metric: MetricLike | None = None,
    *,
    mean: ArrayLike | None = None,
    reference: ReferenceLike,
    time: ArrayLike | None = None,
    every: str | int | None = None,
    known: ArrayLike | None = None,
    classes: ClassNames | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    cost: ArrayLike | None = None,
    shift: Shift = "auto",
    coverage: float = 0.9,
    false_alarms: float = 0.05,
    logits: bool = False,
) -> ClassMonitoring | ClassReviewMonitoring:
    """Forecast the score of every period, where each row has one of several classes.

    A period has probabilities of the classes and no labels. Either nothing changed; or
    the prevalences changed, while each class still looks the same (prevalence shift);
    or the inputs changed, and a row of given probabilities is as likely to be of a
    class as before (covariate shift). The explanations are weighted by how well they
    fit. The interval is never narrower than that of
    `forecast` with the calibrator alone on the same rows. Where none of them fits well,
    the verdict is "cannot say without labels", and the interval promises nothing.

    Parameters
    ----------
    p : array-like of shape (n, classes)
        Probabilities of the classes, as the model gave them.
    labels : array-like, MultiClassRule, ClassReviewRule or ClassDecision, optional
        Predicted classes of the rows, the rule that predicts them, or a decision; by
        default the most probable class; of means the nearest.
    metric : str, Metric, ClassMetric or callable, optional
        As for `forecast` of classes; by default that of the rule, or "f1".
    mean : array-like, optional
        In place of p, as for `decide`: what a regression predicts for each row. A rule
        then has cuts.
    reference : (y, p) or (y, mean)
        Labels and probabilities, or means, of rows that the model was not trained on.
    time : array-like, optional
        Time of every row: dates, times or ISO text, in any order.
    every : str or int, optional
        Length of a period: "1d", "1w", "1mo", "1q", or a number of rows. By default a
        week where there are times, and otherwise all rows of a call.
    known : array-like, optional
        True classes that have arrived; nan or None for the others.
    classes : sequence, optional
        The class of each column; by default the names of the columns of a frame, or
        their numbers.
    average, zero_division, cost
        As for `forecast` of classes.
    shift : {"auto", "none", "prior"}, default="auto"
        "auto" mixes the three explanations. "none": nothing changed. "prior": the
        prevalences changed and nothing else did.
    coverage : float, default=0.9
        Probability that the interval contains the score.
    false_alarms : float, default=0.05
        Probability of an alarm in a year in which nothing happens; in 52 periods, where
        they are not made by time.
    logits : bool, default=False
        Whether the scores are those before the softmax, also of the reference.

    Returns
    -------
    ClassMonitoring or ClassReviewMonitoring
        A row for each period; `add` takes later rows.

    Examples
    --------
    >>> import argmetric as am
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 0.5, 0.3], 3000)
    >>> y = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    >>> m = am.classes.monitor(p[1000:], reference=(y[:1000], p[:1000]), every=1000)
    >>> [one.verdict for one in m.periods]
    ['no shift', 'no shift']
    """
    check_choice(shift, "shift", SHIFTS)
    logits = check_flag(logits, "logits")
    if not isinstance(reference, tuple | list) or len(reference) != 2:
        raise ValueError("monitor needs reference=(y, p): labels and probabilities")
    y, old = reference
    rows = require_scores("monitor", p, mean)
    if isinstance(labels, ClassReviewRule):
        alone: Any = {"metric": metric, "average": average, "cost": cost}
        alone |= {"zero_division": zero_division, "classes": classes, "logits": logits}
        alone |= {"mean": None if mean is None else True}
        how: Any = {"time": time, "every": every, "known": known, "shift": shift}
        how |= {"coverage": coverage}
        how["false_alarms"] = check_share(false_alarms, "false_alarms")
        return monitor_review(rows, labels, (y, old), alone, how)
    call = _read_rows(p, mean, (y, old), classes, logits=logits)
    names = call.classes
    rule = labels if isinstance(labels, MultiClassRule) else None
    if rule is not None and rule.classes != names:
        raise ValueError(f"the rule has the classes {rule.classes}, not {names}")
    if cost is None:
        metric = scoring_metric(metric, labels)
    options: Any = {"average": average, "zero_division": zero_division, "cost": cost}
    class_metric = get_class_metric(metric, n_classes=len(names), **options)
    calibrator, code = resolve_calibrator(call.reference, names)
    assert code is not None
    assert calibrator is not None
    notes = []
    few = np.bincount(code, minlength=len(names)) < FEW_OF_A_CLASS
    if few.any():
        which = ", ".join(str(names[c]) for c in np.flatnonzero(few)[:5])
        notes.append(
            f"the reference has fewer than {FEW_OF_A_CLASS} rows of {which}: their "
            "figures are little but a guess"
        )
    if rule is None and labels is not None:
        notes.append("the alarm on movement looks at the most probable classes")
    old, new = (x if x.ndim == 1 else x[:, 0] for x in (call.known, call.passed))
    overlap = Overlap(old)
    overlap.add(new)
    if overlap.message:
        warn_user(overlap.message)
    watch = ClassWatch(
        class_metric,
        names,
        calibrator,
        code,
        call.known,
        rule,
        passed=labels is not None and rule is None,
        every=check_every(every, with_time=time is not None),
        shift=shift,
        coverage=check_share(coverage, "coverage"),
        false_alarms=check_share(false_alarms, "false_alarms"),
        logits=logits,
        means=call.means,
    )
    empty = ClassMonitoring(watch, notes=tuple(notes))
    labels = labels if watch.passed else None
    return empty.add(rows, labels, time=time, known=known)


class _Rows(NamedTuple):
    """Rows to monitor and those of the reference: probabilities, or means."""

    passed: Floats
    known: Floats
    classes: ClassTuple
    reference: tuple[Any, Floats]  # labels and class probabilities
    means: MeanScores | None = None


def _read_rows(
    p: ArrayLike | None,
    mean: ArrayLike | None,
    reference: tuple[ArrayLike, ArrayLike],
    classes: ClassNames | None,
    *,
    logits: bool,
) -> _Rows:
    if mean is not None:
        call = read_means(p, mean, reference, classes, logits=logits)
        names, pair = tuple(call.classes), call.reference
        return _Rows(call.mean, call.known, names, pair, call.scores)
    p = require_scores("monitor", p, None)
    scores = _probabilities(p, logits, "p")
    names = class_names(p, scores.shape[1], classes)
    y, old = reference
    old = _probabilities(old, logits, "the p of reference=(y, p)")
    return _Rows(scores, old, names, (y, old))


def _probabilities(p: ArrayLike, logits: bool, name: str) -> Floats:
    scores = check_class_probabilities(p, name, logits=logits)
    return np.exp(log_softmax(scores)) if logits else scores


@dataclass(frozen=True, repr=False, eq=False)
class ClassMonitoring(AllPeriods["ClassMonitoring"]):
    """Forecasts, verdicts and alarms of periods whose rows have one of several classes.

    Made by `monitor`; `add` adds periods and gives a new one.

    Parameters
    ----------
    watch : object
        What stays the same from period to period: metric, reference and options.
    counts : tuple
        The rows of each period in bins, for the alarms.
    periods : tuple of ClassPeriod
        In order; those without rows are left out.
    notes : tuple of str
        Remarks on the input.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 0.5, 0.3], 1500)
    >>> y = (p.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1)
    >>> m = am.classes.monitor(p[500:1000], reference=(y[:500], p[:500]))
    >>> [one.n for one in m.add(p[1000:]).periods]
    [500, 500]
    """

    _what: ClassVar[str] = "monitoring of classes"
    _file: ClassVar[str] = "argmetric monitoring of classes"
    kind: ClassVar[str] = "class_monitoring"

    watch: ClassWatch
    counts: tuple[PeriodRows, ...] = ()
    periods: tuple[ClassPeriod, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> ClassMetric:
        return self.watch.metric

    def add(
        self,
        p: ArrayLike,
        labels: LabelsLike | None = None,
        *,
        time: ArrayLike | None = None,
        known: ArrayLike | None = None,
    ) -> ClassMonitoring:
        """Add periods. The answer is that of one call with all rows.

        Parameters
        ----------
        p, time, known
            As for `monitor`, predicted means in place of p where these were passed;
            all rows of a period at once.
        labels : array-like, optional
            Labels of the rows, where they were passed to `monitor`.

        Returns
        -------
        ClassMonitoring
            With the new periods after those that it had.
        """
        watch = self.watch
        if watch.means is None:
            scores = _probabilities(p, watch.logits, "p")
        else:
            scores = check_means(p, "mean")
        n, count = len(scores), len(watch.classes)
        if not n:
            raise ValueError("p is empty: there is no row to add")
        if watch.means is None and count != scores.shape[1]:
            raise ValueError(f"p must have {count} columns, not {scores.shape[1]}")
        if (labels is None) == watch.passed:
            raise ValueError(
                "labels are needed: they were passed before"
                if watch.passed
                else "labels are predicted here: pass p alone"
            )
        codes = watch.predicts(scores)
        if watch.passed:
            codes = codes_of(predicted_labels(labels)[0], watch.classes, n, "labels")
        true = np.full(n, -1)
        if known is not None:
            true = codes_of(known, watch.classes, n, "known", partial=True)
        before = sum(one.n for one in self.counts)
        place, bounds, notes = number_rows(watch.every, self.counts, before, n, time)
        numbers = {one.number for one in self.counts}
        counts, periods = list(self.counts), list(self.periods)
        for i in np.unique(place).tolist():
            if i in numbers or (numbers and i < max(numbers)):
                raise ValueError(
                    f"the period that begins at {bounds[i][0]} was added before, or "
                    "later ones were: add all rows of a period at once, in order"
                )
            own = place == i
            period, table = watch.period(bounds[i], scores[own], codes[own], true[own])
            periods.append(period)
            counts.append(PeriodRows(i, *bounds[i], int(own.sum()), table))
        periods = with_alarms(periods, counts, watch, len(self.periods))
        notes = tuple(dict.fromkeys((*self.notes, *notes)))
        return replace(self, counts=tuple(counts), periods=tuple(periods), notes=notes)

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return one row per period, with columns for the prevalence of each class."""
        columns: dict[str, object] = {}
        for name in (one.name for one in fields(ClassPeriod)):
            values = [getattr(one, name) for one in self.periods]
            if name in TITLES:
                for c, own in enumerate(self.watch.classes):
                    columns[TITLES[name].format(own)] = [one[c] for one in values]
            else:
                columns[name] = values
        return as_frame(columns, backend)

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        rows = f"{self.watch.code.size:,} rows, {len(self.watch.classes)} classes"
        number = f"{len(self.periods)}, {len(self.alarms)} with an alarm"
        periods = [one.values() for one in self.periods]
        return [
            *self._header,
            Field("watch", self.watch, "reference", rows),
            Field("counts", [list(one) for one in self.counts]),
            Field("periods", periods, "periods", number),
            Field("notes", self.notes),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> ClassMonitoring:
        """Return the monitoring that a file holds, with its counts checked."""
        watch = ClassWatch.from_dict(values["watch"])
        counts = tuple(
            PeriodRows(int(i), start, end, int(n), np.array(table, dtype=np.int64))
            for i, start, end, n, table in values["counts"]
        )
        periods = tuple(ClassPeriod(**restore_period(one)) for one in values["periods"])
        if [one.n for one in periods] != [one.n for one in counts]:
            raise ValueError("there are not as many periods as counts")
        return cls(watch, counts, periods, tuple(values["notes"]))

    def _notes(self) -> tuple[str, ...]:
        return (*self.notes, *self._meanings(), UNSEEN)
