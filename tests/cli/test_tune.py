"""`tune`, `calibrate`, and decisions and forecasts by a rule or after a map."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric.scale import files as aio
from command import Ended, words

N = 400
RNG = np.random.default_rng(5)
Z = RNG.normal(-1.0, 1.5, N)
Y = (RNG.random(N) < 1 / (1 + np.exp(-Z))).astype(int)
P = (1 / (1 + np.exp(-(2 * Z + 1.5)))).round(5)  # twice too sure, and too high
KIND = np.where(Y == 1, "spam", "ham")
WEIGHT = RNG.integers(1, 4, N)
GROUP = np.array([f"g{i // 8}" for i in range(N)])
NEW = RNG.random(200).round(4)


@pytest.fixture
def run(run):
    """Run a command in a folder with labelled rows and new ones."""
    columns = {"p": P, "y": Y, "kind": KIND, "w": WEIGHT, "group": GROUP}
    pq.write_table(pa.table(columns), "val.parquet")
    Path("new.csv").write_text("id,p\n" + rows(NEW))
    return run


def rows(p):
    return "".join(f"{i:03d},{value}\n" for i, value in enumerate(p))


def column(path, name):
    return aio.read_table(path).columns.column(name).to_pylist()


# tune


def test_tune_writes_the_rule_of_the_function(run):
    ended = run("tune", "val.parquet", "--label", "y", "-o", "rule.json")
    rule = am.tune(Y, P, "f1")
    assert (ended.code, ended.err) == (0, "")
    assert am.Rule.load("rule.json") == rule
    shown = words(ended.out)
    told = {name: text for name, text in rule.lines() if name not in ("score", "rows")}
    assert {"mean", "interval", "as good"} <= {*told}
    for line in (
        "rows 400 rows of val.parquet (score 'p', label 'y')",
        f"truth {100 * Y.mean():.1f} % positive",
        "metric f1; 0/0 counts as 0 rule p >= ",
        f"score {rule.score:.4f} on these rows, "
        f"{100 * rule.positive_rate:.1f} % of them chosen",
        *(f"{name} {text}" for name, text in told.items()),
        "written: rule.json",
    ):
        assert line in shown
    digits = shown.split("rule p >= ")[1].split()[0]
    assert np.array_equal(float(digits) <= P, rule.applies(P))


@pytest.mark.parametrize("zero", [0, 1, "nan"])
def test_metrics_that_obey_zero_division_do(run, zero):
    """`mcc` has a value of its own for 0/0, as `am.tune` with several metrics has."""
    arguments = ["--label", "y", "-m", "f1", "-m", "mcc", "--zero-division", str(zero)]
    ended = run("tune", "val.parquet", *arguments, "-o", "{metric}.json")
    assert (ended.code, ended.err) == (0, "")
    rules = am.tune(Y, P, ["f1", "mcc"], zero_division=float(zero))
    assert [f"written: {name}.json" in ended.out for name in rules] == [True, True]
    assert {name: am.Rule.load(f"{name}.json") for name in rules} == rules


def test_rules_of_no_label_and_of_costs_tell_what_they_are(run):
    ended = run("tune", "val.parquet", "--no-label")
    assert "if the probabilities are right" in ended.out
    costs = "--cost-fp", "1", "--cost-fn", "4"
    ended = run("tune", "val.parquet", "--label", "y", *costs)
    assert "minus the cost of all rows; false alarm 1, miss 4" in ended.out


# decide and forecast by a rule


@pytest.mark.parametrize("labels", ["y", "kind"])
def test_decide_by_a_rule_is_what_python_says(run, answer, labels):
    extra = ["--pos-label", "spam"] if labels == "kind" else []
    assert (
        run("tune", "val.parquet", "--label", labels, *extra, "-o", "r.json").code == 0
    )
    rule = am.Rule.load("r.json")
    ended = run("decide", "new.csv", "--rule", "r.json", "-o", "out.csv")
    assert ended.code == 0
    assert column("out.csv", "decision") == [str(x) for x in rule.apply(NEW).tolist()]
    chosen = rule.applies(NEW)
    f = am.forecast(NEW, chosen, "f1", reference=(Y, P))
    shown = words(ended.err)
    assert f"({'r.json'}, tuned on 400 rows, f1 {rule.score:.4f})" in shown
    assert f"forecast {f.mean:.4f}, 90 % interval" in shown
    assert f"labels {chosen.sum()} positive of 200" in shown
    found = answer("decide val.parquet --rule r.json")
    assert found["rule"] == json.loads(json.dumps(rule.to_dict()))
    if labels == "y":
        real = am.evaluate(Y, rule.applies(P), "f1")
        assert found["actual"]["score"] == pytest.approx(real, rel=1e-12)


def test_decide_by_a_rule_at_the_threshold_itself(run):
    am.Rule(am.get_metric("f1"), 0.1 + 0.2).save("r.json")
    p = [0.3, 0.1 + 0.2, np.nextafter(0.1 + 0.2, 1), 0.29999999999999993]
    Path("t.csv").write_text("p\n" + "".join(f"{x!r}\n" for x in map(float, p)))
    assert run("decide", "t.csv", "--rule", "r.json", "-o", "out.csv").code == 0
    assert column("out.csv", "decision") == ["0", "1", "1", "0"]


_NEITHER = (
    "argmetric: --reference bad.json is neither labelled rows nor a map of argmetr"
)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\x80\x04.", b'{"file": 1}'])
def test_files_that_are_no_rules_or_maps(run, content):
    Path("bad.json").write_bytes(content)
    ended = run("decide", "new.csv", "--rule", "bad.json")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("argmetric: bad.json is not a rule: ")
    ended = run("decide", "new.csv", "--reference", "bad.json")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(
        ("argmetric: bad.json is not a map of argmetric calib", _NEITHER)
    )
    assert run("decide", "new.csv", "--rule", "none.json") == Ended(
        1, "", "argmetric: cannot read none.json: No such file or directory\n"
    )


# decide and forecast after a map


def test_a_map_and_a_reference_give_the_same(run):
    fitted = run("calibrate", "val.parquet", "--label", "y", "-o", "m.json")
    assert fitted.code == 0
    assert am.Calibrator.load("m.json") == am.calibrate(Y, P)
    arguments = ["--group", "id", "--average", "pooled", "-m", "jaccard", "--json"]
    found = [
        json.loads(run(command, "new.csv", *arguments, *how).out)
        for command in ("decide", "forecast")
        for how in (
            ["--reference", "m.json"],
            ["--reference", "val.parquet", "--reference-label", "y"],
        )
    ]
    assert found[0] == found[1]
    assert found[2] == found[3]
    d = am.decide(NEW, "jaccard", reference=am.calibrate(Y, P))
    assert found[0]["decision"]["expected"] == pytest.approx(d.expected, rel=1e-12)
    f = am.forecast(NEW, d.labels, "jaccard", reference=am.calibrate(Y, P))
    assert found[2]["forecast"]["mean"] == pytest.approx(f.mean, rel=1e-9)
    assert found[2]["forecast"]["interval_given_calibrator"] == pytest.approx(
        f.interval_given_calibrator
    )


# calibrate


def test_calibrate_prints_the_check(run, answer):
    arguments = ["val.parquet", "--label", "y", "-m", "f2"]
    ended = run("calibrate", *arguments, "-o", "m.json")
    check = am.calibration_check(Y, P, "f2")
    assert (ended.code, ended.err) == (0, "")
    shown = words(ended.out)
    for line in (
        f"decide with p? {check.fit_to_decide}: ",
        f"forecast with p? {check.fit_to_forecast}: ",
        f"decide, as it stands {check.score_as_is:.3f}, expected {check.expected:.3f}",
        f"decide, recalibrated {check.score_recalibrated:.3f}, expected ",
        "one tuned cut 0.",
        ", advised",
        f"slope {check.slope:.3f} ± {check.slope_standard_error:.3f}, 1 is right",
        f"intercept {check.intercept:.3f} ± ",
        f"ECE {check.ece:.3f}, recalibrated",
        f"map {words(am.calibrate(Y, P).formula)}",
        "written: m.json",
    ):
        assert line in shown
    assert answer("calibrate", *arguments)["output"] is None


@pytest.mark.parametrize(
    "method", ["spline", "platt", "beta", "temperature", "isotonic", "identity", "auto"]
)
def test_calibrate_methods_and_their_use(run, answer, method):
    arguments = ["val.parquet", "--label", "kind", "--pos-label", "spam"]
    arguments += ["--weight", "w", "--groups", "group", "--method", method]
    assert run("calibrate", *arguments, "-o", "m.json").code == 0
    calibrator = am.calibrate(Y, P, method, sample_weight=WEIGHT)
    assert am.Calibrator.load("m.json") == calibrator
    ended = run("calibrate", "new.csv", "--map", "m.json", "-o", "out.csv")
    assert ended.code == 0
    mended = [float(x) for x in column("out.csv", "calibrated")]
    assert mended == calibrator.apply(NEW).tolist()  # bit for bit
    assert column("out.csv", "id") == [f"{i:03d}" for i in range(NEW.size)]
    assert "rows 200 rows of new.csv (score 'p')" in words(ended.err)
    assert run("calibrate", "new.csv", "--map", "m.json").out.startswith("id,p,calib")
