"""One rule, five scores: what each says, and how often its interval holds the actual.

A rule is tuned on 1,000 labelled rows, and labels 3,000 new ones. The scores are too
sure and too high, as those of models are.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from harness import emit

import argmetric as am

KNOWN, NEW = 1000, 3000
REPEATS = 40
SAYS = {
    "tune: mean, interval": f"the rule on {KNOWN:,} rows like these",
    "decide --rule: forecast": "the rule on these new rows",
    "forecast --rule --reference: forecast": "the same: the rule keeps its reference",
    "Decision.forecast().mean": "another decision, made on these new rows together",
    "Decision.expected": "what that decision maximised, for one calibrator",
    "forecast, no reference": "the rule on these new rows, if p were calibrated",
}


def run(*, quick: bool) -> None:
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in SAYS}
    for seed in range(2 if quick else REPEATS):
        for name, figures in measured(np.random.default_rng(seed)).items():
            found[name].append(figures)
    for name, what in SAYS.items():
        mean, low, high, actual = np.array(found[name]).T
        held = float(np.mean((low <= actual) & (actual <= high)))
        told = {"actual": float(actual.mean()), "of": what}
        if not np.isnan(low).all():
            told |= {"low": low.mean(), "high": high.mean(), "held": held}
        emit("one_rule", name, float(mean.mean()), "F1", **told)


def rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(-1.9, 1.5, n)
    y = rng.random(n) < 1 / (1 + np.exp(-x))
    return y.astype(int), 1 / (1 + np.exp(-1.4 * x - 0.5))


def measured(rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """Mean, both ends of the interval, and the actual score of the same labels."""
    (y, p), (new_y, new), (more_y, more) = (rows(rng, n) for n in (KNOWN, NEW, KNOWN))
    rule = am.tune(y, p, "f1")
    with tempfile.TemporaryDirectory() as folder:  # as the command line has it
        rule.save(Path(folder) / "rule.json")
        rule = am.Rule.load(Path(folder) / "rule.json")
    labels = rule.apply(new)
    decision = am.decide(new, "f1", reference=rule.reference.calibrator)
    distribution = decision.forecast()
    by_rule = am.forecast(new, labels, "f1", reference=rule.reference.calibrator)
    by_rows = am.forecast(new, labels, "f1", reference=am.calibrate(y, p))
    assert (by_rule.mean, by_rule.interval) == (by_rows.mean, by_rows.interval)
    by_scores = am.forecast(new, labels, "f1")
    elsewhere = am.evaluate(more_y, rule.apply(more))
    actual, joint = am.evaluate(new_y, labels), am.evaluate(new_y, decision.labels)
    figures = (
        (rule.mean, *rule.interval, elsewhere),
        (by_rule.mean, *by_rule.interval, actual),
        (by_rows.mean, *by_rows.interval, actual),
        (distribution.mean, *distribution.interval, joint),
        (decision.expected, np.nan, np.nan, joint),
        (by_scores.mean, *by_scores.interval, actual),
    )
    return dict(zip(SAYS, figures, strict=True))
