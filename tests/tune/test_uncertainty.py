"""How sure a threshold is: samples drawn again, folds, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

import argmetric as am
from argmetric import tune
from argmetric._tune import _groups, _resample

NAN, INF = math.nan, math.inf


QUICK = {"n_bootstrap": 0, "cv": None}


# ------------------------------------------------------------------ uncertainty


def fresh(rng, n, prevalence=0.2):
    y = (rng.random(n) < prevalence).astype(int)
    return y, 1 / (1 + np.exp(-(2 * y - 1.5 + rng.normal(0, 1.2, n))))


def naive_fold_score(y, p, fold, metric):
    """Thresholds tuned on the other folds, counts pooled."""
    predicted = np.zeros(y.size, int)
    for f in set(fold):
        rule = tune(y[fold != f], p[fold != f], metric, **QUICK)
        inside = np.flatnonzero(fold == f)
        # At the cut of the rows as a whole: the smallest predicted score inside.
        chosen = p[fold != f][rule.applies(p[fold != f])]
        cut = chosen.min() if chosen.size else INF
        predicted[inside] = p[inside] >= cut
    return am.get_metric(metric).score(y, predicted)


def test_out_of_fold_scores_equal_a_loop_over_folds():
    rng = np.random.default_rng(5)
    y, p = fresh(rng, 120)
    search = _sampler_of(y, p)
    sampler = search.sampler(np.zeros(0, dtype=np.int64), None)
    order = np.argsort(-p, kind="stable")
    found = list(sampler.splits(np.random.default_rng(1), 4))
    assert len(found) == _resample.SPLITS
    tp, fp = found[0].tp, found[0].fp
    np.testing.assert_array_equal(np.diff(tp + fp, axis=1).sum(axis=0), 1)
    assert np.ptp(tp[:, -1]) <= 1  # each class is dealt evenly
    assert np.ptp(fp[:, -1]) <= 1
    fold = np.empty(120, int)
    fold[order] = np.argmax(np.diff(tp + fp, axis=1), axis=0)
    from argmetric._tune._limits import RuleLimits
    from argmetric._tune._uncertainty import Procedure

    for name in ("f1", "mcc"):
        procedure = Procedure(am.get_metric(name), RuleLimits(), 0.0)
        (cuts,) = procedure.held_out_cuts([found[0]], 0)
        score = found[0].at(cuts).score(am.get_metric(name))[0, 0]
        assert score == pytest.approx(naive_fold_score(y, p, fold, name), abs=1e-12)


def _sampler_of(y, p, weight=None, limits=None):
    from argmetric._tune._binary import Settings, search_rows
    from argmetric._tune._limits import RuleLimits

    options = Settings(
        limits or RuleLimits(), "best", 200, 0.9, 5, np.random.SeedSequence(0)
    )
    return search_rows(np.asarray(p, float), np.asarray(y, bool), weight, None, options)


def test_bootstrap_samples_have_the_right_spread():
    """Means and variances of the counts of rows and of bins are those of resampling."""
    rng = np.random.default_rng(0)
    n = 6000
    y, p = fresh(rng, n)
    w = rng.uniform(0.2, 3, n)
    for weight in (None, w):
        search = _sampler_of(y, p, weight)
        sampler = search.sampler(np.array([17]), None)
        assert sampler.cuts.size <= _resample.BINS + 4
        assert 17 in sampler.cuts
        drawn = sampler.bootstrap(np.random.default_rng(1), 1000)
        ones = np.ones(n) if weight is None else weight
        order = np.argsort(-p)
        for part, chosen in ((drawn.tp, y[order] == 1), (drawn.fp, y[order] == 0)):
            added = np.concatenate([[0], np.cumsum(ones[order] * chosen)])[sampler.cuts]
            square = np.concatenate([[0], np.cumsum(ones[order] ** 2 * chosen)])
            variance = square[sampler.cuts] - added**2 / n
            np.testing.assert_allclose(part.mean(0), added, atol=5 * ones.max())
            middle = sampler.cuts.size // 2
            ratio = part.var(0)[middle:] / variance[middle:]
            assert 0.85 < ratio.mean() < 1.15


def test_rows_drawn_one_by_one_have_the_law_of_cells():
    """Counts at the cuts: their totals, means, variances and covariances."""
    y, p = fresh(np.random.default_rng(0), 5000)
    p = np.round(p, 1)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    assert sampler.rows.max() > 1
    size, hits = 20_000, np.array([y[p == x].sum() for x in np.unique(p)[::-1]])
    drawn = sampler.bootstrap(np.random.default_rng(1), size)
    np.testing.assert_array_equal(drawn.tp[:, -1] + drawn.fp[:, -1], 5000)
    found, share = np.diff(drawn.tp, axis=1)[:, hits > 0], hits[hits > 0] / 5000
    hits = hits[hits > 0]
    covariance = 5000 * (np.diag(share) - np.outer(share, share))
    z = (found.mean(axis=0) - hits) / np.sqrt(np.diag(covariance) / size)
    assert np.abs(z).max() < 4
    scale = np.sqrt(np.outer(hits, hits) / size)
    assert np.abs((np.cov(found.T) - covariance) / scale).max() < 6


@pytest.mark.parametrize("n", [10_000, 30_000])
def test_rows_and_cells_are_drawn_to_the_same_end(n, monkeypatch):
    """On both sides of the number of rows from which cells are drawn."""
    y, p = fresh(np.random.default_rng(3), n)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    found = []
    for limit in (0, 10**6):
        monkeypatch.setattr(_resample, "MANY_DRAWS", limit)
        found.append(sampler.bootstrap(np.random.default_rng(1), 2000))
    by_cell, by_row = found
    assert not np.array_equal(by_cell.tp, by_row.tp)  # other random numbers
    for one, other in ((by_cell.tp, by_row.tp), (by_cell.fp, by_row.fp)):
        deviation = one.std(axis=0)[1:]
        gap = (one - other).mean(axis=0)[1:] / np.maximum(deviation, 1.0)
        assert np.abs(gap).max() < 4 * np.sqrt(2 / 2000)
        assert other.std(axis=0)[100:] == pytest.approx(deviation[99:], rel=0.12)


def test_few_rows_are_resampled_one_by_one():
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 50)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    drawn = sampler.bootstrap(np.random.default_rng(1), 500)
    k = drawn.tp + drawn.fp
    np.testing.assert_array_equal(k[:, -1], 50)
    assert set(np.unique(np.diff(k, axis=1))) <= set(range(12))


@pytest.mark.parametrize("name", ["f1", pytest.param("mcc", marks=pytest.mark.slow)])
def test_tuning_flatters_and_the_interval_knows(name):
    """The interval is for as many new rows: 200 runs have an error of .021."""
    hits, flattery, measured = [], [], []
    metric = am.get_metric(name)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y, p = fresh(rng, 150)
        rule = tune(y, p, name, n_bootstrap=2)
        other_y, other_p = fresh(rng, 150)
        score = metric.score(other_y, rule.apply(other_p))
        low, high = rule.score_interval
        hits.append(low <= score <= high)
        flattery.append(rule.score - score)
        measured.append(rule.optimism)
    assert 0.85 < np.mean(hits) < 0.96
    assert abs(np.mean(flattery) - np.mean(measured)) < 0.03


def test_new_rows_have_the_spread_of_two_samples():
    """Dirichlet and multinomial noise of one cell, by their moments."""
    from argmetric._tune._uncertainty import new_tables

    table = np.array([[500.0, 100.0], [150.0, 250.0]])
    rng = np.random.default_rng(0)
    for worth in (1.0, 2.5):
        drawn = new_tables(table, worth, 20_000, rng)
        np.testing.assert_allclose(drawn.sum(axis=(1, 2)), 1000.0)
        np.testing.assert_allclose(drawn.mean(axis=0), table, rtol=0.02)
        rows = 1000 / worth
        share = table / 1000
        variance = worth**2 * rows * share * (1 - share) * 2  # once for each sample
        np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.04)


def test_new_groups_have_the_spread_of_two_samples():
    """A mean over 80 groups: their variance over their number, twice, nearly."""
    from argmetric._tune._groups import GroupSampler

    rng = np.random.default_rng(0)
    value = rng.random((80, 1))
    sampler = GroupSampler(
        np.zeros(1, int), _resample.SampleSums(None, None, value, value**0)
    )
    drawn = sampler.new_scores(am.FBeta(1), np.zeros(80, int), 20_000, rng)
    assert drawn.mean() == pytest.approx(value.mean(), abs=0.002)
    variance = value.var() * (1 / 80 + (1 - 1 / 80) / 81)
    assert drawn.var() == pytest.approx(variance, rel=0.04)


@pytest.mark.slow
def test_groups_cover_as_many_new_groups():
    """200 groups of 5; of 60 groups it holds .85 for .90, see the docs."""
    hits = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        parts = []
        for _ in range(2):
            shift = rng.normal(0, 1, 200).repeat(5)
            y = (rng.random(1000) < 0.3).astype(int)
            parts.append((y, 1.5 * y + shift + rng.normal(0, 1, 1000)))
        (y, x), (other_y, other_x) = parts
        rule = tune(y, x, "accuracy", groups=np.arange(200).repeat(5), n_bootstrap=2)
        score = np.mean((other_x >= rule.threshold) == other_y)
        low, high = rule.score_interval
        hits.append(low <= score <= high)
    assert 0.83 < np.mean(hits) < 0.97


def test_intervals_stay_where_the_metric_lives():
    y = np.array([0, 1] * 6)
    for name, low in (("f1", 0.0), ("mcc", -1.0)):
        rule = tune(y, np.linspace(0.1, 0.9, 12), name)
        assert low <= rule.score_interval[0] <= rule.score_interval[1] <= 1.0
    # Separable: yet a dozen rows do not promise that the next dozen are.
    for n, low in ((12, 0.5), (12_000, 0.999)):
        y = np.arange(n) % 2
        interval = tune(y, y * 0.5 + 0.1).score_interval
        assert low < interval[0] < interval[1] == 1.0


def test_intervals_shrink_with_more_rows_and_hold_the_best_threshold():
    rng = np.random.default_rng(1)
    widths = []
    for n in (300, 30_000):
        y, p = fresh(rng, n)
        rule = tune(y, p)
        low, high = rule.threshold_interval
        assert low <= rule.threshold <= high
        widths.append((high - low, rule.score_interval[1] - rule.score_interval[0]))
    assert widths[1][0] < widths[0][0]
    assert widths[1][1] < widths[0][1] / 5


def test_bins_and_rows_tell_the_same_story(monkeypatch):
    rng = np.random.default_rng(4)
    y, p = fresh(rng, 4000)
    exact = tune(y, p, n_bootstrap=1000)
    monkeypatch.setattr(_resample, "MANY_ROWS", 100)
    monkeypatch.setattr(_resample, "BINS", 500)
    binned = tune(y, p, n_bootstrap=1000)
    assert binned.threshold == exact.threshold
    np.testing.assert_allclose(binned.score_interval, exact.score_interval, atol=0.01)
    np.testing.assert_allclose(
        binned.threshold_interval, exact.threshold_interval, atol=0.05
    )
    assert binned.out_of_fold_score == pytest.approx(exact.out_of_fold_score, abs=0.02)


def test_random_state_changes_the_intervals_alone():
    rng = np.random.default_rng(4)
    y, p = fresh(rng, 400)
    one, same, other = (tune(y, p, random_state=seed) for seed in (0, 0, 1))
    assert one == same
    assert (one.threshold, one.score) == (other.threshold, other.score)
    assert one.score_interval != other.score_interval
    fixed = tune(y, p, random_state=np.random.default_rng(3))
    assert fixed == tune(y, p, random_state=np.random.default_rng(3))
    assert tune(y, p, random_state=None).threshold == one.threshold


def test_one_standard_error_takes_fewer_positives():
    rng = np.random.default_rng(8)
    y, p = fresh(rng, 800)
    best, careful = tune(y, p), tune(y, p, choice="one_se")
    assert careful.threshold > best.threshold
    assert careful.positive_rate < best.positive_rate
    assert best.score - 0.05 < careful.score < best.score
    cut = int(np.flatnonzero(careful.scores == careful.score)[0])
    top = int(np.argmax(careful.scores))
    error = careful.scores.max() - careful.scores[cut : top + 1].min()
    # On the run around the best, all within one standard error, and no cut further.
    assert careful.scores[cut - 1] < careful.scores.max() - error
    np.testing.assert_array_equal(careful.optimal_thresholds, best.optimal_thresholds)
    with pytest.raises(ValueError, match="needs the bootstrap"):
        tune(y, p, choice="one_se", n_bootstrap=0)


def test_whole_groups_are_drawn():
    """All rows of a group alike: the interval is that of the groups, not rows."""
    rng = np.random.default_rng(0)
    y0, p0 = fresh(rng, 60)
    y, p, g = (np.repeat(a, 20) for a in (y0, p0, np.arange(60)))
    rows = tune(y, p, "accuracy")
    drawn = tune(y, p, "accuracy", groups=g, average="pooled")
    alone = tune(y0, p0, "accuracy")
    width = [
        high - low for low, high in (r.score_interval for r in (rows, drawn, alone))
    ]
    assert width[1] > 2 * width[0]
    assert width[1] == pytest.approx(width[2], rel=0.4)


def test_bundles_of_groups_have_the_spread_of_groups(monkeypatch):
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 6000)
    g = rng.integers(0, 500, 6000)
    exact = tune(y, p, groups=g, n_bootstrap=500)
    monkeypatch.setattr(_groups, "UNITS", 100)
    bundled = tune(y, p, groups=g, n_bootstrap=500)
    assert bundled.score == exact.score
    widths = [r.score_interval[1] - r.score_interval[0] for r in (exact, bundled)]
    assert widths[1] == pytest.approx(widths[0], rel=0.35)


def test_limits_hold_in_samples_and_folds_with_groups():
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 900)
    g = rng.integers(0, 40, 900)
    rule = tune(y, p, groups=g, min_recall=0.7)
    assert (p[y == 1] >= rule.threshold).mean() >= 0.7
    assert math.isfinite(rule.out_of_fold_score)


@pytest.mark.parametrize("groups", [None, "mean", "pooled"])
def test_a_count_means_its_share_in_folds_and_samples(groups):
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 1000)
    options = {}
    if groups is not None:
        options["groups"] = rng.integers(0, 50, 1000)
        options["average"] = "groups" if groups == "mean" else "pooled"
    count = tune(y, p, max_positives=60, **options)
    share = tune(y, p, max_positives=0.06, **options)
    free = tune(y, p, **options)
    assert count.threshold == share.threshold > free.threshold
    assert count.out_of_fold_score == share.out_of_fold_score
    assert count.score_interval == share.score_interval
    assert count.threshold_interval == share.threshold_interval
    assert count.constraints == {"max_positives": 60}
    assert count.score_interval[0] < count.score
    low, _ = count.threshold_interval
    assert np.mean(p >= low) < 0.08  # no sample spends a looser budget


@pytest.mark.parametrize("average", ["groups", "pooled"])
@pytest.mark.parametrize("name", ["f1", "balanced_accuracy", "mcc"])
def test_a_group_without_weight_is_not_there(name, average):
    rng = np.random.default_rng(1)
    y, p = fresh(rng, 300)
    g = rng.integers(0, 20, 300)
    w = np.where(g % 5 == 2, 0.0, rng.uniform(0.5, 2, 300))
    kept = w > 0
    options = {"average": average, "zero_division": 1.0 if name == "f1" else None}
    all_rows = tune(y, p, name, groups=g, sample_weight=w, **options)
    some = tune(
        y[kept], p[kept], name, groups=g[kept], sample_weight=w[kept], **options
    )
    assert all_rows == some
    assert all_rows.n == kept.sum()


def test_one_group_with_weight_has_nothing_to_draw():
    y, p, g = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.4], ["a", "a", "b", "b"]
    rule = tune(y, p, groups=g, sample_weight=[1, 1, 0, 0])
    assert rule.score_interval is None
    assert "one group only" in " ".join(rule.notes)


def test_one_group_has_no_folds():
    rule = tune([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.4], groups=["a"] * 4)
    assert math.isnan(rule.optimism)
    assert rule.score_interval is None  # nor anything to draw again


def test_cost_of_resampling_does_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 200_000)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    assert sampler.rows.size <= 2 * (_resample.BINS + 3)
    assert sampler.rows.sum() == 200_000
    assert len(list(sampler.splits(np.random.default_rng(0), 5))) == 1


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_of_weight_0_are_not_there(grouped):
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y, weight = rng.random(300) < p, rng.integers(0, 3, 300).astype(float)
    kept = weight > 0
    groups = np.arange(300) // 10 if grouped else None
    whole = am.tune(y, p, "f1", sample_weight=weight, groups=groups)
    part = am.tune(
        y[kept],
        p[kept],
        "f1",
        sample_weight=weight[kept],
        groups=None if groups is None else groups[kept],
    )
    assert whole == part
