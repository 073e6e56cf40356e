"""Plain Python twins of the stream kernels: the formulas, row by row, no tricks.

Averages are kept as vectors of their own, histograms are summed anew, windows are
lists: slow, and the tests' oracle.
"""

import math
from collections.abc import Callable

import numpy as np

Level = Callable[[float, float, float, float], float | None]


def sigmoid(z):
    """1/(1 + e^-z)."""
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    return math.exp(z) / (1.0 + math.exp(z))


def logit(p):
    """log(p/(1-p))."""
    if p <= 0.0 or p >= 1.0:
        return -math.inf if p <= 0.0 else math.inf
    return math.log(p) - math.log1p(-p)


def clip(x, low, high):
    """The nearest number in [low, high]."""
    return min(max(x, low), high)


def numeric_level(value):
    """-(∂Φ/∂k)/(∂Φ/∂tp) by central differences of the metric's own value."""

    def level(tp, k, t, n):
        h = 1e-5 * max(min(tp, k - tp, t - tp, n - k - t + tp), 1e-3)
        by_k = value(tp, k + h, t, n) - value(tp, k - h, t, n)
        by_tp = value(tp + h, k, t, n) - value(tp - h, k, t, n)
        return clip(float(-by_k / by_tp), 0.0, 1.0) if by_tp > 0 else None

    return level


class Rule:
    """What every twin of a rule offers: `decide`, then `update`."""

    theta: float

    def decide(self, z, p):
        """Whether the row is predicted positive."""
        return p >= self.theta

    def threshold(self):
        """The threshold on probabilities."""
        return self.theta

    def update(self, z, p, predicted, y, w):
        """See the label."""


class Fixed(Rule):
    """A threshold that never moves."""

    def __init__(self, theta=0.5):
        self.theta = theta


def level_with_prior(counts, b2, level, mass, centre):
    """(tp + mass·centre)/(β²t + k + mass), or the level weighted by t + k rows."""
    tp, k, t, n = counts
    if b2 is not None:
        scale = b2 * t + k + mass
        return (tp + mass * centre) / scale if scale > 0 else centre
    assert level is not None
    one = level(tp, k, t, n)
    if one is None or t + k + mass <= 0:
        return centre
    return ((t + k) * one + mass * centre) / (t + k + mass)


class OFO(Rule):
    """The level at the running counts, which fade or come from a window."""

    def __init__(
        self, b2=1.0, level=None, prior=(10.0, 20.0), forget=math.inf, window=None
    ):
        self.b2, self.level = b2, level
        self.mass = prior[1] * ((1.0 + b2) / 2.0 if b2 is not None else 1.0)
        self.centre = self.theta = prior[0] / self.mass if self.mass else 0.0
        self.forget, self.window = forget, window
        self.rows = []

    def update(self, z, p, predicted, y, w):
        """Recount everything that is remembered."""
        if y:
            fade = math.exp(-1.0 / self.forget)
            self.rows = [(a, b, c * fade) for a, b, c in self.rows]
        self.rows.append((predicted, y, w))
        if self.window is not None:
            self.rows = self.rows[-self.window :]
        tp = sum(c for a, b, c in self.rows if a and b)
        k = sum(c for a, b, c in self.rows if a)
        t = sum(c for a, b, c in self.rows if b)
        n = sum(c for a, b, c in self.rows)
        counts = (tp, k, t, n)
        self.theta = level_with_prior(
            counts, self.b2, self.level, self.mass, self.centre
        )


class Newton(Rule):
    """Stochastic Newton on Q, or the level at the soft counts."""

    def __init__(self, b2=1.0, level=None, start=None, forget=math.inf, mass=1.0):
        self.b2, self.level, self.mass = b2, level, mass
        self.ceiling = 1.0 / (1.0 + b2) if b2 is not None else 1.0
        self.start = self.ceiling / 2.0 if start is None else start
        self.theta, self.fade = self.start, math.exp(-1.0 / forget)
        self.tp = self.c = self.s = self.n = 0.0

    def update(self, z, p, predicted, y, w):
        """One step."""
        fade = self.fade if y else 1.0
        above = 1.0 if p > self.theta else 0.0
        self.n = fade * self.n + w
        self.s = fade * self.s + w * y
        self.c = fade * self.c + w * above
        self.tp = fade * self.tp + w * p * above
        if self.b2 is None:
            counts = (self.tp, self.c, self.s, self.n)
            theta = level_with_prior(counts, None, self.level, self.mass, self.start)
        else:
            gradient = self.b2 * (self.s / self.n) * self.theta
            gradient -= max(p - self.theta, 0.0)
            theta = self.theta - w * gradient / (self.b2 * self.s + self.c + 1.0)
        self.theta = clip(theta, 0.0, self.ceiling)


class FOFO(Rule):
    """Algorithm 1 around Algorithm 2, in the paper's symbols."""

    def __init__(self, n, b2=1.0, level=None, start=0.0, neutral=0.25):
        self.b2, self.level, self.neutral = b2, level, neutral
        self.W = 1.0 / (1.0 + b2) if b2 is not None else 1.0
        self.anytime, self.n = n is None, 64 if n is None else n
        self.theta = min(start, self.W)  # θ̄, which decides
        self.pi = self.total = self.tp = self.c = 0.0
        self.begin()

    def begin(self):
        """Algorithm 1, line 1."""
        self.m = 1
        if self.n >= 2:
            inside = 2 * self.n / math.log2(self.n)
            self.m = max(1, math.floor(0.5 * math.log2(inside)) - 1)
        self.n0 = self.n // self.m
        self.k, self.used, self.R = 1, 0, self.W
        self.begin_stage()

    def begin_stage(self):
        """Algorithm 1, line 3, and Algorithm 2, line 1."""
        self.gamma = self.R / math.sqrt(10.0 * self.n0)
        self.theta_1 = self.theta_tau = self.theta
        self.tau = 0

    def update(self, z, p, predicted, y, w):
        """Algorithm 2, lines 11 to 14."""
        theta = self.theta_tau
        self.total += w
        self.pi += (y - self.pi) * w / self.total
        if self.b2 is not None:
            gradient = self.b2 * self.pi * theta - max(p - theta, 0.0)
        else:
            assert self.level is not None
            self.c += w * (p > theta)
            self.tp += w * p * (p > theta)
            t = self.pi * self.total
            goal = self.level(self.tp, self.c, t, self.total)
            share = self.pi + self.c / self.total
            gradient = share * (theta - (self.neutral if goal is None else goal))
        low = max(0.0, self.theta_1 - self.R)
        high = min(self.W, self.theta_1 + self.R)
        self.theta_tau = clip(theta - self.gamma * w * gradient, low, high)
        self.tau += 1
        self.used += 1
        self.theta = (self.tau * self.theta + self.theta_tau) / (self.tau + 1)
        if self.tau == self.n0 and self.k < self.m:
            self.k += 1
            self.R /= 2.0
            self.begin_stage()
        if self.anytime and self.used == self.n:
            self.n *= 2
            self.begin()


class SFO(FOFO):
    """Algorithm 2 by itself: one stage of n rows, with the radius R."""

    def __init__(self, n, radius=None, **k):
        self.radius = radius
        super().__init__(n, **k)

    def begin(self):
        """Theorem 2: γ = R/√(10·T)."""
        self.m, self.n0, self.k, self.used = 1, self.n, 1, 0
        self.R = self.W if self.radius is None else self.radius
        self.begin_stage()


class Histogram(Rule):
    """Median of exponential weights over cuts, centred on Newton."""

    def __init__(
        self,
        b2=1.0,
        level=None,
        start=None,
        bins=128,
        kappa=0.5,
        shrink=1.0,
        lam=2.0,
        prior=40.0,
        forget=500.0,
        grow=True,
        window=None,
        recent=False,
        mass=1.0,
    ):
        self.newton = Newton(b2, level, start, mass=mass)
        self.b2, self.level, self.bins = b2, level, bins
        self.kappa, self.lam, self.prior = kappa, lam, prior
        self.width = 16.0 / bins
        self.ab = 8.0 * shrink * self.width
        self.forget, self.window, self.recent = forget, window, recent
        self.grow = grow and not math.isinf(forget)
        self.settled = self.positives = 0
        self.seen = []
        self.rates = np.zeros(bins)
        self.rows = []
        self.counts = np.zeros(4)
        self.t = 0
        self.due = 0.0
        self.recompute()

    def decide(self, z, p):
        """Compare log-odds, not probabilities."""
        return z > self.tz

    def threshold(self):
        """The cut as a probability."""
        return sigmoid(self.tz)

    def recompute(self):
        """The cut, from all rows that are remembered."""
        if self.grow:
            self.look_for_change()
        theta = clip(self.newton.theta, 1e-4, 0.9999)
        tp, k, t, m = self.counts.tolist()
        goal = level_with_prior(
            (tp, k, t, m), self.b2, self.level, self.prior, self.newton.theta
        )
        goal = clip(goal, 1e-4, 0.9999)
        n, found = np.zeros(self.bins), np.zeros(self.bins)
        for b, y, w in self.rows:
            n[b] += w
            found[b] += w * y
        edges = -8.0 + self.width * np.arange(self.bins)
        e = np.array([sigmoid(z + self.width / 2.0) for z in edges])
        x = n * e
        # an empty bin without shrinkage holds what was found: nothing
        shrunk = x * (found + self.ab) / np.where(x + self.ab > 0.0, x + self.ab, 1.0)
        gain = np.cumsum((shrunk - goal * n)[::-1])[::-1]
        logs = self.kappa * gain - self.lam * np.abs(edges - logit(theta))
        weight = np.exp(logs - logs.max())
        before = np.cumsum(weight) - weight
        half = weight.sum() / 2.0
        c = int(np.flatnonzero(before + weight >= half)[0])
        # between the centres of bins c-1 and c the excess is a straight line
        excess = shrunk - goal * n
        low, high = excess[max(c - 1, 0)], excess[c]
        u = (np.arange(16) + 0.5) / 16.0 - 0.5
        line = 0.5 * (low + high) + 0.5 * (high - low) * u
        pull = np.abs(edges[c] + self.width * u - logit(theta))
        exponent = -self.kappa * line * u - self.lam * pull
        cells = np.exp(exponent - exponent.max())
        target = (half - before[c]) / weight[c] * cells.sum()
        upto = np.cumsum(cells)
        i = min(int(np.searchsorted(upto, target)), 15)
        share = min((target - (upto[i] - cells[i])) / cells[i], 1.0)
        cut = float(edges[c] + self.width * (u[i] + (share - 0.5) / 16.0))
        if self.window is None:
            doubt = 1.0
            if not math.isinf(self.forget):
                doubt = 1.0 - self.forget / self.memory()
            centre = logit(theta)
            low, high = max(min(cut, centre), -8.0), min(max(cut, centre), 8.0)
            part = np.minimum(edges + self.width, high) - np.maximum(edges, low)
            part = np.maximum(part, 0.0) / self.width
            surplus, variance = part @ (found - x), part @ (x * (1.0 - e))
            trust = 1.0
            if variance > 0.0:
                trust = max(0.0, 1.0 - variance / max(surplus**2, 1e-300))
            cut = centre + (1.0 - doubt + doubt * trust) * (cut - centre)
        self.tz = cut
        mean = self.newton.n / max(self.t, 1)  # of the weights
        heard = n > 8.0 * max(mean, self.ab)
        rates = (found + self.ab * e) / np.where(heard, n + self.ab, 1.0)
        self.rates = np.where(heard, rates, np.nan)
        self.due = self.t + min(256, 1 + self.t // 32)

    def memory(self):
        """Positives that the bins remember."""
        since = self.positives - self.settled
        return max(self.forget, since / 4.0 if self.grow else 0.0)

    def look_for_change(self):
        """Five standard deviations near the cut: 1/4 of `forget` positives stay."""
        surplus = sum(w * (y - rate) for w, rate, y in self.seen)
        variance = sum(w * w * rate * (1.0 - rate) for w, rate, _ in self.seen)
        if variance == 0.0:
            return
        rows = sum(w * rate * (1.0 - rate) for w, rate, _ in self.seen) ** 2 / variance
        if rows > 10.0 and abs(surplus) > 5.0 * math.sqrt(variance):
            held = sum(w for _, y, w in self.rows if y)
            if held:
                held /= self.newton.s / self.positives
                fade = min(1.0, 0.25 * self.forget / held)
                self.rows = [(i, j, k * fade) for i, j, k in self.rows]
            self.settled = self.positives
            self.seen = []
        elif rows > 0.5 * self.forget:
            self.seen = []

    def update(self, z, p, predicted, y, w):
        """Counts, Newton, histogram."""
        if y and self.recent:
            self.counts *= math.exp(-1.0 / self.forget)
        self.counts += w * np.array([predicted and y, predicted, y, 1.0])
        self.newton.update(z, p, predicted, y, w)
        place = (clip(z, -9, 9) + 8.0) * (self.bins / 16.0)
        b = int(clip(math.floor(place), 0, self.bins - 1))
        if abs(b - (self.tz + 8.0) * (self.bins / 16.0)) <= self.bins / 8.0:
            rate = float(self.rates[b])
            if not math.isnan(rate):
                self.seen.append((w, rate, y))
        if y:
            self.positives += 1
            fade = 1.0 / (1.0 + 1.0 / self.memory())
            self.rows = [(i, j, k * fade) for i, j, k in self.rows]
        self.rows.append((b, y, w))
        if self.window is not None:
            self.rows = self.rows[-self.window :]
        self.t += 1
        if self.t >= self.due:
            self.recompute()


def run_rule(rule, z, y, w):
    """Labels and thresholds of a stream of log-odds."""
    labels, thresholds = [], []
    for one, truth, weight in zip(z, y, w, strict=True):
        p = sigmoid(one)
        labels.append(rule.decide(one, p))
        thresholds.append(rule.threshold())
        rule.update(one, p, labels[-1], bool(truth), weight)
    return labels, thresholds


class Linear:
    """SGD or AdaGrad, its averages kept as vectors."""

    def __init__(self, d, kind="sgd", step=1.0, average=None, memory=math.inf):
        self.kind, self.step, self.average, self.memory = kind, step, average, memory
        self.w, self.G, self.u = np.zeros(d), np.zeros(d), np.zeros(d)
        self.iterates = []
        self.t = 0

    def logit(self, x):
        """Of the average where there is one."""
        return float(x @ (self.w if self.average is None else self.u))

    def learn(self, x, y, w):
        """One gradient step, then the average."""
        g = w * (sigmoid(float(x @ self.w)) - y) * x
        if self.kind == "sgd":
            self.w = self.w - self.step / math.sqrt(min(self.t + 1, self.memory)) * g
        else:
            self.G = self.G * math.exp(-1.0 / self.memory) + g * g
            root = np.sqrt(np.where(self.G > 0, self.G, 1.0))
            self.w = self.w - self.step * g / root
        if self.average == "polynomial":
            a = 4.0 / (min(self.t, self.memory) + 4.0)
            self.u = (1.0 - a) * self.u + a * self.w
        elif self.average == "suffix":
            self.iterates.append(self.w)
            # rows since the last power of two but one
            first = 0 if self.t < 2 else 2 ** (int(math.log2(self.t)) - 1)
            self.u = np.mean(self.iterates[first:], axis=0)
        self.t += 1


class Mixture:
    """Fixed-share mixture of three AdaGrad, one averaged, and two SGD learners."""

    def __init__(self, d, step=1.0, memory=math.inf):
        self.experts = [Linear(d, "adagrad", step * c, None, memory) for c in (0.1,)]
        self.experts.append(Linear(d, "adagrad", step, None, memory))
        self.experts.append(Linear(d, "adagrad", step * 10.0, None, memory))
        self.experts.append(Linear(d, "adagrad", step, "polynomial", memory))
        self.experts += [Linear(d, "sgd", step * c, None, memory) for c in (0.3, 3.0)]
        self.v = np.full(6, 1.0 / 6.0)

    def logit(self, x):
        """Log-odds of the mixture of probabilities."""
        z = [one.logit(x) for one in self.experts]
        p = sum(v * sigmoid(a) for v, a in zip(self.v, z, strict=True))
        q = sum(v * sigmoid(-a) for v, a in zip(self.v, z, strict=True))
        return math.log(p) - math.log(q)

    def learn(self, x, y, w):
        """Bayes' rule, a share for everybody, and a step of each."""
        sign = 1.0 if y else -1.0
        likely = np.array([sigmoid(sign * one.logit(x)) ** w for one in self.experts])
        posterior = self.v * likely / (self.v * likely).sum()
        self.v = (1.0 - 1e-4) * posterior + 1e-4 / 6.0
        for one in self.experts:
            one.learn(x, y, w)


def run_learner(learner, rule, X, y, w):
    """Labels and log-odds of every row before its label is seen."""
    labels, logits = [], []
    for x, truth, weight in zip(X, y, w, strict=True):
        z = learner.logit(x)
        p = sigmoid(z)
        labels.append(rule.decide(z, p))
        logits.append(z)
        if weight > 0:
            rule.update(z, p, labels[-1], bool(truth), weight)
            learner.learn(x, bool(truth), weight)
    return labels, logits
