"""Promises for new rows, the words they are given in, and the error without them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    counted,
    documented,
    first_lines,
)
from argmetric._ground.pictures import drawing
from argmetric._ground.saving import restore_values, with_intervals
from argmetric._ground.types import Axes, Interval, Label

# What a promise says of a cut, after "at least 90 % of the" or "of the next 100"
WORDS = {
    "min_precision": "rows selected by {cut} are positive",
    "min_npv": "rows not selected by {cut} are negative",
    "min_recall": "positive rows are selected by {cut}",
    "min_specificity": "negative rows are not selected by {cut}",
    "max_positives": "rows are selected by {cut}",
}
# The same of two cuts, with the rows between them for a person
REVIEW_WORDS = {
    "min_precision": "accepted rows (p ≥ {high:.4g}) are positive",
    "min_npv": "rejected rows (p < {low:.4g}) are negative",
    "min_recall": "positive rows are not rejected (p ≥ {low:.4g})",
    "min_specificity": "negative rows are not accepted (p < {high:.4g})",
}

MOST_NAMES = 8  # classes that a sentence names


@dataclass(frozen=True)
class Promise:
    """One floor or ceiling, and the count that proves it.

    Attributes
    ----------
    name : str
        Argument of `tune` that the guarantee is for.
    bound : float
        The floor or ceiling that is promised.
    tested : float
        The one that was tested on the labelled rows: another one where `prior` moves
        the prevalence, or where the promise is for so many rows.
    k, errors, allowed : int
        Rows of the test, errors among them, and the most errors that pass.
    interval : Interval
        Thresholds that are certified, both included.
    """

    name: str
    bound: float
    tested: float
    k: int
    errors: int
    allowed: int
    interval: Interval

    @property
    def counts(self) -> str:
        """Return the count of errors that proves the promise, in words."""
        seen = f"{counted(self.errors, 'error')} among {counted(self.k, 'row')}"
        return f"{seen}, {self.allowed:,} allowed"

    def sentence(
        self, cut: str, rows: int | None, metric: str, band: Interval | None = None
    ) -> str:
        """Return the promise of a cut in words, for so many rows or all new ones.

        With a `band` it is that of rows accepted above it, or rejected below it.
        """
        if self.name == "min_score":
            return f"{metric} of {cut} is at least {self.bound:.3g}"
        side = "at least" if self.name.startswith("min") else "at most"
        share, kind = percent(self.bound), "the"
        if rows is not None:
            few = math.ceil if self.name.startswith("min") else math.floor
            share, kind = f"{few(round(rows * self.bound, 9)):,}", f"the next {rows:,}"
        words = WORDS[self.name].format(cut=cut) if band is None else ""
        if band is not None:
            words = REVIEW_WORDS[self.name].format(low=band.low, high=band.high)
        return f"{side} {share} of {kind} {words}"


def percent(share: float) -> str:
    """Return a share in words: 0 % and 100 % are those alone, never rounded ones."""
    text = f"{100.0 * share:.4g}"
    rounded = float(text) in (0.0, 100.0) and share not in (0.0, 1.0)
    return f"{100.0 * share:.14g} %" if rounded else f"{text} %"


def at_prevalence(prior: float | None) -> str:
    """Return words for a prevalence that was given, or nothing."""
    return "" if prior is None else f" at {percent(prior)} positives"


@dataclass(frozen=True, repr=False)
class Guarantee(Result):
    """Promises that hold for new rows, with the confidence in all of them.

    Attributes
    ----------
    threshold : float
        Scores from here on are selected.
    confidence : float
        Probability, over draws of the labelled rows, that all promises hold.
    promises : tuple of Promise
        The promises, with the counts behind them.
    n : int
        Labelled rows; with groups, one of each.
    new_rows : int or None
        The promises hold for the next so many rows of their kind; None: for the
        population.
    prior : float or None
        Prevalence among new rows that the promises are for; None: that of the
        labelled rows.
    metric : str
        The metric, where a floor under it is promised.
    assumptions : tuple of str
        Assumptions behind the promises.
    low : float or None
        Of a `ReviewRule`, experimental: scores below it are rejected, and those from
        here to `threshold` are for a person.
    classes : tuple
        Of an `argmetric.classes.ClassReviewRule`, experimental: the class that each
        promise is about; `threshold` is the lowest one.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> p = np.linspace(0, 1, 2000)
    >>> y = np.random.default_rng(0).random(2000) < p
    >>> rule = am.tune(y, p, "recall", min_precision=0.8, confidence=0.95)
    >>> rule.guarantee.promises[0].bound, rule.guarantee.n
    (0.8, 2000)
    """

    threshold: float
    confidence: float
    promises: tuple[Promise, ...]
    n: int
    new_rows: int | None
    prior: float | None
    metric: str
    assumptions: tuple[str, ...] = ()
    low: float | None = None
    classes: tuple[Label, ...] = ()

    @property
    def certified_interval(self) -> Interval:
        """Thresholds of which all promises are proven; of two cuts the cuts.

        Of classes it reaches from the lowest to the highest of any.
        """
        if self.low is not None:
            return Interval(self.low, self.threshold)
        lows, highs = zip(*(one.interval for one in self.promises), strict=True)
        if self.classes:
            return Interval(min(lows), max(highs))
        return Interval(max(lows), min(highs))

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return self._sentence(f"p ≥ {self.threshold:.4g}", self.confidence)

    @property
    def _limits(self) -> tuple[object, ...]:
        """Limits as requested, and their rows; a floor under the metric is a result."""
        asked = [(x.name, x.name == "min_score" or x.bound) for x in self.promises]
        return *asked, self.new_rows, self.metric, self.assumptions[0]

    def _sentence(self, cut: str, confidence: float, at_once: str = "") -> str:
        """Return the promises of a cut in one sentence, with their confidence."""
        band = None if self.low is None else self.certified_interval
        promised = " and ".join(
            self._of_classes()
            or [
                one.sentence(cut, self.new_rows, self.metric, band)
                for one in self.promises
            ]
        )
        sure = f"with {percent(confidence)} confidence{at_once}"
        return f"{sure} {promised}, if {self.assumptions[0]}"

    def _of_classes(self) -> list[str]:
        """Return the promises of classes in words, those with one floor together."""
        names: dict[float, list[str]] = {}
        for name, one in zip(self.classes, self.promises, strict=False):
            names.setdefault(one.bound, []).append(shown(name))
        words = []
        for bound, some in names.items():
            given = some[0] if len(some) == 1 else f"each of {', '.join(some)}"
            if len(some) > MOST_NAMES:
                given = f"each of {len(some):,} classes"
            words.append(
                f"at least {percent(bound)} of the rows given {given} belong to it"
            )
        return words

    _told = ("promise",)

    def _headline(self) -> Headline:
        return Headline("", f"p ≥ {self.threshold:.3g}", self.sentence)

    def fields(self) -> list[Field]:
        low, high = self.certified_interval
        found = [
            Field("sentence", self.sentence, "promise", self.sentence),
            *self._keys("threshold", "confidence"),
            Field("promises", [vars(one) for one in self.promises]),
            *self._keys("n", "new_rows", "prior", "metric"),
            Field(
                "certified_interval",
                self.certified_interval,
                "certified",
                f"thresholds from {low:.3g} to {high:.3g}",
            ),
            Field("assumptions", self.assumptions),
            *(() if self.low is None else self._keys("low")),
            *(self._keys("classes") if self.classes else ()),
        ]
        names = map(str, self.classes or [one.name for one in self.promises])
        pairs = zip(names, self.promises, strict=True)
        counts = [(name, one.counts) for name, one in pairs]
        return [*found, *first_lines(counts, len(counts), MOST_NAMES, "classes")]

    def _columns(self) -> dict[str, object]:
        names = Promise.__dataclass_fields__
        return {x: [getattr(one, x) for one in self.promises] for x in names}

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the thresholds that keep each promise, and the chosen one."""
        ends = [x for one in self.promises for x in one.interval] + [self.threshold]
        known = [x for x in ends if math.isfinite(x)]
        room = 0.1 * (max(known) - min(known)) or 0.1
        least, most = min(known) - room, max(known) + room
        with drawing(ax, (6.4, 2.4), xlabel="Threshold", xlim=(least, most)) as ax:
            for place, one in enumerate(self.promises):
                low, high = np.clip(one.interval, least, most)
                ax.barh(place, high - low, 0.5, low, color="C0", alpha=0.5)
            at = at_prevalence(self.prior)
            names = [f"{one.name}={one.bound:.3g}{at}" for one in self.promises]
            if self.classes:
                names = [shown(one) for one in self.classes]
            ax.set_yticks(range(len(names)), names)
            label = f"chosen: {self.threshold:.3g}"
            if not self.classes:  # each has its own: the lower end
                ax.axvline(self.threshold, color="C3", label=label)
        return ax

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Guarantee:
        """Return the guarantee that `to_dict` described."""
        names = cls.__dataclass_fields__.keys() - {"low", "classes"}
        known = {name: values[name] for name in names}
        known["classes"] = tuple(values.get("classes", ()))
        known |= {"low": restore_values(values.get("low"))}
        known["threshold"] = restore_values(values["threshold"])
        known["promises"] = tuple(
            Promise(**with_intervals(one)) for one in known["promises"]
        )
        known["assumptions"] = tuple(known["assumptions"])
        return cls(**known)


def guarantee_sentence(guarantees: Mapping[Label, Guarantee | None]) -> str:
    """Return one text for the guarantees of all labels; "" where no label has one.

    Labels with equal limits share a sentence, whose confidence 1 - Σ (1 - confidence)
    holds for all of them at once. Otherwise each label has its own.
    """
    known = {name: one for name, one in guarantees.items() if one is not None}
    if len(guarantees) == 1:
        return "".join(one.sentence for one in known.values())
    risk = sum(1.0 - one.confidence for one in known.values())  # a union bound
    if len({one._limits for one in known.values()}) == 1 and risk < 1.0:
        lowest = min(known.values(), key=lambda one: one.promises[0].bound)
        at_once = f" for all {len(known):,} labels at once"
        if len(known) < len(guarantees):
            at_once = f" for {', '.join(map(str, known))} at once"
        confidence = 1.0 - (round(risk, 12) or risk)
        return lowest._sentence("the threshold of each label", confidence, at_once)
    return "; ".join(f"{name}: {one.sentence}" for name, one in known.items())


class NotCertifiedError(ValueError):
    """No threshold is proven to keep the limits.

    Parameters
    ----------
    message : str
        Message that names the limits, and why they are not proven.
    nearest : dict or None
        The cut at which the test began, and failed: threshold, k, errors, allowed.
        None where no cut was tested. That another cut would pass by its own counts
        proves nothing: it would have been chosen for these counts.
    labels_needed : int or None
        Labelled rows with which a cut would pass with a probability of 80 %, if the
        scores are calibrated: a forecast, and too low where they are overconfident.
        None where it is no more than the rows at hand, which the labels contradict.

    Examples
    --------
    >>> import argmetric as am
    >>> y, p = [0, 1, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> try:
    ...     am.tune(y, p, min_precision=0.9, confidence=0.95)
    ... except am.NotCertifiedError as error:
    ...     print(error.labels_needed, str(error)[:44])
    None no threshold is proven to keep min_precision
    """

    def __init__(
        self,
        message: str,
        nearest: dict[str, float] | None = None,
        labels_needed: int | None = None,
    ) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.labels_needed = labels_needed
