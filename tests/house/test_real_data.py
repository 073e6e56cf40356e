"""Decisions for a real model on real labels; skipped where the data are not at hand."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import argmetric as am

pytestmark = pytest.mark.data


@pytest.fixture(scope="module", params=["mammography", "spambase", "optdigits_odds"])
def scored(request, data_folder):
    """Held-out probabilities of a plain logistic regression, and the labels."""
    stored = np.load(data_folder / "tabular" / f"{request.param}.npz")
    X, y = stored["X"].astype(float), stored["y"].astype(int)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    model = LogisticRegression(max_iter=2000).fit(scaler.transform(X), y)
    return model.predict_proba(scaler.transform(X_test))[:, 1], y_test


@pytest.mark.parametrize("metric", ["f1", "f2", "jaccard", "mcc", "gmean"])
def test_the_decision_beats_one_half_and_the_forecast_holds(scored, metric):
    p, y = scored
    decision = am.decide(p, metric)
    at_half = am.forecast(p, p >= 0.5, metric)
    forecast = am.forecast(p, decision.labels, metric, coverage=0.999)
    assert forecast.mean == pytest.approx(decision.expected, rel=1e-9)
    assert decision.cut_half.expected == pytest.approx(at_half.mean, rel=1e-9)
    assert decision.expected >= at_half.mean
    # The models are not perfectly calibrated: what came true may lie a little outside.
    low, high = forecast.interval
    assert low - 0.05 <= am.evaluate(y, decision.labels, metric) <= high + 0.05
