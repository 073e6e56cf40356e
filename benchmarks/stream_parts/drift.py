"""6. Streams whose probabilities go wrong in another way every now and then.

Log-odds are normal, labels are drawn from them, and the rules see log-odds that are
scaled and shifted by constants, drawn anew at every change. No model learns here: only
the rule can follow.
"""

from __future__ import annotations

import numpy as np
from harness import emit

from argmetric.stream import HistogramRule, NewtonRule, ThresholdRule
from stream_parts.sets import f_score

GROWING, SHORT = "histogram", "histogram, grow=False"
RULES: dict[str, ThresholdRule] = {
    GROWING: HistogramRule(),
    SHORT: HistogramRule(grow=False),
    "histogram, forget=None": HistogramRule(forget=None),
    "newton": NewtonRule(),
}
ROWS, MEAN = 300_000, -4.6  # of the log-odds: 4 % positives
CHANGES = (0, 4, 16)


def run(*, quick: bool) -> None:
    n = 30_000 if quick else ROWS
    for changes in CHANGES:
        scores = [_scores(n, changes, seed) for seed in range(1 if quick else 5)]
        found = dict(zip(RULES, np.mean(scores, axis=0), strict=True))
        emit(
            "drift",
            f"{n:,} rows, {changes} changes: {GROWING} over {SHORT}",
            found[GROWING] - found[SHORT],
            "points of F1",
            (">=", 0.0),
            **{key: round(float(value), 2) for key, value in found.items()},
        )


def _scores(n: int, changes: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    z = rng.normal(MEAN, 2.0, n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(np.int64)
    shift, log_slope = rng.normal(0.0, (1.5, 0.3), (changes + 1, 2)).T
    part = np.arange(n) * (changes + 1) // n
    shown = z * np.exp(-log_slope[part]) + shift[part]
    return [
        f_score(y, rule.run(rule.init_state("f1"), shown, y, logits=True).labels)
        for rule in RULES.values()
    ]
