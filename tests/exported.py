"""Rules of all kinds, scores about their cuts, and the labels that `apply` gives."""

import math
from dataclasses import replace

import numpy as np

import argmetric as am
from argmetric._calibrate.maps import (
    BetaMap,
    IsotonicMap,
    PlattMap,
    TemperatureMap,
)

INF, NAN = math.inf, math.nan
N_RANDOM = 10_000
FLAT = IsotonicMap(np.array([0.1, 0.3, 0.6]), np.array([0.0, 0.4, 0.4]))


def labelled(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(0, 1, n))))


def cut_rules():
    y, p = labelled()
    spline = am.calibrate(y, p)
    shift = am.adjust_prior(p, prevalence=0.1, reference_prevalence=0.3)
    odd = {"pos_label": 'it\'s \\ "jä"', "neg_label": "-- no"}
    return {
        "plain": am.Rule("f1", 0.3),
        "sum": am.Rule("f1", 0.1 + 0.2),
        "third": am.Rule("f1", 1 / 3, pos_label=1, neg_label=-1),
        "tiny": am.Rule("f1", 1.2345e-300),
        "subnormal": am.Rule("f1", 5e-324),
        "zero": am.Rule("f1", 0.0),
        "below": am.Rule("f1", 0.7, "<", pos_label=True, neg_label=False),
        "nothing": am.Rule("f1", INF, pos_label=2.5, neg_label=1),
        "everything": am.Rule("f1", -INF),
        "scores": am.Rule("f1", -123456.78901, probabilities=False, **odd),
        "large": am.Rule("f1", 1.7e300, probabilities=False),
        "platt": am.Rule("f1", 0.31, calibrator=PlattMap(0.7, -1.1)),
        "platt, none": am.Rule("f1", 0.9, calibrator=PlattMap(0.0, -1.1)),
        "platt, all": am.Rule("f1", 0.1, calibrator=PlattMap(0.0, -1.1)),
        "beta": am.Rule("f1", 0.4, "<", calibrator=BetaMap(0.5, 1.5, 0.3)),
        "temperature": am.Rule("f1", 0.01, calibrator=TemperatureMap(3.0)),
        "flat": am.Rule("f1", 0.4, calibrator=FLAT),
        "spline": am.tune(y, p, "f1", calibrator=spline, n_bootstrap=0, cv=None),
        "chain": am.Rule("f1", 0.2, calibrator=spline.then(shift), **odd),
    }


def matrix_rules():
    y, p = labelled()
    labels, matrix = np.stack([y, 1 - y], 1), np.stack([p, 1 - p**2], 1)
    quick = {"n_bootstrap": 0, "cv": None}
    of_labels = [am.Rule("f1", 0.3, calibrator=FLAT), am.Rule("f1", 0.6, "<")]
    weights, offsets = np.array([1.0, 0.1 + 0.2, 7.7]), np.array([0.0, 0.3, -1 / 3])
    return {
        "labels": am.MultiLabelRule((*of_labels, am.Rule("f1", INF)), ("a", "b c", 7)),
        "micro": am.tune(labels, matrix, average="micro", **quick),
        "classes": am.MultiClassRule(("x", "it's", "z"), weights, am.FBeta(1.0)),
        "offsets": am.MultiClassRule(
            (3, 1, 2), weights, am.FBeta(1.0), offsets=offsets
        ),
    }


RULES = cut_rules() | matrix_rules()


def near(value):
    """A float, its neighbours, and the 32-bit floats about it."""
    with np.errstate(over="ignore"):
        narrow = np.float32(value)
        around = [np.nextafter(narrow, np.float32(x)) for x in (-INF, INF)]
    beside = [np.nextafter(value, x) for x in (-INF, INF)]
    return [float(x) for x in (value, *beside, narrow, *around)]


EDGES = [None, NAN, INF, -INF, -0.5, 1.5, -1e-7, 1 + 1e-7, -0.0, 0.0, 1.0, 5e-324]


def scores_for(rule, seed=0):
    """Rows of random scores and of edge values, in as many columns as the rule has."""
    rng = np.random.default_rng(seed)
    portable = rule._portable()
    cuts = [x for cut in portable.cuts for x in near(cut.cut) if not math.isnan(x)]
    edges = EDGES + cuts
    columns = len(portable.columns)
    random = rng.random((N_RANDOM, columns))
    if portable.weights:  # rows where two classes tie, or nearly
        random[: N_RANDOM // 2, 0] = random[: N_RANDOM // 2, 1] * portable.weights[1]
    wide = not portable.weights and abs(portable.cuts[0].cut) > 1
    if wide and math.isfinite(portable.cuts[0].cut):
        random = random * 2 * portable.cuts[0].cut
    picked = rng.integers(0, len(edges), (60 * columns, columns))
    odd = [[edges[i] for i in row] for row in picked.tolist()]
    whole = [[x] * columns for x in edges]
    return random.tolist() + odd + whole


def expected_of(rule, rows):
    """What `apply` gives, None where it refuses; label by label for a matrix."""
    portable = rule._portable()
    if portable.cuts and not portable.single:
        columns = zip(*rows, strict=True)
        found = [
            expected_of(replace(one, average=None), [[x] for x in column])
            for one, column in zip(rule.rules, columns, strict=True)
        ]
        return [list(row) for row in zip(*found, strict=True)]
    table = np.array(rows, dtype=float)  # None becomes nan
    low, high = (-1e-6, 1 + 1e-6)
    if portable.cuts:
        low, high = portable.cuts[0].low, portable.cuts[0].high
    valid = ((table >= low) & (table <= high)).all(axis=1)
    kept = table[valid, 0] if portable.single else table[valid]
    labels = np.full(len(rows), None, dtype=object)
    labels[valid] = rule.apply(kept).tolist()
    return labels.tolist()
