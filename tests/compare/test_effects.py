"""The random effects of compare against plain twins, and odd input."""

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, root
from scipy.special import expit, logit, ndtri
from scipy.stats import beta, betabinom, halfnorm, norm

import argmetric as am
from argmetric._compare.effects import (
    AS_REFERENCE,
    FREE,
    HELD,
    JUDGED,
    NORMAL,
    OWN,
    POINT,
    RAW,
    SILENT_EFFECT,
    EffectsModel,
    effect_constants,
    one_system,
    quantiles,
)
from argmetric._compare.kernels.effects import log_rising


def model_of(
    prior: Any, odds: Any, labels: Any = (0, 0, 0), positives: Any = (0, 0, 0)
) -> EffectsModel:
    """Six bins in two patterns and three strata, one system."""
    rows, pattern = np.array([400, 150, 60, 30, 40, 50]), np.array([0, 0, 0, 1, 1, 1])
    bins = np.atleast_2d(odds), rows, pattern, np.array([0, 0, 1, 2, 2, 2])
    counts = np.array([[False, True]]), np.array(labels), np.array(positives)
    return EffectsModel(*bins, *counts, prior)


ODDS = np.array([-4.0, -2.0, -0.5, 0.3, 1.0, 3.0])


# ---------------------------------------------------------------------------- twins


@pytest.mark.parametrize("a", [1e-12, 0.3, 7.0, 1e4, 1e15, 1e18])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 83, 900])
def test_rising_factorials_are_exact(a: float, n: int) -> None:
    product = Fraction(1)
    for i in range(n):
        product *= Fraction(a) + i
    bits = product.numerator.bit_length() - product.denominator.bit_length()
    wanted = np.log(float(product / Fraction(2) ** bits)) + bits * np.log(2.0)
    assert log_rising.py_func(a, n) == pytest.approx(wanted, rel=1e-13, abs=1e-10)


def drawn_by_hand(prior: Any, rng: Any) -> dict[str, Any]:
    """Parameters, drawn mixture by mixture as the module says."""

    def mixture(parts: Any, draw: Any) -> float:
        scales, weights = zip(*parts, strict=True)
        scale = rng.choice(scales, p=np.array(weights) / sum(weights))
        return scale * draw() if scale else 0.0

    found = {
        name: mixture(getattr(prior, name), rng.standard_normal)
        for name in ("level", "log_slope", "bend", "log_spread")
    }
    found["u"] = [mixture(prior.pattern, rng.standard_normal) for _ in range(2)]
    found["e"] = mixture(prior.system, lambda: abs(rng.standard_normal()))
    kind = rng.random()
    found["silent"] = kind < prior.silent
    if kind < prior.silent + prior.loose:
        piece = rng.choice(3, p=np.diff(FREE[1]))
        found["e"] = rng.uniform(FREE[0][piece], FREE[0][piece + 1])
        found["held"] = HELD
    return found


def odds_by_hand(model: Any, found: dict[str, Any]) -> Any:
    """Log-odds of bins under parameters, with roots that scipy finds."""
    weight, odds = model.rows / model.rows.sum(), model.odds[0]
    x = np.clip(odds, -8, 8) if model.prior.system != POINT else odds
    called = np.where(model.pattern == 1, 1, -1)
    d, u = effect_constants(model.prior.pattern), np.array(found["u"])[model.pattern]
    if found["silent"]:
        eta = found["level"] + logit(weight @ expit(x)) / 2
        eta = np.clip(eta + (found["e"] + SILENT_EFFECT) * called, -35, 35)
        return eta + np.interp(eta, np.arange(-35, 35.1, 0.25), d) + u
    mass = np.cumsum(weight) - weight / 2
    bent = np.exp(found["log_slope"]) * x + found["bend"] * ndtri(mass)
    goal = weight @ expit(x)
    base = bent + brentq(lambda c: weight @ expit(bent + c) - goal, -300, 300)
    base = base + found["level"] + model.bin_columns[-3]
    moved = base + found["e"] * called
    spread = np.sqrt(weight @ (x - weight @ x) ** 2)
    y = np.clip((x - weight @ x) / spread, -3, 3)

    def apart(c: Any) -> Any:
        rest = weight * (expit(moved + c[0] + c[1] * y) - expit(base))
        return [rest.sum(), rest @ y + 1e-4 * c[1]]

    c = root(apart, [0.0, 0.0]).x if found["e"] else np.zeros(2)
    held = np.clip(2 - abs(found["e"]) / found.get("held", np.inf), 0, 1)
    eta = np.clip(moved + held * (c[0] + c[1] * y), -35, 35)
    return eta + np.interp(eta, np.arange(-35, 35.1, 0.25), d) + u


@pytest.mark.parametrize("prior", [OWN, RAW, one_system(1.0), one_system(0.6)])
def test_the_posterior_is_that_of_importance_sampling(prior: Any) -> None:
    """Draws from the prior, weighed by beta-binomials: no particle moves."""
    labels, positives = np.array([20, 4, 16]), np.array([1, 2, 7])
    model = model_of(prior, ODDS, labels, positives)
    rng = np.random.default_rng(0)
    shares = np.array([[400, 150, 0, 0, 0, 0], [0, 0, 60, 0, 0, 0], [0, 0, 0, 3, 4, 5]])
    shares = shares / shares.sum(axis=1, keepdims=True)
    count = 1500
    by_hand = [drawn_by_hand(prior, rng) for _ in range(count)]
    mu = shares @ expit([odds_by_hand(model, one) for one in by_hand]).T
    mu = np.clip(mu.T, 1e-12, 1 - 1e-12)
    sigma = prior.spread * np.exp([[one["log_spread"]] for one in by_hand])
    beyond = np.maximum(np.abs(np.log(mu / (1 - mu))) - 3, 0) / 4
    kappa = 1 / ((sigma**2 + beyond**2) * mu * (1 - mu))
    each = betabinom.pmf(positives, labels, kappa * mu, kappa * (1 - mu))
    weight = each.prod(axis=1) / each.prod(axis=1).sum()
    mean = (kappa * mu + positives) / (kappa + labels)
    wanted = weight @ mean
    error = np.sqrt(weight**2 @ (mean - wanted) ** 2)
    spread = np.sqrt(weight @ (mean - wanted) ** 2)
    p = model.probability_draws(np.random.default_rng(1))
    rates = shares @ p
    close = 4 * np.hypot(error, 2.5 * spread / np.sqrt(960))
    assert (np.abs(rates.mean(axis=1) - wanted) < close).all()


@pytest.mark.parametrize("prior", [OWN, JUDGED])
def test_quantiles_are_those_of_the_mixtures(prior: Any) -> None:
    at = np.array([-1.5, -0.4, -0.05, 0.05, 0.4, 1.5])
    level, pattern = (
        sum(w * (norm.cdf(at / s) if s else at > 0) for s, w in part)
        for part in (prior.level, prior.pattern)
    )
    system = sum(
        w
        * (halfnorm.cdf(at / s) if s > 0 else 1 - halfnorm.cdf(at / s) if s else at > 0)
        for s, w in prior.system
    )
    for name, wanted in (("level", level), ("pattern", pattern), ("system", system)):
        if name == "system" and prior.system == POINT:
            continue
        table = quantiles(getattr(prior, name), half=name == "system")
        found = norm.cdf([NORMAL[table <= x].max() for x in at])
        np.testing.assert_allclose(found, wanted, atol=0.011)  # a step of NORMAL


def test_labels_of_few_rows_are_those_of_an_enumeration() -> None:
    """All 2⁶ labels of six rows, with a rate of each pattern that is integrated."""
    x = np.array([-2.0, -0.4, 0.2, -0.8, 0.5, 1.5])
    called = np.array([0, 0, 0, 1, 1, 1])
    sigma = 1.2
    none = np.zeros(2, dtype=int)
    strata = called, called, np.array([[False, True]]), none, none
    right = OWN._replace(**dict.fromkeys(("level", "log_slope", "bend"), POINT))
    right = right._replace(log_spread=POINT, pattern=POINT, spread=sigma)
    model = EffectsModel(x[None], np.ones(6, dtype=int), *strata, right)
    p = model.probability_draws(np.random.default_rng(0))
    wanted, drawn = [], []
    for y in itertools.product([0, 1], repeat=3):
        for here in (called == 0, called == 1):
            mu = expit(x[here]).mean()
            kappa = 1 / (sigma**2 * mu * (1 - mu))

            def joint(rate: float, here: Any = here, mu: Any = mu, y: Any = y) -> Any:
                part = expit(x[here]) * rate / mu
                if rate > mu:
                    part = 1 - (1 - expit(x[here])) * (1 - rate) / (1 - mu)
                return np.where(y, part, 1 - part).prod()

            rates = beta(kappa * mu, kappa * (1 - mu))
            value = quad(lambda r, f=joint, b=rates: f(r) * b.pdf(r), 0, 1, points=[mu])
            wanted.append(value[0])
            each = np.where(np.array(y)[:, None], p[here], 1 - p[here]).prod(axis=0)
            drawn.append((each.mean(), each.std() / np.sqrt(each.size)))
    assert sum(wanted) == pytest.approx(2.0, abs=1e-6)
    mean, error = np.array(drawn).T
    assert (np.abs(mean - wanted) < 4 * error + 1e-9).all()


odds_of_bins = st.lists(
    st.floats(-6, 6) | st.sampled_from([0.0, -30.0, 30.0, -5.9]),
    min_size=6,
    max_size=6,
)


@given(odds_of_bins, st.sampled_from([OWN, RAW, JUDGED, AS_REFERENCE]))
def test_the_mean_is_kept(odds: list[float], prior: Any) -> None:
    """Before labels, means over the prior are the probabilities of the scores."""
    model = model_of(prior._replace(system=POINT, silent=0.0), np.sort(odds))
    drawn = model.prior_particles(1 << 12, np.random.default_rng(0))
    effects, constants = model.pattern_effects(drawn.normal)
    d = np.interp(drawn.odds, np.arange(-35, 35.1, 0.25), constants)
    p = expit(drawn.odds + d + effects[:, model.pattern])
    wanted = expit(np.sort(odds))
    error = p.std(axis=0) / np.sqrt(1 << 12)
    # The constants stand on 1,024 curves: their own error is a few per cent
    slack = 0.06 * np.minimum(wanted, 1 - wanted) + 1e-9
    assert (np.abs(p.mean(axis=0) - wanted) < 5 * error + slack).all()


def test_a_judge_stays_calibrated_over_all_patterns() -> None:
    model = model_of(JUDGED, ODDS)
    normal = np.zeros((400, model.n_shared + model.n_patterns))
    normal[:, 4] = 5.0  # a judge that speaks
    normal[:, 5] = np.linspace(-2.5, 2.5, 400)  # the effect of the system
    which = np.zeros(400, dtype=np.int64)
    moved = model.particles(normal.copy(), which).odds
    normal[:, 5] = NORMAL[quantiles(JUDGED.system, half=True) == 0.0].mean()
    base = model.particles(normal, which).odds
    assert np.abs(moved - base).max() > 2
    means = expit(moved) @ model.weight, expit(base) @ model.weight
    np.testing.assert_allclose(*means, atol=1e-4)


def test_systems_share_an_effect() -> None:
    one = model_of(JUDGED, ODDS)
    both = replace(one, decisions=np.array([[0, 1], [1, 1]]) > 0)
    assert (one.n_shared, both.n_shared) == (6, 8)
    normal = np.random.default_rng(0).standard_normal((4000, both.n_shared))
    normal[:, 4] = 5.0  # a judge that speaks
    alone, effects = (x.parameters(normal[:, : x.n_shared])[1] for x in (one, both))
    added, table = effects - alone, quantiles(JUDGED.apart)
    np.testing.assert_allclose(added, np.interp(normal[:, 6:], NORMAL, table))
    assert (added == 0.0).mean() == pytest.approx(0.3, abs=0.03)
    normal[:, 4] = -5.0  # a judge that says nothing
    curve, silent, *_ = both.parameters(normal)
    np.testing.assert_allclose(silent, effects + SILENT_EFFECT / 2)
    assert (curve[:, 1] == 0.0).all()


# ------------------------------------------------------------------------ forecasts


def equals_forecast(found: Any, names: Any, calls: Any) -> None:
    for name, one in zip(names, calls, strict=True):
        score = found.scores()[name]
        assert (score.mean, score.interval) == (one.mean, one.interval)
    if len(calls) > 1:
        assert found.mean == calls[0].mean - calls[1].mean


@pytest.mark.parametrize("metric", ["f1", "mcc", "accuracy", "gmean", "jaccard"])
@pytest.mark.parametrize("n", [1, 5, 300])
def test_without_labels_and_reference_the_answer_is_forecast(
    metric: str, n: int
) -> None:
    rng = np.random.default_rng(n)
    p, other = rng.beta(1.0, 2.0, (2, n))
    labels = [p > 0.4, other > 0.5]
    how: Any = {"coverage": 0.8, "zero_division": 0.0}
    calls = [am.forecast(p, one, metric, **how) for one in labels]
    equals_forecast(am.compare(p, labels, metric, **how), "AB", calls)
    equals_forecast(am.compare(p, [labels[1]], metric, **how), "A", calls[1:])
    own = [calls[0], am.forecast(other, labels[1], metric, **how)]
    found = am.compare([p, other], labels, metric, **how)
    if (labels[0] != labels[1]).any():
        equals_forecast(found, "AB", own)
        odds = [np.log(one / (1 - one)) for one in (p, other)]
        logits = am.compare(odds, labels, metric, logits=True, **how)
        assert logits.mean == pytest.approx(found.mean, abs=1e-9)
    again = am.Comparison.from_dict(found.to_dict())
    assert repr(again) == repr(found)
    assert found.add([0], [1]).forecasts == ()


@pytest.mark.parametrize("metric", ["f1", "accuracy", "mcc"])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_differences_of_few_rows_stay_in_their_range(metric: str, n: int) -> None:
    rng = np.random.default_rng(n)
    p, other = 0.7 + 0.2 * rng.random(n), 0.2 + 0.4 * rng.random(n)
    labels = {"a": p > 0.5, "b": other > 0.5}
    found = am.compare({"a": p, "b": other}, labels, metric)
    low, high = found.interval
    most = 2.0 if metric == "mcc" else 1.0
    assert -most <= low <= found.mean <= high <= most


def test_one_row_leaves_open_which_model_is_better() -> None:
    found = am.compare({"a": [0.7], "b": [0.4]}, {"a": [1], "b": [0]}, "f1")
    assert found.mean == pytest.approx(0.7)  # as forecast has it of each
    # Right with a probability of 0.55, the mean of the log-odds; else both score 0
    joint = 1 / (1 + np.exp(-(np.log(0.7 / 0.3) + np.log(0.4 / 0.6)) / 2))
    assert found.to_dict()["p_best"][0] == pytest.approx(0.5 + joint / 2, abs=0.03)
    # 0 in all rows stays 0: a model that finds no positive is not ahead of the other
    p = {"a": np.full(5, 0.3), "b": np.full(5, 0.6)}
    found = am.compare(p, {"a": np.zeros(5), "b": [1, 0, 0, 0, 0]}, "jaccard")
    assert found.interval.high == 0.0
    assert found.to_dict()["p_best"][1] < 0.9


def test_means_over_groups_without_labels_are_forecast() -> None:
    rng = np.random.default_rng(3)
    p, groups = rng.beta(1.0, 2.0, 90), rng.integers(0, 12, 90)
    labels = [p > 0.4, p > 0.2]
    calls = [am.forecast(p, one, "f1", groups=groups) for one in labels]
    equals_forecast(am.compare(p, labels, groups=groups), "AB", calls)


# --------------------------------------------------------------------------- labels


def judge_case(
    seed: int,
    slope: float = 0.6,
    noise: float = 1.5,
    right: Any = (0.95,),
    n: int = 2500,
) -> Any:
    """Labels, predictions of systems, and the scores of a judge: weak, or too sure."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.0, 2.0, n)
    y = rng.random(n) < expit(x)
    labels = [np.where(rng.random(n) < one, y, ~y) for one in right]
    return y, labels, expit(slope * x + rng.normal(0.0, noise, n)), rng


TOO_SURE: dict[str, Any] = {"slope": 6.0, "noise": 9.0, "right": (0.97,)}
TWO: dict[str, Any] = {"slope": 2.0, "noise": 0.5, "right": (0.9, 0.7)}


CASES: Any = (
    *(({}, "accuracy", 100), ({}, "f1", 100), ({"slope": 0.0}, "accuracy", 50)),
    *((TOO_SURE, "accuracy", 100), (TOO_SURE, "accuracy", 25)),
    ({"slope": -3.0, "noise": 9.0}, "accuracy", 25),
    ({"right": (0.99,)}, "accuracy", 25),
)


@pytest.mark.parametrize(("case", "metric", "count"), CASES)
def test_intervals_by_a_judge_hold(case: Any, metric: str, count: int) -> None:
    """A judge that is no good witness does not hold the estimate back."""
    held, errors, alone = judged_errors(10, case, metric, count)
    assert sum(held) >= 8
    assert np.abs(errors).mean() < 0.04
    assert np.linalg.norm(errors) < 1.1 * np.linalg.norm(alone)


def test_two_systems_and_a_judge_beside_people_alone() -> None:
    held, errors, alone = judged_errors(24, TWO, "f1", 150)
    assert sum(held) >= 21
    assert np.abs(errors).mean() < np.abs(alone).mean()


def judged_errors(seeds: int, case: Any, metric: str, count: int) -> Any:
    """Intervals that hold, errors, and those of the labelled rows without a judge."""
    held, errors, alone = [], [], []
    for seed in range(seeds):
        y, labels, judge, rng = judge_case(seed, **case)
        known = np.full(y.size, np.nan)
        rows = rng.choice(y.size, count, replace=False)
        known[rows] = y[rows]
        found = am.compare(judge, labels, metric, known=known)
        assert found.reference == (0, 0)
        truth, own = (
            [am.evaluate(y[some], one[some], metric).score for one in labels]
            for some in (slice(None), rows)
        )
        truth, own = truth[0] - sum(truth[1:]), own[0] - sum(own[1:])
        held.append(found.interval[0] <= truth <= found.interval[1])
        errors.append(found.mean - truth)
        alone.append(own - truth)
    return held, errors, alone


def test_a_judge_that_tells_predictions_apart_is_a_witness() -> None:
    rng = np.random.default_rng(0)
    p, labels = rng.random(40).round(1), rng.random(40) < 0.4
    found = am.compare(p, [labels]).table
    score, other = p[labels][:, None], p[~labels]
    area = np.mean((score > other) + (score == other) / 2)
    assert found._area == pytest.approx(area, abs=0.02)  # scores lie in bins
    assert am.compare(p, [labels | True]).table._area == 1.0
    priors = [one_system(x) for x in (0.5, 0.85, 0.91, 0.97, 1.0)]
    assert [x.loose for x in priors] == pytest.approx([0.5, 0.5, 0.25, 0.0, 0.0])
    assert priors[-1] == JUDGED
    for called, prior in (([labels], priors[0]), ([labels, ~labels], JUDGED)):
        assert am.compare(p, called).add([0], [1]).table.prior == prior


def test_labels_are_not_used_twice_and_answers_repeat() -> None:
    y, labels, judge, rng = judge_case(0)
    known = np.full(y.size, np.nan)
    rows = rng.choice(y.size, 60, replace=False)
    known[rows] = y[rows]
    found = am.compare(judge, labels, known=known)
    later = am.compare(judge, labels).add(rows, y[rows])
    assert found.interval == later.interval == found.add([], []).interval
    assert found.reference == (0, 0)
