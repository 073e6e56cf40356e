"""2. Errors of the curves on nasty probabilities, against wide-float references."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from harness import emit, longdouble_name

import argmetric as am
from argmetric._decide import _curves
from decide_parts.references import Reference

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

    def see(self, errors: np.ndarray, where: str) -> None:
        k = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
        self.cases += 1
        if not errors[k] <= self.error:
            self.error, self.where = float(errors[k]), f"{where}, k = {k}"


def run(*, quick: bool) -> None:
    sizes = (1, 2, 33, 65) if quick else SIZES
    rng = np.random.default_rng(2)
    worst = {name: Worst() for name in (*RELATIVE, *SIGNED, *ABSOLUTE)}
    for n in sizes:
        for law, p in nasty_vectors(n, rng).items():
            reference = Reference(p)
            for metric, seen in worst.items():
                for zero, backend in (
                    (0.0, "compiled"),
                    (1.0, "compiled"),
                    (1.0, "numpy"),
                ):
                    where = f"n = {n}, {law}, zero_division = {zero:g}, {backend}"
                    with using(backend):
                        _compare(reference, p, metric, zero, seen, where)
    for metric, seen in worst.items():
        _report(metric, seen, sizes)


@contextmanager
def using(backend: str) -> Iterator[None]:
    """Have single vectors of any size worked on by numpy or by the compiled kernels."""
    kept = _curves.SMALL
    _curves.SMALL = {"numpy": kept, "compiled": 0}[backend]
    try:
        yield
    finally:
        _curves.SMALL = kept


def _compare(
    reference: Reference,
    p: np.ndarray,
    metric: str,
    zero: float,
    seen: Worst,
    where: str,
) -> None:
    true = reference.curve(metric, zero)
    try:
        decision = am.decide(p, metric, zero_division=zero)
    except Exception as problem:  # a crash is a finding, not the end of the run
        seen.see(np.array([np.nan]), f"{where}: {type(problem).__name__}: {problem}")
        return
    assert decision.curve is not None
    difference = np.abs(decision.curve - true).astype(np.float64)
    if metric in RELATIVE:
        scale = np.abs(true).astype(np.float64)
        difference = np.divide(
            difference,
            scale,
            out=np.where(difference > 0, np.inf, 0.0),
            where=scale > 0,
        )
    elif metric in SIGNED:
        difference /= np.maximum(np.abs(true).astype(np.float64), FLOOR)
    seen.see(difference, where)
    k = decision.n_positives
    own = abs(decision.expected - float(true[k]))
    bound = max(decision.error, ROUNDING)
    seen.beyond_own_bound = max(seen.beyond_own_bound, own / bound)


def _report(metric: str, seen: Worst, sizes: tuple[int, ...]) -> None:
    common: dict[str, Any] = {
        "worst_case": seen.where,
        "vectors": seen.cases,
        "sizes": list(sizes),
        "expected_error_over_decision_error": seen.beyond_own_bound,
    }
    arithmetic = longdouble_name()
    if metric in ABSOLUTE:
        emit(
            "errors",
            f"max absolute error of the curve, all k, {metric}, zero_division 0 and 1",
            seen.error,
            f"absolute, against {arithmetic} laws and double values",
            ("<=", 1e-9),
            **common,
        )
        emit(
            "errors",
            f"error of Decision.expected / max(Decision.error, {ROUNDING:g}), {metric}",
            seen.beyond_own_bound,
            "× the reported error",
            ("<=", 1.0),
        )
        return
    kind = "relative"
    if metric in SIGNED:
        kind = f"relative to max(|value|, {FLOOR:g})"
    emit(
        "errors",
        f"max relative error of the curve, all k, {metric}, zero_division 0 and 1",
        seen.error,
        f"{kind}, against a {arithmetic} quadratic sum",
        ("<=", 1e-11),
        **common,
    )
