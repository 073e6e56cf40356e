"""The prevalence: its likelihood, and `prior=` in `decide` and `forecast`."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar

import argmetric as am
from argmetric._calibrate.bins import ReferenceBins
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.prevalence import (
    PrevalenceLikelihood,
    TwoSampleBins,
    estimate_prevalence,
    shift_note,
)
from argmetric._calibrate.prior import MatchedPrevalence
from argmetric._calibrate.resolve import FittedReference, resolve_reference
from refusing import refuses

MOVED = "the scores moved since the reference"


def expit(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def draw(rng, n, share, apart=2.0):
    """Labels, and scores that are too sure of themselves."""
    y = rng.random(n) < share
    return y, expit(2 * (rng.normal(apart * y, 1) - 1.5))


def table(rng, rows=10):
    old, new = rng.integers(0, 4, rows) + 1.0, rng.integers(0, 4, rows) * 1.0
    new[0] = 2.0
    return TwoSampleBins(np.sort(rng.random(rows)), old, new, logits=False)


def likelihood(seed=0, maps=3):
    rng = np.random.default_rng(seed)
    cells = table(rng)
    return PrevalenceLikelihood(
        cells, np.sort(rng.random((maps, cells.scores.size)), 1)
    )


def fitted(seed=0, m=1000, share=0.2):
    rng = np.random.default_rng(seed)
    return rng, resolve_reference(draw(rng, m, share))


# --------------------------------------------------------------- the likelihood


def by_weights(cells, c, theta):
    """ℓ by its definition: the best weights of all rows, by a search over them."""
    h = 1 - c + c * np.exp(theta)
    both = cells.old + cells.new

    def loss(x):
        w = np.exp(x - x.max())
        w /= both @ w  # a weight for every row of a cell
        return -(both @ np.log(w) + cells.new @ np.log(h / (both @ (w * h))))

    best = minimize(loss, np.zeros(c.size), method="BFGS", options={"gtol": 1e-9})
    return -best.fun + both.sum() * np.log(both.sum())


@pytest.mark.parametrize("seed", range(2))
def test_the_likelihood_is_the_largest_over_all_weights(seed):
    ours = likelihood(seed)
    theta = np.array([[-3.0, -0.4, 0.9], [0.1, 2.0, 4.0], [-7.0, -1.0, 7.0]])
    values = ours.loglik(theta)
    for c, x, row in zip(ours.probabilities, theta, values, strict=True):
        slow = [by_weights(ours.table, c, one) for one in x]
        np.testing.assert_allclose(row, slow, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_peak_profile_and_posterior_against_fine_grids(seed):
    ours = likelihood(seed)
    peaks, levels = ours.peaks
    low, high = ours.profile(0.9)
    theta, weight = ours.posterior()
    np.testing.assert_allclose(weight.sum(axis=1), 1.0)
    grid = np.linspace(-8, 8, 4001)
    for i, probabilities in enumerate(ours.probabilities):
        one = PrevalenceLikelihood(ours.table, probabilities[None])
        level = one.loglik(grid[None])[0]
        best = minimize_scalar(
            lambda x, one=one: -one.loglik(np.array([[x]]))[0, 0],
            bounds=(-8, 8),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert levels[i] == pytest.approx(-best.fun, abs=1e-8)
        assert levels[i] >= level.max() - 1e-12
        if abs(peaks[i]) < 7.9:
            assert peaks[i] == pytest.approx(best.x, abs=1e-4)
        inside = grid[level >= level.max() - 1.3527717]  # half of χ²(1) at 0.9
        assert low[i] == pytest.approx(inside[0], abs=0.005)
        assert high[i] == pytest.approx(inside[-1], abs=0.005)
        density = np.exp(level - grid**2 / 2 - level.max())
        mean = (density * grid).sum() / density.sum()
        sd = np.sqrt((density * (grid - mean) ** 2).sum() / density.sum())
        ours_mean = weight[i] @ theta[i]
        assert ours_mean == pytest.approx(mean, abs=1e-6)
        assert np.sqrt(weight[i] @ (theta[i] - ours_mean) ** 2) == pytest.approx(sd)


# --------------------------------------------------------------- what it is worth


@pytest.mark.parametrize("share", [0.05, pytest.param(0.4, marks=pytest.mark.slow)])
def test_intervals_hold_what_they_should(share):
    shares = scores = blind = 0
    for seed in range(100, 115):
        rng, reference = fitted(seed, m=800)
        y, p = draw(rng, 1000, share)
        d = am.decide(p, reference=reference, prior="estimate")
        f = am.forecast(p, d.labels, reference=reference, prior="estimate")
        actual = am.evaluate(y, d.labels)
        shares += f.prevalence.interval.low <= y.mean() <= f.prevalence.interval.high
        scores += f.interval[0] <= actual <= f.interval[1]
        f = am.forecast(p, d.labels, reference=reference.calibrator)
        blind += f.interval[0] <= actual <= f.interval[1]
    assert min(shares, scores) >= 12
    assert blind <= scores - 3  # of 30 seeds: 18 and 6, where 27 hold


def test_a_note_says_that_scores_moved():
    rng, reference = fitted(m=4000)
    p = draw(rng, 4000, 0.05)[1]
    with pytest.warns(UserWarning, match=MOVED):
        d = am.decide(p, reference=reference)
    with pytest.warns(UserWarning, match=MOVED):
        f = am.forecast(p, d.labels, reference=reference)
    share = am.decide(p, reference=reference, prior="estimate").prevalence
    for result in (d, f, d.forecast()):
        said = [note for note in result.notes if note.startswith(MOVED)]
        assert len(said) == 1
        assert f"it is now {share}" in said[0]
        assert 'prior="estimate"' in said[0]
        assert said[0] in repr(result)
        assert said[0] in result.to_dict()["notes"]
    # Nothing is said of a share that was given or estimated
    for prior in (0.05, "estimate"):
        d = am.decide(p, reference=reference, prior=prior)
        f = am.forecast(p, d.labels, reference=reference, prior=prior)
        assert MOVED not in repr(d) + repr(f)


def test_nothing_is_said_where_nothing_moved():
    said = 0
    for seed in range(100):
        rng, (calibrator, rows) = fitted(seed, m=300)
        said += shift_note(calibrator, rows, draw(rng, 300, 0.2)[1], 300) is not None
    assert said <= 3  # 1 % are to be expected


# ------------------------------------------------------------- decide and forecast


@pytest.mark.parametrize("prior", [0.03, 0.2, 0.6, 0.97])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"logits": True},
        {"metric": "mcc"},
        {"average": "groups"},
        {"average": "groups", "zero_division": 1.0},
        {"average": "pooled"},
    ],
)
def test_a_known_share_in_decide_is_that_of_forecast(prior, options):
    rng = np.random.default_rng(3)
    p = draw(rng, 300, 0.2)[1]
    if "average" in options:
        options = options | {"groups": rng.integers(0, 30, p.size)}
    if "logits" in options:
        p = np.log(p / (1 - p))
    d = am.decide(p, prior=prior, **options)
    f = am.forecast(p, d.labels, prior=prior, **options)
    assert d.expected == pytest.approx(f.mean, abs=1e-9)
    assert f.expected_positives == pytest.approx(prior * 300, rel=1e-9)
    mapped = d._asked["calibrator"].apply(p, logits=options.get("logits", False))
    assert mapped.mean() == pytest.approx(prior, rel=1e-9)
    plain = am.decide(mapped, **options | {"logits": False})
    np.testing.assert_array_equal(d.labels, plain.labels)
    assert d.prevalence is None
    assert "to a prevalence of" in d.notes[0]


def test_absent_cells_stay_certain_negatives():
    rng = np.random.default_rng(0)
    cells = sparse.random_array((60, 8), density=0.4, rng=rng, format="csr")
    d = am.decide(cells, average="micro", prior=0.1)
    f = am.forecast(cells, d.labels, average="micro", prior=0.1)
    assert d.expected == pytest.approx(f.mean)
    assert f.expected_positives == pytest.approx(48)
    rng, reference = fitted(m=500)
    d = am.decide(cells, average="micro", reference=reference, prior="estimate")
    f = am.forecast(
        cells, d.labels, average="micro", reference=reference, prior="estimate"
    )
    assert f.expected_positives == pytest.approx(480 * f.prevalence.mean)
    assert f.prevalence == d.prevalence
    assert f.prevalence.interval.high < 0.4


@pytest.mark.parametrize("options", [{}, {"average": "groups"}])
@pytest.mark.parametrize("logits", [False, True])
def test_an_estimated_share_is_decided_for_as_if_it_were_known(options, logits):
    rng = np.random.default_rng(5)
    y, before = draw(rng, 600, 0.2)
    p = draw(rng, 500, 0.5)[1]
    if logits:
        before, p = (np.log(one / (1 - one)) for one in (before, p))
    if options:
        options = options | {"groups": rng.integers(0, 40, p.size)}
    how = options | {"reference": (y, before), "logits": logits}
    d = am.decide(p, prior="estimate", **how)
    known = am.decide(p, prior=d.prevalence.mean, **how)
    np.testing.assert_array_equal(d.labels, known.labels)
    assert d.expected == pytest.approx(known.expected, abs=1e-12)
    f = am.forecast(p, d.labels, prior="estimate", **how)
    assert f.prevalence == d.prevalence
    assert f.expected_positives == pytest.approx(500 * d.prevalence.mean)
    assert d.prevalence.interval.low < d.prevalence.mean < d.prevalence.interval.high
    assert d.prevalence.reference == pytest.approx(y.mean())
    assert d.to_dict()["prevalence"] == f.to_dict()["prevalence"]
    assert d.to_dict()["prevalence"] == d.prevalence._asdict() | {
        "interval": list(d.prevalence.interval)
    }
    assert ("prevalence", str(d.prevalence)) in f.lines()
    assert str(d.prevalence) in repr(d)


@pytest.mark.parametrize("groups", [None, np.arange(1000) // 20])
def test_the_interval_holds_how_far_the_share_may_be_off(groups):
    rng, reference = fitted(m=400)
    p = draw(rng, 1000, 0.05)[1]
    how = {"groups": groups, "average": None if groups is None else "groups"}
    d = am.decide(p, reference=reference, prior="estimate", **how)
    f = am.forecast(p, d.labels, reference=reference, prior="estimate", **how)
    map_, shift = d._asked["calibrator"].parts
    certain = map_.then(replace(shift, draws=None))
    sure = am.forecast(p, d.labels, reference=certain, **how)
    assert f.interval_given_calibrator == sure.interval_given_calibrator
    # Each calibrator has its own prevalence, which cancels a part of their differences:
    # it is not always wider than with one prevalence for all, but wider than under one
    # calibrator
    given, told = (
        high - low for low, high in (f.interval_given_calibrator, f.interval)
    )
    assert told > 1.05 * given


@pytest.mark.parametrize("groups", [None, np.arange(400) // 20])
def test_known_labels_stand_and_do_not_move_the_share(groups):
    rng, reference = fitted()
    y, p = draw(rng, 400, 0.5)
    how = {"reference": reference, "prior": "estimate", "groups": groups}
    labels = (p > 0.5).astype(int)
    known = np.where(np.arange(400) < 100, y, np.nan)
    some, none = (am.forecast(p, labels, known=one, **how) for one in (known, None))
    assert some.prevalence == none.prevalence
    assert some.std < none.std
    assert "100 labels are known" in some.assumptions
    all_known = am.forecast(p, labels, known=y.astype(float), **how)
    average = None if groups is None else "groups"
    actual = am.evaluate(y, labels, groups=groups, average=average)
    assert all_known.mean == pytest.approx(actual)
    assert all_known.std == pytest.approx(0.0, abs=1e-9)


def test_a_decision_for_another_share_can_be_reported():
    pytest.importorskip("jinja2")
    rng = np.random.default_rng(0)
    y, p = draw(rng, 400, 0.5)
    how = {"reference": draw(rng, 400, 0.2), "prior": "estimate"}
    d = am.decide(p, **how)
    told = json.loads(am.report(d, y).render("json"))["forecast"]
    f = am.forecast(p, d.labels, **how)
    assert told["mean"] == f.mean
    assert tuple(told["interval"]) == f.interval


# ------------------------------------------------------------------------ bad input


BETWEEN = "prior must lie strictly between 0 and 1"
ONE_CLASS = ([0, 0, 0], [0.1, 0.2, 0.3])
WITHOUT_ROWS = MatchedPrevalence(0.1, prevalence=0.2)


@pytest.mark.parametrize(
    ("prior", "more", "message"),
    [
        *((number, {}, BETWEEN) for number in (0, 1, -0.1, 1.5, np.nan, np.inf)),
        *((x, {}, f"or \"estimate\", not '{x}'") for x in ("0.2", "Estimate", "")),
        *((one, {}, "prior must be a number") for one in ([0.2], True, b"estimate")),
        ("estimate", {}, r"pass reference=\(y, p\)"),
        ("estimate", {"reference": WITHOUT_ROWS}, r"pass reference=\(y, p\)"),
        ("estimate", {"reference": ONE_CLASS}, "one class only"),
        (0.9, {"p": [0.0, 0.3]}, r"prior=0\.9 cannot be met"),
    ],
)
def test_what_is_no_prior(prior, more, message):
    how = {"p": [0.2, 0.3], "prior": prior} | more
    kinds = ValueError, TypeError
    refuses(kinds, message, am.decide, **how)
    refuses(kinds, message, am.forecast, labels=[1, 0], **how)


def test_no_cell_to_estimate_from():
    _, reference = fitted()
    empty = sparse.csr_array((3, 4))
    with pytest.raises(ValueError, match="p is empty"):
        am.decide(empty, average="micro", reference=reference, prior="estimate")


def test_rare_and_certain_scores():
    """A reference with few positives, scores of 0 and 1, a single row."""
    y = np.repeat([0, 1], [60, 3])
    before = np.concatenate([np.linspace(0, 0.5, 60), [0.4, 1.0, 1.0]])
    for p in ([0.0], [1.0], [0.0, 1.0, 0.3], np.linspace(0, 1, 50)):
        d = am.decide(p, reference=(y, before), prior="estimate")
        f = am.forecast(p, d.labels, reference=(y, before), prior="estimate")
        assert (
            0.0
            <= f.prevalence.interval.low
            <= f.prevalence.mean
            <= f.prevalence.interval.high
            <= 1.0
        )
        assert 0.0 <= f.interval[0] <= f.interval[1] <= 1.0
    x = np.array([-np.inf, -2.0, 0.0, 3.0, np.inf])
    d = am.decide(x, reference=(y, before * 4 - 2), prior="estimate", logits=True)
    assert np.isfinite([d.prevalence.mean, *d.prevalence.interval]).all()


def test_the_shift_is_kept_in_a_file(tmp_path):
    rng, (calibrator, rows) = fitted()
    p = draw(rng, 400, 0.5)[1]
    shift, share = estimate_prevalence(calibrator, rows, p, p.size)
    chain = calibrator.then(shift)
    chain.save(tmp_path / "map.json")
    again = Calibrator.load(tmp_path / "map.json")
    assert again == chain
    assert len(again.alternatives) == 48
    labels = (p > 0.5).astype(int)
    reference = FittedReference(calibrator, rows)
    ours = am.forecast(p, labels, reference=reference, prior="estimate")
    assert am.forecast(p, labels, reference=again).interval == ours.interval
    text = repr(shift)
    assert f"prevalence           {share.mean:.4g}, estimated on 400" in text
    assert "known" in repr(MatchedPrevalence(0.5, prevalence=0.3))
    for bad in ([[1.0, 2.0]], [[np.nan]]):
        refuses(ValueError, "draws", MatchedPrevalence, 0.5, prevalence=0.3, draws=bad)


def test_bins_of_a_reference_are_kept_in_a_file():
    rng = np.random.default_rng(8)
    y, p = draw(rng, 300, 0.3)
    bins = ReferenceBins.from_rows(resolve_reference((y, p)).rows)
    assert bins.count.sum() == 300
    mean = bins.base + bins.above / np.maximum(bins.count, 1.0)
    place = np.searchsorted(bins.edges, p, side="right")
    np.testing.assert_array_equal(bins.assign(p), place)
    for i in np.unique(place):
        assert bins.count[i] == (place == i).sum()
        assert mean[i] == pytest.approx(p[place == i].mean(), rel=1e-12)
    again = ReferenceBins.from_dict(json.loads(json.dumps(bins.to_dict())))
    for name, value in vars(bins).items():
        np.testing.assert_array_equal(getattr(again, name), value)
    values = bins.to_dict() | {"count": [-1.0, *bins.count[1:].tolist()]}
    refuses(ValueError, "negative counts", ReferenceBins.from_dict, values)
