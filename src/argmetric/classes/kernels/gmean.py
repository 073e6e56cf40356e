"""G-mean of labels over draws of the true classes, and labels that raise it.

A class that has no true row is left out, so that a class which is rarely there rarely
counts. Of the classes with few expected rows, the true rows are drawn. The recall of a
class with many is h/μ. Rows get the class of the largest weight·p, and the weights are
climbed on the draws, one class after the other.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.classes.kernels.climb import climb_product
from argmetric.classes.kernels.draws import draw_uniform

FEW = 2000.0  # expected rows up to which the true rows of a class are drawn
MOST_DRAWS, LEAST_DRAWS = 256, 64
EVENTS = 2e7  # true rows that all steps of a round look at
ALL_OUTCOMES = 1024  # outcomes up to which none is drawn: all are listed
STEPS = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0])  # of the log of a weight
ROUNDS = 6
LEAST_RISE = 1e-4  # of the score in a round: less ends the climb
VISITED = 64  # classes whose weights are climbed: those with the fewest rows
ALSO = 5000  # rows up to which single rows are climbed from two places


class Outcomes(NamedTuple):
    """True classes of the rows of a group, all that can be or drawn ones.

    mu : ndarray of shape (n_classes,)
        Expected rows of each class.
    rare : ndarray of bool, shape (n_classes,)
        Classes whose true rows differ from outcome to outcome.
    ends : ndarray of shape (n_rows + 1,)
        Entries of row i: ends[i] to ends[i + 1].
    draws, classes : ndarray of shape (n_entries,)
        Number of the outcome, and the true class of the row in it.
    probability : ndarray of shape (n_outcomes,)
    truth : ndarray of shape (n_classes, n_outcomes)
        True rows of rare classes.
    """

    mu: Floats
    rare: Booleans
    ends: Integers
    draws: Integers
    classes: Integers
    probability: Floats
    truth: Floats


@kernel
def list_outcomes(p):
    """Return entries and probabilities of all outcomes of a few rows."""
    n, C = p.shape
    count = C**n
    probability, code = np.ones(count), np.arange(count)
    ends, draws = np.empty(n + 1, np.int64), np.empty(n * count, np.int32)
    classes = np.empty(n * count, np.int32)
    ends[0] = 0
    for i in range(n):
        for d in range(count):
            c = code[d] % C
            code[d] //= C
            probability[d] *= p[i, c]
            draws[i * count + d], classes[i * count + d] = d, c
        ends[i + 1] = (i + 1) * count
    return ends, draws, classes, probability


@kernel
def draw_outcomes(p, rare, count, state):
    """Draw the true rows of rare classes in `count` outcomes, as by `list_outcomes`."""
    n, C = p.shape
    size = 1024
    ends = np.empty(n + 1, np.int64)
    draws, classes = np.empty(size, np.int32), np.empty(size, np.int32)
    ends[0] = at = 0
    for i in range(n):
        total = 0.0
        for c in range(C):
            if rare[c]:
                total += p[i, c]
        total = min(total, 1.0)
        if at + count > size:
            size = 2 * (at + count)
            longer = np.empty(size, np.int32)
            longer[:at] = draws[:at]
            draws = longer
            longer = np.empty(size, np.int32)
            longer[:at] = classes[:at]
            classes = longer
        d = -1
        while total > 0.0:
            d += 1
            if total < 1.0 - 1e-12:  # leap to the next draw in which the row is rare
                u = draw_uniform(state)
                leap = math.log1p(-u) / math.log1p(-total)
                d += int(min(leap, float(count)))
            if d >= count:
                break
            u = draw_uniform(state) * total
            found = -1
            for c in range(C):
                if rare[c] and p[i, c] > 0.0:
                    found = c
                    u -= p[i, c]
                    if u < 0.0:
                        break
            draws[at], classes[at] = d, found
            at += 1
        ends[i + 1] = at
    return ends, draws[:at].copy(), classes[:at].copy(), np.full(count, 1.0 / count)


@inner
def mean_score(outcomes, hits, h):
    """Return the mean over outcomes of the geometric mean of recalls.

    Classes that are not there are left out.

    `hits` are rows of rare classes by outcome, of shape (n_classes, n_outcomes); h is
    of the other classes.
    """
    mu, rare, truth = outcomes.mu, outcomes.rare, outcomes.truth
    C = mu.shape[0]
    fixed, common = 0.0, 0
    for c in range(C):
        if not rare[c]:
            common += 1
            fixed += math.log(h[c] / mu[c]) if h[c] > 0.0 else -math.inf
    if fixed == -math.inf:
        return 0.0
    total = 0.0
    for d in range(truth.shape[1]):
        there, product = common, 1.0
        logs = fixed
        for c in range(C):
            if rare[c] and truth[c, d] > 0.0:
                there += 1
                product *= hits[c, d] / truth[c, d]
                if product < 1e-200:
                    if product == 0.0:
                        break
                    logs += math.log(product)
                    product = 1.0
        if product > 0.0 and there > 0:
            total += outcomes.probability[d] * math.exp(
                (logs + math.log(product)) / there
            )
    return total


@inner
def score_labels(p, first, labels, outcomes, hits, h):
    """Return the mean score of labels.

    Write hits of rare classes by outcome, and Σ p over the rows of every class.
    """
    ends = outcomes.ends
    hits[:] = 0.0
    h[:] = 0.0
    for i in range(p.shape[0]):
        z = labels[first + i]
        h[z] += p[i, z]
        if outcomes.rare[z]:
            for j in range(ends[i], ends[i + 1]):
                if outcomes.classes[j] == z:
                    hits[z, outcomes.draws[j]] += 1.0
    return mean_score(outcomes, hits, h)


@inner
def label_rows(p, weights, first, labels):
    """Write the class of the largest weight·p of every row."""
    for i in range(p.shape[0]):
        z = 0
        for c in range(1, p.shape[1]):
            if p[i, c] * weights[c] > p[i, z] * weights[z]:
                z = c
        labels[first + i] = z


@kernel
def climb_weights(p, outcomes, weights, score):
    """Raise the mean score by changing one weight at a time; return the score.

    Row i gets the class c with the largest weights[c]·p[i, c]. A weight is multiplied
    by each of S factors, and the best is kept. Row i gets class c from its first factor
    s on, and its best other class before it: `won[s]` counts the rows won by c in each
    outcome, `kept[s, other]` those that stay with the other class, and `won_h`,
    `kept_h` are their sums of p.

    p : array of shape (n_rows, n_classes)
    weights : array of shape (n_classes,), changed in place
    score : float
        Mean score of `weights` as they are.
    """
    n, C = p.shape
    mu, ends, draws, classes = (
        outcomes.mu,
        outcomes.ends,
        outcomes.draws,
        outcomes.classes,
    )
    D, S = outcomes.probability.shape[0], 2 * STEPS.shape[0] + 1
    factors = np.ones(S)
    for s in range(STEPS.shape[0]):
        factors[s] = math.exp(-STEPS[STEPS.shape[0] - 1 - s])
        factors[S - 1 - s] = math.exp(STEPS[STEPS.shape[0] - 1 - s])
    won, kept = np.empty((S + 1, D)), np.empty((S + 1, C, D))
    won_h, kept_h = np.empty(S + 1), np.empty((S + 1, C))
    order = np.argsort(mu)[:VISITED]
    for _ in range(ROUNDS):
        before = score
        for c in order:
            if mu[c] <= 0.0:
                continue
            won[:], kept[:], won_h[:], kept_h[:] = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                other = 1 if c == 0 else 0
                for e in range(C):
                    if e != c and p[i, e] * weights[e] > p[i, other] * weights[other]:
                        other = e
                rival, own, s = p[i, other] * weights[other], p[i, c] * weights[c], 0
                while s < S:  # the first step at which the row is given c
                    now = own * factors[s]
                    if now > rival or (now == rival and c < other):
                        break
                    s += 1
                won_h[s] += p[i, c]
                kept_h[s, other] += p[i, other]
                for j in range(ends[i], ends[i + 1]):
                    if classes[j] == c:
                        won[s, draws[j]] += 1.0
                    elif classes[j] == other:
                        kept[s, other, draws[j]] += 1.0
            # At factor s the rows of steps 0 … s have class c; the others keep theirs.
            for s in range(1, S):
                won[s] += won[s - 1]
                won_h[s] += won_h[s - 1]
            for s in range(S - 1, -1, -1):
                kept[s] += kept[s + 1]
                kept_h[s] += kept_h[s + 1]
            best = -1
            for s in range(S):
                kept[s + 1, c] = won[s]
                kept_h[s + 1, c] = won_h[s]
                found = mean_score(outcomes, kept[s + 1], kept_h[s + 1])
                if found > score + 1e-12:
                    best, score = s, found
            if best >= 0:
                weights[c] *= factors[best]
        if score <= before + LEAST_RISE:
            break
    return score


@kernel
def climb_single(p, first, labels, outcomes, score):
    """Raise the mean score by moves of single rows, where all outcomes are listed."""
    C = p.shape[1]
    hits, h = np.empty_like(outcomes.truth), np.empty(C)
    moved = True
    while moved:
        moved = False
        for i in range(p.shape[0]):
            best = labels[first + i]
            for c in range(C):
                labels[first + i] = c
                found = score_labels(p, first, labels, outcomes, hits, h)
                if found > score + 1e-12:
                    best, score, moved = c, found, True
            labels[first + i] = best
    return score


@kernel
def draw_group(p, seed):
    """Return the outcomes of a group, which do not depend on labels."""
    n, C = p.shape
    state = np.array([seed], np.uint64)
    mu = np.zeros(C)
    for i in range(n):
        mu += p[i]
    rare = mu <= FEW
    if n * math.log(C) <= math.log(ALL_OUTCOMES):
        ends, draws, classes, probability = list_outcomes(p)
    else:
        looked = max(mu[rare].sum() * min(rare.sum(), VISITED), 1.0)
        count = int(min(max(EVENTS / looked, LEAST_DRAWS), MOST_DRAWS))
        ends, draws, classes, probability = draw_outcomes(p, rare, count, state)
    truth = np.zeros((C, probability.shape[0]))
    for j in range(draws.shape[0]):
        truth[classes[j], draws[j]] += 1.0
    return Outcomes(mu, rare, ends, draws, classes, probability, truth)


@kernel
def score_groups(p, starts, labels, seed, scores):
    """Write the mean score of the labels of every group."""
    C = p.shape[1]
    h = np.empty(C)
    for g in range(starts.shape[0] - 1):
        first, own = starts[g], p[starts[g] : starts[g + 1]]
        outcomes = draw_group(own, seed)
        hits = np.empty_like(outcomes.truth)
        scores[g] = score_labels(own, first, labels, outcomes, hits, h)


@kernel
def decide_groups(p, starts, few, most, floor, seed, labels, weights):
    """Write labels of every group, and the weights that come nearest to them.

    Weights are climbed from 1 and from 1/μ, then single rows from there: the labels
    with the highest score are kept, and none are below the most probable.
    """
    C = p.shape[1]
    h, k, tried = np.empty(C), np.empty(C), np.empty_like(labels)
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        own = p[first:last]
        outcomes = draw_group(own, seed)
        mu, probability = outcomes.mu, outcomes.probability
        hits = np.empty_like(outcomes.truth)
        often = np.zeros(C)  # probability that the class is there
        for c in range(C):
            often[c] = 0.0 if outcomes.rare[c] else 1.0
            for d in range(probability.shape[0]):
                if outcomes.truth[c, d] > 0.0:
                    often[c] += probability[d]
        value = -math.inf
        listed = own.shape[0] * math.log(C) <= math.log(ALL_OUTCOMES)
        for start in range(2):
            at = np.ones(C)
            if start:
                for c in range(C):
                    at[c] = 1.0 / mu[c] if mu[c] > 0.0 else 0.0
            label_rows(own, at, first, tried)
            score = score_labels(own, first, tried, outcomes, hits, h)
            if not listed:
                score = climb_weights(own, outcomes, at, score)
                label_rows(own, at, first, tried)
            better = score > value
            if better:
                value, weights[g] = score, at
                labels[first:last] = tried[first:last]
            if listed:
                score = climb_single(own, first, tried, outcomes, score)
            elif better or own.shape[0] <= ALSO:
                climb_product(
                    p, first, last, tried, often, most[g], floor[g], few, h, k
                )
                score = score_labels(own, first, tried, outcomes, hits, h)
            if score > value:
                value = score
                labels[first:last] = tried[first:last]
