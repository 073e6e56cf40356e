"""Several classes: coverage of macro-F1, and verdicts.

Five kinds of models, trained on 1,200 rows of each set. A reference has 1,000 of the
other rows, and periods 500 of the rest: quiet; the share of every class times e^z,
z ~ N(0, 0.7²), scaled; other rows, 4:1 by the half of a feature. Labels are the most
probable classes. Readings have the constants of one column of scores. The allowance of
class forecasts was chosen on covtype and optdigits, and letter was looked at: only ocr
had no part in it.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from classes_parts.cases import DROPPED, TRAIN, loaded, models
from harness import Target, emit
from sklearn.metrics import f1_score
from tabular import class_probabilities

from argmetric.classes import monitor
from monitor_parts.measured import Row, seeded, share_of

SETS = {"covtype": 30_000, "ocr": 30_000, "letter": 20_000, "optdigits": 6_000}
MOST_CLASSES, RATIO = 12, 4  # of a set; all but covtype are thinned so far
M, N = 1000, 500
TURNS = 4  # references of each pool
MOVED, SIDES = 0.7, 4.0


class ClassPool(NamedTuple):
    name: str
    model: str
    y: np.ndarray
    P: np.ndarray
    X: np.ndarray

    @property
    def about(self) -> Row:
        return {"set": self.name, "model": self.model}


@cache
def class_pools(quick: bool) -> list[ClassPool]:
    return list(_pools(quick))


def _pools(quick: bool) -> Iterator[ClassPool]:
    for name in ("optdigits",) if quick else SETS:
        X, y = loaded(name)
        rng = np.random.default_rng(0)
        found, counts = np.unique(y, return_counts=True)
        kept = np.sort(found[np.argsort(-counts)[:MOST_CLASSES]])
        rate = RATIO ** -(rng.permutation(kept.size) / (kept.size - 1.0))
        rate = np.ones(kept.size) if name == "covtype" else rate
        rows = np.flatnonzero(np.isin(y, kept))
        probability = rate[np.searchsorted(kept, y[rows])]
        rows = rng.permutation(rows[rng.random(rows.size) < probability])[: SETS[name]]
        X = X[rows][:, rng.permutation(X.shape[1])[DROPPED.get(name, 0) :]]
        y = np.searchsorted(kept, y[rows])
        for kind, model in models().items():
            if quick and kind not in ("logistic", "bayes"):
                continue
            model.fit(X[:TRAIN], y[:TRAIN])
            P = class_probabilities(model, X, kept.size)
            yield ClassPool(name, kind, y[TRAIN:], P[TRAIN:], X[TRAIN:])


def run(*, quick: bool, seed: int) -> None:
    rows: list[Row] = []
    for pool in class_pools(quick):
        for turn in range(1 if quick else TURNS):
            rng = seeded(seed, "classes", pool.name, pool.model, turn)
            rows += _measured(rng, pool)
    _told(rows)


def _measured(rng: np.random.Generator, pool: ClassPool) -> Iterator[Row]:
    order = rng.permutation(pool.y.size)
    first, other = order[:M], order[M:]
    feature = pool.X[:, rng.integers(pool.X.shape[1])]
    side = feature[other] > np.median(feature[other])
    factor = np.exp(MOVED * rng.standard_normal(pool.P.shape[1]))
    weights = {
        "quiet": np.ones(other.size),
        "prevalence shift": factor[pool.y[other]],
        "other rows": np.where(side, SIDES, 1.0),
    }
    drawn = {
        kind: other[np.argsort(-np.log(rng.random(other.size)) / w)[:N]]
        for kind, w in weights.items()
    }
    place = np.concatenate(list(drawn.values()))
    reference = pool.y[first], pool.P[first]
    found = monitor(pool.P[place], reference=reference, every=N)
    for (kind, own), one in zip(drawn.items(), found.periods, strict=True):
        y, z = pool.y[own], pool.P[own].argmax(axis=1)
        actual = f1_score(y, z, average="macro")
        yield pool.about | {
            "kind": kind,
            "below": actual < one.interval.low,
            "above": actual > one.interval.high,
            "width": one.interval.high - one.interval.low,
            "verdict": one.verdict,
        }


def _told(rows: list[Row]) -> None:
    """Coverage by kind of period; by model and set; verdicts by kind."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    models_, sets = (dict.fromkeys(row[x] for row in rows) for x in ("model", "set"))
    parts: list[Row] = [{"kind": kind} for kind in kinds]
    parts += [{"kind": a, "model": b} for a, b in itertools.product(kinds, models_)]
    parts += [{"kind": a, "set": b} for a, b in itertools.product(kinds, sets)]
    for part in parts:
        own = [row for row in rows if part.items() <= row.items()]
        mean = {
            name: statistics.mean(row[name] for row in own)
            for name in ("below", "above", "width")
        }
        inside = 1.0 - mean["below"] - mean["above"]
        goal: Target = (">=", 0.87) if part == {"kind": "quiet"} else None
        told = part | mean | {"periods": len(own)}
        emit("classes", "inside the interval", inside, "share", goal, **told)
        if len(part) == 1:
            for verdict in dict.fromkeys(row["verdict"] for row in own):
                share = share_of(own, verdict=verdict)
                emit("classes", f"verdict {verdict}", share, "share", **part)
