"""Cuts on calibrated and on raw scores, and the forecast of a decision."""

import gc
import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import argmetric as am
from decide_checks import MAP, STEPS

RNG = np.random.default_rng(3)
TRUE = RNG.beta(0.5, 3.0, 1200)
Y = (RNG.random(TRUE.size) < TRUE).astype(int)
ODDS = 6 * TRUE / (1 - TRUE)
P = ODDS / (1 + ODDS)
REFERENCE = Y[:600], P[:600]
NEW = P[600:]
GROUPS = np.arange(600) % 40


def decided(**options):
    return am.decide(NEW, reference=REFERENCE, **options)


def test_the_raw_threshold_gives_the_labels_on_the_scores_as_given():
    decision = decided()
    assert decision.scale == "calibrated p"
    np.testing.assert_array_equal(decision.threshold_raw <= NEW, decision.labels)
    mapped = am.calibrate(*REFERENCE).apply(NEW)
    np.testing.assert_array_equal(mapped >= decision.threshold, decision.labels)
    # Taken for a raw one, the other cut gives other labels
    assert (decision.threshold <= NEW).sum() != decision.n_positives


def test_without_a_map_both_thresholds_are_the_same():
    decision = am.decide(NEW)
    assert decision.scale == "p"
    assert decision.threshold_raw == decision.threshold
    x = np.log(NEW / (1 - NEW))
    decision = am.decide(x, logits=True)
    assert decision.scale == "logit"
    assert decision.threshold_raw == decision.threshold


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.sampled_from([MAP, STEPS, lambda p: (p - 0.5) ** 2]),
    st.integers(0, 12),
)
def test_a_raw_threshold_is_there_exactly_where_a_cut_gives_the_labels(x, map_, most):
    p = np.array(x) / 40
    decision = am.decide(p, reference=map_, max_positives=most)
    cuts = [*p, np.inf]
    right = [cut for cut in cuts if ((p >= cut) == decision.labels).all()]
    assert (decision.threshold_raw is not None) == bool(right)
    if right:
        np.testing.assert_array_equal(p >= decision.threshold_raw, decision.labels)


def test_a_tie_that_the_calibrator_made_has_a_raw_threshold():
    p = np.array([0.31, 0.42, 0.48, 0.9])
    decision = am.decide(p, reference=STEPS, min_positives=2, max_positives=2)
    assert decision.threshold is None
    np.testing.assert_array_equal(p >= decision.threshold_raw, [0, 0, 1, 1])
    assert "no threshold on calibrated p gives these labels" in decision.notes[1]
    limits = {"min_positives": 2, "max_positives": 2}
    split = am.decide([0.4, 0.4, 0.9], reference=STEPS, **limits)
    assert split.threshold_raw is None
    assert split.notes[1].endswith("no threshold gives these labels")


def test_segments_and_log_odds():
    assert decided(groups=GROUPS, average="groups").threshold_raw is None
    pooled = decided(groups=GROUPS, average="pooled")
    np.testing.assert_array_equal(pooled.threshold_raw <= NEW, pooled.labels)
    x = np.log(NEW / (1 - NEW))
    known = REFERENCE[0], np.log(REFERENCE[1] / (1 - REFERENCE[1]))
    decision = am.decide(x, logits=True, reference=known)
    assert decision.scale == "calibrated logit"
    np.testing.assert_array_equal(x >= decision.threshold_raw, decision.labels)
    cells = sparse.csr_array(np.where(NEW > 0.5, NEW, 0.0).reshape(100, 6))
    decision = am.decide(cells, average="micro", reference=MAP)
    np.testing.assert_array_equal(
        cells.toarray() >= decision.threshold_raw, decision.labels.toarray()
    )


def test_every_printed_form_says_that_the_cut_is_on_calibrated_p():
    decision = decided()
    for text in (repr(decision), decision._repr_html_()):
        text = text.replace("&gt;", ">")
        assert f"calibrated p >= {decision.threshold:.3g}" in text
        assert f"raw p >= {decision.threshold_raw:.3g}" in text
        assert f"(raw p >= 0.5, {decision.cut_half.n_positives} pos" in text
        assert f"(calibrated p >= {decision.best_cut.threshold:.3g}, " in text
    plain = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert plain["scale"] == "calibrated p"
    assert plain["threshold_raw"] == decision.threshold_raw
    again = pickle.loads(pickle.dumps(decision))
    assert repr(again) == repr(decision)
    plain = repr(am.decide(NEW))
    assert "calibrated" not in plain
    assert "raw" not in plain
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    legend = decision.plot().get_legend()
    assert f"(calibrated p ≥ {decision.threshold:.3g})" in str(
        [one.get_text() for one in legend.get_texts()]
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": "mcc", "zero_division": 0.0, "max_positives": 50},
        {"groups": GROUPS, "average": "groups", "zero_division": 1.0},
        {"groups": GROUPS, "average": "pooled"},
    ],
)
def test_the_forecast_of_a_decision_goes_through_its_map(options):
    decision = decided(**options)
    judged = {
        key: options[key]
        for key in ("metric", "groups", "average", "zero_division")
        if key in options
    }
    wanted = am.forecast(
        NEW, decision.labels, coverage=0.8, reference=REFERENCE, **judged
    )
    found = decision.forecast(0.8)
    assert (found.mean, found.interval) == (wanted.mean, wanted.interval)
    assert found.assumptions == wanted.assumptions
    assert found.mean == pytest.approx(decision.expected, abs=0.05)


def test_a_forecast_takes_what_is_known_by_now():
    decision = decided()
    known = np.where(np.arange(600) < 100, Y[600:], np.nan)
    more = {"known": known, "prior": 0.2, "overdispersion": 0.3}
    wanted = am.forecast(NEW, decision.labels, reference=REFERENCE, **more)
    found = decision.forecast(**more)
    assert (found.mean, found.interval) == (wanted.mean, wanted.interval)
    assert found.mean != decision.forecast().mean


def test_matrices_and_log_odds_are_forecast_as_they_were_decided():
    matrix = NEW.reshape(100, 6)
    decision = am.decide(matrix, average="macro", reference=MAP)
    assert decision.forecast().mean == pytest.approx(decision.expected, rel=1e-9)
    x = np.log(NEW / (1 - NEW))
    decision = am.decide(x, logits=True, reference=MAP)
    assert decision.forecast().mean == pytest.approx(decision.expected, rel=1e-9)
    cells = sparse.csr_array(np.where(matrix > 0.5, matrix, 0.0))
    decision = am.decide(cells, average="samples", reference=MAP)
    assert decision.forecast().mean == pytest.approx(decision.expected, rel=1e-9)


def test_a_pickled_decision_has_no_forecast():
    decision = pickle.loads(pickle.dumps(am.decide(NEW)))
    with pytest.raises(ValueError, match=r"argmetric.forecast\(p, labels\)"):
        decision.forecast()


def test_a_forecast_without_the_calibrator_of_its_labels_warns():
    decision = decided()
    for p in (NEW, NEW.copy(), NEW.tolist()):
        with pytest.warns(UserWarning, match=r"call forecast\(\) of the decision"):
            am.forecast(p, decision.labels)
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(NEW)
    of_series = am.decide(series, reference=REFERENCE)
    with pytest.warns(UserWarning, match="recalibrated"):
        am.forecast(series, of_series.labels)
    cells = sparse.csr_array(NEW.reshape(100, 6))
    of_cells = am.decide(cells, average="micro", reference=MAP)
    with pytest.warns(UserWarning, match="recalibrated"):
        am.forecast(cells, of_cells.labels, average="micro")


def test_forecasts_that_lose_no_map_do_not_warn():
    decision, labels = decided(), am.decide(NEW).labels
    mapped = am.calibrate(*REFERENCE).apply(NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the mean of p is")  # of weighted classes
        am.forecast(NEW, decision.labels, reference=REFERENCE)
        am.forecast(mapped, decision.labels)  # recalibrated before
        am.forecast(NEW, labels)
        am.forecast(NEW, (NEW > 0.5).astype(int))
        kept = decision.labels
        del decision
        gc.collect()
        am.forecast(NEW, kept)  # of a decision that is held no longer
