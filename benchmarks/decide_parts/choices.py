"""Choices: small decisions against enumeration, and at the switches against laws."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from harness import emit

import argmetric as am
from argmetric._expected import plan
from argmetric._verbs.decide import decide_by
from argmetric.metrics import Metric, metric_names

DECISIONS = 60_000
SIZES = range(1, 9)  # rows; all 2^n decisions are compared on all 2^n outcomes
CONVENTIONS = (0.0, 1.0, math.nan)
AT_SWITCHES = 600
SLACK = 1e-11  # of E|value|: twice the rounding of either sum
TINY = 1e-320
SWITCHES = (
    plan.TABLE_ROWS,
    plan.SHORT_ROWS,
    plan.SHARED_TABLE_ROWS,
    plan.QUADRATIC_ROWS,
)


@dataclass
class Verdicts:
    """How many decisions were looked at, and those that are worse than the best."""

    looked_at: int = 0
    wrong: list[str] = field(default_factory=list)
    widest: float = 0.0

    def see(self, gap: float, slack: float, where: str) -> None:
        self.looked_at += 1
        self.widest = max(self.widest, gap / slack if slack > 0 else 0.0)
        if not gap <= slack:
            self.wrong.append(f"{where}: {gap:.2g} below the best")


def every_metric(zero_division: float) -> list[Metric]:
    named = [
        am.get_metric(name).with_zero_division(zero_division) for name in metric_names()
    ]
    more = [
        am.Tversky(0.25, 1.5, zero_division=zero_division),
        am.Utility(4, -3, -2, 1),
        am.LinearFractional((1, 16, -4, 2), (4, 2, 8, 6), zero_division=zero_division),
    ]
    return named + more


def nasty(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of probabilities with ties, certain labels and values next to them."""
    p = rng.beta(*np.exp(rng.uniform(-2, 2, 2)), (count, n))
    edges = np.array([0.0, 1.0, 1e-300, 1 - 1e-16, 1e-12, 0.5, 0.1])
    odd = rng.random((count, n)) < rng.choice([0.0, 0.3, 1.0], (count, 1))
    p[odd] = rng.choice(edges, int(odd.sum()))
    tied = rng.random(count) < 0.3
    p[tied] = p[tied].round(1)
    return p


@dataclass(frozen=True)
class Enumeration:
    """Expected values of all decisions on n rows: sums over all outcomes."""

    k: np.ndarray
    values: np.ndarray  # of every decision, by outcome
    outcomes: np.ndarray

    @classmethod
    def of(cls, metric: Metric, n: int) -> Enumeration:
        rows = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        k = rows.sum(axis=1)
        values = metric.value(rows @ rows.T, k[:, None], k[None, :], n)
        return cls(k, values, rows)

    def expected(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[value | defined] and E[|value| | defined], a row per vector."""
        chances = np.where(self.outcomes, p[:, None, :], 1 - p[:, None, :])
        chances = chances.prod(axis=2)
        defined = ~np.isnan(self.values)
        filled = np.where(defined, self.values, 0.0)
        mass = chances @ defined.T.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = chances @ filled.T / mass
            return mean, chances @ np.abs(filled).T / mass


def enumerated(verdicts: Verdicts, each: int, rng: np.random.Generator) -> None:
    """`each` vectors of every metric, convention and size: alone, and as groups."""
    for zero in CONVENTIONS:
        for metric in every_metric(zero):
            sign = 1.0 if metric.greater_is_better else -1.0
            for n in SIZES:
                enumeration = Enumeration.of(metric, n)
                p = nasty(n, each, rng)
                mean, scale = enumeration.expected(p)
                floor = float(metric.tie_floor(n))
                if np.isnan(mean).all():  # never defined: refused
                    continue
                grouped = in_groups(p, metric)
                for row, given in itertools.product(range(each), (False, True)):
                    limits = some_limits(n, rng) if given else {}
                    allowed = within(enumeration.k, p[row], limits, zero)
                    gains = np.where(allowed, sign * mean[row], -np.inf)
                    if np.isnan(gains[allowed]).all():
                        continue
                    labels = (
                        decide_by(p[row], metric, check=False, **limits).labels
                        if given
                        else grouped[row]
                    )
                    best = int(np.nanargmax(gains))
                    gap = float(gains[best] - gains[labels @ (1 << np.arange(n))])
                    slack = SLACK * scale[row, best] + 2 * floor
                    where = f"{metric!r}, {p[row].tolist()}, {limits}"
                    verdicts.see(gap, slack + TINY, where)


def within(
    k: np.ndarray, p: np.ndarray, limits: dict[str, int], zero: float
) -> np.ndarray:
    """Which decisions the limits allow; certain negatives are no way out of 0/0."""
    least, most = limits.get("min_positives", 0), limits.get("max_positives", p.size)
    if math.isnan(zero):
        most = min(most, max(int((p > 0).sum()), least))
    return (k >= least) & (k <= most)


def some_limits(n: int, rng: np.random.Generator) -> dict[str, int]:
    if rng.random() < 0.5:
        return {}
    least, most = np.sort(rng.integers(0, n + 1, 2)).tolist()
    return {"min_positives": least, "max_positives": most}


def in_groups(p: np.ndarray, metric: Metric) -> np.ndarray:
    """Labels of all rows at once, in shuffled groups."""
    ids = np.repeat(np.arange(len(p)), p.shape[1])
    order = np.random.default_rng(0).permutation(ids.size)
    found = decide_by(
        p.ravel()[order], metric, groups=ids[order], average="groups", check=False
    )
    labels = np.empty(ids.size, dtype=np.int64)
    labels[order] = found.labels
    return labels.reshape(p.shape)


def curve_of_laws(p: np.ndarray, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """E[value | defined] for every k by the laws of hits and misses; E[|value|] too."""
    p, n = np.sort(p)[::-1], p.size
    laws = []
    for items in (p, p[::-1]):
        law = [np.ones(1)]
        for x in items:
            law.append(np.convolve(law[-1], [1 - x, x]))
        laws.append(law)
    mean, scale = np.full((2, n + 1), math.nan)
    for k in range(n + 1):
        hits, misses = laws[0][k][:, None], laws[1][n - k]
        tp = np.arange(k + 1.0)[:, None]
        values = metric.value(tp, float(k), tp + np.arange(n - k + 1.0), n)
        weights = np.where(np.isnan(values), 0.0, hits * misses)
        mass = weights.sum()
        if mass > 0:
            mean[k] = (weights * np.nan_to_num(values)).sum() / mass
            scale[k] = (weights * np.abs(np.nan_to_num(values))).sum() / mass
    return mean, scale


def at_switches(verdicts: Verdicts, count: int, rng: np.random.Generator) -> None:
    """Vectors and groups of the sizes at which another route is taken."""
    for turn in range(count):
        n = int(rng.choice(SWITCHES)) + int(rng.integers(0, 2))
        zero = float(rng.choice(CONVENTIONS))
        metrics = every_metric(zero)
        metric = metrics[int(rng.integers(len(metrics)))]
        p = nasty(n, 1, rng)[0]
        mean, scale = curve_of_laws(p, metric)
        if np.isnan(mean).all():
            continue
        labels = (
            in_groups(np.stack([p, p[::-1]]), metric)[0]
            if turn % 2
            else decide_by(p, metric, check=False).labels
        )
        gains = mean if metric.greater_is_better else -mean
        gains = np.where(within(np.arange(n + 1), p, {}, zero), gains, -np.inf)
        best = int(np.nanargmax(gains))
        gap = float(gains[best] - gains[int(labels.sum())])
        slack = SLACK * scale[best] + 2 * float(metric.tie_floor(n))
        verdicts.see(gap, slack + TINY, f"{metric!r}, {n} rows, turn {turn}")


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(25)
    cells = len(CONVENTIONS) * len(every_metric(0.0)) * len(SIZES)
    small, large = Verdicts(), Verdicts()
    enumerated(small, 2 if quick else DECISIONS // (2 * cells) + 2, rng)
    at_switches(large, 10 if quick else AT_SWITCHES, rng)
    for what, seen in (
        (f"1 to {SIZES[-1]} rows, alone and in groups, against enumeration", small),
        ("beside the switches by size, against sums over laws", large),
    ):
        emit(
            "choices",
            f"decisions that are not the best: {what}",
            float(len(seen.wrong)),
            f"of {seen.looked_at}",
            ("<=", 0.0),
            widest_gap_in_slacks=seen.widest,
            wrong="; ".join(seen.wrong[:5]),
        )
