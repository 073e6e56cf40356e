"""What is promised of a threshold, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argmetric._ground.display import Field, Result, only_shown

# What a promise says of a cut, after "at least 90 % of the" or "of the next 100"
WORDS = {
    "min_precision": "rows selected by {cut} are positive",
    "min_npv": "rows not selected by {cut} are negative",
    "min_recall": "positive rows are selected by {cut}",
    "min_specificity": "negative rows are not selected by {cut}",
    "max_positives": "rows are selected by {cut}",
}
SAME_POPULATION = "new rows come from the same population as these {n:,} rows"
ONE_CROSSING = "precision crosses the floor once as the threshold rises"
NOT_FITTED = "the model was not fitted on these rows"


@dataclass(frozen=True)
class Promise:
    """One floor or ceiling, and the count that proves it.

    Attributes
    ----------
    name : str
        Argument of `tune` that asked for it.
    bound : float
        The floor or ceiling that is promised.
    tested : float
        The one that was tested: higher where the share of positives moves, or where
        the promise is for so many rows.
    k, errors, allowed : int
        Rows that the test looked at, wrong ones among them, and the most that pass.
    low, high : float
        Thresholds that are certified, both included.
    """

    name: str
    bound: float
    tested: float
    k: int
    errors: int
    allowed: int
    low: float
    high: float

    def sentence(self, cut: str, rows: int | None, metric: str) -> str:
        if self.name == "min_score":
            return f"{metric} of {cut} is at least {self.bound:.3g}"
        side = "at least" if self.name.startswith("min") else "at most"
        share, kind = percent(self.bound), "the"
        if rows is not None:
            share, kind = f"{rows * self.bound:.4g}", f"the next {rows:,}"
        return f"{side} {share} of {kind} {WORDS[self.name].format(cut=cut)}"


def percent(share: float) -> str:
    return f"{100.0 * share:.4g} %"


@dataclass(frozen=True, repr=False)
class Guarantee(Result):
    """What holds for new rows, with which confidence.

    Attributes
    ----------
    threshold : float
        Scores from here on are selected.
    confidence : float
        Probability, over draws of the labelled rows, that all promises hold.
    promises : tuple of Promise
        What is promised, with the counts behind it.
    n : int
        Labelled rows; with groups, one of each.
    for_rows : int or None
        The promises hold for the next so many rows of their kind; None: for the
        population.
    prior : float or None
        Share of positives that new rows have, where it was given.
    metric : str
        The metric, where a floor under it is promised.
    assumptions : tuple of str
        What the promises rest on.
    """

    threshold: float
    confidence: float
    promises: tuple[Promise, ...]
    n: int
    for_rows: int | None
    prior: float | None
    metric: str
    assumptions: tuple[str, ...]

    @property
    def certified_range(self) -> tuple[float, float]:
        """Thresholds of which all promises are proven."""
        return max(one.low for one in self.promises), min(
            one.high for one in self.promises
        )

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        cut = f"p ≥ {self.threshold:.4g}"
        told = " and ".join(
            one.sentence(cut, self.for_rows, self.metric) for one in self.promises
        )
        where = self.assumptions[0]
        return f"with {percent(self.confidence)} confidence {told}, if {where}"

    def _title(self) -> str:
        return "Guarantee"

    def fields(self) -> list[Field]:
        low, high = self.certified_range
        found = [
            Field("sentence", self.sentence, "promise", self.sentence),
            *self._keys("threshold", "confidence"),
            Field("promises", [vars(one) for one in self.promises]),
            *self._keys("n", "for_rows", "prior", "metric"),
            Field(
                "certified_range",
                [low, high],
                "certified",
                f"thresholds from {low:.4g} to {high:.4g}",
            ),
            Field("assumptions", self.assumptions),
        ]
        counts = (
            (
                one.name,
                f"{one.errors} errors among {one.k:,} rows, {one.allowed} allowed",
            )
            for one in self.promises
        )
        return [*found, *only_shown(counts)]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Guarantee:
        """What `to_dict` gave."""
        known = {name: values[name] for name in cls.__dataclass_fields__}
        known["promises"] = tuple(Promise(**one) for one in known["promises"])
        known["assumptions"] = tuple(known["assumptions"])
        return cls(**known)


class NotCertifiedError(ValueError):
    """No threshold is proven to keep the limits.

    Attributes
    ----------
    nearest : dict or None
        The cut that is nearest to passing: threshold, k, errors, allowed.
    labels_needed : int or None
        Labelled rows with which a cut would pass with a chance of 80 %, if the scores
        are calibrated: a forecast, and too low where they are overconfident.
    """

    def __init__(
        self,
        message: str,
        nearest: dict[str, Any] | None = None,
        labels_needed: int | None = None,
    ) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.labels_needed = labels_needed
