"""2. Errors of the curves on nasty probabilities, against wide-float references."""

from __future__ import annotations

import numpy as np
from harness import emit, longdouble_name

import argmetric as am
from decide_parts.references import Reference
from decide_parts.references_long import sampled_curves

SIZES = (1, 2, 33, 65, 200, 1000)
RELATIVE = ("f1", "f2", "jaccard", "balanced_accuracy", "fowlkes_mallows")
SIGNED = ("mcc", "kappa")
ABSOLUTE = ("gmean", "hmean", "qmean")
FLOOR = 1e-3  # signed values pass through 0: errors relative to this at least
ROUNDING = 1e-14  # of the sums themselves: reported errors below it are not judged


def nasty_vectors(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Probabilities that break careless sums."""
    log_uniform = 10.0 ** rng.uniform(-16, 0, n)
    five = np.array([0.0, 1.0, 1e-300, 1 - 1e-16, 0.5])
    return {
        "uniform": rng.random(n),
        "Beta(.1,2)": rng.beta(0.1, 2.0, n),
        "Beta(.5,.5)": rng.beta(0.5, 0.5, n),
        "all 1e-12": np.full(n, 1e-12),
        "all 1e-200": np.full(n, 1e-200),
        "all 1e-300": np.full(n, 1e-300),
        "all 1-1e-12": np.full(n, 1 - 1e-12),
        "all 1-2^-53": np.full(n, 1 - 2.0**-53),
        "ones and zeros": (np.arange(n) % 3 == 0).astype(float),
        "0, 1, 1e-300, 1-1e-16, .5": five[np.arange(n) % 5],
        "all 0": np.zeros(n),
        "all 1": np.ones(n),
        "all .5": np.full(n, 0.5),
        "log-uniform": log_uniform,
        "1 - log-uniform": 1 - log_uniform,
    }


class Worst:
    """The largest error seen, and where."""

    def __init__(self) -> None:
        self.error, self.where = 0.0, "exact everywhere"
        self.beyond_own_bound = 0.0
        self.cases = 0

    def see(self, errors: np.ndarray, where: str, ks: np.ndarray | None = None) -> None:
        i = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
        self.cases += 1
        if not errors[i] <= self.error:
            k = i if ks is None else int(ks[i])
            self.error, self.where = float(errors[i]), f"{where}, k = {k}"


def long_vectors(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Vectors on which the near-linear routes run, prune and interpolate."""
    sure = np.where(np.arange(n) < n // 2, 1e-9, 1 - 1e-9)
    return {
        "uniform": rng.random(n),
        "Beta(.1,2)": rng.beta(0.1, 2.0, n),
        "half 1e-9, half 1-1e-9": sure,
    }


def run(*, quick: bool) -> None:
    sizes, long = ((1, 2, 33), 5_000) if quick else (SIZES, 10_000)
    rng = np.random.default_rng(2)
    metrics = (*RELATIVE, *SIGNED, *ABSOLUTE)
    worst = {name: Worst() for name in metrics}
    for n in sizes:
        for law, p in nasty_vectors(n, rng).items():
            reference = Reference(p)
            for metric, seen in worst.items():
                for zero in (0.0, 1.0):
                    where = f"n = {n}, {law}, zero_division = {zero:g}"
                    true = reference.curve(metric, zero)
                    _compare(true, None, p, metric, zero, seen, where)
    for metric, seen in worst.items():
        sizes_seen = f"{len(sizes)} sizes from 1 to {sizes[-1]:,}"
        _report(metric, seen, f"all k, {sizes_seen}, zero_division 0 and 1")
        _report_own_error(metric, seen)
    worst = {name: Worst() for name in metrics}
    for law, p in long_vectors(long, rng).items():
        if quick and not law.startswith("half"):
            continue
        ks = np.unique(np.linspace(1, long - 1, 60).astype(int))
        truth = sampled_curves(p, ks)
        for metric, seen in worst.items():
            _compare(truth[metric], ks, p, metric, 0.0, seen, f"n = {long:,}, {law}")
    for metric, seen in worst.items():
        _report(metric, seen, f"60 k, n = {long:,}")


def _compare(
    true: np.ndarray,
    ks: np.ndarray | None,
    p: np.ndarray,
    metric: str,
    zero: float,
    seen: Worst,
    where: str,
) -> None:
    """Note the errors of a curve against the truth, at every k or at those given."""
    try:
        decision = am.decide(p, am.get_metric(metric).with_zero_division(zero))
    except Exception as problem:  # a crash is a finding, not the end of the run
        seen.see(np.array([np.nan]), f"{where}: {type(problem).__name__}: {problem}")
        return
    assert decision.curve is not None
    curve = decision.curve if ks is None else decision.curve[ks]
    difference = np.abs(curve - true).astype(np.float64)
    scale = np.abs(true).astype(np.float64)
    if metric in RELATIVE:
        none = np.where(difference > 0, np.inf, 0.0)
        errors = np.divide(difference, scale, out=none, where=scale > 0)
    elif metric in SIGNED:
        errors = difference / np.maximum(scale, FLOOR)
    else:
        errors = difference
    seen.see(errors, where, ks)
    if ks is None:
        own = abs(decision.expected - float(true[decision.n_positives]))
        ratio = own / max(decision.error, ROUNDING)
        seen.beyond_own_bound = max(seen.beyond_own_bound, ratio)


def _report(metric: str, seen: Worst, where: str) -> None:
    arithmetic = longdouble_name()
    kind, limit = "relative", 1e-11
    against = f"a {arithmetic} quadratic sum"
    if metric in SIGNED:
        kind = f"relative to max(|value|, {FLOOR:g})"
    elif metric in ABSOLUTE:
        kind, limit = "absolute", 1e-9
        against = f"{arithmetic} laws and double values"
    emit(
        "errors",
        f"max error of the curve, {metric}, {where}",
        seen.error,
        f"{kind}, against {against}",
        ("<=", limit),
        worst_case=seen.where,
        curves=seen.cases,
    )


def _report_own_error(metric: str, seen: Worst) -> None:
    emit(
        "errors",
        f"error of Decision.expected / max(Decision.error, {ROUNDING:g}), {metric}",
        seen.beyond_own_bound,
        "× the reported error",
        ("<=", 1.0),
    )
