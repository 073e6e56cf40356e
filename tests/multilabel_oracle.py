"""Plain Python twins of `MultiLabelTagger`: learning, greedy search, beams."""

import itertools
import math

import numpy as np

import argmetric as am
from argmetric.search.learning import gold_share


class RowTask:
    """Labels of a row, each on or off; costs by trying all ways to go on."""

    def __init__(self, n_labels, metric):
        # 0/0 counts as 1 unless the metric says otherwise
        plain = isinstance(metric, str)
        self.metric = am.get_metric(metric, zero_division=1.0) if plain else metric
        self.n_labels = n_labels
        self.losses = {}

    def loss(self, truth, labels):
        tp = sum(a and b for a, b in zip(truth, labels, strict=True))
        counts = int(tp), int(sum(labels)), int(sum(truth))
        if counts not in self.losses:
            value = float(self.metric.value(*counts, self.n_labels))
            self.losses[counts] = (
                1.0 - value if self.metric.greater_is_better else value
            )
        return self.losses[counts]

    def costs(self, truth, state):
        left = self.n_labels - len(state) - 1
        rest = list(itertools.product((0, 1), repeat=left))
        return [min(self.loss(truth, (*state, on, *r)) for r in rest) for on in (0, 1)]


def sigmoid(score):
    small = math.exp(-abs(score))
    return 1 / (1 + small) if score > 0 else small / (1 + small)


class Weights:
    """AdaGrad with the mean of all weights after every row."""

    def __init__(self):
        self.now, self.squares, self.total = {}, {}, {}

    def score(self, features):
        return sum(self.now.get(name, 0.0) * x for name, x in features)

    def descend(self, features, slope, step):
        for name, x in features:
            gradient = slope * x
            square = self.squares.get(name, 0.01) + gradient**2
            self.squares[name] = square
            change = step * gradient / math.sqrt(square)
            self.now[name] = self.now.get(name, 0.0) - change

    def add_up(self):
        for name, weight in self.now.items():
            self.total[name] = self.total.get(name, 0.0) + weight


def features_of(x, decided, j, order, remembers):
    found = [(("x", order[j], i), v) for i, v in enumerate(x) if v != 0]
    if remembers:
        found += [
            (("y", order[j], o), 2.0 * on - 1.0)
            for o, on in zip(order, decided, strict=False)
        ]
    return [*found, (("b", order[j]), 1.0)]


def slow_fit(tagger, X, Y, order):
    """Coefficients, history coefficients and intercepts, by plain loops."""
    n, n_labels = Y.shape
    rng = np.random.RandomState(tagger.random_state)
    task = RowTask(n_labels, tagger.metric)
    weights, rows = Weights(), 0
    remembers = tagger.roll_in != "none"
    for epoch in range(tagger.epochs):
        share = gold_share(tagger.roll_in, epoch)
        follows = np.full((n, n_labels), share == 1.0)
        if 0 < share < 1:
            follows = rng.random_sample((n, n_labels)) < share
        for i, row in enumerate(rng.permutation(n)):
            truth, state = [int(Y[row, o]) for o in order], ()
            steps = []
            for j in range(n_labels):
                features = features_of(X[row], state, j, order, remembers)
                off, on = task.costs(truth, state)
                regret = abs(on - off)
                best = truth[j] if regret < 1e-9 else int(on < off)
                weight = 1.0 if tagger.costs == "zero_one" else regret
                score = weights.score(features)
                if weight >= 1e-9:
                    slope = weight * (sigmoid(score) - best)
                    steps.append((features, slope))
                taken = best if follows[i, j] else int(score > 0)
                state = (*state, taken)
            for features, slope in steps:
                weights.descend(features, slope, tagger.step)
            if epoch or tagger.epochs == 1:
                rows += 1
                weights.add_up()
    mean = {name: total / rows for name, total in weights.total.items()}
    labels, columns = range(n_labels), range(X.shape[1])
    return (
        [[mean.get(("x", j, i), 0.0) for i in columns] for j in labels],
        [[mean.get(("y", j, o), 0.0) for o in labels] for j in labels],
        [mean.get(("b", j), 0.0) for j in labels],
    )


def slow_scores(tagger, x, decided):
    """Score of the next label in the order of decisions."""
    order = tagger.order_
    j = order[len(decided)]
    before = zip(order, decided, strict=False)
    return (
        float(tagger.coef_[j] @ x)
        + tagger.intercept_[j]
        + sum(tagger.history_coef_[j, o] * (2 * on - 1) for o, on in before)
    )


def greedy_walk(tagger, x):
    """One label after the other, each the best one at its place."""
    state = ()
    for _ in tagger.order_:
        state = (*state, int(slow_scores(tagger, x, state) > 0))
    return in_columns(tagger, state)


def in_columns(tagger, decided):
    labels = np.empty(len(decided), dtype=int)
    labels[tagger.order_] = decided
    return labels.tolist()


def log_probability(tagger, x, decided):
    total = 0.0
    for j, on in enumerate(decided):
        score = slow_scores(tagger, x, decided[:j])
        total -= math.log1p(math.exp(-score if on else score))
    return total


def slow_beam(tagger, x, width):
    """Log probabilities of beams, sorted by Python."""
    beam = [()]
    for _ in tagger.order_:
        longer = [(*decided, on) for decided in beam for on in (0, 1)]
        beam = sorted(longer, key=lambda d: -log_probability(tagger, x, d))[:width]
    return in_columns(tagger, beam[0])
