"""Plain Python twins of the online baselines, row by row."""

import math

import numpy as np

from twins.stream import clip, sigmoid


class Costs:
    """Weights of hits and false alarms in N - v·D, for Φ = N/D over (n, tp, k, t)."""

    def __init__(self, c, d):
        self.c, self.d = np.array(c), np.array(d)

    def share(self, v):
        """Part of the weight that positives get."""
        hit = max(self.c[1] + self.c[2] - v * (self.d[1] + self.d[2]), 0.0)
        alarm = max(v * self.d[2] - self.c[2], 0.0)
        return clip(float(hit / (hit + alarm)), 0.01, 0.99)

    def value(self, tp, k, t, n):
        """Φ, within [0, 1]."""
        counts = np.array([n, tp, k, t])
        bottom = float(self.d @ counts)
        return clip(float(self.c @ counts) / bottom, 0.0, 1.0) if bottom > 0 else 0.0


class Stamp:
    """Learning epochs and level epochs in turn."""

    def __init__(self, d, costs, step=1.0):
        self.w, self.costs, self.step = np.zeros(d), costs, step
        self.v, self.t, self.epoch = 0.5, 0, 100
        self.learning, self.left = True, 100
        self.rewards = []
        self.seen = np.zeros(2)

    def decide(self, x):
        """Label, and log-odds with the costs taken out."""
        z, share = float(x @ self.w), self.costs.share(self.v)
        return z > 0, z - math.log(share / (1.0 - share))

    def learn(self, x, y, w):
        """A row of whichever epoch it is."""
        z, share = float(x @ self.w), self.costs.share(self.v)
        self.seen += w * np.array([y, 1.0])
        self.t += 1
        self.left -= 1
        if self.learning:
            slope = -share * sigmoid(-z) if y else (1.0 - share) * sigmoid(z)
            self.w = self.w - self.step / math.sqrt(self.t) * w * slope * x
            if self.left == 0:
                self.learning, self.left = False, math.ceil(self.epoch / 4)
            return
        loss = np.logaddexp(0.0, -z if y else z) / math.log(2.0)
        self.rewards.append((y, w, 1.0 - float(loss)))
        if self.left == 0:
            self.take_level()

    def take_level(self):
        """The ratio at the mean rewards."""
        rates = []
        for label in (True, False):
            rows = [(w, r) for y, w, r in self.rewards if y == label]
            total = sum(w for w, _ in rows)
            if total > 0:
                rates.append(clip(sum(w * r for w, r in rows) / total, 0.0, 1.0))
        if len(rates) == 2:
            pi = self.seen[0] / self.seen[1]
            k = pi * rates[0] + (1.0 - pi) * (1.0 - rates[1])
            self.v = self.costs.value(pi * rates[0], k, pi, 1.0)
        self.rewards = []
        self.epoch = math.ceil(1.2 * self.epoch)
        self.learning, self.left = True, self.epoch


def uniform(seed, t):
    """The number of row t in [0, 1)."""
    mask = 2**64 - 1
    x = seed * 0x9E3779B97F4A7C15 + t * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB
    x &= mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return ((x ^ (x >> 31)) >> 11) / 2.0**53


class Omcsl:
    """Ten cost-sensitive learners, one of which is drawn to decide."""

    def __init__(self, d, costs, step=1.0, seed=0):
        self.W, self.costs, self.step, self.seed = np.zeros((10, d)), costs, step, seed
        self.tp, self.k, self.seen, self.t = np.zeros(10), np.zeros(10), np.zeros(2), 0

    def decide(self, x):
        """Label of the learner drawn for this row, and its log-odds without costs."""
        pairs = zip(self.tp, self.k, strict=True)
        values = np.array([self.costs.value(tp, k, *self.seen) for tp, k in pairs])
        weights = np.exp(
            math.sqrt(8.0 * math.log(10.0) * self.t) * (values - max(values))
        )
        drawn = uniform(self.seed, self.t) * weights.sum()
        pick = int(np.searchsorted(np.cumsum(weights), drawn, side="right"))
        share = self.costs.share((pick + 0.5) / 10.0)
        z = float(self.W[pick] @ x)
        return z > 0, z - math.log(share / (1.0 - share))

    def learn(self, x, y, w):
        """A step of all learners."""
        self.t += 1
        self.seen += w * np.array([y, 1.0])
        for i in range(10):
            z, share = float(self.W[i] @ x), self.costs.share((i + 0.5) / 10.0)
            self.k[i] += w * (z > 0)
            self.tp[i] += w * (z > 0 and y)
            slope = -share * sigmoid(-z) if y else (1.0 - share) * sigmoid(z)
            self.W[i] = self.W[i] - self.step / math.sqrt(self.t) * w * slope * x


def run_baseline(learner, X, y, w):
    """Labels and log-odds of every row before its label is seen."""
    labels, logits = [], []
    for x, truth, weight in zip(X, y, w, strict=True):
        label, z = learner.decide(x)
        labels.append(label)
        logits.append(z)
        if weight > 0:
            learner.learn(x, bool(truth), weight)
    return labels, logits
