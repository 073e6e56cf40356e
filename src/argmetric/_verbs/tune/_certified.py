"""Thresholds of which labelled rows prove that they keep the limits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_count, check_share
from argmetric._ground.types import Booleans, Floats
from argmetric._ground.validation import read_scores
from argmetric._verbs.guarantees import LabelledRows, certify
from argmetric._verbs.tune._binary import Group, Settings, rule_at, search_rows
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune._scan import RuleLimits
from argmetric.metrics import Metric

FEWEST_ROWS = 5
DIGITS = 6  # of scores that count as rounded
REPEATED = 0.1  # share of rows with the score of an earlier one that is told of


@dataclass(frozen=True)
class Certain:
    """With which confidence limits have to hold, and for what."""

    confidence: float
    for_rows: int | None
    prior: float | None
    unlabelled: Floats | None

    def of_labels(self, count: int) -> Certain:
        """All promises at once: each label has its part of the risk (Bonferroni)."""
        return replace(
            self, confidence=1.0 - (1.0 - self.confidence) / count, unlabelled=None
        )

    def rules(
        self,
        scores: Floats,
        positive: Booleans,
        group: Group | None,
        settings: Settings,
        metrics: list[Metric],
    ) -> list[Rule]:
        """One rule for each metric, with its guarantee."""
        if scores.size < FEWEST_ROWS:
            raise ValueError(
                f"{scores.size} rows prove nothing: confidence needs {FEWEST_ROWS} at "
                "the least, and mostly hundreds"
            )
        kept: Any = slice(None)
        if group is not None:  # rows of a group are not independent: one of each
            rng = np.random.default_rng(settings.seeds()[0])
            mixed = rng.permutation(scores.size)
            kept = mixed[np.unique(group.code[mixed], return_index=True)[1]]
        else:
            _warn_of_repeated(scores)
        inside = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
        rows = LabelledRows(scores[kept], positive[kept], inside, self.unlabelled)
        limits = {
            name: float(x)
            for name, x in settings.limits.of_share(scores.size).given.items()
        }
        free = replace(settings, limits=RuleLimits(), choice="best", cv=0)
        search = search_rows(scores, positive, None, group, free)
        rules = []
        for metric in metrics:
            found = certify(
                rows,
                limits,
                metric,
                confidence=self.confidence,
                for_rows=self.for_rows,
                prior=self.prior,
            )
            cut = int(np.count_nonzero(search.cuts.scores >= found.threshold))
            rule = rule_at(search, metric, cut)
            rules.append(
                replace(
                    rule,
                    threshold=found.threshold,
                    constraints=settings.limits.given,
                    guarantee=found,
                )
            )
        return rules


def check_certain(
    confidence: Any,
    for_rows: Any,
    prior: Any,
    unlabelled: Any,
    limits: RuleLimits,
    sample_weight: Any,
    y: Any,
) -> Certain | None:
    """What was asked of the confidence; None where nothing was."""
    given = {"for_rows": for_rows, "prior": prior, "unlabelled": unlabelled}
    if confidence is None:
        named = [name for name, value in given.items() if value is not None]
        if named:
            raise ValueError(f"{named[0]} goes with confidence: pass confidence=0.95")
        return None
    if y is None:
        raise ValueError("confidence needs labelled rows, and y is None")
    if sample_weight is not None:
        raise ValueError(
            "sample_weight has no guarantee: a row that counts twice proves no more "
            "than one; leave it out, or pass groups for rows that belong together"
        )
    if limits.min_positives is not None:
        raise ValueError(
            "min_positives has no guarantee: pass min_recall with confidence, or leave "
            "one of both out"
        )
    scores = None
    if unlabelled is not None:
        scores = read_scores(unlabelled, "unlabelled", logits=False).ravel()
        if not scores.size:
            raise ValueError("unlabelled holds no scores")
    return Certain(
        check_share(confidence, "confidence"),
        None if for_rows is None else check_count(for_rows, "for_rows", low=1),
        None if prior is None else check_share(prior, "prior"),
        scores,
    )


def _warn_of_repeated(scores: Floats) -> None:
    """Repeated rows prove less than they seem to; rounded scores are no such rows."""
    if np.array_equal(scores, np.round(scores, DIGITS)):
        return
    _, counts = np.unique(scores, return_counts=True)
    often = int(np.gcd.reduce(counts)) if counts.size > 1 else 1
    share = 1.0 - counts.size / scores.size
    if often > 1 or REPEATED <= share <= 0.5:
        told = (
            f"every score occurs {often} times"
            if often > 1
            else (f"{share:.0%} of the rows have the score of an earlier row")
        )
        warnings.warn(
            f"{told}: a guarantee counts every row as a draw of its own; leave "
            "duplicates out, or pass groups",
            UserWarning,
            stacklevel=5,
        )
