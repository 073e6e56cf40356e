"""Limits of a batch of which its reference proves that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._calibrate.reference import Reference
from argmetric._calibrate.resolve import FittedReference
from argmetric._ground.arguments import check_share
from argmetric._ground.layout import Layout
from argmetric._verbs.decide._question import check_limits
from argmetric._verbs.guarantees import Guarantee, LabelledRows, certify
from argmetric.metrics import Metric


def certified_limits(
    confidence: Any,
    fitted: FittedReference,
    layout: Layout,
    metric: Metric,
    prior: Any,
    most: int | None,
    floors: dict[str, float | None],
) -> tuple[Guarantee, Any]:
    """The promise, and the number of rows that the certified threshold selects.

    The batch itself says where the test begins: its scores have no labels.
    """
    confidence = check_share(confidence, "confidence")
    rows = fitted.rows
    if not isinstance(rows, Reference):
        raise ValueError(
            "confidence needs the labelled rows that prove the limits: pass "
            "reference=(y, p)"
        )
    if layout.ids is not None:
        raise ValueError(
            "confidence goes with one column of scores and one threshold: for groups "
            "use tune(y, p, groups=..., confidence=...) and apply its rule"
        )
    if isinstance(prior, str):
        raise ValueError("confidence needs a share of positives that is given")
    scores = layout.scores
    limits = {name: float(x) for name, x in floors.items() if x is not None}
    if most is not None:
        limits["max_positives"] = most / scores.size
    inside = bool(rows.scores.min() >= 0.0 and rows.scores.max() <= 1.0)
    labelled = LabelledRows(rows.scores, rows.y, inside, scores)
    found = certify(
        labelled,
        limits,
        metric,
        confidence=confidence,
        prior=prior,
    )
    count = int(np.count_nonzero(scores >= found.threshold))
    return found, check_limits(count, count, None, None)
