"""Splines: against a penalised likelihood over rows, with lumps and cells."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

import argmetric as am
import strategies as nasty
from calibrated import (
    between,
    expit,
    forest,
    logit,
    platt_targets,
    quiet,
    references,
    sample,
    spline_map,
    unpenalised,
)


def spline_twin(y, x, ends, sizes=(0.1, 0.3, 1.0, 3.0)):
    """Fit by rows: scipy's trust region, scikit-learn's isotonic regression."""
    first, last = ends or (-np.inf, np.inf)
    ones = np.ones(y.size)
    line = unpenalised([x], platt_targets(y, ones), ones)
    order = np.argsort(x)
    c = expit(line[0] * x + line[1])[order]
    information = np.cumsum(c * (1 - c))
    shares = (np.arange(8) + 0.5) / 8 * information[-1]
    knots = np.unique([x[order][np.argmax(information >= one)] for one in shares])
    steps = list(pairwise(knots))
    lumps = [end for end in (x <= first, x >= last) if end.sum() >= 2]
    ramps = [np.interp(x, step, [0, 1]) for step in steps]
    weight = expit(line[0] * x + line[1])
    weight = weight * (1 - weight)
    centre = weight @ x / weight.sum()
    X = np.stack([ones, x - centre, *ramps, *(1.0 * lump for lump in lumps)], axis=1)
    mean = np.array([centre, 1.0, *[0.0] * (X.shape[1] - 2)])
    modes, evidence = [], []
    shift = line[0] * centre + line[1] - centre
    wide = max(2.0, abs(shift)), max(1.0, abs(line[0] - 1))
    scales = ((wide, 1.0), ((0.5, 0.4), 2.0), ((0.1, 0.1), 10.0))
    for (scale, odds), size in product(scales, sizes):
        walk = [size * math.sqrt((b - a) / np.ptp(knots)) for a, b in steps]
        precision = np.array([*scale, *walk, *[1.5] * len(lumps)]) ** -2

        def loss(theta, precision=precision):
            eta = X @ theta
            rows = (np.logaddexp(0, eta) - y * eta).sum()
            return rows + precision @ (theta - mean) ** 2 / 2

        def gradient(theta, precision=precision):
            return X.T @ (expit(X @ theta) - y) + precision * (theta - mean)

        def hessian(theta, precision=precision):
            p = expit(X @ theta)
            return (X.T * (p * (1 - p))) @ X + np.diag(precision)

        found = minimize(
            loss, mean, jac=gradient, hess=hessian, method="trust-exact", tol=1e-8
        ).x
        volume = np.linalg.slogdet(hessian(found))[1]
        modes.append(found)
        evidence_of_one = -loss(found) + np.log(precision).sum() / 2 - volume / 2
        evidence.append(evidence_of_one + math.log(odds))
    share = np.exp(np.array(evidence) - max(evidence))
    theta = np.average(modes, axis=0, weights=share)
    inner = (x > first) & (x < last)
    places = np.unique([*knots, x[inner].min(), x[inner].max()])
    ramps = [np.interp(places, step, [0, 1]) for step in steps]
    climbed = sum((h * ramp for h, ramp in zip(theta[2:], ramps, strict=False)), 0.0)
    values = theta[0] + theta[1] * (places - centre) + climbed
    nearest = np.abs(x[inner][:, None] - places).argmin(axis=1)
    mass = np.bincount(nearest, minlength=places.size)
    slope = max(theta[1], 0.0)
    if ends is not None:
        sides = [int(np.sign(x[lump][0])) for lump in lumps]
        own = dict(zip(sides, theta[theta.size - len(lumps) :], strict=True))
        low = values[0] + slope * (first - places[0]) + own.get(-1, 0.0)
        high = values[-1] + slope * (last - places[-1]) + own.get(1, 0.0)
        values = np.array([low, *values, high])
        mass = np.array([(x <= first).sum(), *mass, (x >= last).sum()])
    points, probability = np.arange(values.size), expit(values)
    pooled = IsotonicRegression().fit(points, probability, np.maximum(mass, 1e-9))
    return places, logit(pooled.predict(points)), slope


def spline_cases():
    rng = np.random.default_rng(21)
    n = 1000  # each a cell of its own
    x = rng.normal(0, 2, n)
    bent = (rng.random(n) < expit(x + 0.9 * np.sin(1.3 * x) - 1)).astype(int)
    falls = (rng.random(n) < expit(2 * np.cos(1.5 * x) + 0.3 * x)).astype(int)
    steep = 40 * (x - 1)  # log-odds far beyond 1/4m, of both classes
    sure = (rng.random(n) < expit(x - 1)).astype(int)
    few, few_x = sample(n=25, seed=3)
    return {
        "log-odds": (bent, x, True),
        "probabilities": (bent, expit(x), False),
        "pooled": (falls, x, True),
        "few": (few, expit(few_x), False),
        "lumps": (*forest(), False),
        "one lump": (*forest(votes=400), False),
        "very sure": (sure, expit(steep), False),
    }


@pytest.mark.parametrize("case", spline_cases())
def test_the_spline_equals_a_penalised_likelihood_over_rows(case):
    y, scores, logits = spline_cases()[case]
    ours = am.calibrate(y, scores, logits=logits)
    assert ours.method == "spline"
    x = scores if logits else between(scores, ours.ends)
    knots, values, slope = spline_twin(y, x, ours.ends)
    np.testing.assert_allclose(ours.knots, knots, rtol=1e-12)
    assert ours.slope == pytest.approx(slope, abs=1e-7)
    if ours.ends is None:
        assert (ours.low, ours.high) == (None, None)
        np.testing.assert_allclose(ours.values, values, atol=1e-7)
    else:
        levels = [ours.low, *ours.values, ours.high]
        np.testing.assert_allclose(levels, values, atol=1e-7)
    if case == "pooled":
        assert (np.diff(ours.values) == 0).sum() >= 2


def test_a_lump_has_a_level_of_its_own():
    """Of 1,000 zeros 5 % are positive, of 500 ones 90 %, of the rest what they say."""
    scores = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
    size = np.array([1000, 400, 400, 400, 500])
    p = np.repeat(scores, size)
    for zeros in (0.02, 0.05):
        share = np.array([zeros, 0.2, 0.5, 0.8, 0.9])
        hits = np.round(share * size).astype(int)
        y = np.concatenate([np.arange(n) < k for n, k in zip(size, hits, strict=True)])
        fitted = am.calibrate(y, p)
        assert fitted.ends == pytest.approx((-logit(0.9), logit(0.9)))
        error = np.sqrt(share * (1 - share) / size)  # one standard error of a share
        assert (np.abs(fitted.apply(scores) - share) < error).all()
        # What lies nearer to 0 or 1 than half of any other score goes with the lump.
        assert fitted.apply(0.0999) == fitted.apply(0.03) == fitted.apply(0.0)
        assert fitted.apply(0.1001) > fitted.apply(0.0999) + 0.005
        assert fitted.apply(0.9001) == fitted.apply(1.0)


def test_beyond_the_knots_the_slope_goes_on():
    y, x = sample(n=2000, slope=1.6, intercept=-0.5)
    fitted = am.calibrate(y, x, logits=True)
    assert fitted.slope == pytest.approx(1.6, abs=0.2)
    far = np.array([0.5, 3.0, 200.0])
    for knot, value, side in (
        (fitted.knots[0], fitted.values[0], -1),
        (fitted.knots[-1], fitted.values[-1], 1),
    ):
        np.testing.assert_allclose(
            fitted.apply_logits(knot + side * far), value + side * far * fitted.slope
        )
    assert fitted.apply_logits([-np.inf, np.inf]).tolist() == [-np.inf, np.inf]
    flat = spline_map([0.0], [1.0], 0.0, None, None, None)
    assert flat.apply_logits([-np.inf, 3.0, np.inf]).tolist() == [1.0, 1.0, 1.0]
    cut = am.calibrate(y, expit(x))
    beyond = cut.knots[-1] + 0.9 * (cut.ends[1] - cut.knots[-1])
    expected = cut.values[-1] + cut.slope * (beyond - cut.knots[-1])
    assert cut.apply_logits(beyond) == pytest.approx(min(expected, cut.high))
    assert cut.apply_logits(cut.ends[1] + 1) == cut.apply_logits(np.inf) == cut.high


def test_very_sure_scores_keep_their_order():
    """Log-odds 20 times too steep: within 1/4m of 0 or 1 they were one tie."""
    rng = np.random.default_rng(0)
    y = rng.random(8000) < 0.1
    s = rng.normal(2.0 * y, 1.0)
    p = expit(20 * (s - 0.5))
    known, new = slice(4000), slice(4000, None)
    d = am.decide(p[new], reference=(y[known], p[known]))
    plain = am.decide(
        20 * (s[new] - 0.5), reference=(y[known], 20 * (s[known] - 0.5)), logits=True
    )
    rule = am.tune(y[known], p[known], n_bootstrap=0, cv=0)
    score, same, tuned = (
        am.evaluate(y[new], labels)
        for labels in (d.labels, plain.labels, rule.apply(p[new]))
    )
    assert score == pytest.approx(same, abs=0.02)
    assert score > tuned - 0.02
    mapped = am.calibrate(y[known], p[known]).apply(p[known])
    inside = (p[known] > 0) & (p[known] < 1)
    assert np.unique(mapped[inside]).size > 0.9 * np.unique(p[known][inside]).size


def test_maps_of_format_2_are_read(tmp_path):
    """Both ends stood at one distance, the reach, and there were no counts."""
    y, x = sample(n=300)
    fitted = am.calibrate(y, expit(x))
    plain = fitted.to_dict() | {"format": 2, "reach": 5.0}
    del plain["ends"], plain["counts"]
    again = am.Calibrator.from_dict(plain)
    assert (again.ends, again.counts) == ((-5.0, 5.0), None)
    assert again.apply(1e-9) == again.apply(0.0) == pytest.approx(expit(fitted.low))
    assert am.Calibrator.from_dict(fitted.to_dict()) == fitted
    labels = expit(x) > 0.5
    assert am.forecast(expit(x), labels, reference=again).std > 0.0


def test_one_knot_is_a_line():
    y, p = np.arange(1002) % 2 == 0, np.full(1002, 0.5)
    p[:2], y[:2] = [0.2, 0.9], [False, True]
    fitted = am.calibrate(y, p)
    np.testing.assert_allclose(fitted.knots, logit(np.array([0.2, 0.5, 0.9])))
    assert fitted.apply(0.5) == pytest.approx(0.5, abs=0.01)
    inner = [0.15, 0.3, 0.8, 0.9]
    expected = fitted.values[1] + fitted.slope * logit(np.array(inner))
    np.testing.assert_allclose(fitted.apply(inner), expit(expected), rtol=1e-12)
    assert len(fitted.alternatives) == 48


@given(references())
def test_splines_and_all_their_draws_rise(reference):
    y, p = reference
    fitted = quiet(am.calibrate, y, p)
    if fitted is None:
        return
    grid = np.unique(np.concatenate([p, nasty.NASTY, np.linspace(0, 1, 41)]))
    x = np.concatenate([[-np.inf, -800], np.linspace(-40, 40, 81), [800, np.inf]])
    assert len(fitted.alternatives) == 48
    for one in (fitted, *fitted.alternatives):
        mapped = one.apply(grid)
        assert ((mapped > 0) & (mapped < 1)).all()
        assert (np.diff(mapped) >= -1e-13 * mapped[1:]).all()
        assert (np.diff(one.apply_logits(x)) >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_calibrated_scores_stay_as_they_are(seed):
    y, x = sample(20_000, 1.0, 0.0, seed)
    bulk = np.linspace(-3, 3, 61)
    moved = am.calibrate(y, expit(x)).apply_logits(bulk) - bulk
    assert np.abs(moved).max() < 0.12
    assert np.abs(moved).mean() < 0.05


# Draws: what else the reference allows


def test_scores_of_one_for_most_negatives_leave_finite_ends() -> None:
    """Naive Bayes: half of the negatives at 1, and others at the least double."""
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.3
    p = np.where(rng.random(600) < 0.8, 1.0, rng.random(600))
    p[:20] = np.where(y[:20], p[:20], 0.0)
    p[20:24], y[20:24] = 5e-324, False
    fitted = am.calibrate(y, p)
    low, high = fitted.apply([0.0, 1.0])
    assert 0.0 < low < 0.1
    assert high == pytest.approx(y[p == 1.0].mean(), abs=0.05)
