"""The law of the score over all maps that a calibrator's reference allows.

A map that was fitted on few labels is not known well, and on real models half of the
width of an honest interval is the map's. Given a map the law is exact; here it is mixed
over the map's alternatives, each as likely as the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argmetric._calibrate import Calibrator
from argmetric._forecast._laws import ValueLaw, combine
from argmetric._odds import from_log_odds, logit
from argmetric._segments import Floats
from argmetric.metrics import Metric

ATOMS = 48  # of the law of a count, for every map
CELLS = 512
FURTHEST = 700.0  # log-odds that are as good as infinite
NEARLY_NORMAL = 25.0  # variance of a count from which a normal law with skewness does

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Rows whose labels are not known, as cells of neighbouring log-odds."""

    x: Floats
    count: Floats

    @classmethod
    def of(cls, x: Floats, calibrator: Calibrator) -> Rows:
        """Cells with equal shares of rows and of expected positives.

        The log-odds that stand for a cell have its mean chance under the map itself:
        under a map not far from it the sums of chances are right, nearly.
        """
        x = np.sort(x)
        if x.size <= CELLS:
            return cls(x, np.ones(x.size))
        p = from_log_odds(calibrator._map(x))[0]
        share = np.cumsum(p) / p.sum() + np.arange(1, x.size + 1) / x.size
        number = np.minimum((CELLS * share / 2).astype(np.int64), CELLS - 1)
        first = np.flatnonzero(np.diff(number, prepend=-1))
        count = np.diff(np.append(first, x.size))
        mean = np.add.reduceat(p, first) / count
        middle = np.interp(mean, p, np.clip(x, -FURTHEST, FURTHEST))
        return cls(middle, count.astype(np.float64))

    def law(self, calibrator: Calibrator) -> tuple[Floats, Floats]:
        """Number of positives under a map: at most ATOMS values with their chances."""
        p, q = from_log_odds(calibrator._map(self.x))
        spread = self.count * p * q
        mean, variance = float(self.count @ p), float(spread.sum())
        if variance < NEARLY_NORMAL:
            return reduced(*_by_fourier(p, self.count, mean, variance))
        skew = float(spread @ (q - p)) / variance**1.5
        return _nearly_normal(mean, variance, skew)


def reduced(values: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """At most ATOMS values: means over neighbours of about equal mass."""
    if values.size <= ATOMS:
        return values, chances
    middle = np.cumsum(chances) - chances / 2
    number = (ATOMS * middle / chances.sum()).astype(np.int64)
    mass = np.bincount(number, chances, ATOMS)
    mean = np.bincount(number, chances * values, ATOMS)
    used = mass > 0
    return mean[used] / mass[used], np.asarray(mass[used], dtype=np.float64)


def _nearly_normal(mean: float, variance: float, skew: float) -> tuple[Floats, Floats]:
    """Quantiles of a normal law, bent by the skewness (Cornish and Fisher)."""
    from scipy.special import ndtri

    z = ndtri((np.arange(ATOMS) + 0.5) / ATOMS)
    z = z / np.sqrt(np.mean(z**2))
    values = mean + np.sqrt(variance) * (z + skew * (z**2 - 1) / 6)
    return values, np.full(ATOMS, 1 / ATOMS)


def _by_fourier(
    p: Floats, count: Floats, mean: float, variance: float
) -> tuple[Floats, Floats]:
    """The law of a small count, from its characteristic function.

    On mean ± (10 sd + 20), beyond which the chance is below 1e-16 or so.
    """
    half = int(10 * np.sqrt(variance)) + 20
    low = max(0, int(mean) - half)
    size = int(mean) + half - low
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    turn = np.exp(1j * angles) - 1.0
    with np.errstate(divide="ignore"):  # a certain row turns by -1 at most
        level = np.log1p(p[:, None] * turn)
    values = np.exp(count @ level - 1j * angles * low)
    chances = np.maximum(np.fft.irfft(values.conj(), size), 0.0)
    return low + np.arange(size, dtype=np.float64), chances / chances.sum()


def law_over_maps(
    metric: Metric,
    n: int,
    scores: Floats,
    known: Floats,
    selected: Mask,
    calibrator: Calibrator,
    *,
    logits: bool,
) -> ValueLaw:
    """Law of the score of one segment, mixed over the calibrator's alternatives."""
    x = scores if logits else logit(scores)
    open_, k = np.isnan(known), int(selected.sum())
    hits = Rows.of(x[open_ & selected], calibrator)
    misses = Rows.of(x[open_ & ~selected], calibrator)
    tp = float(np.nansum(known[selected]))
    fn = float(np.nansum(known[~selected]))
    others = calibrator.alternatives

    def parts() -> Iterator[tuple[Floats, Floats]]:
        for other in others:
            (a, chance_a), (r, chance_r) = hits.law(other), misses.law(other)
            hit, missed = tp + a[:, None], fn + r
            weight = chance_a[:, None] * chance_r / len(others)
            yield metric.value(hit, k, hit + missed, n).ravel(), weight.ravel()

    return combine(list(parts()))
