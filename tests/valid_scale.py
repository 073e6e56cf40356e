"""Valid calls of the verbs over files; see `valid_calls`."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import opened  # noqa: F401 in the table
from argmetric import scale
from valid_calls import P, calls

COLUMNS = {
    "user": list("aabbcc"),
    "score": P,
    "label": [1, 1, 0, 0, 0, 1],
    "pred": [1, 0, 0, 1, 0, 1],
    "no": [1.0 - p for p in P],
}


def on_files(verb):
    """A verb on a file that is there when it is called."""

    def call(**arguments):
        if not Path("scores.parquet").exists():
            pq.write_table(pa.table(COLUMNS), "scores.parquet")
        return verb(**arguments)

    return call


NAMES = dict.fromkeys(
    ("group", "score", "label", "weight", "decision_column", "features"),
    "column|features must",
)
NAMES["n_sample"] = "n_sample|one class|each class"
NAMES["reference"] = r"reference|\bp\b|\by\b"
NAMES["output"] = r"\boutput\b|cannot write"
NAMES["files"] = r"\bfiles\b|cannot read|column|rows"
READING = {
    "on_error": "stop",
    "memory": "1GB",
    "work_dir": ".",
    "n_jobs": 1,
}
WITHOUT_FOLDER = {name: READING[name] for name in READING if name != "work_dir"}
LAZY = scale.open(
    pl.LazyFrame(COLUMNS), score="score", label="label", decision_column="pred"
)
SCALED = calls(
    r"""
argmetric.scale.open: on_files(am.scale.open)(files="scores.parquet",
    **dict.fromkeys(("score", "label", "group", "weight"), "score"),
    decision_column="pred", scores=["no", "score"],
    missing_groups="error", **READING) -> NAMES
Files.decide: on_files(opened.decide)(files="scores.parquet", metric="f1", output="out",
    group="user", score="score", average="groups", min_positives=1, max_positives=2,
    logits=False, reference=CALIBRATOR, missing_groups="error",
    decision_column="decision", resume=False, **READING, **LIMITS) -> NAMES
Files.decide_classes: on_files(opened.decide_classes)(files="scores.parquet",
    metric="f1", output="classes", scores=["no", "score"], classes=[0, 1],
    average="macro", zero_division=1.0, reference=None, rule=None, random_state=0,
    decision_column="decision", resume=False, **READING) -> NAMES
Files.evaluate_classes: on_files(opened.evaluate_classes)(files="scores.parquet",
    metric="f1", label="label", decision_column="pred", classes=[0, 1], average="macro",
    zero_division=1.0, **WITHOUT_FOLDER) -> NAMES
Files.tune: on_files(opened.tune)(files="scores.parquet", metric="f1", score="score",
    label="label", min_precision=0.1, min_recall=0.1, max_positives=4,
    zero_division=1.0, pos_label=1, n_bootstrap=20, coverage=0.9, cv=2,
    random_state=0, **WITHOUT_FOLDER) -> NAMES
Files.calibrate: on_files(opened.calibrate)(files="scores.parquet", method="platt",
    score="score", label="label", weight="pred", pos_label=1, logits=False, n_sample=6,
    random_state=0, **WITHOUT_FOLDER) -> NAMES
Files.calibration_check: on_files(opened.calibration_check)(files="scores.parquet",
    metric="f1", score="score", label="label", weight=None, group=None, average=None,
    pos_label=1, method="platt", n_bins=2, n_bootstrap=20, random_state=0, logits=False,
    zero_division=1.0, n_sample=6, **WITHOUT_FOLDER) -> NAMES
Files.forecast: on_files(opened.forecast)(files="scores.parquet", metric="f1",
    coverage=0.8, score="score", decision_column="pred", group="user", average="groups",
    zero_division=1.0, pos_label=1, missing_groups="error", **READING) -> NAMES
Files.evaluate: on_files(opened.evaluate)(files="scores.parquet", metric="f1",
    label="label", decision_column="pred", group="user", average="groups",
    zero_division=1.0, pos_label=1, missing_groups="error", **READING) -> NAMES
LazyTable.decide: LAZY.decide(metric="f1", output="found", average="groups",
    zero_division=1.0, min_positives=1, max_positives=4, min_precision=0.1,
    min_recall=0.1, logits=False, reference=CALIBRATOR)
LazyTable.evaluate: LAZY.evaluate(metric="f1", average="groups", zero_division=1.0,
    pos_label=1)
LazyTable.forecast: LAZY.forecast(metric="f1", coverage=0.8, average="groups",
    zero_division=1.0, pos_label=1)
LazyTable.tune: LAZY.tune(metric="f1", zero_division=1.0, min_positives=1,
    max_positives=4, min_precision=0.1, min_recall=0.1, coverage=0.9,
    n_bootstrap=20, cv=2, random_state=0, pos_label=1)
""",
    globals(),
)
