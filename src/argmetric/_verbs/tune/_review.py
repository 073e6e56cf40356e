"""Two cuts: rows above are accepted, rows below rejected, and a person sees the others.

The promises on the accepted rows (precision, specificity) give the lowest threshold
`high` that they prove, those on the rejected rows (NPV, recall) the highest `low`. Each
of m promises is tested at risk / m, so that all hold together. Where low > high every
row could be decided by both: one cut between them is taken, and nobody is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import check_choice, check_label, shown
from argmetric._ground.display import Field, Headline, cut_text, documented
from argmetric._ground.labels import Labels, plain_label
from argmetric._ground.pictures import SmallPicture, adaptive_edges, drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    CalibratorLike,
    Floats,
    Integers,
    Interval,
    Label,
    Series,
)
from argmetric._ground.validation import same_kind
from argmetric._verbs._certify import (
    CHAINS,
    NOT_FITTED,
    ONE_CROSSING,
    LabelledRows,
    Terms,
    best_threshold,
    certify_limit,
    population_words,
)
from argmetric._verbs.guarantees import (
    Guarantee,
    NotCertifiedError,
    Promise,
    guarantee_sentence,
)
from argmetric._verbs.tune import files
from argmetric._verbs.tune._portable import PortableRule
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune._scan import RuleLimits, limit_words
from argmetric._verbs.tune.files import FrozenDict, SavedRule, current_versions
from argmetric.metrics import (
    LinearFractional,
    Metric,
    get_metric,
    metric_to_dict,
)

ACCEPTING, REJECTING = ("min_precision", "min_specificity"), ("min_npv", "min_recall")
ACTIONS = ("reject", "ask", "accept")
# NPV as tn / (n - k): no metric has this name
NPV = LinearFractional((1, 1, -1, -1), (1, 0, -1, 0), zero_division=1.0)


class AskingRule(SavedRule):
    """Base of rules that leave rows to a person, of two classes and of several."""

    guarantee: Guarantee | None
    automated: float
    automated_interval: Interval | None
    coverage: float
    _told = ("automated",)

    @property
    def _bands(self) -> str:
        """Rule in words."""
        raise NotImplementedError

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind the promises."""
        return () if self.guarantee is None else self.guarantee.assumptions

    @property
    def _promise(self) -> str:
        return guarantee_sentence({"": self.guarantee})

    def _headline(self) -> Headline:
        share = "unknown" if math.isnan(self.automated) else f"{self.automated:.1%}"
        if self.automated_interval is not None:
            ends = "{:.1%} to {:.1%}".format(*self.automated_interval)
            share += f" ({self.coverage:.0%} interval {ends})"
        return Headline("automated", share, self._bands)

    def _title(self) -> str:
        return f"{type(self).__name__}({self._bands})"


@dataclass(frozen=True, repr=False, eq=False)
class ReviewRule(AskingRule):
    """Two thresholds: rows are accepted, rejected, or left to a person.

    Experimental: may change in any release.

    `tune` with ``review=True`` returns it. Scores at or above `high` are accepted (the
    positive label), those below `low` rejected, and the others are for a person. More
    on the page :doc:`/review`.

    Parameters
    ----------
    metric : Metric
        Metric that chose the cut where both promises allow the same one.
    low, high : float
        Thresholds on the scale of the scores, after the calibrator where there is one.
        ``low=-inf`` rejects no row, ``high=inf`` accepts none.
    guarantee : Guarantee or None
        The promises, in one `sentence`, with the counts behind them.
    pos_label, neg_label : object
        What `apply` calls accepted and rejected rows.
    ask : object
        What `apply` calls the rows for a person.
    calibrator : Calibrator or None
        Applied to the scores first.
    n : int
        Number of labelled rows.
    prevalence : float
        Prevalence among them.
    automated : float
        Proportion of rows that are accepted or rejected: among `new_rows` where they
        are scores, else among the labelled rows, at `prior` where there is one.
    automated_interval : Interval or None
        For this proportion in the population.
    accepted, rejected : float
        Proportions of rows that are accepted, and rejected.
    coverage : float
        Nominal coverage of the interval.
    constraints : dict
        The promises as they were passed.
    probabilities : bool
        Whether the scores lay between 0 and 1.
    histogram : tuple
        Edges of bins, and the negative and positive labelled rows in each.
    notes : tuple of str
        Remarks, such as why no row is accepted.
    versions : dict
        Versions of argmetric and numpy that made it.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> p = np.linspace(0, 1, 2000)
    >>> y = np.random.default_rng(0).random(2000) < p
    >>> rule = am.tune(
    ...     y, p, min_precision=0.8, min_npv=0.8, confidence=0.9, review=True
    ... )
    >>> round(rule.low, 2), round(rule.high, 2), round(rule.automated, 2)
    (0.35, 0.69, 0.66)
    >>> rule.apply([0.1, 0.5, 0.9])
    array([ 0, -1,  1])
    """

    kind: ClassVar[str] = "review"

    metric: Metric
    low: float
    high: float
    guarantee: Guarantee | None = None
    pos_label: Label = 1
    neg_label: Label = 0
    ask: Label = -1
    calibrator: CalibratorLike | None = None
    n: int = 0
    prevalence: float = math.nan
    automated: float = math.nan
    automated_interval: Interval | None = None
    accepted: float = math.nan
    rejected: float = math.nan
    coverage: float = 0.9
    constraints: dict[str, float] = field(default_factory=dict)
    probabilities: bool = True
    histogram: tuple[tuple[float, ...], ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=current_versions)

    def __post_init__(self) -> None:
        known: dict[str, Any] = {
            "metric": get_metric(self.metric),
            **{x: files.plain_float(getattr(self, x), x) for x in ("low", "high")},
            **{x: plain_label(getattr(self, x)) for x in ("pos_label", "neg_label")},
            "ask": plain_label(self.ask),
            "constraints": FrozenDict(self.constraints),
            **files.check_fields(self),
        }
        check_ask(self.ask)
        if not known["low"] <= known["high"]:
            raise ValueError(f"low must not exceed high: {self.low:g}, {self.high:g}")
        labels = [known[name] for name in ("neg_label", "ask", "pos_label")]
        if any(a == b for a, b in zip(labels, labels[1:] + labels[:1], strict=True)):
            raise ValueError(
                f"ask is {shown(self.ask)}, and the labels are "
                f"{shown(self.neg_label)} and {shown(self.pos_label)}: all must differ;"
                ' pass another one, such as ask="ask", or labels 0 and 1'
            )
        self._freeze(**known)

    @cached_property
    def cuts(self) -> tuple[Rule, Rule]:
        """Rules of one threshold: at `low`, and at `high`."""
        rule = Rule(
            self.metric,
            self.low,
            pos_label=self.pos_label,
            neg_label=self.neg_label,
            calibrator=self.calibrator,
            probabilities=self.probabilities,
        )
        return rule, replace(rule, threshold=self.high)

    @property
    def promise_rules(self) -> dict[str, Rule]:
        """Rules of one threshold by the promise that each keeps, with its metric.

        Where no row counts, as without accepted rows, a promise is kept: 1.
        """
        rules = {}
        for name in self.constraints:
            rule, metric = self.cuts[self.accepts(name)], get_metric(NPV)
            if name != "min_npv":
                metric = get_metric(name.removeprefix("min_"), zero_division=1.0)
            if math.isfinite(rule.threshold):
                rules[name] = replace(rule, metric=metric)
        return rules

    def accepts(self, name: str) -> bool:
        """Return whether a promise is about accepted rows, and not about rejected ones.

        Parameters
        ----------
        name : str
            One of `constraints`.

        Returns
        -------
        bool
            Whether it is min_precision or min_specificity.
        """
        check_choice(name, "name", (*ACCEPTING, *REJECTING))
        return name in ACCEPTING

    def actions(self, p: ArrayLike) -> AnyArray:
        """Return "accept", "ask" or "reject" for each score.

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on, not calibrated by hand.

        Returns
        -------
        ndarray of str
            In the order of the scores.
        """
        return np.array(ACTIONS)[self._places(p)]

    def apply(self, p: ArrayLike) -> AnyArray | Series:
        """Return labels of the scores, in the type of the input (array, series).

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on, not calibrated by hand.

        Returns
        -------
        array-like
            `pos_label` for accepted rows, `neg_label` for rejected ones, `ask` for
            those that a person should see.
        """
        names = (self.neg_label, self.ask, self.pos_label)
        kind = None if len({*map(type, names)}) == 1 else object
        return same_kind(p)(np.array(names, dtype=kind)[self._places(p)])

    def _places(self, p: ArrayLike) -> Integers:
        """Return how many of both cuts each score reaches."""
        low, high = (rule.applies(p) for rule in self.cuts)
        return low.astype(np.intp) + high.astype(np.intp)

    @property
    def _bands(self) -> str:
        p, high = self._scale, cut_text(self.high, 4)
        if self.low == self.high:
            return f"accept {p} >= {high}, reject the others, ask nobody"
        parts = []
        if self.high < math.inf:
            parts.append(f"accept {p} >= {high}")
        if self.low > -math.inf:
            parts.append(f"reject {p} < {cut_text(self.low, 4)}")
        return ", ".join([*parts, "ask a person about the others"])

    def fields(self) -> list[Field]:
        rows = f"{self.n:,}, {self.prevalence:.1%} positive"
        told, asked = self._headline().number, rows_text(1.0 - self.automated)
        return [
            *self._header(),
            Field("metric", lambda: metric_to_dict(self.metric)),
            *self._keys("low", "high", "pos_label", "neg_label", "ask"),
            Field(words="rule", text=self._bands),
            Field("automated", self.automated, "automated", told),
            *self._keys("automated_interval"),
            Field("accepted", self.accepted, "accepted", rows_text(self.accepted)),
            Field("rejected", self.rejected, "rejected", rows_text(self.rejected)),
            Field(words="for a person", text=asked),
            Field(
                "constraints",
                self.constraints,
                "promises",
                limit_words(self.constraints),
            ),
            Field("guarantee", self.guarantee, "guarantee", self._promise or None),
            *self._keys("n", "prevalence", "coverage", "probabilities"),
            Field(words="rows", text=rows if self.n else None),
            *self._keys("histogram", "notes", "versions"),
            Field("calibrator", lambda: files.saved_calibrator(self.calibrator)),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> ReviewRule:
        """Return the rule of a dict whose header is already checked."""
        known = files.read_fields(cls, values)
        known["histogram"] = tuple(map(tuple, known["histogram"]))
        return cls(**known)

    def _portable(self) -> PortableRule:
        cuts = tuple(rule._portable().cuts[0] for rule in self.cuts)
        labels = (self.neg_label, self.ask, self.pos_label)
        return PortableRule(
            self._title(), ("p",), labels, cuts, single=True, promise=self._promise
        )

    @property
    def _scale(self) -> str:
        return self.cuts[0]._scale

    def _columns(self) -> Mapping[str, object]:
        if not self.histogram:
            return super()._columns()
        edges, negative, positive = map(list, self.histogram)
        ends = {"from": edges[:-1], "to": edges[1:]}
        return {**ends, "negative": negative, "positive": positive}

    def _picture(self) -> str:
        if not self.histogram:
            return ""
        edges, negative, positive = (np.array(x) for x in self.histogram)
        total = negative + positive
        drawn = SmallPicture("Labelled rows by score", edges, np.append(total, 0))
        drawn.bars(edges, total)
        if self.low < self.high:
            drawn.band(Interval(self.low, self.high))
        return drawn.y_labels().ends("score")

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the labelled rows by score, and the band that a person sees."""
        if not self.histogram:
            raise ValueError("this rule has no histogram to draw: tune() makes one")
        edges, negative, positive = (np.array(x) for x in self.histogram)
        words: Any = {"xlabel": self._scale, "ylabel": "Labelled rows"}
        with drawing(ax, **words) as ax:
            ax.stairs(
                negative + positive, edges, fill=True, color="C7", label="negative"
            )
            ax.stairs(positive, edges, fill=True, color="C0", label="positive")
            inside = np.clip((self.low, self.high), edges[0], edges[-1])
            if inside[0] < inside[1]:
                ax.axvspan(*inside, color="C1", alpha=0.3, lw=0, label="for a person")
        return ax


def rows_text(part: float) -> str | None:
    """Return a part of the rows in words; None for a rule that was made by hand."""
    return None if math.isnan(part) else f"{max(part, 0.0):.1%} of the rows"


def check_ask(ask: Label, *, review: bool = True) -> None:
    """Refuse what cannot be the label of rows that a person should see."""
    check_label(ask, "ask")
    if ask is None or ask != ask:  # nan
        raise TypeError(f"ask must be one label, not {shown(ask)}")
    if not review and ask != -1:
        raise ValueError(f"ask={shown(ask)} goes with review=True: pass it too")


def check_review(
    metric: object,
    terms: Terms | None,
    limits: RuleLimits,
    scores: Floats,
    average: object,
) -> None:
    """Refuse what has no meaning for two cuts."""
    odd = [x for x in limits.named_limits if x not in (*ACCEPTING, *REJECTING)]
    reasons = {
        "promises what holds for new rows: pass confidence=0.9": terms is None,
        "goes with one column of scores, not with a matrix": scores.ndim != 1,
        "goes with one metric, not with a list": isinstance(metric, list | tuple),
        "promises what holds for rows, so average has no meaning: leave it out; of "
        "groups one row each counts": average is not None,
        f"goes without {', '.join(odd)}: how many rows are decided follows from the "
        "promises": bool(odd),
        "needs a promise: min_precision or min_specificity for the accepted rows, "
        "min_npv or min_recall for the rejected ones": not limits.named_limits,
    }
    for reason, refused in reasons.items():
        if refused:
            raise ValueError(f"review=True {reason}")


def review_guarantee(
    rows: LabelledRows, terms: Terms, metric: Metric
) -> tuple[Guarantee, tuple[str, ...]]:
    """Return both cuts with what they promise, and notes on a side without one.

    A side without a threshold that all of its promises prove asks about its rows.
    """
    thresholds = np.unique(rows.scores)
    thresholds = np.append(thresholds, np.nextafter(thresholds[-1], math.inf))
    delta = terms.risk / len(terms.limits) / (1 if terms.new_rows is None else 2)
    found: dict[str, Promise] = {}
    notes, errors = [], []
    for verb, side in (("accepted", ACCEPTING), ("rejected", REJECTING)):
        names = [name for name in side if name in terms.limits]
        try:
            own = [certify_limit(rows, thresholds, x, terms, delta) for x in names]
            found |= zip(names, own, strict=True)
        except NotCertifiedError as error:
            errors.append(error)
            notes.append(f"no row is {verb}: {error}")
    if not found:
        text = "; ".join(map(str, errors))
        raise NotCertifiedError(text, errors[0].nearest, errors[0].labels_needed)
    ends = {name: one.interval for name, one in found.items()}
    high = max((ends[x].low for x in ACCEPTING if x in ends), default=math.inf)
    low = min((ends[x].high for x in REJECTING if x in ends), default=-math.inf)
    if low > high:
        between = thresholds[(thresholds >= high) & (thresholds <= low)]
        of_all = [(between >= a) & (between <= b) for a, b in ends.values()]
        both = np.logical_and.reduce(of_all)
        low = high = best_threshold(rows, metric, between[both if both.any() else ...])
    cuts = {name: high if name in ACCEPTING else low for name in ends}
    inside = all(ends[x].low <= at <= ends[x].high for x, at in cuts.items())
    assumed = [population_words(rows, terms), NOT_FITTED]
    if not inside or (not rows.start_is_known and not ends.keys().isdisjoint(CHAINS)):
        assumed.append(ONE_CROSSING)
    if low > rows.scores.max():
        notes.append(
            "every row is rejected: the limits hold without a model; raise min_npv or "
            "set min_recall"
        )
    sure = round(1.0 - terms.risk, 15)
    n, of = rows.scores.size, (terms.new_rows, terms.prior, metric.name)
    promises = tuple(found.values())
    return Guarantee(high, sure, promises, n, *of, tuple(assumed), low), (*notes,)


def tuned_review(
    rows: LabelledRows,
    terms: Terms,
    metric: Metric,
    scores: Floats,
    labels: Labels,
    *,
    ask: Label,
    coverage: float,
) -> ReviewRule:
    """Return the rule of two certified cuts.

    Parameters
    ----------
    rows : LabelledRows
        Independent rows that certify: of groups one row each.
    scores : ndarray of shape (n_rows,)
        All labelled rows, with their `labels`.
    """
    found, notes = review_guarantee(rows, terms, metric)
    low, high = found.low, found.threshold
    assert low is not None
    positive, other = labels.positive, terms.unlabelled
    only = positive.all() or not positive.any()
    if only and other is None:
        kind = "positive" if positive.all() else "negative"
        notes += (f"only {kind} rows: automated is a proportion of them",)
    seen, parts = [scores if other is None else other], [1.0]
    n = float(rows.scores.size if other is None else other.size)
    if other is None and terms.prior is not None and not only:
        parts = [1.0 - terms.prior, terms.prior]
        seen = [scores[~positive], scores[positive]]
    # rows rejected, and accepted, of each part
    counts = np.array([((x < low).mean(), (x >= high).mean()) for x in seen])
    rejected, accepted = (parts @ counts).tolist()
    each = counts.sum(axis=1)
    automated = float(min(parts @ each, 1.0))
    if len(parts) > 1:  # variance of a weighted mean, as that of so many rows
        sizes = [x.size for x in seen]
        variance = float(np.sum(np.square(parts) * each * (1.0 - each) / sizes))
        worth = automated * (1.0 - automated) / variance if variance > 0.0 else n
        n = worth * n / scores.size
    names = labels.pos_label, labels.neg_label
    if isinstance(names[0], bool) and not isinstance(ask, bool):  # have no third value
        names = int(names[0]), int(not names[0])
    edges = adaptive_edges(scores)
    bars = (np.histogram(scores[x], edges)[0].tolist() for x in (~positive, positive))
    return ReviewRule(
        metric,
        low,
        high,
        found,
        *names,
        ask,
        n=scores.size,
        prevalence=float(positive.mean()),
        automated=automated,
        automated_interval=proportion_interval(automated, n, coverage),
        accepted=accepted,
        rejected=rejected,
        coverage=coverage,
        probabilities=rows.probabilities,
        histogram=(tuple(edges.tolist()), *map(tuple, bars)),
        notes=notes,
    )


def proportion_interval(value: float, n: float, coverage: float) -> Interval:
    """Return the Clopper-Pearson interval of a proportion of n rows."""
    from scipy.special import betaincinv

    tail, k = (1.0 - coverage) / 2.0, value * n
    low = float(betaincinv(k, n - k + 1.0, tail)) if k > 0.0 else 0.0
    high = float(betaincinv(k + 1.0, n - k, 1.0 - tail)) if k < n else 1.0
    return Interval(low, high)
