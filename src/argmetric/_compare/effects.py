"""Random effects of a comparison: posterior of the probabilities of bins.

A bin has rows of one pattern of predictions with neighbouring scores; bins form strata,
and labels are drawn at random in them. In a draw of the parameters the log-odds of a
bin with the log-odds x under a calibrator, in the pattern g, are

    η = a + b·x + t·z + h + c(x) + Σ_j ±e_j + r₀ + r₁·x̃ + u_g + d(η),

a     level, b slope and t bend of the calibration curve, z the rank of x among all rows
      as a normal score: a bent curve, where a judge is far too sure, is b < 1 and t > 0
h     keeps the prevalence, whatever slope and bend are
c(x)  keeps the mean of the probability over a, b and t at expit(x)
e_j   what the prediction of system j says beyond a judge's score, + where it is 1:
      an effect that all systems share, and one of its own
r     keep the judge calibrated over all patterns together, whatever the effects e are
u_g   effect of one pattern, and d(η) keeps the mean of the probability over it.

A judge may say nothing of the labels beyond the predictions: with the probability
`silent` the log-odds are

    η = a + ½·logit(prevalence) + Σ_j ±(e_j + s/systems) + u_g + d(η),

s = `SILENT_EFFECT`. Without this component a judge that is taken for calibrated keeps a
system from being right where it says otherwise: a system that is right in 95 of 100
rows had at most .90 before labels, with a probability of .95, beside a weak judge.

The terms r of a large e are met by few curves alone: a system that is always right
fixes prevalence and slope. So with the probability `loose` a judge need not stay
calibrated: r fades from e = `HELD` on. The effect of one system is then, and beside a
silent judge, distributed as `FREE`. The less the scores of a judge tell the predictions
apart, the larger both probabilities are (`one_system`); labels decide.

The rate of positives of a stratum with the mean probability μ is

    ρ ~ Beta(κ·μ, κ·(1 - μ)),   κ = 1/(σ²·μ·(1 - μ)),

so k positives among n labels are beta-binomial. Given ρ each probability of the stratum
goes by the same part of its way to 0, or to 1, as μ goes to ρ.

Each parameter is a mixture with a point at "nothing is wrong", a function of a standard
normal variable. The posterior is a set of particles that is moved from the prior by
tempering: the likelihood to a rising power, resampling, and steps of Metropolis that
change all parameters at once or every u_g by itself, since given the others they are
independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from argmetric._compare import kernels
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers

Mixture = tuple[tuple[float, float], ...]  # scales, and the weight of each
POINT: Mixture = ((0.0, 1.0),)

PARTICLES, FIRST = 960, 2880  # kept, and drawn from the prior
KEPT = 0.4  # effective part of the particles after each change of the temperature
MOVES, LAST_MOVES = 3, 6  # steps of Metropolis at a temperature, and at the last
OPTIMAL_STEP = 2.38  # standard deviations, over the root of the dimensions
NORMAL = np.linspace(-5.0, 5.0, 401)  # where tables of quantiles are kept
# Effects that the constants d average over, and curves of the constants c
EFFECTS, CURVES = 801, 1024
WIDER = 1.6  # than the prior: curves that the constants average over
LATTICE = 1.2207440846057596 ** -np.arange(1.0, 4.0)  # root of x⁴ = x + 1
FURTHEST = 35.0  # log-odds of a bin, as in the kernels
GRID = np.arange(-FURTHEST, FURTHEST + 0.125, 0.25)  # log-odds of the constants d
CURVE = 4  # parameters that all bins share: level, slope, bend and spread of rates
SILENT_EFFECT = 1.5  # of all systems beside a silent judge: right in 8 of 10 rows
FAR = 8.0  # log-odds of a judge go no further
HELD = 1.0  # effect up to which a judge stays calibrated that need not
# Effects of a system beside such a judge, and their distribution function: uniform
# between these. Up to here a system may be right in nearly all rows
FREE = (-1.0, 0.0, 1.5, 7.0), (0.0, 0.05, 0.2, 1.0)
WITNESS = 0.85, 0.97  # AUC of a judge for the predictions: poor, and good


class Prior(NamedTuple):
    """Mixtures of normal distributions; the scale 0 is "nothing is wrong"."""

    level: Mixture
    log_slope: Mixture
    bend: Mixture
    log_spread: Mixture  # of σ around `spread`
    spread: float
    pattern: Mixture
    system: Mixture = POINT  # half-normal, below 0 where the scale is negative
    apart: Mixture = POINT  # what the effect of one of several systems adds
    silent: float = 0.0  # probability that the judge says nothing: its slope is 0
    loose: float = 0.0  # and that it need not stay calibrated


# Predictions are cuts of the model's own scores
OWN = Prior(
    level=((0.0, 0.4), (0.15, 0.3), (0.45, 0.2), (1.0, 0.1)),
    log_slope=((0.0, 0.4), (0.08, 0.3), (0.22, 0.2), (0.5, 0.1)),
    bend=((0.0, 0.7), (0.2, 0.2), (0.6, 0.1)),
    log_spread=((0.0, 0.5), (0.4, 0.5)),
    spread=0.25,
    pattern=((0.0, 0.3), (0.15, 0.25), (0.35, 0.25), (0.9, 0.15), (2.0, 0.05)),
)
# Scores are a judge's: it may be far too sure, and its curve then nearly flat
JUDGED = Prior(
    level=((0.0, 0.3), (0.2, 0.3), (0.6, 0.2), (2.0, 0.2)),
    log_slope=((0.0, 0.15), (0.15, 0.2), (0.4, 0.25), (1.0, 0.25), (2.0, 0.15)),
    bend=((0.0, 0.25), (0.3, 0.3), (1.0, 0.3), (2.0, 0.15)),
    log_spread=((0.0, 0.4), (0.5, 0.6)),
    spread=0.35,
    pattern=((0.0, 0.3), (0.3, 0.3), (0.9, 0.25), (2.0, 0.15)),
    system=(
        *((-0.4, 0.06), (0.0, 0.07), (0.5, 0.15), (1.5, 0.25), (3.0, 0.3), (6.0, 0.17)),
    ),
    apart=((0.0, 0.3), (0.3, 0.35), (1.0, 0.35)),
    silent=0.15,
)
# Predictions are cuts of scores that no labelled rows were compared with
RAW = JUDGED._replace(pattern=OWN.pattern, system=POINT, apart=POINT, silent=0.0)
RAW = RAW._replace(log_slope=((0.0, 0.2), (0.15, 0.25), (0.4, 0.3), (1.0, 0.25)))
# New rows are like the reference: only patterns and strata differ
AS_REFERENCE = OWN._replace(level=POINT, log_slope=POINT, bend=POINT)


@lru_cache
def quantiles(parts: Mixture, *, half: bool = False) -> Floats:
    """Return the quantile function of a mixture of scales, tabulated at NORMAL."""
    from scipy.special import ndtr

    z = np.linspace(-6.0, 6.0, 4801)
    weight = np.exp(-(z**2) / 2.0)
    side = np.abs(z) if half else z
    values = np.concatenate([scale * side for scale, _ in parts])
    mass = np.concatenate([part * weight / weight.sum() for _, part in parts])
    order = np.argsort(values, kind="stable")
    cdf = np.cumsum(mass[order]) - mass[order] / 2.0
    return np.asarray(np.interp(ndtr(NORMAL), cdf, values[order]))


def one_system(area: float) -> Prior:
    """Return the prior of one judged system.

    `area`: AUC of the judge for its predictions. Where it is low, judge or system is
    poor: that the system alone is right is more likely than where they agree.
    """
    doubt = float(np.interp(area, WITNESS, (1.0, 0.0)))
    return JUDGED._replace(silent=0.15 + 0.15 * doubt, loose=0.5 * doubt)


@lru_cache
def effect_constants(pattern: Mixture) -> Floats:
    """Return d at GRID: E[expit(x + u + d)] over the prior of u is expit(x)."""
    normal = np.linspace(-5.0, 5.0, EFFECTS)
    weight = np.exp(-(normal**2) / 2.0)
    u = np.interp(normal, NORMAL, quantiles(pattern))[:, None]
    effects = np.broadcast_to(u, (EFFECTS, GRID.size))
    return mean_constants(effects, GRID, weight / weight.sum())


def mean_constants(effects: Floats, x: Floats, weight: Floats) -> Floats:
    """Return c such that the weighted mean of expit(x + effects + c) is expit(x).

    Newton's method on the logarithm of the smaller probability. `weight`: of the rows.
    """
    sign, half = np.where(x <= 0.0, 1.0, -1.0), from_log_odds(-np.abs(x))[0]
    c = np.zeros(x.size)
    for _ in range(12):
        p, q = from_log_odds(sign * (x + effects + c))
        mean = np.einsum("i,ij->j", weight, p)
        slope = np.einsum("i,ij,ij->j", weight, p, q)
        step = np.log(mean / half) * mean / slope
        c = c - sign * np.clip(step, -3.0, 3.0)
    return np.asarray(c)


@dataclass(frozen=True)
class LabelledBins:
    """Bins of rows, and the labels of their strata."""

    odds: Floats  # (calibrators, bins) log-odds
    rows: Integers  # (bins)
    pattern: Integers  # (bins) number of its pattern
    stratum: Integers  # (bins) number of its stratum
    decisions: Booleans  # (systems, patterns)
    labels: Integers  # (strata) labels
    positives: Integers  # (strata) positives among them


class EffectsModel:
    """Posterior of the probabilities of bins, given the labels of their strata."""

    def __init__(self, bins: LabelledBins, prior: Prior) -> None:
        self.bins, self.prior = bins, prior
        reach = FAR if prior.system != POINT else FURTHEST - 5.0
        self.x = np.clip(bins.odds, -reach, reach)
        self.weight = bins.rows / bins.rows.sum()
        total = np.bincount(bins.stratum, bins.rows)
        self.share = bins.rows / total[bins.stratum]
        of_stratum = np.zeros(total.size, dtype=np.int64)
        of_stratum[bins.stratum] = bins.pattern
        self.labels = np.stack([bins.labels, bins.positives, of_stratum])
        self.places = np.stack([bins.pattern, bins.stratum])
        self.sign = 2.0 * bins.decisions - 1.0
        n_systems, self.n_patterns = bins.decisions.shape
        self.n_shared = CURVE
        if prior.system != POINT:  # kind of judge, shared effect, what each system adds
            self.n_shared += 2 + (n_systems if n_systems > 1 else 0)
        mean = from_log_odds(self.x)[0] @ self.weight
        self.prevalence = np.clip(mean, 1e-12, 1.0 - 1e-12)

    @cached_property
    def bin_columns(self) -> Floats:
        """Return log-odds, normal scores and weights of bins, for the kernels.

        Shape (n_calibrators + 4, n_bins), as `kernels.bin_odds` takes them.
        """
        x = self.x.mean(axis=0)
        centre = self.weight @ x
        deviation = np.sqrt(self.weight @ (x - centre) ** 2) + 1e-9
        y = np.clip((x - centre) / deviation, -3.0, 3.0)
        columns = np.vstack([self.x, self._normal_scores(x), 0.0 * x, y, self.weight])
        if self.prior[:3] != (POINT, POINT, POINT):
            columns[-3] = self._curve_constants(columns)
        return columns

    def _normal_scores(self, x: Floats) -> Floats:
        """Return the ranks of x among all rows as normal scores, ties alike."""
        from scipy.special import ndtri

        _, place = np.unique(x, return_inverse=True)
        mass = np.bincount(place, self.weight)
        return np.asarray(ndtri((np.cumsum(mass) - mass / 2.0)[place]))

    def _curve_constants(self, columns: Floats) -> Floats:
        """Return c of every bin, at the mean log-odds of the calibrators."""
        from scipy.special import ndtri

        # Points of a lattice fill the cube evenly.
        points = (np.arange(1, CURVES + 1)[:, None] * LATTICE) % 1.0
        # Twice as wide as they are likely, with weights: tails decide where x is far.
        normal = np.zeros((CURVES, self.n_shared))
        normal[:, :3] = WIDER * ndtri(points)
        square = (normal**2).sum(axis=1)
        weight = np.exp(-square / 2.0 * (1.0 - WIDER**-2))
        x = columns[:-4].mean(axis=0)
        one = np.vstack([x, columns[-4:]])
        odds = np.empty((CURVES, x.size))
        speaks = self.prior._replace(silent=0.0, loose=0.0)
        curve, system, _, held = self._parameters(normal, speaks)
        which = np.zeros(CURVES, dtype=np.int64)
        mean = np.clip(from_log_odds(x)[0] @ self.weight, 1e-12, 1.0 - 1e-12)
        fixed = self.bins.pattern, self.sign, np.array([mean]), held
        kernels.bin_odds(curve, 0.0 * system, which, one, *fixed, odds)
        return mean_constants(odds - x, x, weight / weight.sum())

    def _parameters(
        self, normal: Floats, prior: Prior
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return curves, effects of systems, spreads of rates, and what e are held to.

        Curves are level, slope and bend; a judge stays calibrated up to the last.
        """
        from scipy.special import ndtr

        tables = (
            quantiles(prior.level),
            np.exp(quantiles(prior.log_slope)),
            quantiles(prior.bend),
            prior.spread * np.exp(quantiles(prior.log_spread)),
        )
        level, slope, bend, spread = (
            np.interp(normal[:, i], NORMAL, one) for i, one in enumerate(tables)
        )
        kind, shared, own = np.split(normal[:, CURVE : self.n_shared], [1, 2], axis=1)
        system = np.interp(shared, NORMAL, quantiles(prior.system, half=True))
        held = np.full(len(normal), np.inf)
        if prior.silent:
            silent = ndtr(kind) < prior.silent
            loose = ndtr(kind) < prior.silent + prior.loose
            if len(self.sign) == 1:
                free = np.interp(ndtr(shared), FREE[1], FREE[0])
                system = np.where(loose, free, system)
            system = system + np.where(silent, SILENT_EFFECT / len(self.sign), 0.0)
            slope[silent[:, 0]], held[loose[:, 0]] = 0.0, HELD
        if own.shape[1]:
            system = system + np.interp(own, NORMAL, quantiles(prior.apart))
        return np.stack([level, slope, bend], axis=1), system, spread, held

    def shared_odds(self, normal: Floats, which: Integers) -> tuple[Floats, Floats]:
        """Return log-odds of bins without effects of patterns, and spreads of rates."""
        curve, system, spread, held = self._parameters(normal, self.prior)
        out = np.empty((len(normal), self.x.shape[1]))
        fixed = self.bins.pattern, self.sign, self.prevalence, held
        kernels.bin_odds(curve, system, which, self.bin_columns, *fixed, out)
        return out, spread

    def pattern_effects(self, normal: Floats) -> Floats:
        """Return the effects of patterns."""
        table = quantiles(self.prior.pattern)
        return np.interp(normal[:, self.n_shared :], NORMAL, table)

    def likelihood(self, normal: Floats, odds: Floats, spread: Floats) -> Floats:
        """Return the log-likelihood of the labels of every pattern, by particles."""
        out = np.empty((len(normal), self.n_patterns))
        u, d = self.pattern_effects(normal), effect_constants(self.prior.pattern)
        fixed = self.places, self.share, self.labels
        kernels.label_likelihood(odds, u, spread, d, *fixed, out)
        return out

    def posterior(self, rng: np.random.Generator) -> _Particles:
        """Return particles of the posterior, all of the same weight."""
        particles = _Particles.of_prior(self, FIRST, rng)
        heat = 0.0
        while heat < 1.0:
            level = particles.level.sum(axis=1)
            step = _next_step(level - level.max(), 1.0 - heat)
            heat = 1.0 if step >= 1.0 - heat else heat + step
            weight = np.exp(step * (level - level.max()))
            particles.resample(weight / weight.sum(), rng)
            for _ in range(LAST_MOVES if heat == 1.0 else MOVES):
                particles.move(heat, rng)
                particles.move_patterns(heat, rng)
        return particles

    def probability_draws(self, rng: np.random.Generator) -> Floats:
        """Return draws of the probabilities of bins, of the shape (bins, draws)."""
        labels, positives, _ = self.labels
        if labels.any():
            found = self.posterior(rng)
        else:
            found = _Particles.of_prior(self, PARTICLES, rng)
        shape = len(found.normal), self.x.shape[1]
        p, rates = np.empty(shape), np.empty((3, shape[0], labels.size))
        u, d = self.pattern_effects(found.normal), effect_constants(self.prior.pattern)
        fixed = self.places, self.share
        kernels.rates_of_strata(found.odds, u, found.spread, d, *fixed, p, rates)
        mean, rest, variance = rates
        up, down = 1.0 / (variance * rest), 1.0 / (variance * mean)
        rate = rng.beta(up + positives, down + labels - positives)
        return at_rates(p, mean, rest, rate, stratum=self.bins.stratum)


def at_rates(
    p: Floats, mean: Floats, rest: Floats, rate: Floats, *, stratum: Integers
) -> Floats:
    """Return (bins, draws) probabilities that agree with rates of strata.

    p : (draws, bins) probabilities
    mean, rest, rate : (draws, strata) means of p and of 1 - p, and rates
    stratum : (bins) number of the stratum
    """
    lower = np.minimum(rate / mean, 1.0)[:, stratum]
    upper = np.minimum((1.0 - rate) / rest, 1.0)[:, stratum]
    return np.asarray(np.where(lower < 1.0, p * lower, 1.0 - (1.0 - p) * upper).T)


def _next_step(level: Floats, most: float) -> float:
    """Return the step in temperature that leaves enough effective particles."""
    wanted = KEPT * PARTICLES

    def effective(step: float) -> float:
        weight = np.exp(step * level)
        return float(weight.sum() ** 2 / (weight**2).sum())

    if effective(most) >= wanted:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (low, middle) if effective(middle) < wanted else (middle, high)
    return max(low, 1e-4)


@dataclass
class _Particles:
    """Particles: standard normal variables, and the bins and likelihoods they imply."""

    model: EffectsModel
    normal: Floats  # (particles, parameters)
    which: Integers  # (particles) number of the calibrator
    odds: Floats  # (particles, bins) without effects of patterns
    spread: Floats  # (particles)
    level: Floats  # (particles, patterns) log-likelihood
    scale: float = 1.0  # of a step

    @classmethod
    def of_prior(
        cls, model: EffectsModel, count: int, rng: np.random.Generator
    ) -> _Particles:
        """Draw particles of the parameters from the prior, with their likelihoods."""
        normal = rng.standard_normal((count, model.n_shared + model.n_patterns))
        which = np.arange(count) % len(model.x)
        odds, spread = model.shared_odds(normal, which)
        level = model.likelihood(normal, odds, spread)
        return cls(model, normal, which, odds, spread, level)

    def resample(self, weight: Floats, rng: np.random.Generator) -> None:
        """Draw PARTICLES by their weights, systematically; remember their spread."""
        centre = np.einsum("i,ij->j", weight, self.normal)
        apart = self.normal - centre
        covariance = np.einsum("i,ij,ik->jk", weight, apart, apart, optimize=False)
        self.root = np.linalg.cholesky(covariance + 1e-6 * np.eye(centre.size))
        self.deviation = np.sqrt(np.diag(covariance))
        at = (np.arange(PARTICLES) + rng.random()) / PARTICLES
        pick = np.minimum(np.searchsorted(np.cumsum(weight), at), weight.size - 1)
        for name in ("normal", "which", "odds", "spread", "level"):
            setattr(self, name, getattr(self, name)[pick])

    def move(self, heat: float, rng: np.random.Generator) -> None:
        """Change all parameters of every particle by a step of Metropolis."""
        size = self.normal.shape[1]
        noise = rng.standard_normal(self.normal.shape)
        length = self.scale * OPTIMAL_STEP / np.sqrt(size)
        normal = self.normal + length * np.einsum("ij,kj->ik", noise, self.root)
        odds, spread = self.model.shared_odds(normal, self.which)
        level = self.model.likelihood(normal, odds, spread)
        gain = heat * (level - self.level).sum(axis=1)
        gain -= (normal**2 - self.normal**2).sum(axis=1) / 2.0
        accept = np.log(rng.random(gain.size)) < gain
        self.normal[accept], self.odds[accept] = normal[accept], odds[accept]
        self.spread[accept], self.level[accept] = spread[accept], level[accept]
        self.scale = float(np.clip(self.scale * np.exp(accept.mean() - 0.25), 0.1, 2.0))

    def move_patterns(self, heat: float, rng: np.random.Generator) -> None:
        """Propose a random step for every effect of a pattern; accept by Metropolis."""
        first = self.model.n_shared
        normal = self.normal.copy()
        noise = rng.standard_normal(normal[:, first:].shape)
        normal[:, first:] += OPTIMAL_STEP * self.deviation[first:] * noise
        level = self.model.likelihood(normal, self.odds, self.spread)
        gain = heat * (level - self.level)
        gain -= (normal[:, first:] ** 2 - self.normal[:, first:] ** 2) / 2.0
        accept = np.log(rng.random(gain.shape)) < gain
        self.normal[:, first:][accept] = normal[:, first:][accept]
        self.level[accept] = level[accept]
