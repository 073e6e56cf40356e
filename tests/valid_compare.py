"""Valid calls of `compare` and what it gives back; see `valid_calls`."""

import argmetric as am
import valid_methods  # noqa: F401 what it names
from valid_calls import P, Y, calls

LABELS, SCORES, REFERENCE = [Y, Y[::-1]], [P, P[::-1]], (Y * 9, [P * 9, P[::-1] * 9])
COMPARISON = am.compare(SCORES, LABELS, reference=REFERENCE)
REVIEW = am.review_rows(P, Y, "f1", 2)
WORDS = {"p": r"\bp\b|scores|models", "reference": r"reference|\b[py]\b"}
OF_COMPARE = calls(
    r"""
argmetric.compare: am.compare(p=SCORES, labels=LABELS, metric="f1", reference=REFERENCE,
    known=[1, *[None] * 5], groups=list("abcabc"), coverage=0.9, average="groups",
    zero_division=1.0, logits=False, pos_label=1) -> {**WORDS, "labels": "label|models"}
argmetric.review_rows: am.review_rows(p=P, labels=Y, metric="f1", budget=2,
    logits=False, reference=(Y * 9, P * 9), leave_out=False, coverage=0.9,
    random_state=0) -> {**WORDS, "labels": "label"}
Comparison.difference: COMPARISON.difference(first="A", second="B")
    -> {"first": "model", "second": "model"}
Comparison.sure: COMPARISON.sure(level=0.99)
Comparison.next_rows: COMPARISON.next_rows(n=3, random_state=0)
Comparison.add: COMPARISON.add(rows=[1, 2], y=[1, 0], pos_label=1)
Comparison.labels_needed: COMPARISON.labels_needed(gap=0.1, power=0.8)
Comparison.to_frame: COMPARISON.to_frame(backend="pandas")
Comparison.plot: drawn(COMPARISON.plot)(ax=None)
Comparison.from_dict: am.Comparison.from_dict(values=COMPARISON.to_dict())
    -> {"values": "saved|this comparison"}
Comparison.save: COMPARISON.save(**SAVED) -> A_FILE
Comparison.load: loaded(am.Comparison, lambda: COMPARISON)(**SAVED) -> A_FILE
Review.to_frame: REVIEW.to_frame(backend="pandas")
Review.plot: drawn(REVIEW.plot)(ax=None)
""",
    globals(),
)
