"""6. Streams whose probabilities go wrong in another way every now and then.

Log-odds are normal, labels are drawn from them, and the rules see log-odds that are
scaled and shifted by constants, drawn anew at every change, or moving from one pair to
the next. No model learns here: only the rule can follow.
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
STREAMS = ((30_000, -2.0), (300_000, -2.0), (300_000, -4.6))  # rows, mean log-odds
CHANGES = (0, 1, 4, 16)


def run(*, quick: bool) -> None:
    gains = []
    for n, mean in STREAMS[:1] if quick else STREAMS:
        for changes in CHANGES:
            for gradual in (False, True) if changes else (False,):
                scores = [
                    _scores(n, mean, changes, gradual, seed)
                    for seed in range(1 if quick else 5)
                ]
                found = dict(zip(RULES, np.mean(scores, axis=0), strict=True))
                how = "gradual" if gradual else "sudden"
                share = 24 if mean > -4 else 4
                name = f"{n:,} rows, {share} % positives, "
                name += f"{changes} {how}" if changes else "no change"
                gains.append(found[GROWING] - found[SHORT])
                emit(
                    "drift",
                    f"{name}: {GROWING} over {SHORT}",
                    gains[-1],
                    "points of F1",
                    **{key: round(float(value), 2) for key, value in found.items()},
                )
    emit(
        "drift",
        f"{GROWING} over {SHORT}, mean over streams",
        float(np.mean(gains)),
        "points of F1",
        (">=", 0.0),
        worst=float(min(gains)),
        streams=len(gains),
    )


def _scores(n: int, mean: float, changes: int, gradual: bool, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    z = rng.normal(mean, 2.0, n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(np.int64)
    shift, log_slope = rng.normal(0.0, (1.5, 0.3), (changes + 1, 2)).T
    if gradual:
        place = np.linspace(0.0, changes, n)
        shift = np.interp(place, np.arange(changes + 1), shift)
        log_slope = np.interp(place, np.arange(changes + 1), log_slope)
    else:
        part = np.arange(n) * (changes + 1) // n
        shift, log_slope = shift[part], log_slope[part]
    shown = z * np.exp(-log_slope) + shift
    return [
        f_score(y, rule.run(rule.init_state("f1"), shown, y, logits=True).labels)
        for rule in RULES.values()
    ]
