"""Valid calls of monitor, and of what undoes sampling and weights."""

from __future__ import annotations

import argmetric as am
from valid_calls import Call, P, Y, of

MONITORING = am.monitor(P * 3, 0.5, reference=(Y * 9, P * 9), every=9)

CALLS: dict[str, Call] = {
    "argmetric.undo_sampling": of(
        am.undo_sampling, p=P, rate=0.1, inverse=False, logits=False
    ),
    "argmetric.undo_weights": of(
        am.undo_weights, p=P, ratio=24.0, inverse=False, logits=False
    ),
    "argmetric.monitor": Call(
        am.monitor,
        {
            **{"p": P, "labels": Y, "metric": "f1", "reference": (Y * 9, P * 9)},
            **{"time": ["2026-01-01"] * 6, "every": "1d", "known": [1, *[None] * 5]},
            **{"by": list("aabbaa"), "shift": "auto", "coverage": 0.9, "floor": 0.3},
            "features": None,
            **{"false_alarms": 0.05, "zero_division": 1.0, "pos_label": 1},
            "logits": False,
        },
        {"p": r"\bp\b|scores", "reference": r"reference|\b[py]\b", "labels": "label"},
    ),
}
