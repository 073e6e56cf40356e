"""`decide` and `forecast` with a calibrator or a labelled reference."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.isotonic import IsotonicRegression

import argmetric as am
import strategies as nasty
from calibrated import expit, isotonic_map, platt_map
from refusing import refuses

few = settings(deadline=None, max_examples=30)
MAP = platt_map(0.8, -1.5, n=1000, prevalence=0.2)
NOTE = "probabilities recalibrated by platt on 1,000 labelled rows"
SCALE = "; thresholds refer to these"


def batch(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(-1, 2, n), rng.integers(0, 30, n)


def same(decision, other):
    np.testing.assert_array_equal(decision.labels, other.labels)
    assert decision.expected == other.expected
    assert decision.threshold == other.threshold
    assert decision.notes == (NOTE + SCALE, *other.notes)


@few
@given(nasty.probability_vectors())
def test_a_calibrator_is_applied_before_anything_else(p):
    mapped = MAP.apply(p)
    same(am.decide(p, reference=MAP), am.decide(mapped))
    labels = am.decide(mapped).labels
    ours = am.forecast(p, labels, reference=MAP)
    theirs = am.forecast(mapped, labels)
    assert ours.mean == theirs.mean
    assert ours.interval == theirs.interval


@pytest.mark.parametrize("metric", ["f1", "mcc", "accuracy"])
@pytest.mark.parametrize("average", ["groups", "pooled"])
def test_groups(metric, average):
    x, groups = batch()
    p = expit(x)
    options = {"groups": groups, "average": average, "metric": metric}
    same(am.decide(p, reference=MAP, **options), am.decide(MAP.apply(p), **options))
    labels = am.decide(MAP.apply(p), **options).labels
    ours = am.forecast(p, labels, reference=MAP, **options)
    assert ours.mean == am.forecast(MAP.apply(p), labels, **options).mean
    assert ours.assumptions[:2] == (NOTE, "no shift since calibration")


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_matrices_frames_and_sparse_cells(average):
    pandas = pytest.importorskip("pandas")
    x, _ = batch()
    p = np.where(x.reshape(40, 5) < -1, 0.0, expit(x.reshape(40, 5)))
    expected = am.decide(MAP.apply(p), average=average)
    same(am.decide(p, average=average, reference=MAP), expected)
    frame = pandas.DataFrame(p, columns=list("abcde"))
    decided = am.decide(frame, average=average, reference=MAP)
    assert list(decided.labels.columns) == list("abcde")
    np.testing.assert_array_equal(decided.labels, expected.labels)
    # An absent cell stays a certain negative, even where the calibrator would lift 0.
    lift = isotonic_map([0.0, 1.0], [0.2, 0.9])
    cells = sparse.csr_array(p)
    mapped = cells.copy()
    mapped.data = lift.apply(cells.data)
    ours = am.decide(cells, average=average, reference=lift)
    theirs = am.decide(mapped, average=average)
    assert ours.expected == pytest.approx(theirs.expected, rel=1e-12)
    np.testing.assert_array_equal(ours.labels.toarray(), theirs.labels.toarray())
    told = am.forecast(cells, theirs.labels, average=average, reference=lift)
    assert told.mean == pytest.approx(ours.expected, rel=1e-9)


def test_log_odds_keep_their_tails():
    x = np.array([800.0, 100.0, -700.0, 40.0, 0.3])
    steep = platt_map(0.5, -60.0, n=10)
    ours = am.decide(x, reference=steep, logits=True)
    theirs = am.decide(steep.apply_logits(x), logits=True)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    assert ours.expected == theirs.expected
    # As probabilities the first four scores would be 1, 1, 0 and 1.
    labels = [1, 1, 0, 0, 0]
    told = am.forecast(x, labels, reference=steep, logits=True)
    assert told.mean == am.forecast(steep.apply_logits(x), labels, logits=True).mean
    assert told.mean != pytest.approx(
        am.forecast(expit(x), labels, reference=steep).mean, rel=1e-3
    )


def test_a_reference_is_a_calibrator_fitted_on_it():
    pandas = pytest.importorskip("pandas")
    x, groups = batch(600)
    y = np.random.default_rng(1).random(600) < expit(0.7 * x - 1)
    p, new = expit(x), expit(batch(seed=5)[0])
    fitted = am.calibrate(y, p)
    for reference in (
        (y, p),
        [y.tolist(), p.tolist()],
        (pandas.Series(y.astype(int)), pandas.Series(p)),
        (y.reshape(300, 2), p.reshape(300, 2)),
    ):
        decision = am.decide(new, reference=reference)
        np.testing.assert_array_equal(
            decision.labels, am.decide(fitted.apply(new)).labels
        )
        assert "by spline on 600 labelled rows;" in decision.notes[0]
        told = am.forecast(new, decision.labels, reference=reference)
        assert told.mean == am.forecast(new, decision.labels, reference=fitted).mean
        # It is about what the labels say, the decision about the sceptical map.
        assert told.mean == pytest.approx(decision.expected, abs=0.3 * told.std)
        assert told.assumptions[0] + SCALE == decision.notes[0]
    odds = am.decide(np.log(new / (1 - new)), reference=(y, x), logits=True)
    np.testing.assert_array_equal(odds.labels, am.decide(fitted.apply(new)).labels)
    assert "recalibrated by spline" in repr(decision)
    grouped = am.decide(new, groups=groups[:200], average="groups", reference=(y, p))
    assert grouped.notes[0] == decision.notes[0]


def test_a_forecast_mixes_over_the_calibrators_that_the_reference_allows():
    x, groups = batch(600)
    y = np.random.default_rng(1).random(600) < expit(0.7 * x - 1)
    new, groups = expit(batch(60, seed=5)[0]), groups[:60]
    labels = am.decide(new, reference=(y, expit(x))).labels
    shift = am.adjust_prior(new, prevalence=0.3, reference_prevalence=0.2)
    for fitted in (
        am.calibrate(y, expit(x)),
        am.calibrate(y, expit(x), "platt"),
        am.calibrate(y, expit(x)).then(shift),
    ):
        for options in ({}, {"groups": groups, "average": "groups"}):
            told = am.forecast(new, labels, reference=fitted, **options)
            alone = [
                am.forecast(new, labels, reference=one, **options)
                for one in fitted.alternatives
            ]
            mean = np.mean([one.mean for one in alone])
            # What the reference counted on either side moves it a little besides.
            assert told.mean == pytest.approx(mean, abs=0.1 * told.std)
            # The mixture is wider than the distribution of a usual map.
            assert told.std > np.median([one.std for one in alone])
            widths = [one.interval[1] - one.interval[0] for one in alone]
            assert told.interval[1] - told.interval[0] > np.median(widths) - 1e-9


def test_functions_objects_and_chains_are_calibrators():
    x, _ = batch()
    p = expit(x)

    def squared(p):
        return p**2

    class Halved:
        def apply(self, p):
            return p / 2

    expected = am.decide(p**2)
    ours = am.decide(p, reference=squared)
    np.testing.assert_array_equal(ours.labels, expected.labels)
    assert ours.notes[0] == f"probabilities recalibrated by the function squared{SCALE}"
    assert am.decide(p, reference=Halved()).expected == am.decide(p / 2).expected
    x = np.log(p / (1 - p))
    odds = am.decide(x, reference=squared, logits=True)
    assert odds.expected == pytest.approx(expected.expected, rel=1e-9)
    steps = IsotonicRegression(out_of_bounds="clip").fit(p, p**2)
    assert am.decide(p, reference=steps.predict).expected == pytest.approx(
        expected.expected, rel=1e-9
    )
    shift = am.adjust_prior(p, prevalence=0.4, reference_prevalence=0.2)
    both = am.decide(p, reference=MAP.then(shift))
    assert both.expected == am.decide(shift.apply(MAP.apply(p))).expected
    assert both.notes[0] == f"{NOTE}, then a prior shift from 0.2 to 0.4{SCALE}"
    told = am.forecast(p, both.labels, reference=MAP, prior=0.3)
    assert told.expected_positives == pytest.approx(0.3 * p.size)
    assert told.assumptions[1] == "prevalence is 0.3, all else as in calibration"


STEPS = isotonic_map([0.2, 0.5, 0.7], [0.1, 0.5, 0.5], n=9)


def test_ties_that_a_map_makes_are_broken_by_the_scores_before_it():
    p = np.array([0.50, 0.55, 0.65, 0.60, 0.52, 0.10])
    tied = am.decide(STEPS.apply(p), "gmean")
    assert tied.labels.tolist() == [1, 1, 1, 1, 0, 0]  # the first in order
    ours = am.decide(p, "gmean", reference=STEPS)
    assert ours.expected == tied.expected
    assert ours.labels.tolist() == [0, 1, 1, 1, 1, 0]
    assert "by p as given: no threshold" in ours.notes[1]
    groups = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    order = np.array([3, 8, 1, 6, 0, 11, 2, 5, 4, 7, 9, 10])
    both = np.concatenate([p, p])[order]
    decision = am.decide(
        both, "gmean", groups=groups[order], average="groups", reference=STEPS
    )
    expected = np.concatenate([ours.labels, ours.labels])[order]
    np.testing.assert_array_equal(decision.labels, expected)


def test_bad_calibrators_and_references():
    y, p = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6]
    for function in (am.decide, lambda p, **more: am.forecast(p, y, **more)):
        for options, kind, message in (
            ({"reference": 3}, TypeError, r"\(y, p\).*, or a fitted Calib.* not int"),
            ({"reference": am.Calibrator}, TypeError, "not the class Calibrator"),
            ({"reference": lambda p: 2 * p}, ValueError, "calibrator gives is 1.6"),
            ({"reference": lambda p: p[:2]}, ValueError, r"shape \(2,\) for 4"),
            ({"reference": lambda p: p * np.nan}, ValueError, "NaN at row 0"),
            ({"reference": y}, TypeError, r"pair \(y, p\).*list of 4"),
            ({"reference": np.array([y, p])}, TypeError, r"pair \(y, p\).*ndarray"),
            ({"reference": (p, y)}, ValueError, r"y of reference.* in their places"),
            (
                {"reference": (["a", "b"], [0, 1])},
                ValueError,
                "pass pos_label='b' or pos_label='a'",
            ),
            ({"reference": ([0, 0], [0.1, 0.2])}, ValueError, "one class only"),
            ({"reference": ([0, 1], np.eye(2))}, ValueError, "same shape"),
        ):
            refuses(kind, message, function, p, **options)
    classes = am.classes.calibrate([0, 1, 1], [[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
    with pytest.raises(ValueError, match="apply it first"):
        am.decide([[0.3, 0.7]], average="samples", reference=classes)


def test_a_frame_has_a_method_apply_and_is_no_calibrator():
    frame = pd.DataFrame({"p": [0.5]})
    for one in (frame, frame["p"]):
        with pytest.raises(
            TypeError, match=r"or a fitted Calibrator .* not (DataFrame|Series)"
        ):
            am.decide([0.5, 0.2], reference=one)
