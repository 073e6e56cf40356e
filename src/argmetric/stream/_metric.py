"""What a threshold rule has to know of a metric: its level at given counts.

At an optimum of Φ(tp, k, t, n) a row is predicted positive where its probability
exceeds the level -(∂Φ/∂k)/(∂Φ/∂tp), taken at the counts that the decisions lead to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from argmetric.metrics import (
    MCC,
    BalancedAccuracy,
    FowlkesMallows,
    GMean,
    HMean,
    Kappa,
    MeanForm,
    Metric,
    QMean,
    RatioForm,
    Recall,
    Specificity,
    Youden,
)

Coefficients = tuple[float, float, float, float]
_NONE: Coefficients = (0.0, 0.0, 0.0, 0.0)

# Codes of the compiled `level`; 0 and 1 are the families of ratios.
_SMOOTH: dict[type[Metric], int] = {
    MCC: 2,
    Kappa: 3,
    FowlkesMallows: 4,
    GMean: 5,
    BalancedAccuracy: 6,
    Youden: 6,
    HMean: 7,
    QMean: 8,
}
_IGNORED: dict[type[Metric], str] = {
    Recall: "false positives",
    Specificity: "missed positives",
}


@dataclass(frozen=True)
class LevelForm:
    """A metric as the rules see it.

    `b2` is β² where the metric orders decisions as F_β does (Jaccard and Tversky
    among them), with the optimal threshold in [0, ceiling] = [0, 1/(1+β²)].
    """

    code: int
    b2: float
    ceiling: float
    start: float
    c: Coefficients = _NONE
    d: Coefficients = _NONE


def coefficients(metric: Metric) -> tuple[Coefficients, Coefficients] | None:
    """Numerator and denominator over (n, tp, k, t), None where it is no such ratio."""
    known = getattr(metric, "coefficients", None)
    if known is not None:
        c, d = known
        return tuple(c), tuple(d)
    form = metric.form
    if isinstance(form, RatioForm):
        return form.c, form.d
    if isinstance(form, MeanForm) and form.cells is not None and form.scale is not None:
        tp, fp, fn, tn = form.cells  # a sum over cells, for fixed n: divide by n
        return (tn, tp - fp - fn + tn, fp - tn, fn - tn), (1.0, 0.0, 0.0, 0.0)
    return None


def level_form(metric: Metric) -> LevelForm:
    """The level of a metric in the form that the compiled rules take."""
    for kind, code in _SMOOTH.items():
        if isinstance(metric, kind):
            return LevelForm(code, 1.0, 1.0, 0.25)
    ignored = _IGNORED.get(type(metric))
    if ignored is not None:
        raise ValueError(
            f"{metric.name} does not punish {ignored}: its best threshold is an "
            'extreme; use a metric that does, such as "f0.5", "f2" or "gmean"'
        )
    ratio = coefficients(metric)
    if ratio is None or not metric.greater_is_better:
        raise ValueError(
            f"no threshold rule for {metric.name}: rules on streams know ratios of "
            "affine counts (F-beta, Jaccard, Tversky, accuracy, utilities, ...), MCC, "
            "kappa, G-mean, H-mean, Q-mean, balanced accuracy, Youden and "
            "Fowlkes-Mallows"
        )
    c, d = ratio
    if c[0] == c[2] == c[3] == d[0] == 0.0 and c[1] > 0.0:
        # Φ = c1·tp/(d1·tp + d2·k + d3·t) rises with tp/(k + (d3/d2)·t), as F_β does
        if d[2] > 0.0 and d[3] > 0.0:
            b2 = d[3] / d[2]
            ceiling = 1.0 / (1.0 + b2)
            return LevelForm(0, b2, ceiling, 0.5 * ceiling, c, d)
        what = "false positives" if d[2] <= 0.0 else "missed positives"
        raise ValueError(
            f"{metric.name} does not punish {what}: its best threshold is an extreme; "
            'use a metric that does, such as "f0.5" or "f2"'
        )
    _check_direction(metric, c, d)
    gain = c[1] - 0.5 * d[1]
    start = (0.5 * d[2] - c[2]) / gain if gain > 0.0 else 0.25
    return LevelForm(1, 1.0, 1.0, min(max(start, 1e-4), 0.9999), c, d)


def _check_direction(metric: Metric, c: Coefficients, d: Coefficients) -> None:
    """Refuse a ratio whose optimum is not "positive above a threshold"."""
    holds = metric.ranking_principle(64).holds
    rising = c[1] - min(0.0, d[1]) > 0.0 or c[1] > 0.0
    if not (holds and rising and math.isfinite(sum(c) + sum(d))):
        raise ValueError(
            f"{metric.name} does not rise with the number of true positives, so no "
            "threshold on probabilities is optimal for it"
        )
