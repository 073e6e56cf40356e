"""4. How fast |θ_n - θ*| falls where the probabilities are known.

Logits are normal, labels are drawn from them, and the rules are given the true
probabilities; θ* is the root of q(θ) = π·θ - E(η-θ)₊, found by quadrature. FOFO is run
anew for every n with that n, as printed; the others run once and are read at n. The
last stream is given a map of its probabilities that keeps their order and nothing
else: there the best cut is known as well, and only labels can find it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from harness import emit

from argmetric.stream import (
    FOFORule,
    HistogramRule,
    NewtonRule,
    OFORule,
    SFORule,
    ThresholdRule,
)

HISTOGRAM, PATIENT = "histogram", "histogram, forget=None"
FOFO, OFO, NEWTON = "FOFO", "OFO", "newton"


@dataclass(frozen=True)
class Stream:
    """Logits of mean m and deviation s; the rules see logit/slope + shift."""

    name: str
    mean: float
    deviation: float
    shift: float = 0.0
    slope: float = 1.0

    @cached_property
    def tails(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logits, and the shares of all rows, and of positive ones, from each on."""
        z = self.mean + self.deviation * np.linspace(-9.0, 9.0, 400_001)
        density = np.exp(-0.5 * ((z - self.mean) / self.deviation) ** 2)
        density /= density.sum()
        hits = np.cumsum((density / (1.0 + np.exp(-z)))[::-1])[::-1]
        return z, hits, np.cumsum(density[::-1])[::-1]

    def scores(self, b2: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """F_β of a cut at each logit, and the probabilities shown there; b2 is β²."""
        z, hits, above = self.tails
        shown = 1.0 / (1.0 + np.exp(-self.shown(z)))
        return (1.0 + b2) * hits / (b2 * hits[0] + above), shown

    @cached_property
    def best(self) -> float:
        """The best threshold for F1 on the probabilities that the rules are shown."""
        score, _ = self.scores()
        half = 0.5 * score.max()  # where the true probability is half of F*
        logit = np.log(half / (1.0 - half))
        return float(1.0 / (1.0 + np.exp(-self.shown(logit))))

    def lost(self, threshold: float | np.ndarray) -> np.ndarray:
        """Points of F1 lost by a threshold, on the whole population."""
        score, shown = self.scores()
        return np.asarray(100.0 * (score.max() - np.interp(threshold, shown, score)))

    def shown(self, z: float | np.ndarray) -> float | np.ndarray:
        return z / self.slope + self.shift

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        z = rng.normal(self.mean, self.deviation, n)
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(np.int64)
        return np.asarray(self.shown(z)), y


STREAMS = (
    Stream("30 % positives", -1.2, 2.0),
    Stream("4 % positives", -4.6, 2.0),
    Stream("4 % positives, miscalibrated", -4.6, 2.0, shift=2.0, slope=0.7),
)


def run(*, quick: bool) -> None:
    lengths = np.unique(
        np.logspace(3, 4 if quick else 7, 3 if quick else 9).astype(int)
    )
    seeds = 2 if quick else 10
    for stream in STREAMS:
        ends = ends_of(stream, lengths, seeds)
        errors = {n: np.abs(e - stream.best).mean(axis=0) for n, e in ends.items()}
        fofo, calibrated = slope_of(lengths, errors[FOFO]), stream.slope == 1.0
        for name, found in errors.items():
            emit(
                "convergence",
                f"{stream.name}: slope of log|θ-θ*| over log n, {name}",
                slope_of(lengths, found),
                "",
                _target(name, fofo, calibrated),
                best=stream.best,
                rows=lengths.tolist(),
                error=found.tolist(),
                points_of_f1_lost=stream.lost(ends[name]).mean(axis=0).tolist(),
                seeds=seeds,
            )


def _target(name: str, fofo: float, calibrated: bool) -> tuple[str, float] | None:
    """1/√n, within the noise of a fitted slope; where FOFO is lost, faster than it."""
    if calibrated:
        return ("<=", -0.45) if name in (HISTOGRAM, PATIENT, FOFO, NEWTON) else None
    return ("<=", fofo) if name in (HISTOGRAM, PATIENT) else None


ANYTIME: dict[str, ThresholdRule] = {
    "FOFO, anytime": FOFORule(),
    OFO: OFORule(),
    NEWTON: NewtonRule(),
    HISTOGRAM: HistogramRule(),
    PATIENT: HistogramRule(forget=None),
}


TOLD: dict[str, type[FOFORule | SFORule]] = {FOFO: FOFORule}


def ends_of(
    stream: Stream,
    lengths: np.ndarray,
    seeds: int,
    anytime: dict[str, ThresholdRule] = ANYTIME,
    told: dict[str, type[FOFORule | SFORule]] = TOLD,
    metric: str = "f1",
) -> dict[str, np.ndarray]:
    """Thresholds after so many rows, seeds by lengths.

    Rules that are `told` the number of rows are run anew for every length.
    """
    most = int(lengths[-1])
    ends = {name: np.zeros((seeds, lengths.size)) for name in (*told, *anytime)}
    for seed in range(seeds):
        z, y = stream.draw(most + 1, seed)
        for name, kind in told.items():
            ends[name][seed] = [
                end_of(kind(n=int(n)), z[:n], y[:n], metric) for n in lengths
            ]
        for name, rule in anytime.items():
            state = rule.init_state(metric)
            ends[name][seed] = rule.run(state, z, y, logits=True).thresholds[lengths]
    return ends


def end_of(
    rule: ThresholdRule, z: np.ndarray, y: np.ndarray, metric: str = "f1"
) -> float:
    """The threshold of a rule after these rows."""
    state = rule.init_state(metric)
    rule.run(state, z, y, logits=True)
    return rule.threshold_of(state)


def slope_of(lengths: np.ndarray, errors: np.ndarray) -> float:
    return float(np.polyfit(np.log(lengths), np.log(errors), 1)[0])
