"""Other maps that a reference allows."""

import json
import math
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.neighbors import KNeighborsClassifier

import argmetric as am
from calibrated import (
    METHODS,
    beta_map,
    expit,
    forest,
    made,
    platt_map,
    sample,
)
from refusing import refuses


@pytest.mark.parametrize("weighted", [False, True])
def test_draws_of_platt_have_the_inverse_information_as_covariance(weighted):
    y, x = sample(n=400)
    w = np.random.default_rng(1).integers(1, 4, 400) if weighted else np.ones(400)
    fitted = am.calibrate(y, x, "platt", sample_weight=w, logits=True)
    p = expit(fitted.slope * x + fitted.intercept)
    X = np.stack([x, np.ones(400)])
    information = (X * (w * p * (1 - p))) @ X.T
    assert fitted.draws.shape == (48, 2)
    np.testing.assert_allclose(
        fitted.draws.mean(axis=0), [fitted.slope, fitted.intercept], atol=1e-6
    )
    np.testing.assert_allclose(
        np.cov(fitted.draws.T, bias=True), np.linalg.inv(information), rtol=1e-4
    )


def spread(fitted, x):
    """Standard deviation of the log-odds that the draws give."""
    return np.std([one.apply_logits(x) for one in fitted.alternatives], axis=0)


@pytest.mark.parametrize(
    "method",
    ["platt", "beta", "temperature", pytest.param("spline", marks=pytest.mark.slow)],
)
def test_draws_spread_as_new_references_do(method):
    """150 references of 500 rows, a map for each: what one of them says of the rest."""
    at = np.array([-2.0, -0.5, 1.0, 2.5])
    maps = []
    for seed in range(150):
        y, x = sample(500, 0.7, 0.0, seed)
        maps.append(am.calibrate(y, x, method, logits=True))
    truth = np.std([one.apply_logits(at) for one in maps], axis=0)
    said = np.mean([spread(one, at) for one in maps[:40]], axis=0)
    if method == "spline":  # its prior moves the calibrator less than it leaves open
        assert (said > 0.9 * truth).all()
        assert (said < 1.6 * truth).all()
    else:
        np.testing.assert_allclose(said, truth, rtol=0.15)


@pytest.mark.parametrize("changes", [{"low": math.nan}, {"high": "x"}, {"slope": "2"}])
def test_damaged_ends_are_refused(changes):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    values = am.calibrate(rng.random(200) < p, p).to_dict()
    with pytest.raises((TypeError, ValueError), match=next(iter(changes))):
        am.Calibrator.from_dict(values | {"draws": None} | changes)
    with pytest.raises(ValueError, match="high must be a finite number of at least 50"):
        am.Calibrator.from_dict(values | {"draws": None, "low": 50.0})


def test_draws_of_isotonic_maps_are_fits_to_rows_drawn_again():
    y, x = sample(n=500)
    p = np.round(expit(x), 1)
    fitted = am.calibrate(y, p, "isotonic")
    ours = np.array([one.apply(fitted.x) for one in fitted.alternatives])
    np.testing.assert_array_equal(ours, fitted.draws)
    rng = np.random.default_rng(4)
    theirs = []
    for _ in range(400):
        rows = rng.integers(0, 500, 500)
        again = IsotonicRegression(out_of_bounds="clip").fit(p[rows], y[rows])
        theirs.append(again.predict(fitted.x))
    # Three standard errors of a mean and of a deviation over 48 draws; at the lowest
    # score there was no positive, and all that draws keep is the floor.
    wide = np.std(theirs, axis=0)
    off = np.abs(ours.mean(axis=0) - np.mean(theirs, axis=0))
    assert (off < 3 * wide / math.sqrt(48) + 1e-3).all()
    some = wide > 0
    np.testing.assert_allclose(ours.std(axis=0)[some], wide[some], rtol=0.31)


def test_chains_vary_where_their_parts_do():
    y, x = sample(n=300)
    first = am.calibrate(y, expit(x))
    shift = am.adjust_prior([0.5], prevalence=0.1, reference_prevalence=0.5)
    p = np.array([0.05, 0.5, 0.8])
    both = first.then(shift)
    assert len(both.alternatives) == 48
    for one, other in zip(both.alternatives, first.alternatives, strict=True):
        np.testing.assert_array_equal(one.apply(p), shift.apply(other.apply(p)))
    again = am.Calibrator.from_dict(json.loads(json.dumps(both.to_dict())))
    np.testing.assert_array_equal(
        [one.apply(p) for one in again.alternatives],
        [one.apply(p) for one in both.alternatives],
    )


@pytest.mark.parametrize("method", METHODS)
def test_draws_survive_a_file_and_damaged_ones_are_refused(method):
    y, p = forest(400)
    fitted = am.calibrate(y, p, method)
    values = json.loads(json.dumps(fitted.to_dict()))
    new = np.linspace(0, 1, 21)
    for again in (am.Calibrator.from_dict(values), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.draws, fitted.draws)
        for one, other in zip(again.alternatives, fitted.alternatives, strict=True):
            assert one == other
            np.testing.assert_array_equal(one.apply(new), other.apply(new))
    rows = values["draws"]
    long = [*rows[0], *rows[0]]
    for damaged in (
        [],
        rows[0],
        [[]],
        [[math.nan] * len(rows[0])],
        [long],
        [[-9.0 - i for i, _ in enumerate(rows[0])]],
        [rows],
        "none",
        [rows[0], rows[0][:-1]],
        [rows[0], [-9.0 - i for i, _ in enumerate(rows[0])]],  # no map, further down
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (numpy's own for some)
            am.Calibrator.from_dict(values | {"draws": damaged})
    refuses(ValueError, "has no draws", made, "identity", draws=np.ones((3, 1)))


def test_maps_keep_apart_what_they_do_not_tie():
    y, x = sample(n=300)
    platt = am.calibrate(y, expit(x), "platt")
    assert platt.keeps_apart(-platt.reach, platt.reach)
    assert not platt.keeps_apart(-platt.reach - 0.01, 0.0)
    assert not platt.keeps_apart(0.0, np.inf)
    assert am.calibrate(y, x, "platt", logits=True).keeps_apart(-np.inf, np.inf)
    assert made("identity").keeps_apart(-np.inf, np.inf)
    assert not platt_map(0.0, 1.0).keeps_apart(-1.0, 1.0)
    assert beta_map(0.0, 1.0, 0.0).keeps_apart(-1.0, 1.0)
    for method in ("spline", "isotonic"):
        assert not am.calibrate(y, expit(x), method).keeps_apart(-1.0, 1.0)
    # The second map of a chain gets what the first one gives.
    chained = platt_map(2.0, 0.0).then(platt_map(1.0, 0.0, reach=3.0))
    assert chained.keeps_apart(-1.5, 1.5)
    assert not chained.keeps_apart(-1.5, 1.6)


# Models whose scores pile up at 0


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("kind", ["forest", "neighbours"])
def test_a_reference_does_no_harm_to_scores_that_pile_up_at_0(kind, seed):
    """A line through scores of 0 taken as 2^-53 took F1 from .81 to .18 here."""
    X, y = make_classification(
        10_000,
        20,
        n_informative=8,
        weights=[0.97],
        class_sep=1.5,
        flip_y=0.01,
        random_state=seed,
    )
    model = RandomForestClassifier(40, random_state=0)
    if kind == "neighbours":
        model = KNeighborsClassifier(15)
    model.fit(X[:2000], y[:2000])
    p = model.predict_proba(X)[:, 1]
    assert (p[2000:4000] == 0).mean() > 0.5
    reference = (y[2000:4000], p[2000:4000])
    raw = am.evaluate(y[4000:], am.decide(p[4000:]).labels)
    for options in (
        {"reference": reference},
        {"reference": am.calibrate(*reference, "platt")},
    ):
        mended = am.decide(p[4000:], **options).labels
        assert am.evaluate(y[4000:], mended) > raw - 0.01
    assert raw > 0.7
