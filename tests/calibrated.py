"""References and helpers that tests of calibration share."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import argmetric as am
import strategies as nasty

METHODS = ("spline", "platt", "beta", "temperature", "isotonic")


def made(kind, **values):
    """A map of a kind with these parameters, as a file gives it."""
    given = {"calibrator": kind, "n": 0, "prevalence": None}
    given |= {"draws": None, "counts": None}
    if kind in ("platt", "beta", "temperature"):
        given["reach"] = None
    return am.Calibrator.from_dict(given | values)


def platt_map(slope, intercept, **more):
    return made("platt", slope=slope, intercept=intercept, **more)


def beta_map(a, b, c, **more):
    return made("beta", a=a, b=b, c=c, **more)


def temperature_map(temperature, **more):
    return made("temperature", temperature=temperature, **more)


def isotonic_map(x, y, **more):
    return made("isotonic", x=x, y=y, **more)


def spline_map(knots, values, slope, ends, low, high):
    line = {"knots": knots, "values": values, "slope": slope}
    return made("spline", **line, ends=ends, low=low, high=high)


def expit(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def logit(p):
    return np.log(p) - np.log1p(-p)


def sample(n=600, slope=0.6, intercept=-1.0, seed=0, centre=0.0):
    """Log-odds that are off, and labels drawn from the right ones."""
    rng = np.random.default_rng(seed)
    x = rng.normal(centre, 2, n)
    return (rng.random(n) < expit(slope * x + intercept)).astype(int), x


NEW = np.linspace(-9, 9, 301)


def unpenalised(columns, target, weight):
    """Soft targets as two rows each: positive with weight t, negative with 1-t."""
    X = np.stack(columns, axis=1)
    both = np.concatenate([X, X])
    y = np.repeat([1, 0], len(X))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(both, y, np.concatenate([weight * target, weight * (1 - target)]))
    return np.append(model.coef_[0], model.intercept_)


def platt_targets(y, weight):
    positive, negative = weight[y == 1].sum(), weight[y == 0].sum()
    return np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def quiet(function, *arguments, **keywords):
    """A map; None where the scores rank backwards or do not suffice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **keywords)
        except ValueError as error:
            reasons = ("backwards", "one class", "are equal", "no temperature", "three")
            if not any(reason in str(error) for reason in reasons):
                raise
            return None


@st.composite
def references(draw):
    p = draw(nasty.probability_vectors(min_size=2, max_size=12))
    y = draw(st.lists(st.booleans(), min_size=p.size, max_size=p.size))
    return np.array(y), p


def between(p, ends):
    """Log-odds with scores of 0 and 1 at the two ends."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(p), *ends)


def within(p, reach):
    """Log-odds, cut off."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(p), -reach, reach)


def forest(n=1500, seed=5, votes=16):
    """Shares of votes: 0 and 1 pile up, and are wrong at times."""
    rng = np.random.default_rng(seed)
    p = rng.binomial(votes, rng.beta(0.4, 1.2, n)) / votes
    return (rng.random(n) < 0.04 + 0.9 * p**1.5).astype(int), p
