"""Jansche (2005): logistic regression trained for the F-measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from train_parts import jansche

import argmetric as am
from argmetric.train._objectives import ExpectedMetric, SoftMetric
from argmetric.train._rows import TrainingRows
from papers_parts.claim import Estimate, Figures, at_least, at_most, declare, within
from papers_parts.estimates import slope_error_of

EXACT = 1e-12
R, F_50 = 0, 2  # columns of the rates
WAYS = {way: i for i, way in enumerate(jansche.WAYS)}
TOY_X, TOY_Y = np.arange(4.0), np.array([True, False, True, True])


Trainer = Callable[..., Any]  # of alpha and settings


def _soft(X: Any, y: np.ndarray, alpha: float, gamma: float = 1.0) -> SoftMetric:
    beta = (alpha / (1 - alpha)) ** 0.5
    return SoftMetric(TrainingRows(X, y, np.ones(y.size)), am.FBeta(beta), gamma=gamma)


def _toy(alpha: float, first: float, slope: float) -> float:
    """The soft F of the toy data; the paper's θ0 is the constant."""
    theta = np.array([slope, first])
    return float(_soft(TOY_X[:, None], TOY_Y, alpha).value_and_gradient(theta)[0])


def _f(alpha: float, labels: np.ndarray) -> float:
    hits = float((labels & TOY_Y).sum())
    return hits / (alpha * TOY_Y.sum() + (1 - alpha) * labels.sum())


def _log_likelihood(first: Any, slope: Any) -> Any:
    margins = np.where(TOY_Y, 1, -1) * (
        np.asarray(first)[..., None] + np.asarray(slope)[..., None] * TOY_X
    )
    return -np.logaddexp(0, -margins).sum(axis=-1)


@declare(
    "jansche2005-section-6-likelihood",
    asks=[
        within("θ0", 0.345, 0.355),
        within("θ1", 0.565, 0.575),
        at_least("rows called positive", 4),
        within("F at α = 0.5", 6 / 7 - EXACT, 6 / 7 + EXACT),
    ],
)
def _maximum_likelihood(fast: bool) -> Figures:
    from scipy.optimize import minimize

    found = minimize(lambda theta: -_log_likelihood(*theta), (0.0, 0.0), tol=1e-10)
    first, slope = found.x
    labels = first + slope * TOY_X > 0
    return {
        "θ0": float(first),
        "θ1": float(slope),
        "rows called positive": float(labels.sum()),
        "F at α = 0.5": _f(0.5, labels),
    }


@declare(
    "jansche2005-section-6-corners",
    asks=[
        within("soft F at α = 0.5, its corner", 6 / 7 - 1e-4, 6 / 7 + 1e-4),
        within("soft F at α = 0.25, its corner", 8 / 9 - 1e-2, 8 / 9 + 1e-4),
        at_most("most that the plot has above it, α = 0.5", 1e-4),
        at_most("most that the plot has above it, α = 0.25", 1e-2),
    ],
)
def _corners(fast: bool) -> Figures:
    grid = [(a, b) for a in range(-25, 16, 2) for b in range(-20, 21, 2)]
    figures = {}
    for alpha, corner in ((0.5, (20.0, 15.0)), (0.25, (-20.0, 15.0))):
        here = _toy(alpha, *corner)
        most = max(_toy(alpha, *point) for point in grid)
        figures[f"soft F at α = {alpha}, its corner"] = here
        figures[f"most that the plot has above it, α = {alpha}"] = most - here
    return figures


@declare(
    "jansche2005-section-6-criterion",
    asks=[
        within(figure, value - EXACT, value + EXACT)
        for figure, value in (
            ("F at α = 0.5, trained for it", 6 / 7),
            ("F at α = 0.5, trained at 0.25", 4 / 5),
            ("F at α = 0.25, trained for it", 8 / 9),
            ("F at α = 0.25, trained at 0.5", 4 / 5),
        )
    ],
)
def _criterion(fast: bool, train: Trainer = jansche.published) -> Figures:
    """Train for either measure, and score what was trained by both."""
    figures = {}
    seeds = range(5 if fast else 20)
    for trained, other in ((0.5, 0.25), (0.25, 0.5)):
        models = [train(trained, random_state=seed) for seed in seeds]
        labels = [m.fit(TOY_X[:, None], TOY_Y).predict(TOY_X[:, None]) for m in models]
        own, crossed = (
            float(np.mean([_f(alpha, z) for z in labels])) for alpha in (trained, other)
        )
        figures[f"F at α = {trained}, trained for it"] = own
        figures[f"F at α = {other}, trained at {trained}"] = crossed
    return figures


@declare("jansche2005-section-6-concavity")
def _concavity(fast: bool) -> Figures:
    rng = np.random.default_rng(0)
    low, high = np.array([-25.0, -20.0]), np.array([15.0, 20.0])
    ends = rng.uniform(low, high, size=(200 if fast else 2_000, 2, 2))

    def above(function: Any) -> float:
        """The most that the middle of a chord lies above the surface."""
        values = [
            (function(*a) + function(*b)) / 2 - function(*((a + b) / 2))
            for a, b in ends
        ]
        return float(np.max(values))

    return {
        "chord above the surface, L": above(_log_likelihood),
        "chord above the surface, soft F at α = 0.5": above(
            lambda *theta: _toy(0.5, *theta)
        ),
        "chord above the surface, soft F at α = 0.25": above(
            lambda *theta: _toy(0.25, *theta)
        ),
    }


def _random_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, theta = rng.normal(size=(n, 5)), rng.normal(size=6)
    y = rng.random(n) < 0.3
    y[:2] = (False, True)
    return X, y, theta


@declare("jansche2005-figure-1")
def _figure_1(fast: bool) -> Figures:
    slope, value = 0.0, 0.0
    for seed, n in enumerate((12, 300) if fast else (12, 300, 3_000)):
        X, y, theta = _random_rows(n, seed)
        p = 1 / (1 + np.exp(-(X @ theta[:-1] + theta[-1])))
        for alpha in (0.25, 0.5, 0.75):
            objective = _soft(X, y, alpha)
            wanted = p[y].sum() / (alpha * y.sum() + (1 - alpha) * p.sum())
            found = objective.value_and_gradient(theta)[0]
            value = max(value, abs(float(found - wanted)))
            slope = max(slope, slope_error_of(objective, theta))
    return {
        "largest error of F": value,
        "largest error of the gradient, relative": slope,
    }


GAMMAS = (0.25, 4.0)


@declare("jansche2005-section-5-gamma")
def _gamma(fast: bool) -> Figures:
    """Test F at α = 0.5 after training with γ, less that after training with 1."""
    figures: dict[str, Any] = {}
    draws = 3 if fast else 20
    for name in jansche.STAND_INS:
        one = _rates(name, fast)[:draws, WAYS[jansche.SOFT_50], F_50]
        for gamma in GAMMAS:
            scores = [
                _test_f(jansche.published(0.5, gamma=gamma), X, y)
                for X, y in jansche.draws_of(name, draws)
            ]
            figures[f"F at γ = {gamma:g} less γ = 1, {name}"] = Estimate.of(
                scores - one
            )
    return figures


def _test_f(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    n = jansche.N_TRAIN
    labels = model.fit(X[:n], y[:n]).predict(X[n:])
    return float(am.FBeta(1).score(y[n:], labels))


@declare("jansche2005-section-1")
def _approximately(fast: bool, n: int = jansche.N_TRAIN) -> Figures:
    """How near the soft F is to E[F], and what training for the one costs the other.

    The first at a solution as published; the second from maximum likelihood, so that
    both trainings start at the same places.
    """
    gaps, lost = [], []
    for name in jansche.STAND_INS:
        for X, y in jansche.draws_of(name, 2 if fast else 5):
            X, y = X[:n], y[:n]
            goal = ExpectedMetric(TrainingRows(X, y == 1, np.ones(n)), am.FBeta(1))
            soft = jansche.published(0.5, n_restarts=5).fit(X, y)
            gaps.append(abs(soft.objective_ - _value(goal, soft)))
            either = (
                jansche.ours(0.5, objective=objective).fit(X, y)
                for objective in ("expected", "soft")
            )
            best, other = (_value(goal, model) for model in either)
            lost.append(best - other)
    return {
        "largest difference of soft F and expected F": max(gaps),
        "most expected F lost by training for the soft one": max(lost),
    }


def _value(goal: ExpectedMetric, model: Any) -> float:
    theta = np.append(model.coef_[0], model.intercept_)
    return goal.value_and_gradient(theta)[0]


@cache
def _rates(name: str, fast: bool) -> np.ndarray:
    return jansche.rates_of(jansche.counts_of(name, 5 if fast else 20))


def _gain(one: str, other: str, score: int, fast: bool) -> Figures:
    figures: dict[str, Any] = {}
    for name in jansche.STAND_INS:
        rates = _rates(name, fast)[:, :, score]
        gains = rates[:, WAYS[one]] - rates[:, WAYS[other]]
        figures[f"gain, {name}"] = Estimate.of(gains)
    return figures


for _name, *_compared in (
    ("over-likelihood", jansche.SOFT_50, jansche.ML, F_50),
    ("over-moved-cut", jansche.SOFT_50, jansche.MATCHED, F_50),
    ("recall", jansche.SOFT_75, jansche.SOFT_50, R),
):
    declare(f"jansche2005-table-3-{_name}")(partial(_gain, *_compared))
