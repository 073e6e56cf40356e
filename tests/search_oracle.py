"""Brute force over all states and outputs: nothing is imported from the package."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction


def all_states(task, x):
    """Every state in reach of the start, in some order."""
    seen = {task.start(x)}
    stack = list(seen)
    while stack:
        state = stack.pop()
        yield state
        if task.final(x, state):
            continue
        for action in task.actions(x, state):
            child = task.step(x, state, action)
            if child not in seen:
                seen.add(child)
                stack.append(child)


def least_losses(task, x, loss):
    """Least loss in reach of every state, by recursion; `loss` judges outputs."""
    known = {}

    def value(state):
        if state not in known:
            actions = () if task.final(x, state) else task.actions(x, state)
            if actions:
                children = [task.step(x, state, action) for action in actions]
                known[state] = min(value(child) for child in children)
            else:
                known[state] = loss(task.output(x, state))
        return known[state]

    for state in all_states(task, x):
        value(state)
    return known


def chunks(labels, opens):
    """Chunks of BIO labels; a dangling I-X opens one, or is passed over."""
    found = set()
    i = 0
    while i < len(labels):
        prefix, _, kind = labels[i].partition("-")
        if prefix == "B" or (prefix == "I" and opens):
            j = i + 1
            while j < len(labels) and labels[j] == f"I-{kind}":
                j += 1
            found.add((i, j, kind))
            i = j
        else:
            i += 1
    return found


def chunk_f(gold, found, beta2=1):
    hits, beta2 = len(gold & found), Fraction(beta2)
    below = beta2 * len(gold) + len(found)
    return Fraction((1 + beta2) * hits, below) if below else Fraction(1)


def well_formed_labels(types, n):
    """All BIO sequences without a dangling label."""
    labels = ["O", *(f"{p}-{kind}" for kind in types for p in "BI")]
    for sequence in itertools.product(labels, repeat=n):
        before = ("O", *sequence)
        if all(
            b[0] != "I" or (a != "O" and a[2:] == b[2:])
            for a, b in itertools.pairwise(before)
        ):
            yield sequence


def pair_values(costs):
    """v of weighted all pairs as an integral: ∫ dt / |{j : c_j ≤ t}|, in fractions."""
    costs = [Fraction(c) - min(map(Fraction, costs)) for c in costs]
    edges = sorted(set(costs))
    values = []
    for cost in costs:
        total = Fraction(0)
        for low, high in itertools.pairwise(edges):
            if high <= cost:
                total += (high - low) / sum(c <= low for c in costs)
        values.append(total)
    return values


def policy_value(task, x, y, state, probabilities):
    """Expected loss from a state; `probabilities(state)` are those of the actions."""
    actions = () if task.final(x, state) else task.actions(x, state)
    if not actions:
        return task.loss(y, task.output(x, state))
    return sum(
        probability
        * policy_value(task, x, y, task.step(x, state, action), probabilities)
        for probability, action in zip(probabilities(state), actions, strict=True)
        if probability
    )


MASK = (1 << 64) - 1


def scattered(code):
    code = ((code ^ (code >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    code = ((code ^ (code >> 27)) * 0x94D049BB133111EB) & MASK
    return code ^ (code >> 31)


def slopes(kind, target, costs, scale, scores):
    """Derivatives of the losses by the scores, straight from their definitions."""
    n = len(costs)
    cheapest = [a for a in range(n) if costs[a] == 0]
    if max(costs) == 0:
        return [0.0] * n
    best = max(cheapest, key=lambda a: (scores[a], -a))
    if kind in ("perceptron", "svm"):
        margin = scale if kind == "svm" else 0.0
        rival = max(range(n), key=lambda a: (scores[a] + margin * costs[a], -a))
        out = [0.0] * n
        if costs[rival] > 0:
            out[rival] = 1.0 if kind == "svm" else scale * costs[rival]
            out[best] = -out[rival]
        return out
    odds = [math.exp(s) for s in scores]
    p = [o / sum(odds) for o in odds]
    if target == "reward":
        rewards = [max(costs) - c for c in costs]
        return [scale * (sum(rewards) * p[a] - rewards[a]) for a in range(n)]
    inside = sum(p[a] for a in cheapest)
    weight = scale * sum(costs) / (n - len(cheapest))
    return [weight * (p[a] - (p[a] / inside if a in cheapest else 0)) for a in range(n)]


def action_rows(example, bits):
    """Numbers and values of the features of every action of an example."""
    features, actions = example[0], example[1]
    for code, own in actions:
        row = [
            (scattered((h + code * 0x9E3779B97F4A7C15) & MASK) >> (64 - bits), v)
            for h, v in features
        ]
        yield row + [(scattered(h) >> (64 - bits), v) for h, v in own]


def action_scores(example, bits, weights):
    rows = action_rows(example, bits)
    return [sum(v * weights.get(i, 0.0) for i, v in row) for row in rows]


def learn(examples, orders, bits, kind, target, step, scale):
    """The learner in plain Python; an example has features, and actions with theirs."""
    weights, squares, sums = {}, {}, {}
    n_steps = 0

    for order in orders:
        for number in order:
            example = examples[number]
            table = list(action_rows(example, bits))
            scores = action_scores(example, bits, weights)
            found = slopes(kind, target, example[2], scale, scores)
            gradient = {}
            for row, slope in zip(table, found, strict=True):
                for i, v in row:
                    gradient[i] = gradient.get(i, 0.0) + slope * v
            for i, g in gradient.items():
                change = -g
                if kind != "perceptron":
                    squares[i] = squares.get(i, 0.01) + g**2
                    change *= step / math.sqrt(squares[i])
                weights[i] = weights.get(i, 0.0) + change
            n_steps += 1
            for i, w in weights.items():
                sums[i] = sums.get(i, 0.0) + w
    return {i: total / n_steps for i, total in sums.items()}
