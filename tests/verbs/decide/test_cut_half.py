"""The cut at 0.5 is on the scores as they were given, whatever map they go through."""

from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric._forecast.rivals import cut_forecasts
from decide_checks import MAP, STEPS
from oracle import enumerated_mean

MAPS = {
    "moves": MAP,
    "makes ties": STEPS,
    "falls": lambda p: 0.8 - 0.6 * p,
    "falls and rises": lambda p: 0.1 + 3 * (p - 0.5) ** 2,
}


def mapped(map_, p):
    return map_(p) if callable(map_) else map_.apply(p)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("metric", ["f1", "mcc", "accuracy"])
def test_it_is_worth_what_enumeration_says(name, metric):
    rng = np.random.default_rng(4)
    for size in (1, 2, 5, 8):
        p = rng.random(size).round(1)
        half = am.decide(p, metric, reference=MAPS[name]).cut_half
        wanted = enumerated_mean(metric, mapped(MAPS[name], p), (p >= 0.5).astype(int))
        assert (half.threshold, half.n_positives) == (0.5, (p >= 0.5).sum())
        assert half.expected == pytest.approx(float(wanted), abs=1e-12)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("size", [30, 800, 200_000])  # a table, a sort, a histogram
def test_it_is_that_of_a_forecast_for_the_same_labels(name, size):
    p = np.random.default_rng(size).beta(0.6, 1.2, size)
    groups = np.arange(size) % 9
    for how in ({}, {"groups": groups, "average": "groups"})[: 1 + (size < 1000)]:
        half = am.decide(p, reference=MAPS[name], **how).cut_half
        forecast = am.forecast(mapped(MAPS[name], p), p >= 0.5, **how)
        assert half.n_positives == (p >= 0.5).sum()
        assert half.expected == pytest.approx(forecast.mean, rel=1e-11)


def test_log_odds_are_cut_at_0_and_a_prior_moves_no_cut():
    p = np.random.default_rng(2).beta(0.6, 1.2, 300)
    x = np.log(p / (1 - p))
    given = am.decide(p, reference=MAPS["moves"]).cut_half
    half = am.decide(x, logits=True, reference=MAPS["moves"]).cut_half
    assert (half.threshold, half.n_positives) == (0.0, given.n_positives)
    assert half.expected == pytest.approx(given.expected, rel=1e-11)
    moved = am.decide(p, prior=0.1)
    assert moved.cut_half.n_positives == (p >= 0.5).sum()
    forecast = am.forecast(p, p >= 0.5, prior=0.1)
    assert moved.cut_half.expected == pytest.approx(forecast.mean, rel=1e-9)


def sure_scores(n, seed):
    """Too sure and too high: .5 as given is less once it is calibrated."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.5, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int), 1 / (
        1 + np.exp(-1.4 * x - 0.5)
    )


def test_every_surface_says_the_same(run, tmp_path):
    y, p = sure_scores(400, 0)
    new_y, new = sure_scores(300, 1)
    decision = am.decide(new, reference=(y, p))
    chosen = new >= 0.5
    assert (am.calibrate(y, p).apply(new) >= 0.5).sum() < chosen.sum()
    half = decision.cut_half
    assert half.n_positives == chosen.sum()
    text = f"{half.expected:.3f} (raw p >= 0.5, {chosen.sum()} positives)"
    assert text in repr(decision)
    assert text in decision._repr_html_().replace("&gt;", ">")
    page = am.report(decision, new_y).render("md")
    assert f"(raw p ≥ 0.5, {chosen.sum()} positives)" in page
    actual = am.evaluate(new_y, chosen)
    mean = cut_forecasts(decision, decision.forecast().mean)["cut_half"]
    assert f"| cut at 0.5 | {mean:.3f} | {actual:.3f} |" in page
    assert f"| cut at 0.5 | {mean:.3f} | {chosen.sum()} | raw p ≥ 0.5 | " in page

    for name, known, scores in (("known", y, p), ("new", new_y, new)):
        rows = [f"{a},{b}\n" for a, b in zip(known, scores, strict=True)]
        Path(f"{name}.csv").write_text("y,p\n" + "".join(rows))
    err = run("decide", "new.csv", "--reference", "known.csv").err
    line = f"cut at 0.5 {mean:.4f} (raw p >= 0.5, {chosen.sum()} positives)"
    assert line in " ".join(err.split())
