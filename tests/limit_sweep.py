"""Decide degenerate batches of classes within limits; a program, run by its test.

A case without an answer after two minutes, or one that reads outside of an array, ends
the program. Every answer keeps the limits and scores no less than the most probable
classes brought within them. Of a few rows all labels are scored on all truths.
"""

import faulthandler
import itertools
import math
import sys

import numpy as np

import argmetric as am
from argmetric.metrics import get_class_metric

SECONDS = 120.0  # of a case
FEW = 800  # truths up to which all are listed
DRAWS = 3000
RARE = [[1 - 3e-16, 1e-16, 2e-16], [1.0, 1e-300, 0.0], [1.0, 0.0, 5e-324]]


def asymmetric(count):
    return np.abs(np.subtract.outer(np.arange(count), 1.5 * np.arange(count)))


METRICS = {
    **{
        name: (lambda count, name=name: {"metric": name})
        for name in (
            *("accuracy", "f1", "f2", "jaccard", "precision", "recall", "gmean", "mcc"),
            "balanced_accuracy",
        )
    },
    "f1 of 0": lambda count: {"metric": "f1", "zero_division": 0.0},
    "f1 of 1": lambda count: {"metric": "f1", "zero_division": 1.0},
    "tversky": lambda count: {"metric": am.Tversky(0.3, 0.9)},
    "weighted f1": lambda count: {"metric": "f1", "average": "weighted"},
    "weighted precision": lambda count: {"metric": "precision", "average": "weighted"},
    "cost": lambda count: {"cost": asymmetric(count)},
}


def batches():
    """Probabilities by name: equal rows, certain and absent classes, one and two."""
    eye = np.eye(3)
    return {
        "equal rows": np.tile([0.8, 0.2], (6, 1)),
        "equal rows of even classes": np.full((5, 3), 1 / 3),
        "35 equal rows": np.tile([0.4, 0.3, 0.2, 0.1], (35, 1)),
        "one certain class": np.tile(eye[1], (5, 1)),
        "certain classes": eye[[0, 1, 2, 0, 0]],
        "certain and equal": np.vstack([eye[[0, 0]], np.full((3, 3), 1 / 3)]),
        "one row": np.array([[0.2, 0.5, 0.3]]),
        "one certain row": eye[:1],
        "two rows": np.array([[0.6, 0.4], [0.6, 0.4]]),
        "two certain rows": eye[[2, 2]],
        "absent class": np.array([[0.7, 0.3, 0.0], [0.5, 0.5, 0.0]] * 2),
        "two absent classes": np.tile([0.6, 0.0, 0.4, 0.0], (4, 1)),
        "nearly certain": np.array(RARE + RARE[:2]),
        "101 equal rows and one": np.vstack(
            [np.tile([0.5, 0.25, 0.25], (101, 1)), eye[2]]
        ),
    }


def limits(n, count):
    """Limits by name: some just leave room, some cannot be kept."""
    even = math.ceil(n / count)
    last = [0] * (count - 1) + [n]
    first = [n - n // 2] + [n // 2] * (count - 1)
    return {
        "even room": {"max_per_class": even},
        "room for each row once": {"max_per_class": [n - 1] + [1] + [0] * (count - 2)},
        "no room in the first": {"max_per_class": {0: 0}},
        "room in the last alone": {"max_per_class": last},
        "half": {"max_per_class": "50%"},
        "a part of a row": {"max_per_class": {0: n / 2 + 0.5}},
        "recall of the last": {"min_recall": {count - 1: 0.5}},
        "all of the last": {"min_recall": {count - 1: 1.0}},
        "recall of each": {"min_recall": 0.3},
        "recall of the first two": {"min_recall": {0: 0.7, 1: 0.4}},
        "recall and room": {"max_per_class": first, "min_recall": {count - 1: 0.2}},
    }


def each_class(value, count, otherwise, n=None):
    if isinstance(value, str):
        value = math.floor(n * float(value.rstrip("%")) / 100)
    if isinstance(value, dict):
        return np.array([value.get(c, otherwise) for c in range(count)], dtype=float)
    return np.broadcast_to(otherwise if value is None else value, count).astype(float)


def are_kept(p, labels, within):
    """Whether labels, or each of a stack of labels, keep the limits."""
    n, count = p.shape
    most = each_class(within.get("max_per_class"), count, math.inf, n)
    recall = each_class(within.get("min_recall"), count, 0.0)
    own = labels[..., None] == np.arange(count)
    hits = np.where(own, p, 0.0).sum(axis=-2)
    floor = recall * p.sum(axis=0) * (1 - 1e-11)
    return ((own.sum(axis=-2) <= most) & (hits >= floor)).all(axis=-1)


class Truths:
    """All truths of a few rows with their probabilities, else drawn ones."""

    def __init__(self, p, score):
        n, self.count = p.shape
        self.few, self.score = self.count**n <= FEW, score
        if self.few:
            self.every = np.array(list(itertools.product(range(self.count), repeat=n)))
            self.truths = self.every
            self.weight = np.prod(p[np.arange(n), self.truths], axis=1)
            self.means = np.array([self.mean(self.scores(z)) for z in self.every])
        else:
            drawn = np.random.default_rng(0).random((DRAWS, n, 1))
            truths = (p.cumsum(axis=1) < drawn).sum(axis=2)
            self.truths = truths.clip(max=self.count - 1)
            self.weight = np.full(DRAWS, 1.0 / DRAWS)

    def scores(self, labels):
        """Score of the labels on every truth."""
        cells, rows = self.count**2, np.arange(len(self.truths))[:, None]
        tables = np.zeros((len(self.truths), cells))
        np.add.at(tables, (rows, self.truths * self.count + labels), 1.0)
        return self.score(tables.reshape(-1, self.count, self.count))

    def mean(self, scores):
        there = self.weight * ~np.isnan(scores)
        return float((np.nan_to_num(scores) * there).sum() / max(there.sum(), 1e-300))

    def below(self, labels, other):
        """By how much labels score less than others, noise of the draws taken off."""
        own, others = self.scores(labels), self.scores(other)
        noise = 0.0 if self.few else 4.0 * np.nanstd(others - own) / math.sqrt(DRAWS)
        return self.mean(others) - self.mean(own) - noise


def greedy(p, within):
    """The most probable class with room, the surest rows first; None with floors."""
    if "min_recall" in within:
        return None
    n, count = p.shape
    room = each_class(within["max_per_class"], count, math.inf, n)
    labels = np.empty(n, dtype=np.int64)
    for i in np.argsort(-p.max(axis=1), kind="stable"):
        labels[i] = np.argmax(np.where(room >= 1.0, p[i], -1.0))
        room[labels[i]] -= 1.0
    return labels if are_kept(p, labels, within) else None


def check(p, options, within, groups, truths):
    """Decide one case: "best", "no worse", "refused", or what is wrong."""
    n = len(p)
    kept = truths.few and are_kept(p, truths.every, within)
    twice = p if groups is None else np.vstack([p, p])
    try:
        d = am.classes.decide(twice, groups=groups, **options, **within)
    except ValueError as error:
        refused = "raise" in str(error) and not np.any(kept)
        return "refused" if refused else f"raised {error}"
    for labels in d.codes.reshape(-1, n):
        if not are_kept(p, labels, within):
            return f"limits broken: {labels.tolist()}"
    if not math.isfinite(d.expected):
        return f"expects {d.expected}"
    labels = d.codes[:n]
    surest = am.classes.decide(p, "accuracy", **within).codes
    for simple in (surest, greedy(p, within)):
        short = 0.0 if simple is None else truths.below(labels, simple)
        if short > 1e-9:
            return f"below {simple.tolist()} by {short:.4f}: {labels.tolist()}"
    if not truths.few:
        return "no worse"
    short = truths.means[kept].max() - truths.mean(truths.scores(labels))
    return "best" if short < 1e-9 else f"no worse {short:.4f}"


def cases():
    """Name, probabilities, options, limits and groups of every case."""
    for (name, p), (metric, make) in itertools.product(
        batches().items(), METRICS.items()
    ):
        n, count = p.shape
        for limit, within in limits(n, count).items():
            for groups in (None, [0] * n + [1] * n):
                grouped = "" if groups is None else ", in groups"
                case = f"{name}; {metric}; {limit}{grouped}"
                yield case, p, make(count), within, groups


def main(step):
    """Print every step-th case, and then its answer."""
    ordinary = np.random.default_rng(0).dirichlet([2.0, 1.0, 1.0], 12)
    for make in METRICS.values():  # compile the kernels, which takes minutes at times
        within = {"max_per_class": 5, "min_recall": {2: 0.3}}
        am.classes.decide(ordinary, **make(3), **within)
    known = ""
    for case, p, options, within, groups in itertools.islice(cases(), 0, None, step):
        if known != (known := case.rpartition(";")[0]):
            score = get_class_metric(**options, n_classes=p.shape[1]).score
            truths = Truths(p, score)
        print(case, end="; ", flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        print(check(p, options, within, groups, truths), flush=True)
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(int(sys.argv[1]))
