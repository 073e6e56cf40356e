"""Valid calls of `compare` and what it gives back; see `valid_calls`."""

from __future__ import annotations

import argmetric as am
from valid_calls import Call, P, Y, drawn, of
from valid_methods import SAVED, loaded
from valid_structures import A_FILE

LABELS, SCORES, REFERENCE = [Y, Y[::-1]], [P, P[::-1]], (Y * 9, [P * 9, P[::-1] * 9])
COMPARISON = am.compare(SCORES, LABELS, reference=REFERENCE)
REVIEW = am.review_rows(P, Y, "f1", 2)
WORDS = {"p": r"\bp\b|scores|models", "reference": r"reference|\b[py]\b"}
OF_COMPARE: dict[str, Call] = {
    "argmetric.compare": Call(
        am.compare,
        {
            **{"p": SCORES, "labels": LABELS, "metric": "f1", "reference": REFERENCE},
            **{"known": [1, *[None] * 5], "groups": list("abcabc"), "coverage": 0.9},
            **{"average": "groups", "zero_division": 1.0, "logits": False},
            "pos_label": 1,
        },
        {**WORDS, "labels": "label|models"},
    ),
    "argmetric.review_rows": Call(
        am.review_rows,
        {
            **{"p": P, "labels": Y, "metric": "f1", "budget": 2, "logits": False},
            **{"reference": (Y * 9, P * 9), "leave_out": False, "coverage": 0.9},
            "random_state": 0,
        },
        {**WORDS, "labels": "label"},
    ),
    "Comparison.difference": Call(
        COMPARISON.difference,
        {"first": "A", "second": "B"},
        {"first": "model", "second": "model"},
    ),
    "Comparison.sure": of(COMPARISON.sure, level=0.99),
    "Comparison.next_rows": of(COMPARISON.next_rows, n=3, random_state=0),
    "Comparison.add": of(COMPARISON.add, rows=[1, 2], y=[1, 0], pos_label=1),
    "Comparison.labels_needed": of(COMPARISON.labels_needed, gap=0.1, power=0.8),
    "Comparison.to_frame": of(COMPARISON.to_frame, backend="pandas"),
    "Comparison.plot": of(drawn(COMPARISON.plot), ax=None),
    "Comparison.from_dict": Call(
        am.Comparison.from_dict,
        {"values": COMPARISON.to_dict()},
        {"values": "saved|this comparison"},
    ),
    "Comparison.save": Call(COMPARISON.save, SAVED, A_FILE),
    "Comparison.load": Call(loaded(am.Comparison, lambda: COMPARISON), SAVED, A_FILE),
    "Review.to_frame": of(REVIEW.to_frame, backend="pandas"),
    "Review.plot": of(drawn(REVIEW.plot), ax=None),
}
