"""Programs of users pass type checkers, and misspelt names do not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import argmetric as am

rng = np.random.default_rng(0)
p = rng.beta(1.0, 3.0, 1_000)
y = (rng.random(1_000) < p).astype(int)
P, Y = rng.beta(1.0, 3.0, (50, 3)), rng.integers(0, 2, (50, 3))


def main(folder: Path) -> list[float]:
    decision: am.Decision = am.decide(p, "f1", max_positives="5%")
    score: am.ActualScore = am.evaluate(y, decision.labels, "f1")
    forecast: am.Forecast = am.forecast(p, decision.labels, "f1")
    am.tune(y, p, "f1").save(folder / "rule.json")
    grouped: am.Rule = am.tune(y, p, "f1", groups=y, average="groups")
    promised = am.tune(y, p, min_precision=0.5, max_positives="5%", confidence=0.9)
    several: am.MultiLabelRule = am.tune(Y, P, "f1", average="macro")
    by_name = am.tune(y, p, ["f1", am.FBeta(2.0)])
    by_name["f1"].save(folder / "f1.json")
    calibrator: am.Calibrator = am.calibrate(y, p)
    check: am.CalibrationCheck = am.calibration_check(y, p, "f1")
    comparison: am.Comparison = am.compare([p, p**2], [y, y], "f1", reference=(y, p))
    moved = am.adjust_prior(p, prevalence=0.2, reference_prevalence=0.3)
    watch: am.Monitoring = am.monitor(p, y, "f1", reference=(y, p))
    classes = am.classes.decide(P / P.sum(axis=1, keepdims=True), "macro_f1")
    sets = am.sets.decide(rng.integers(0, 2, (50, 20, 3)), "f1")
    stream = am.stream.OnlineClassifier(metric="f1")
    model = am.MetricClassifier(LogisticRegression(), metric="f1")
    metric: am.Metric = am.get_metric("mcc")
    print(calibrator, check, comparison, moved, watch, classes, sets, stream, model)
    print(several.rules, promised)
    return [score, forecast.mean, grouped.threshold, metric.score(y, y)]
"""
MISSPELT = {
    "am.decde(p)": "decde",
    "am.stream.OnlineClasifier()": "OnlineClasifier",
    "am.classes.decde(P)": "decde",
    "am.decide(p, metrc='f1')": "metrc",
    "am.tune(y, p, 'f1').treshold": "treshold",
    "am.tune(y, p, 'f1', average='grops')": "grops",
    "am.tune(y, p, min_precison=0.9)": "min_precison",
    "am.tune(y, p, min_precision='high')": "min_precision",
}


def check(tool, program, folder):
    """Return what a type checker prints of a program, line by line."""
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    found = subprocess.run(
        [*tool, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not found.stderr, found.stderr
    return [x for x in found.stdout.splitlines() if ": error:" in x or " - error:" in x]


TOOLS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--hide-error-context"],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_program_passes_and_each_slip_is_named(tool, tmp_path):
    if tool == "pyright" and shutil.which(tool) is None:
        pytest.skip("pyright is not installed")
    slips = "".join(f"{call}\n" for call in MISSPELT)
    first = PROGRAM.count("\n") + 1
    errors = check(TOOLS[tool], f"{PROGRAM}{slips}", tmp_path)
    of_program = [e for e in errors if int(e.split(".py:")[1].split(":")[0]) < first]
    assert of_program == []
    for number, word in enumerate(MISSPELT.values(), start=first):
        assert any(f".py:{number}:" in e for e in errors), (word, errors)
