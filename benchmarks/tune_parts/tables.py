"""6. Tables 2 and 3 of Natarajan et al. (2015) on the sets at hand.

For every class or label one against the rest: logistic regression with an L2 penalty,
its C chosen by validation log-loss. Baseline: cut at 0.5. DTA: `decide` on the test
set. EUM: the model of two thirds of the training rows, cut where `tune` says on the
other third. Test rows are drawn anew for every split, in the paper's sizes. A fourth
way that the paper has not: `decide` on EUM's model, calibrated on that other third.
"""

from __future__ import annotations

import tomllib
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit_mean
from papers_parts.values import score_of_labels
from tabular import Table, load
from threadpoolctl import threadpool_limits

import argmetric as am

METRICS = ("f1", "jaccard", "balanced_accuracy", "fowlkes_mallows")
TITLES = dict(zip(METRICS, ("F1", "Jaccard", "AM", "G-TP/PR"), strict=True))
WAYS = ("DTA", "baseline", "EUM", "calibrated DTA")
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
FIT_SHARE = 2 / 3  # the paper says "split into two sets", and not where


@dataclass(frozen=True)
class Paper:
    """A row of the paper, as natarajan2015.toml explains it."""

    title: str
    n_train: int
    n_test: int
    scores: dict[str, list[float]]
    least: int = 1


_FILE = Path(__file__).with_name("natarajan2015.toml")
_ROWS = {name: Paper(**row) for name, row in tomllib.loads(_FILE.read_text()).items()}
# REUTERS, 65 topics, is not available: letters whose number of rows falls with their
# place in the alphabet, 750/r^1.5 for the r-th, stand in for topics, rare and common
THINNED = {name: _ROWS[name] for name in ("reuters_1", "reuters_10", "reuters_50")}
PAPER = {name: row for name, row in _ROWS.items() if name not in THINNED}


def thinned() -> Table:
    """The set of letters with few rows of late letters."""
    table = load("letter")
    rng = np.random.default_rng(0)
    kept = [
        rng.permutation(np.flatnonzero(table.y == c))[: round(750 / (r + 1) ** 1.5)]
        for r, c in enumerate(np.unique(table.y))
    ]
    rows = np.concatenate(kept)
    return Table("letter, thinned", table.X[rows], table.y[rows], 0)


def run(*, quick: bool) -> None:
    names = ("breastw", "spambase") if quick else tuple(PAPER)
    with threadpool_limits(1):
        for name in names:
            measure(name, 1 if quick else 5)


def measure(
    name: str, n_splits: int, n_tasks: int | None = None
) -> dict[str, np.ndarray]:
    """Scores of every metric, as an array of splits by ways; of some classes only."""
    paper = (PAPER | THINNED)[name]
    scores: dict[str, list[Any]] = {metric: [] for metric in METRICS}
    for split in range(n_splits):
        source = "thinned" if name in THINNED else name
        each = _classes(source, split, paper.n_train, paper.n_test, n_tasks)
        for metric in METRICS:
            means = [one[metric] for found, one in each if found >= paper.least]
            scores[metric].append(np.mean(means, axis=0))
    arrays = {metric: np.array(values) for metric, values in scores.items()}
    for metric, values in arrays.items():
        for i, way in enumerate(WAYS):
            printed = paper.scores[metric][i] if i < 3 else None
            what = f"{name}: {TITLES[metric]} of {way}"
            emit_mean("tables", what, values[:, i], "score", paper=printed)
    return arrays


@cache
def _classes(
    source: str, split: int, n_train: int, n_test: int, n_tasks: int | None
) -> list[tuple[int, dict[str, list[float]]]]:
    """Of every class: its positives in the smaller of the two parts, and its scores.

    A class without positives in a part that is fitted or tuned on is left out.
    """
    table = thinned() if source == "thinned" else load(source)
    order = np.random.default_rng(split).permutation(len(table.y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    cut = int(FIT_SHARE * n_train)
    found = []
    for y in _one_against_rest(table.y)[:n_tasks]:
        parts = [int(y[rows].sum()) for rows in (train[:cut], train[cut:], test)]
        if min(parts) > 0:
            scores = _three_ways(table.X[train], y[train], table.X[test], y[test])
            found.append((min(parts[0] + parts[1], parts[2]), scores))
    return found


def _one_against_rest(y: np.ndarray) -> list[np.ndarray]:
    if y.ndim == 2:
        return list(y.T)
    classes = np.unique(y)
    return [y] if classes.size == 2 else [(y == c).astype(np.int64) for c in classes]


def _three_ways(
    X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray
) -> dict[str, list[float]]:
    cut = int(FIT_SHARE * y.size)
    fit, held = slice(0, cut), slice(cut, None)
    models = [_fitted(X[fit], y[fit], c) for c in PENALTIES]
    held_p = [model.predict_proba(X[held])[:, 1] for model in models]
    best = int(np.argmin([_log_loss(y[held], p) for p in held_p]))
    part_p = models[best].predict_proba(X_test)[:, 1]
    p = _fitted(X, y, PENALTIES[best]).predict_proba(X_test)[:, 1]
    # bootstraps are not used here: the threshold alone is
    rules = am.tune(y[held], held_p[best], list(METRICS), n_bootstrap=0, cv=None)
    scores = {}
    for metric in METRICS:
        labels = (
            am.decide(p, metric).labels,
            p >= 0.5,
            rules[metric].applies(part_p),
            am.decide(part_p, metric, reference=(y[held], held_p[best])).labels,
        )
        scores[metric] = score_of_labels(metric, y_test, np.array(labels)).tolist()
    return scores


def _fitted(X: Any, y: np.ndarray, c: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=c, max_iter=200, tol=1e-3).fit(X, y)


def _log_loss(y: np.ndarray, p: np.ndarray) -> float:
    probability = np.clip(np.where(y == 1, p, 1.0 - p), 1e-15, None)
    return float(-np.log(probability).mean())
