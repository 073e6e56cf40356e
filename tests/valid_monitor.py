"""Valid calls of the monitor and what it gives back; see `valid_calls`."""

import argmetric as am
import valid_methods  # noqa: F401 what it names
from valid_calls import P, Y, calls
from valid_classes import CLASS_P, CLASS_Y

MONITORING = am.monitor(P * 3, 0.5, reference=(Y * 9, P * 9), every=9)
PLAN = MONITORING.to_label(3)
CLASS_REFERENCE = CLASS_Y.tolist() * 9, CLASS_P.tolist() * 9
CLASS_MONITORING = am.classes.monitor(
    CLASS_P.tolist() * 3, reference=CLASS_REFERENCE, classes=list("abc"), every=12
)
REVIEWED = am.monitor(
    P * 2,
    am.ReviewRule("f1", 0.25, 0.65, constraints={"min_npv": 0.5}, n=6, automated=0.5),
    reference=(Y * 9, P * 9),
    every=6,
)
PARITY_WATCHED = am.monitor(
    P * 2,
    am.ParityRule(("a", "b"), (am.Rule("f1", 0.3),) * 2, "recall", 0.1),
    groups=list("ab") * 6,
    reference=(Y * 9, P * 9, list("ab") * 27),
    every=6,
)
CLASS_REVIEWED = am.classes.monitor(
    CLASS_P.tolist() * 3,
    am.classes.ClassReviewRule(
        list("abc"), [0.5, 0.5, 0.5], min_precision=[0.5, 0.5, float("nan")], n=4
    ),
    reference=CLASS_REFERENCE,
    every=12,
)
OF_MONITOR = calls(
    r"""
argmetric.undo_sampling: am.undo_sampling(p=P, rate=0.1, inverse=False, logits=False)
argmetric.undo_weights: am.undo_weights(p=P, ratio=24.0, inverse=False, logits=False)
argmetric.monitor: am.monitor(p=P, labels=Y, metric="f1", reference=(Y * 9, P * 9),
    time=["2026-01-01"] * 6, every="1d", known=[1, *[None] * 5], by=list("aabbaa"),
    shift="auto", coverage=0.9, floor=0.3, groups=list("abcabc"), average="groups",
    features=None, false_alarms=0.05, zero_division=1.0, pos_label=1, logits=False)
    -> {"p": r"\bp\b|scores", "reference": r"reference|\b[py]\b", "labels": "label"}
argmetric.classes.monitor: am.classes.monitor(p=CLASS_P, labels=list("acbb"),
    metric="f1", every=4, reference=CLASS_REFERENCE, classes=list("abc"), shift="auto",
    average="macro", zero_division=0.0, coverage=0.9, false_alarms=0.05, logits=False,
    known=["a", *[None] * 3])
    -> {"p": r"\bp\b|scores", "reference": r"reference|\b[py]\b", "labels": "label"}
ClassMonitoring.add: CLASS_MONITORING.add(p=CLASS_P, known=["a", *[None] * 3])
ClassMonitoring.to_frame: CLASS_MONITORING.to_frame(backend="pandas")
ClassMonitoring.from_dict: am.classes.ClassMonitoring.from_dict(
    values=CLASS_MONITORING.to_dict()) -> {"values": "saved|this monitoring"}
ClassMonitoring.save: CLASS_MONITORING.save(**SAVED) -> A_FILE
ClassMonitoring.load: loaded(am.classes.ClassMonitoring, lambda: CLASS_MONITORING)(
    **SAVED) -> A_FILE
Monitoring.add: MONITORING.add(p=P, time=None, known=[1, *[None] * 5], pos_label=1)
Monitoring.to_label: MONITORING.to_label(n=3, period=-1, segment=None, p=P[3:] + P,
    labels=None, known=None, random_state=0)
Monitoring.add_labels: MONITORING.add_labels(y=Y, p=P, period=0, time=None, pos_label=1)
Monitoring.to_frame: MONITORING.to_frame(backend="pandas")
Monitoring.plot: drawn(MONITORING.plot)(ax=None)
Monitoring.from_dict: am.Monitoring.from_dict(values=MONITORING.to_dict())
    -> {"values": "saved|this monitoring"}
Monitoring.save: MONITORING.save(**SAVED) -> A_FILE
Monitoring.load: loaded(am.Monitoring, lambda: MONITORING)(**SAVED) -> A_FILE
ReviewMonitoring.add: REVIEWED.add(p=P, known=[1, *[None] * 5])
ReviewMonitoring.add_labels: REVIEWED.add_labels(y=Y, p=P, period=0)
ReviewMonitoring.plot: drawn(REVIEWED.plot)(ax=None)
ReviewMonitoring.to_frame: REVIEWED.to_frame(backend="pandas")
ReviewMonitoring.from_dict: am.ReviewMonitoring.from_dict(values=REVIEWED.to_dict())
    -> {"values": "saved|this (review )?monitoring"}
ReviewMonitoring.save: REVIEWED.save(**SAVED) -> A_FILE
ReviewMonitoring.load: loaded(am.ReviewMonitoring, lambda: REVIEWED)(**SAVED) -> A_FILE
ParityMonitoring.add: PARITY_WATCHED.add(p=P, groups=list("ababab"),
    known=[1, *[None] * 5])
ParityMonitoring.add_labels: PARITY_WATCHED.add_labels(y=Y, p=P, groups=list("ababab"),
    period=0)
ParityMonitoring.to_frame: PARITY_WATCHED.to_frame(backend="pandas")
ParityMonitoring.from_dict: am.ParityMonitoring.from_dict(
    values=PARITY_WATCHED.to_dict()) -> {"values": "saved|this (parity )?monitoring"}
ParityMonitoring.save: PARITY_WATCHED.save(**SAVED) -> A_FILE
ParityMonitoring.load: loaded(am.ParityMonitoring, lambda: PARITY_WATCHED)(
    **SAVED) -> A_FILE
ClassReviewMonitoring.add: CLASS_REVIEWED.add(p=CLASS_P, known=["a", *[None] * 3])
ClassReviewMonitoring.add_labels: CLASS_REVIEWED.add_labels(y=CLASS_Y, p=CLASS_P,
    period=0)
ClassReviewMonitoring.plot: drawn(CLASS_REVIEWED.plot)(ax=None)
ClassReviewMonitoring.to_frame: CLASS_REVIEWED.to_frame(backend="pandas")
ClassReviewMonitoring.from_dict: am.classes.ClassReviewMonitoring.from_dict(
    values=CLASS_REVIEWED.to_dict())
    -> {"values": "saved|this (class review )?monitoring"}
ClassReviewMonitoring.save: CLASS_REVIEWED.save(**SAVED) -> A_FILE
ClassReviewMonitoring.load: loaded(am.classes.ClassReviewMonitoring,
    lambda: CLASS_REVIEWED)(**SAVED) -> A_FILE
ReviewPeriod.actual: REVIEWED.periods[0].actual(name="min_npv")
LabellingPlan.estimate: PLAN.estimate(y=[1, 0, 1], pos_label=1)
LabellingPlan.to_frame: PLAN.to_frame(backend="pandas")
""",
    globals(),
)
