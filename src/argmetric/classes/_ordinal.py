"""Tune the rule of a kappa of classes in order, linear or quadratic, for single rows.

Cuts tuned on few labels fit their noise. So the labels calibrate p, and the rule has
the highest expected kappa: of the quadratic one evenly spaced cuts of the expected
class, around its mean and the closer the lower kappa is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.types import ClassTuple, Integers
from argmetric._verbs.tune import Settings
from argmetric.classes._climb import GroupRows, decide_agreement
from argmetric.classes._fit import fit_class_matrix
from argmetric.classes._search import ClassRows
from argmetric.classes._values import agreement_rule
from argmetric.classes._weights import MultiClassRule, measure_rule
from argmetric.metrics import ClassAgreement


def tune_agreement(
    rows: ClassRows,
    classes: ClassTuple,
    metric: ClassAgreement,
    settings: Settings,
    calibrator: Calibrator | None = None,
) -> MultiClassRule:
    """Return the rule with the highest expected kappa of calibrated rows.

    Parameters
    ----------
    rows : ClassRows
        Probabilities before the calibrator, and true classes.
    classes : tuple
    metric : ClassAgreement
    settings : Settings
    calibrator : Calibrator, optional
        By default it is fitted to these rows.
    """

    def rule_of(part: ClassRows, *, strict: bool = False) -> MultiClassRule:
        fitted = calibrator
        if fitted is None:
            how: dict[str, Any] = {
                "logits": False,
                "classes": classes,
                "strict": strict,
                "draw": False,
            }
            fitted = fit_class_matrix(part.true, part.p, part.weight, **how)
        q = fitted.apply(part.p)
        free = np.full((1, len(classes)), np.inf)
        group = GroupRows(q, np.array([0, part.true.size]), free, -free)
        _, ratio = decide_agreement(group, metric, part.weight)
        mu = np.average(q, axis=0, weights=part.weight)
        slopes = agreement_rule(metric, mu, float(ratio[0]))
        how = {"offsets": slopes.offsets, "gains": slopes.gains, "calibrator": fitted}
        return MultiClassRule(classes, slopes.weights, metric, **how)

    def labels_by_folds(
        rows: ClassRows, fold: Integers, rng: np.random.Generator
    ) -> Integers:
        labels = np.empty_like(fold)
        for f in range(int(fold.max()) + 1):
            rule = rule_of(rows.take(np.flatnonzero(fold != f)))
            labels[fold == f] = rule.predicts(rows.p[fold == f])
        return labels

    rule = rule_of(rows, strict=True)
    return measure_rule(rule, rows, rule.predicts(rows.p), settings, labels_by_folds)
