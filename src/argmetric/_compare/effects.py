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
from numpy.random import Generator

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
SPEAKS = 9.0  # normal variable of a judge that is neither silent nor loose
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
    return mean_constants(u, GRID, weight / weight.sum())


def mean_constants(effects: Floats, x: Floats, weight: Floats) -> Floats:
    """Return c such that the weighted mean of expit(x + effects + c) is expit(x).

    Newton's method on the logarithm of the smaller probability.

    effects : (effects, rows), or (effects, 1) where they are the same for all rows
    weight : (effects)
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


class Particles(NamedTuple):
    """Particles: standard normal variables, and the bins and likelihoods they imply."""

    normal: Floats  # (particles, parameters)
    which: Integers  # (particles) number of the calibrator
    odds: Floats  # (particles, bins) without effects of patterns
    spread: Floats  # (particles) of rates
    level: Floats  # (particles, patterns) log-likelihood


@dataclass
class EffectsModel:
    """Posterior of the probabilities of bins of rows, given the labels of strata."""

    odds: Floats  # (calibrators, bins) log-odds
    rows: Integers  # (bins)
    pattern: Integers  # (bins) number of its pattern
    stratum: Integers  # (bins) number of its stratum
    decisions: Booleans  # (systems, patterns)
    labels: Integers  # (strata) labels
    positives: Integers  # (strata) positives among them
    prior: Prior

    def __post_init__(self) -> None:
        judged = self.prior.system != POINT
        reach = FAR if judged else FURTHEST - 5.0
        self.x = np.clip(self.odds, -reach, reach)
        self.weight = self.rows / self.rows.sum()
        total = np.bincount(self.stratum, self.rows)
        of_stratum = np.zeros(total.size, dtype=np.int64)
        of_stratum[self.stratum] = self.pattern
        places = np.stack([self.pattern, self.stratum])
        self.strata = places, self.rows / total[self.stratum]
        self.counts = np.stack([self.labels, self.positives, of_stratum])
        self.sign = 2.0 * self.decisions - 1.0
        n_systems, self.n_patterns = self.decisions.shape
        own = n_systems if n_systems > 1 else 0
        # A judge has a kind, an effect that systems share, and what each adds to it
        self.n_shared = CURVE + (2 + own if judged else 0)

    @cached_property
    def bin_columns(self) -> Floats:
        """Return log-odds, normal scores and weights of bins, for the kernels.

        Shape (n_calibrators + 4, n_bins), as `bin_odds` takes them.
        """
        from scipy.special import ndtri

        x = self.x.mean(axis=0)
        centre = self.weight @ x
        deviation = np.sqrt(self.weight @ (x - centre) ** 2) + 1e-9
        y = np.clip((x - centre) / deviation, -3.0, 3.0)
        _, place = np.unique(x, return_inverse=True)  # ties have one rank
        mass = np.bincount(place, self.weight)
        z = ndtri((np.cumsum(mass) - mass / 2.0)[place])
        columns = np.vstack([self.x, z, 0.0 * x, y, self.weight])
        if self.prior[:3] != (POINT, POINT, POINT):
            columns[-3] = self._curve_constants(np.vstack([x, columns[-4:]]))
        return columns

    def _curve_constants(self, columns: Floats) -> Floats:
        """Return c of every bin; `columns`: as `bin_columns`, of one calibrator."""
        from scipy.special import ndtri

        # Points of a lattice fill the cube evenly, twice as wide as they are likely,
        # with weights: tails decide where x is far.
        points = (np.arange(1, CURVES + 1)[:, None] * LATTICE) % 1.0
        normal = np.full((CURVES, self.n_shared), SPEAKS)
        normal[:, :3] = WIDER * ndtri(points)
        square = (normal[:, :3] ** 2).sum(axis=1)
        weight = np.exp(-square / 2.0 * (1.0 - WIDER**-2))
        curve, system, held, _ = self.parameters(normal)
        which = np.zeros(CURVES, dtype=np.int64)
        odds = self._bin_odds((curve, 0.0 * system, held), which, columns)
        return mean_constants(odds - columns[0], columns[0], weight / weight.sum())

    def _bin_odds(
        self, parameters: tuple[Floats, ...], which: Integers, columns: Floats
    ) -> Floats:
        """Return log-odds of bins without effects of patterns.

        parameters : curves, effects of systems, and what these are held to
        """
        from argmetric._compare.kernels.effects import bin_odds

        out = np.empty((len(which), columns.shape[1]))
        mean = np.clip(from_log_odds(columns[:-4])[0] @ self.weight, 1e-12, 1 - 1e-12)
        curve, system, held = parameters
        fixed = columns, self.pattern, self.sign, mean, held
        bin_odds(curve, system, which, *fixed, out)
        return out

    def parameters(self, normal: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return curves, effects of systems, what these are held to, and spreads.

        Curves are level, slope and bend; a judge stays calibrated up to an effect of
        `held`.
        """
        from scipy.special import ndtr

        prior = self.prior
        level, log_slope, bend, log_spread = map(quantiles, prior[:4])
        tables = level, np.exp(log_slope), bend, prior.spread * np.exp(log_spread)
        *curve, spread = (
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
            curve[1][silent[:, 0]], held[loose[:, 0]] = 0.0, HELD
        if own.shape[1]:
            system = system + np.interp(own, NORMAL, quantiles(prior.apart))
        return np.stack(curve, axis=1), system, held, spread

    def pattern_effects(self, normal: Floats) -> tuple[Floats, Floats]:
        """Return the effects of patterns, and the constants d of their prior."""
        table = quantiles(self.prior.pattern)
        effects = np.interp(normal[:, self.n_shared :], NORMAL, table)
        return effects, effect_constants(self.prior.pattern)

    def likelihood(self, normal: Floats, odds: Floats, spread: Floats) -> Floats:
        """Return the log-likelihood of the labels of every pattern, by particles."""
        from argmetric._compare.kernels.effects import label_likelihood

        out = np.empty((len(normal), self.n_patterns))
        u, d = self.pattern_effects(normal)
        label_likelihood(odds, u, spread, d, *self.strata, self.counts, out)
        return out

    def particles(self, normal: Floats, which: Integers) -> Particles:
        """Return particles of these variables and calibrators."""
        *parameters, spread = self.parameters(normal)
        odds = self._bin_odds(tuple(parameters), which, self.bin_columns)
        level = self.likelihood(normal, odds, spread)
        return Particles(normal, which, odds, spread, level)

    def prior_particles(self, count: int, rng: Generator) -> Particles:
        """Draw particles from the prior."""
        normal = rng.standard_normal((count, self.n_shared + self.n_patterns))
        return self.particles(normal, np.arange(count) % len(self.x))

    def posterior_particles(self, rng: Generator) -> Particles:
        """Draw particles of the posterior, all of the same weight."""
        particles, heat, scale = self.prior_particles(FIRST, rng), 0.0, 1.0
        size = particles.normal.shape[1]
        while heat < 1.0:
            level = particles.level.sum(axis=1)
            level -= level.max()
            step = _next_step(level, 1.0 - heat)
            heat = 1.0 if step >= 1.0 - heat else heat + step
            weight = np.exp(step * level)
            weight /= weight.sum()
            centre = np.einsum("i,ij->j", weight, particles.normal)
            apart = particles.normal - centre
            covariance = np.einsum("i,ij,ik->jk", weight, apart, apart, optimize=False)
            root = np.linalg.cholesky(covariance + 1e-6 * np.eye(centre.size))
            deviation = np.sqrt(np.diag(covariance))
            at = (np.arange(PARTICLES) + rng.random()) / PARTICLES
            pick = np.minimum(np.searchsorted(np.cumsum(weight), at), weight.size - 1)
            particles = Particles(*(one[pick] for one in particles))
            for _ in range(LAST_MOVES if heat == 1.0 else MOVES):
                noise = rng.standard_normal(particles.normal.shape)
                length = scale * OPTIMAL_STEP / np.sqrt(size)
                change = length * np.einsum("ij,kj->ik", noise, root)
                accepted = self._move(particles, change, heat, rng)
                scale = float(np.clip(scale * np.exp(accepted - 0.25), 0.1, 2.0))
                self._move_patterns(particles, deviation, heat, rng)
        return particles

    def _move(self, old: Particles, by: Floats, heat: float, rng: Generator) -> float:
        """Change all parameters by Metropolis; return the part that is accepted."""
        new = self.particles(old.normal + by, old.which)
        gain = heat * (new.level - old.level).sum(axis=1)
        gain -= (new.normal**2 - old.normal**2).sum(axis=1) / 2.0
        accept = np.log(rng.random(gain.size)) < gain
        for one, other in zip(old, new, strict=True):
            one[accept] = other[accept]
        return float(accept.mean())

    def _move_patterns(
        self, old: Particles, deviation: Floats, heat: float, rng: Generator
    ) -> None:
        """Propose a random step for every effect of a pattern; accept by Metropolis."""
        normal, first = old.normal.copy(), self.n_shared
        before, after = old.normal[:, first:], normal[:, first:]
        after += OPTIMAL_STEP * deviation[first:] * rng.standard_normal(after.shape)
        level = self.likelihood(normal, old.odds, old.spread)
        gain = heat * (level - old.level) - (after**2 - before**2) / 2.0
        accept = np.log(rng.random(gain.shape)) < gain
        before[accept], old.level[accept] = after[accept], level[accept]

    def probability_draws(self, rng: Generator) -> Floats:
        """Return draws of the probabilities of bins, of the shape (bins, draws)."""
        from argmetric._compare.kernels.effects import rates_of_strata

        if self.labels.any():
            found = self.posterior_particles(rng)
        else:
            found = self.prior_particles(PARTICLES, rng)
        p = np.empty_like(found.odds)
        rates = np.empty((3, len(p), self.labels.size))
        u, d = self.pattern_effects(found.normal)
        rates_of_strata(found.odds, u, found.spread, d, *self.strata, p, rates)
        mean, rest, variance = rates
        up, down = 1.0 / (variance * rest), 1.0 / (variance * mean)
        misses = self.labels - self.positives
        rate = rng.beta(up + self.positives, down + misses)
        return at_rates(p, mean, rest, rate, stratum=self.stratum)


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
