"""Sampling and class weights undone, and the warning that names how."""

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import argmetric as am

PROBABILITIES = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-300, 5e-324, 1 - 1e-16, 0.5]),
    st.floats(0.0, 1.0),
)
FACTORS = st.floats(1e-6, 1e6)


def exact(p: float, factor: Fraction) -> float:
    """p·f/(p·f + 1 - p) in whole numbers."""
    p_ = Fraction(p)
    return float(p_ * factor / (p_ * factor + 1 - p_))


@given(PROBABILITIES, FACTORS)
def test_values_are_exact(p: float, factor: float) -> None:
    f, rate = Fraction(factor), min(factor, 1.0)
    share = Fraction(rate)
    for found, wanted in (
        (am.undo_sampling([p], rate=rate)[0], exact(p, share)),
        (am.undo_weights([p], ratio=factor)[0], exact(p, 1 / f)),
        (am.undo_sampling([p], rate=rate, inverse=True)[0], exact(p, 1 / share)),
        (am.undo_weights([p], ratio=factor, inverse=True)[0], exact(p, f)),
    ):
        assert found == pytest.approx(wanted, rel=2e-15, abs=1e-323)


@given(PROBABILITIES, FACTORS)
def test_the_inverse_gives_p_back(p: float, factor: float) -> None:
    there = am.undo_weights([p], ratio=factor)
    back = am.undo_weights(there, ratio=factor, inverse=True)[0]
    # A probability near 1 has lost digits of 1 - p, and one near 0 of p itself
    lost = 4e-16 * max(1.0, 1.0 / factor, factor)
    assert back == pytest.approx(p, rel=1e-14, abs=lost)


@given(st.floats(-700, 700), FACTORS)
def test_log_odds_move_by_a_constant(x: float, factor: float) -> None:
    moved = am.undo_weights([x], ratio=factor, logits=True)[0]
    assert moved == x - math.log(factor)
    back = am.undo_weights([moved], ratio=factor, logits=True, inverse=True)[0]
    assert back == pytest.approx(x, abs=1e-12)


def test_shapes_stay_and_odd_rates_are_refused() -> None:
    assert am.undo_sampling(np.full((2, 3), 0.5), rate=0.25).tolist() == [[0.2] * 3] * 2


def rows(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 4, n)
    return rng.random(n) < p, p


def test_scores_of_a_weighted_model_are_told() -> None:
    y, p = rows()
    high = am.undo_weights(p, ratio=10, inverse=True)
    said = "resampled or weighted classes: undo_sampling"
    for call in (
        partial(am.decide, high, reference=(y, high)),
        partial(am.forecast, high, high > 0.5, reference=(y, high)),
        partial(am.forecast, high, high > 0.5, reference=(y, high), prior="estimate"),
        partial(am.calibration_check, y, high, n_bootstrap=2),
    ):
        with pytest.warns(UserWarning, match=said) as caught:
            made = call()
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert str(caught[0].message) in made.notes
        assert made.notes[-1] in repr(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not am.calibration_check(y, p, n_bootstrap=2).notes
        am.forecast(high, high > 0.5, reference=(y, high), prior=0.1)  # corrected


MODELS = {
    "logistic": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(30, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "neighbours": KNeighborsClassifier(15),
    "naive Bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_ordinary_models_are_not_warned_of_and_weighted_ones_are(name: str) -> None:
    X, y = make_classification(
        7000, weights=[0.96], class_sep=0.8, flip_y=0.01, random_state=0
    )
    train, rest = slice(0, 3000), slice(3000, None)
    p = clone(MODELS[name]).fit(X[train], y[train]).predict_proba(X[rest])[:, 1]
    for part in (slice(None), slice(0, 300)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            am.decide(p, reference=(y[rest][part], p[part]))
    if name in ("logistic", "boosting"):
        weighted = clone(MODELS[name]).set_params(class_weight={0: 1, 1: 24})
        high = weighted.fit(X[train], y[train]).predict_proba(X[rest])[:, 1]
        with pytest.warns(UserWarning, match="undo_weights"):
            am.calibration_check(y[rest], high, n_bootstrap=2)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x + np.log(1.5),  # too little
        lambda x: x - np.log(10.0),  # too low, as no usual training makes them
        lambda x: 0.3 * x + 1.0,  # flat: another fault
        lambda x: 3.5 * x + 4.0,  # steep
    ],
)
def test_other_faults_are_none_of_weights(change) -> None:
    y, p = rows()
    x = change(np.log(p / (1 - p)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = am.decide(expit(x), reference=(y, expit(x)))
    assert "resampled" not in repr(made)
