"""Tasks that SEARN is tested on."""

import itertools

import numpy as np

from argmetric.search import (
    LinearLearner,
)


class Fixed:
    """A policy that looks its answers up, and counts how often it is asked."""

    def __init__(self, task, table):
        self.task = task
        self.table = table
        self.asked = 0

    def choose(self, situations, draws):
        self.asked += len(situations)
        return np.array([self.table(one) for one in situations])

    def scores(self, situations, decisions):
        out = np.zeros(decisions.codes.size)
        chosen = [self.table(one) for one in situations]
        out[decisions.indptr[:-1] + chosen] = 1.0
        return out


def words(letters, length):
    return ["".join(one) for one in itertools.product(letters, repeat=length)]


class Faint:
    """A learner whose scores lie closer together than probabilities can."""

    def fit(self, decisions, costs, rng):
        self.scorer = LinearLearner().fit(decisions, costs, rng)
        return self

    def scores(self, decisions):
        return 1e-30 * self.scorer.scores(decisions)
