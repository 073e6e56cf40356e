"""The page of a decision by amounts: its numbers are those of forecast and evaluate."""

import json
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric._forecast.rivals import SharedDraws, cut_forecasts
from argmetric._ground.layout import lay_out
from argmetric._report import report_decision
from argmetric._report._figures import number

RNG = np.random.default_rng(3)
N = 300
P = RNG.beta(0.6, 3.0, N)
Y = (RNG.random(N) < P).astype(int)
AMOUNT = RNG.lognormal(3.0, 1.0, N)
U = am.Utility(tp=AMOUNT, fp=-8.0, fn=-0.1 * AMOUNT, tn=0.5)
REFERENCE = (RNG.random(500) < (held := RNG.beta(0.6, 3.0, 500))).astype(int), held


def total(y, z):
    """Return the profit, row by row."""
    worth = {(1, 1): U.tp, (0, 1): U.fp, (1, 0): U.fn, (0, 0): U.tn}
    pairs = enumerate(zip(y, z, strict=True))
    return float(sum(np.broadcast_to(worth[pair], N)[i] for i, pair in pairs))


def rows_of(page, key, table=0):
    (section,) = [one for one in page.sections if one.key == key]
    return {name: cells for name, *cells in section.tables[table].rows}


def top(k, order):
    return np.isin(np.arange(N), order[:k]).astype(int)


def test_the_curve_is_the_forecast_of_the_rows_of_largest_gain():
    d = am.decide(P, U)
    page = am.report(d, Y)
    order = np.argsort(-(P * (U.tp - U.fn) + (1 - P) * (U.fp - U.tn)), kind="stable")
    found = page.values["profit"]
    assert {0, d.n_positives, N} <= set(found["k"])
    values = zip(found["k"], found["expected"], found["actual"], strict=True)
    at = {k: (expected, actual) for k, expected, actual in values}
    for k in (0, 1, found["k"][7], d.n_positives, N):
        assert at[k][0] == pytest.approx(am.forecast(P, top(k, order), U).mean)
        assert at[k][1] == pytest.approx(total(Y, top(k, order)))
    assert max(found["expected"]) == pytest.approx(d.expected)
    assert found["every_row"] == pytest.approx(
        am.forecast(P, np.ones(N, dtype=int), U).mean
    )
    compared = rows_of(page, "profit")
    half = am.forecast(P, (P >= 0.5).astype(int), U).mean
    assert compared["cut at 0.5"][0] == number(half)
    assert compared["every row"][1] == "300"
    hits = f"{P[d.labels == 1].sum():,.1f}"
    assert compared["this decision"][-1] == hits
    assert rows_of(page, "truth", 1)["cut at 0.5"][1] == number(total(Y, P >= 0.5))
    assert page.values["forecast"]["mean"] == pytest.approx(d.forecast().mean)
    i = int(order[0])
    gain = P[i] * (U.tp[i] - U.fn[i]) + (1 - P[i]) * (U.fp - U.tn)
    assert rows_of(page, "gains")[f"{i + 1:,}"][-1] == number(gain)
    (point,) = [one for one in _layers(page) if one["look"] == "chosen"]
    assert (*point["low"], *point["high"]) == am.forecast(P, d, U).interval


def _layers(page):
    return page.sections[0].figures[0].layers


@pytest.mark.parametrize("given", [None, (P >= 0.5).astype(int)])
def test_with_a_reference_every_profit_is_a_mean_over_its_calibrators(given):
    d = am.decide(P, U, reference=REFERENCE)
    page = report_decision(d, labels=given)
    labels = d.labels if given is None else given
    mean = am.forecast(P, labels, U, reference=REFERENCE).mean
    draws = SharedDraws(
        lay_out(P, groups=None, average=None, logits=False),
        labels == 1,
        reference=d._asked["calibrator"],
        logits=False,
    )
    # Of each row in each draw: bins hold rows that differ a little
    moves = draws.p - draws.fitted
    p = am.calibrate(*REFERENCE).apply(P)[:, None] + moves[draws.bins.place]

    def expected(z):
        worth = np.where(z[:, None], p * U.tp[:, None] + (1 - p) * U.fp, 0.0)
        worth += np.where(z[:, None], 0.0, p * U.fn[:, None] + (1 - p) * U.tn)
        return worth.sum(axis=0).mean()

    own = rows_of(page, "profit")
    gap = expected(P >= 0.5) - expected(labels == 1)
    assert own["cut at 0.5"][0] == number(mean + gap)
    gap = expected(np.ones(N, dtype=bool)) - expected(labels == 1)
    assert page.values["profit"]["every_row"] == pytest.approx(mean + gap)
    if given is None:
        cuts = cut_forecasts(d, mean)
        assert own["cut at 0.5"][0] == number(cuts["cut_half"])
        assert own["best single cut"][0] == number(cuts["best_cut"])


def test_limits_are_kept_where_an_assumption_fails():
    cost = np.ones(N)
    d = am.decide(P, U, budget=(cost, 20.0))
    page = am.report(d)
    assert {cells[-1] for cells in rows_of(page, "change").values()} == {"20"}
    gain = P * (U.tp - U.fn) + (1 - P) * (U.fp - U.tn)
    left = np.sort(gain)[-21]
    (after,) = page.sections[0].after
    assert f"would add {left:.3f}" in after


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("fp", [0.0, -1e9, -1e-9])
def test_few_rows_and_extreme_costs(n, fp):
    p = np.array([1.0, 0.0, 0.5])[-n:]
    d = am.decide(p, am.Utility(tp=np.array([0.0, 1e-12, 1e9])[-n:], fp=fp))
    page = am.report(d)
    for form in ("html", "md", "json", "text"):
        assert page.render(form)
    assert page.values["profit"]["expected"][-1] == pytest.approx(d.curve[-1])


def test_notebook_and_plot_draw_the_profit():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    d = am.decide(P, U)
    assert "<polyline" in d._repr_html_()
    ax = d.plot()
    assert ax.get_ylabel() == "Expected profit"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(name.startswith("0.5 cut-off: ") for name in names)
    everything = am.decide(P**0.1, U).plot()
    names = [text.get_text() for text in everything.get_legend().get_texts()]
    assert any(name.startswith("every row: ") for name in names)
    pyplot.close("all")


def test_commands_write_the_page(run):
    rows = zip(P.round(4), Y, AMOUNT.round(2), strict=True)
    lines = ["p,y,eur", *(",".join(map(str, row)) for row in rows)]
    Path("s.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    how = ["--amount", "eur", "--cost-fp", "8"]
    u = am.Utility(tp=AMOUNT.round(2), fp=-8.0)
    curve = am.decide(P.round(4), u).curve
    for verb in ("decide", "forecast", "report"):
        ended = run(verb, "s.csv", *how, "--report", f"{verb}.json")
        assert ended.code == 0, ended.err
        values = json.loads(Path(f"{verb}.json").read_text(encoding="utf-8"))
        assert values["profit"]["every_row"] == pytest.approx(curve[-1])
        assert max(values["profit"]["expected"]) == pytest.approx(curve.max())
    ended = run("decide", "s.csv", *how, "--reference", "s.csv", "--report", "r.html")
    assert ended.code == 0, ended.err
    assert "</html>" in Path("r.html").read_text(encoding="utf-8")
    assert run("tune", "s.csv", *how, "--report", "t.md").code == 0
    assert "# A threshold for profit" in Path("t.md").read_text(encoding="utf-8")
