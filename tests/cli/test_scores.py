"""The command line: files in, files out, messages and exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric import _files as aio
from argmetric._files import _write
from argmetric.cli._options import as_count
from argmetric.cli._progress import progress, reading
from command import Ended, Run

N = 60
RNG = np.random.default_rng(3)
P = RNG.beta(0.6, 2.0, N).round(3).clip(0.001, 0.999)
Y = (RNG.random(N) < P).astype(int)
ORDER = RNG.permutation(np.repeat([f"o{i}" for i in range(12)], 5))
DECIDED = np.asarray(am.decide(P, "f1").labels)


def write_csv(name: str = "scores.csv", **extra: Any) -> str:
    columns: dict[str, Any] = {
        "id": [f"{i:03d}" for i in range(N)],
        "score": [str(value) for value in P],
        **extra,
    }
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def decisions(text: str) -> list[int]:
    return [int(line.rsplit(",", 1)[1]) for line in text.splitlines()[1:]]


def start(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "argmetric.cli", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)


# A call that hears of no signal, and takes hours
COMPILED = "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"


# decide


def test_decide_adds_a_column_and_keeps_the_rest(run: Run) -> None:
    before = Path(write_csv()).read_text().splitlines()
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    after = ended.out.splitlines()
    assert after[0] == "id,score,decision"
    expected = [f"{row},{k}" for row, k in zip(before[1:], DECIDED, strict=True)]
    assert after[1:] == expected


def test_decide_summary(run: Run) -> None:
    write_csv(y=Y)
    err = " ".join(run("decide", "scores.csv").err.split())
    d = am.decide(P, "f1")
    low, high = am.forecast(P, d.labels, "f1").interval
    half = (P >= 0.5).astype(int)
    best = (d.best_cut.threshold <= P).astype(int)
    for line in (
        "rows 60 rows of scores.csv (score 'score', label 'y')",
        "metric f1; an empty answer that is right counts 0",
        f"positives {d.n_positives} ({100 * d.n_positives / N:.1f} % of the rows)",
        f"expected {d.expected:.4f}, 90 % interval {low:.4f} to {high:.4f}",
        f"real score {am.evaluate(Y, d.labels):.4f}",
        f"{d.best_cut.n_positives} "
        f"{d.best_cut.expected:.4f} {am.evaluate(Y, best):.4f}",
        f"cut at 0.5: score >= 0.5 {half.sum()} "
        f"{d.cut_half.expected:.4f} {am.evaluate(Y, half):.4f}",
        "ties ",
        "assumes: ",
    ):
        assert line in err


def test_decide_json_holds_what_the_functions_return(run: Run) -> None:
    write_csv(y=Y)
    ended = run("decide", "scores.csv", "--json", "-m", "f2", "--coverage", "0.8")
    found = json.loads(ended.out)
    d = am.decide(P, "f2")
    f = am.forecast(P, d.labels, "f2", 0.8)
    half = (P >= 0.5).astype(int)
    assert found["rows"] == N
    assert found["columns"] == {"score": "score", "label": "y"}
    assert found["metric"] == "f2"
    assert found["zero_division"] == 0.0
    assert found["positives"] == d.n_positives
    assert found["expected"] == pytest.approx(d.expected, rel=1e-12)
    assert found["forecast"]["mean"] == pytest.approx(f.mean, rel=1e-12)
    assert found["forecast"]["interval"] == pytest.approx(f.interval, rel=1e-12)
    assert found["forecast"]["coverage"] == 0.8
    assert found["forecast"]["assumptions"] == list(f.assumptions)
    assert found["real"] == pytest.approx(am.evaluate(Y, d.labels, "f2"), rel=1e-12)
    assert found["cut_half"] == {
        "threshold": 0.5,
        "rule": "score >= 0.5",
        "positives": int(half.sum()),
        "expected": pytest.approx(d.cut_half.expected, rel=1e-12),
        "real": pytest.approx(am.evaluate(Y, half, "f2"), rel=1e-12),
    }
    assert found["best_cut"]["expected"] == pytest.approx(d.best_cut.expected)
    assert found["output"] is None
    assert ended.err == "argmetric: rows not written: no --output\n"


def test_json_and_rows(run: Run) -> None:
    write_csv()
    ended = run("decide", "scores.csv", "--json", "-o", "out.csv")
    assert json.loads(ended.out)["output"] == "out.csv"
    assert ended.err == ""
    assert decisions(Path("out.csv").read_text()) == DECIDED.tolist()
    ended = run("decide", "scores.csv", "--json", "-o", "-")
    assert ended == Ended(
        2, "", "argmetric: --json and the rows cannot share standard output: -o FILE\n"
    )


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "feather", "jsonl"])
def test_decide_writes_every_format(run: Run, extension: str) -> None:
    name = f"out.{extension}"
    pq.write_table(pa.table({"id": np.arange(N), "p": P, "order": ORDER}), "in.parquet")
    assert run("decide", "in.parquet", "-o", name).code == 0
    table = aio.read_table(name)
    assert table.names == ["id", "p", "order", "decision"]
    assert aio.labels(table, "decision").tolist() == DECIDED.tolist()
    assert aio.groups(table, "order")[1] == list(dict.fromkeys(ORDER.tolist()))


def test_decide_reads_standard_input(run: Run) -> None:
    data = Path(write_csv()).read_bytes()
    ended = run("decide", "-", "-o", "-", stdin=data)
    assert ended.code == 0
    assert decisions(ended.out) == DECIDED.tolist()
    assert "60 rows of standard input" in ended.err
    ended = run("decide", "-", "--output-format", "jsonl", stdin=data)
    first = json.loads(ended.out.splitlines()[0])
    assert first == {"id": "000", "score": P[0], "decision": int(DECIDED[0])}


def test_groups_and_their_average_are_echoed(run: Run) -> None:
    write_csv(order=ORDER)
    ended = run("decide", "scores.csv", "--group", "order")
    d = am.decide(P, "f1", groups=ORDER, average="groups")
    assert decisions(ended.out) == np.asarray(d.labels).tolist()
    assert "12, mean over groups (--average groups)" in ended.err
    arguments = ["scores.csv", "--group", "order", "--average", "pooled", "--json"]
    found = json.loads(run("decide", *arguments).out)
    assert (found["groups"], found["average"]) == (12, "pooled")
    pooled = am.decide(P, "f1", groups=ORDER, average="pooled")
    assert found["expected"] == pytest.approx(pooled.expected, rel=1e-12)


@pytest.mark.parametrize("convention", ["0", "1", "nan"])
def test_convention_for_zero_over_zero(run: Run, convention: str) -> None:
    write_csv(order=ORDER)
    arguments = ["scores.csv", "--group", "order", "--zero-division", convention]
    found = json.loads(run("decide", *arguments, "--json").out)
    d = am.decide(
        P, "f1", groups=ORDER, average="groups", zero_division=float(convention)
    )
    assert found["positives"] == d.n_positives
    assert found["expected"] == pytest.approx(d.expected, rel=1e-12)
    assert str(found["zero_division"]).startswith(convention)
    shown = "is left out" if convention == "nan" else f"counts {convention}"
    summary = " ".join(run("decide", *arguments).err.split())
    assert f"metric f1; an empty answer that is right {shown}" in summary


def test_limits(run: Run) -> None:
    write_csv()
    assert sum(decisions(run("decide", "scores.csv", "--max-positives", "3").out)) == 3
    assert (
        sum(decisions(run("decide", "scores.csv", "--min-positives", "50").out)) == 50
    )
    arguments = ["scores.csv", "--min-recall", "0.9", "--json"]
    d = am.decide(P, "f1", min_recall=0.9)
    assert json.loads(run("decide", *arguments).out)["positives"] == d.n_positives
    arguments = ["scores.csv", "--min-precision", "0.6", "--json"]
    d = am.decide(P, "f1", min_precision=0.6)
    assert json.loads(run("decide", *arguments).out)["positives"] == d.n_positives


def test_limits_that_cannot_hold(run: Run) -> None:
    write_csv()
    arguments = ["--min-recall", "0.9", "--max-positives", "1", "-o", "out.csv"]
    ended = run("decide", "scores.csv", *arguments)
    assert ended.code == 1
    assert ended.err.startswith("argmetric: ")
    assert ended.err.count("\n") == 1
    assert not Path("out.csv").exists()


def test_logits(run: Run) -> None:
    x = np.log(P / (1 - P))
    write_csv(logit=x)
    arguments = ["scores.csv", "--score", "logit", "--logits"]
    assert decisions(run("decide", *arguments).out) == DECIDED.tolist()
    pq.write_table(pa.table({"logit": x}), "x.parquet")
    found = json.loads(run("decide", "x.parquet", "--logits", "--json").out)
    assert found["columns"]["score"] == "logit"
    assert found["expected"] == pytest.approx(am.decide(P).expected, rel=1e-9)


def test_threshold_is_short_and_still_exact(run: Run) -> None:
    p = np.linspace(0.300001, 0.30002, 20)
    write = "".join(f"{value:.6f}\n" for value in p)
    Path("t.csv").write_text("p\n" + write)
    found = json.loads(run("decide", "t.csv", "--max-positives", "7", "--json").out)
    assert found["rule"] == "p >= 0.3000135"
    assert int((p.round(6) >= 0.3000135).sum()) == found["positives"] == 7
    write_csv()
    found = json.loads(run("decide", "scores.csv", "--json").out)
    digits = found["rule"].removeprefix("score >= ")
    assert (float(digits) <= P).astype(int).tolist() == DECIDED.tolist()
    assert len(digits) <= 5


def test_ties_are_counted(run: Run) -> None:
    Path("t.csv").write_text("p\n" + "0.5\n" * 6)
    ended = run("decide", "t.csv", "--metric", "gmean")
    assert decisions_of_one_column(ended.out) == 3
    assert "3 rows left out with the same score as a row that was chosen" in ended.err
    assert "none: a tie is split" in ended.err


def decisions_of_one_column(text: str) -> int:
    return sum(int(line.split(",")[1]) for line in text.splitlines()[1:])


def test_nothing_may_be_the_answer(run: Run) -> None:
    Path("t.csv").write_text("p\n0.05\n0.04\n0.03\n")
    ended = run("decide", "t.csv", "--zero-division", "1")
    assert ended.out == "p,decision\n0.05,0\n0.04,0\n0.03,0\n"
    assert "none: nothing is predicted positive" in ended.err
    assert json.loads(run("decide", "t.csv", "--zero-division", "1", "--json").out)[
        "expected"
    ] == pytest.approx(0.95 * 0.96 * 0.97, rel=1e-12)


def test_labels_of_other_kinds(run: Run) -> None:
    write_csv(kind=np.where(Y == 1, "spam", "ham"))
    arguments = ["scores.csv", "--label", "kind", "--pos-label", "spam", "--json"]
    found = json.loads(run("decide", *arguments).out)
    assert found["real"] == pytest.approx(am.evaluate(Y, DECIDED), rel=1e-12)


@pytest.mark.parametrize("command", ["decide", "forecast", "evaluate", "calibrate"])
def test_a_positive_label_that_never_occurs(run: Run, command: str) -> None:
    write_csv(label=np.where(Y == 1, "spam", "ham"), decision=DECIDED)
    extra = ["--decision-column", "mine"] if command == "decide" else []
    for label in ([], ["--label", "label"]):
        ended = run(command, "scores.csv", "--pos-label", "Spam", *label, *extra)
        assert ended.code == 1
        assert "never holds 'Spam', which --pos-label names; it holds" in ended.err


def test_a_cut_on_calibrated_scores_is_told_on_the_scores_of_the_file_too(
    run: Run,
) -> None:
    write_csv()
    write_csv("past.csv", label=Y)
    call = ("decide", "scores.csv", "--reference", "past.csv")
    ended = run(*call, "--json")
    values = json.loads(ended.out)
    wanted = am.decide(P, reference=(Y, P))
    assert values["threshold_raw"] == wanted.threshold_raw != values["threshold"]
    name, cut = values["rule_raw"].split(" >= ")
    assert name == "score"
    np.testing.assert_array_equal(float(cut) <= P, wanted.labels)
    text = " ".join(run(*call).err.split())
    told = f"threshold {values['rule']}, or {values['rule_raw']} gives the same labels"
    assert told in text
    assert values["rule"].startswith("calibrated score >= ")
    plain = json.loads(run("decide", "scores.csv", "--json").out)
    assert plain["threshold_raw"] == plain["threshold"]
    assert plain["rule_raw"] == plain["rule"]


def test_a_positive_label_for_a_reference_is_no_reason_to_fail(run: Run) -> None:
    write_csv(label=["ham"] * N)
    write_csv("past.csv", label=np.where(Y == 1, "spam", "ham"))
    past = ["--reference", "past.csv", "--pos-label", "spam"]
    ended = run("decide", "scores.csv", *past)
    assert ended.code == 0
    assert "label 'label'" in ended.err
    assert "real score" in ended.err


def test_known_labels_and_decisions_may_all_be_negative(run: Run) -> None:
    known = ["ham"] * 5 + [""] * (N - 5)
    write_csv(known=known)
    arguments = ["--known", "known", "--pos-label", "spam", "--json"]
    found = json.loads(run("forecast", "scores.csv", *arguments).out)
    assert found["known"] == 5
    write_csv(label=np.where(Y == 1, "spam", "ham"), decision=["ham"] * N)
    found = run("evaluate", "scores.csv", "--pos-label", "spam", "--json")
    assert json.loads(found.out)["counts"]["fn"] == Y.sum()


def test_a_column_named_like_labels_is_no_reason_to_fail(run: Run) -> None:
    write_csv(y=P * 7)
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    assert "note: labels not used: scores.csv: column 'y' holds" in ended.err
    write_csv(y=Y, label=Y)
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    assert "which column is the label? Candidates: 'y', 'label'" in ended.err


# forecast


def test_forecast_of_the_best_decision(run: Run) -> None:
    write_csv()
    ended = run("forecast", "scores.csv", "--json")
    f = am.forecast(P, DECIDED, "f1")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert ended.err == ""
    assert found["decision"] == "optimal for f1"
    assert found["forecast"]["mean"] == pytest.approx(f.mean, rel=1e-12)
    assert found["forecast"]["interval"] == pytest.approx(f.interval, rel=1e-12)
    shown = " ".join(run("forecast", "scores.csv").out.split())
    low, high = f.interval
    assert f"forecast {f.mean:.4f}, 90 % interval {low:.4f} to {high:.4f}" in shown
    assert f"assumes: {f.assumptions[0]}" in shown


def test_forecast_of_a_column_and_of_a_threshold(run: Run) -> None:
    half = (P >= 0.5).astype(int)
    expected = am.forecast(P, half, "f1").mean
    for column, arguments, source in (
        ("decision", [], "column 'decision'"),
        ("mine", ["--decision-column", "mine"], "column 'mine'"),
        ("other", ["--threshold", "0.5"], "score >= 0.5"),
    ):
        write_csv(**{column: half})
        found = json.loads(run("forecast", "scores.csv", *arguments, "--json").out)
        assert found["decision"] == source
        assert found["forecast"]["mean"] == pytest.approx(expected, rel=1e-12)
    both = ["--threshold", "0.5", "--decision-column", "other"]
    ended = run("forecast", "scores.csv", *both)
    assert ended == Ended(
        2, "", "argmetric: --decision-column and --threshold exclude each other\n"
    )


def test_forecast_options_reach_the_function(run: Run) -> None:
    arrived = np.where(np.arange(N) < 30, Y.astype(float), np.nan)
    write_csv(order=ORDER, seen=["" if np.isnan(v) else int(v) for v in arrived])
    arguments = [
        "--group", "order", "--known", "seen", "--prior", "0.2",
        "--overdispersion", "0.3", "--coverage", "0.5", "--zero-division", "1",
    ]  # fmt: skip
    found = json.loads(run("forecast", "scores.csv", *arguments, "--json").out)
    how: dict[str, Any] = {"groups": ORDER, "average": "groups", "zero_division": 1.0}
    labels = am.decide(P, "f1", prior=0.2, **how).labels
    f = am.forecast(
        P, labels, "f1", 0.5, known=arrived, prior=0.2, overdispersion=0.3, **how
    )
    assert found["known"] == 30
    assert found["forecast"]["mean"] == pytest.approx(f.mean, rel=1e-9)
    assert found["forecast"]["interval"] == pytest.approx(f.interval, rel=1e-9)
    assert "30 labels arrived" in run("forecast", "scores.csv", *arguments).out


def test_a_share_that_moved(run: Run) -> None:
    rng = np.random.default_rng(0)
    y, new = (rng.random(600) < share for share in (0.2, 0.5))
    before, now = (1 / (1 + np.exp(2 - 2 * rng.normal(2 * one, 1))) for one in (y, new))
    write_csv("known.csv", id=range(600), score=before.tolist(), y=y.astype(int))
    write_csv(id=range(600), score=now.tolist())
    how = ["scores.csv", "--reference", "known.csv", "--json"]
    reference = (y.astype(int), before)
    for command in ("decide", "forecast"):
        for prior in (None, 0.4, "estimate"):
            options = [] if prior is None else ["--prior", str(prior)]
            found = json.loads(run(command, *how, *options).out)
            d = am.decide(now, reference=reference, prior=prior)
            f = am.forecast(now, d.labels, reference=reference, prior=prior)
            assert found["prior"] == prior
            assert found["positives"] == d.n_positives
            assert found["forecast"]["interval"] == list(f.interval)
            share = None if f.share is None else f.share._asdict()
            assert found["forecast"]["share"] == share
            moved = [note for note in found["notes"] if "the scores moved" in note]
            assert len(moved) == (prior is None)
            assert all("; --prior estimate takes" in note for note in moved)
            if command == "decide":
                assert found["threshold"] == d.threshold
                assert found["best_cut"]["positives"] == d.best_cut.n_positives
    d = am.decide(now, reference=reference, prior="estimate")
    how = [*how[:-1], "--prior", "estimate"]
    said = " ".join(run("decide", *how).err.split())
    assert f"share {d.share} threshold" in said
    said = " ".join(run("forecast", *how).out.split())
    assert f"share {d.share} forecast" in said


@pytest.mark.parametrize("command", ["decide", "forecast"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prior", "estimate"], "pass --reference FILE"),
        (["--prior", "1"], "or estimate, is needed"),
        (["--prior", "0"], "or estimate, is needed"),
        (["--prior", "auto"], "or estimate, is needed"),
        (["--prior", "0.2", "--report", "a.html"], "--report knows nothing of --prior"),
        (["--prior", "0.2", "--scores", "p_*"], "--prior is about one column"),
    ],
)
def test_a_share_that_is_refused(
    run: Run, command: str, arguments: list[str], message: str
) -> None:
    write_csv()
    ended = run(command, "scores.csv", *arguments)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())


def test_a_share_is_for_a_joint_decision(run: Run) -> None:
    write_csv(y=Y)
    for more in (
        ["--rule", "r.json"],
        ["--reference", "scores.csv", "--route", "half"],
    ):
        ended = run("decide", "scores.csv", "--prior", "0.2", *more)
        assert ended.code == 2
        assert "knows nothing of --prior" in ended.err


def test_gate(run: Run) -> None:
    write_csv()
    f = am.forecast(P, DECIDED, "f1")
    bound = (f.mean + f.interval[0]) / 2
    arguments = ["forecast", "scores.csv", "--fail-under"]
    assert run(*arguments, str(bound)).code == 0
    ended = run(*arguments, str(bound), "--fail-on", "interval")
    assert ended.code == 3
    assert ended.err == (
        "argmetric: gate not met: the worse end of the interval of the forecast is "
        f"{f.interval[0]:.6g}, under {bound:g}\n"
    )
    ended = run(*arguments, "0.99")
    assert ended.code == 3
    assert "forecast" in ended.out
    assert ended.err == (
        f"argmetric: gate not met: the mean of the forecast is {f.mean:.6g}, "
        "under 0.99\n"
    )


def test_gate_of_a_metric_that_is_minimised(run: Run) -> None:
    write_csv()
    arguments = ["forecast", "scores.csv", "--metric", "sec", "--fail-under"]
    assert run(*arguments, "0.5").code == 0
    ended = run(*arguments, "1e-9")
    assert ended.code == 3
    assert "over 1e-09" in ended.err


# evaluate, metrics, demo


def test_evaluate(run: Run) -> None:
    write_csv(decision=DECIDED, label=Y, order=ORDER)
    ended = run("evaluate", "scores.csv")
    assert ended.code == 0
    assert ended.err == ""
    assert f"score   {am.evaluate(Y, DECIDED):.4f}" in ended.out
    tp, k = int((Y * DECIDED).sum()), int(DECIDED.sum())
    found = json.loads(run("evaluate", "scores.csv", "--json", "-m", "jaccard").out)
    assert found["counts"]["tp"] == tp
    assert found["counts"]["fp"] == k - tp
    assert found["score"] == pytest.approx(tp / (k + Y.sum() - tp), rel=1e-12)
    arguments = ["scores.csv", "--group", "order", "--zero-division", "1", "--json"]
    found = json.loads(run("evaluate", *arguments).out)
    by_hand = []
    for order in np.unique(ORDER):
        y, d = Y[order == ORDER], DECIDED[order == ORDER]
        both = y.sum() + d.sum()
        by_hand.append(2 * (y * d).sum() / both if both else 1.0)
    assert found["score"] == pytest.approx(np.mean(by_hand), rel=1e-12)
    empty = sum(Y[order == ORDER].sum() == 0 for order in np.unique(ORDER))
    assert found["groups_without_positives"] == empty


def test_evaluate_words_and_gate(run: Run) -> None:
    Path("t.csv").write_text("truth,guess\nyes,yes\nno,yes\nyes,no\n")
    arguments = [
        "t.csv", "--label", "truth", "--decision-column", "guess", "--pos-label", "yes",
    ]  # fmt: skip
    ended = run("evaluate", *arguments, "--fail-under", "0.6")
    assert ended.code == 3
    assert "tp 1, fp 1, fn 1, tn 0" in ended.out
    assert ended.err == "argmetric: gate not met: f1 is 0.5, under 0.6\n"
    assert run("evaluate", *arguments, "--fail-under", "0.5").code == 0
    swapped = ["t.csv", "--label", "truth", "--decision-column", "truth"]
    ended = run("evaluate", *swapped, "--pos-label", "yes")
    assert ended == Ended(
        2, "", "argmetric: --decision-column and --label both name column 'truth'\n"
    )


def test_metrics_lists_the_catalogue(run: Run) -> None:
    found = json.loads(run("metrics", "--json").out)
    assert [entry["name"] for entry in found] == list(am.metric_names())
    by_name = {entry["name"]: entry for entry in found}
    assert by_name["jaccard"] == {
        "name": "jaccard",
        "formula": "tp / (k + t - tp)",
        "zero_division": "k = t = 0: zero_division",
        "ranking_principle": True,
        "ranking": "proven",
        "algorithm": "exponential sums",
        "greater_is_better": True,
    }
    assert by_name["gmean"]["algorithm"] == "windowed sums"
    assert not by_name["sec"]["greater_is_better"]
    text = run("metrics").out
    assert all(name in text for name in am.metric_names())


def test_demo(run: Run) -> None:
    started = time.process_time()
    ended = run("demo")
    assert ended.code == 0
    assert ended.err == ""
    assert time.process_time() - started < 10
    for words in (
        "0/0 = 0",
        "0/0 = 1",
        "cut at 0.5",
        "came true",
        "interval",
        "assumes",
    ):
        assert words in ended.out
    assert ended.out == run("demo").out


def test_demo_explains_a_lucky_cut_and_writes_a_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    ended = run("demo", "--report", str(page))
    assert ended.code == 0
    out = " ".join(ended.out.split())
    assert out.count("by luck; over the redraws it is the other way round") == 1
    assert f"written: {page}" in ended.out.replace("\n", "")
    assert "0.3274" in page.read_text(encoding="utf-8")  # the score that came true
    refused = run("demo", "--report", str(tmp_path / "demo.pdf"))
    assert refused.code == 2
    assert refused.out == ""


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["decid"], 'Unknown command "decid". Did you mean "decide"? Available '
         "commands: decide, forecast, report, evaluate, tune, calibrate, train, "
         "predict, ... See argmetric --help."),
        (["decide"], 'Command "decide" parameter FILE requires an argument. '
         "See argmetric decide --help."),
        (["decide", "--scor", "x", "scores.csv"],
         "Unknown option: --scor. Did you mean --score? See argmetric decide --help."),
        (["decide", "scores.csv", "--metric", "jacard"],
         "unknown metric 'jacard'; did you mean 'jaccard'"),
        (["decide", "scores.csv", "--average", "groups"],
         "--average is about groups: pass --group COLUMN too"),
        (["decide", "scores.csv", "--zero-division", "2"],
         'Invalid value "2" for --zero-division. Choose from: "0", "1", "nan". '
         "See argmetric decide --help."),
        (["decide", "scores.csv", "--min-recall", "1.5"],
         'Invalid value "1.5" for --min-recall. Must be <= 1. '
         "See argmetric decide --help."),
        (["decide", "scores.csv", "--max-positives", "1", "--min-positives", "2"],
         "--max-positives 1 is below --min-positives 2"),
        (["decide", "scores.csv", "-"],
         "- is standard input, which goes alone: leave the files out"),
        (["decide", "scores.csv", "--jobs", "0"],
         'Invalid value "0" for --jobs. Must not be 0. See argmetric decide --help.'),
        (["decide", "scores.csv", "--score", "id", "--group", "id"],
         "--score and --group both name column 'id'"),
        (["forecast", "scores.csv", "--coverage", "90"],
         'Invalid value "90.0" for --coverage. Must be < 1. '
         "See argmetric forecast --help."),
        (["forecast", "scores.csv", "--fail-under", "high"],
         'Invalid value for --fail-under: unable to convert "high" into float. '
         "See argmetric forecast --help."),
    ],
)  # fmt: skip
def test_wrong_usage(run: Run, arguments: list[str], message: str) -> None:
    write_csv()
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"argmetric: {message}")
    assert ended.err.count("\n") == 1


ROWS = "; rows are counted from 1, without the header"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", [], "s.csv is empty"),
        ("score\n", [], "s.csv has no rows"),
        ("score\n0.5\nnan\n", [],
         f"s.csv: column 'score', row 2: 'nan' is not a finite number{ROWS}"),
        ("score\n0.5\n-inf\n", [],
         f"s.csv: column 'score', row 2: '-inf' is not a finite number{ROWS}"),
        ("score\n2.31\n-4.1\n", [],
         "s.csv: column 'score' is 2.31 at row 1, outside of [0, 1] (range seen: -4.1 "
         f"to 2.31); looks like logits: pass --logits{ROWS}"),
        ("score\n0.5\nhigh\n", [],
         f"s.csv: column 'score', row 2: 'high' is not a number{ROWS}"),
        ("a,b\n1,2\n", [], "s.csv has no score column (looked for score, scores, prob"),
        ("prob,score\n0.1,0.2\n", [], "s.csv: which column is the score? Candidates: "
         "'prob', 'score'; choose with --score"),
        ("score,x\n0.5,1\n", ["--score", "scor"],
         "no column 'scor' in s.csv; did you mean 'score'? (columns: score, x)"),
        ("score,x\n0.5,1\n", ["--group", "xx"],
         "no column 'xx' in s.csv; did you mean 'x'? (columns: score, x)"),
        ("score,g\n0.5,\n", ["--group", "g"],
         f"s.csv: column 'g', row 1: is empty; every row needs a group{ROWS}"),
        ("score,decision\n0.5,1\n", [], "s.csv already has a column 'decision'; name "
         "the new one with --decision-column"),
        ("score,l\n0.5,a\n0.2,b\n", ["--label", "l"], "s.csv: column 'l' holds 'a', "
         "'b', not 0 and 1; pass --pos-label b or --pos-label a"),
        ("score\n0.5\n", ["-o", "nowhere/out.csv"],
         "cannot write nowhere/out.csv: there is no folder nowhere"),
        ("score\n0.5\n", ["-o", ".."], "cannot write ..: it is a folder"),
        ("score\n0.5\n", ["-o", "out.xls"], "out.xls: unknown extension '.xls'; "),
    ],
)  # fmt: skip
def test_bad_input(run: Run, content: str, arguments: list[str], message: str) -> None:
    Path("s.csv").write_text(content)
    ended = run("decide", "s.csv", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"argmetric: {message}")
    assert ended.err.count("\n") == 1
    assert os.listdir() == ["s.csv"]


def test_limits_are_whole_numbers_or_percentages(run: Run) -> None:
    write_csv(label=Y, order=ORDER)
    for command in ("decide", "report"):
        for value in ("0.1", "2.9", "3.0", "-1", "0%", "101%", "%", "1e1"):
            ended = run(command, "scores.csv", "--max-positives", value)
            assert (ended.code, ended.out) == (2, "")
            assert f"(500) or a percentage (5%) is needed, not {value!r}" in ended.err
    for option in ("--min-positives", "--jobs"):
        ended = run("decide", "scores.csv", option, "2.9")
        assert (ended.code, ended.out) == (2, "")
        assert "A whole number is needed, not '2.9'" in ended.err
    for value, count in (("5%", 3), ("+5%", 3), ("4.99%", 2), ("100%", 60), ("3", 3)):
        call = ("decide", "scores.csv", "--max-positives", value, "--json", "-m", "f2")
        wanted = am.decide(P, "f2", max_positives=count)
        assert json.loads(run(*call).out)["positives"] == wanted.n_positives
    assert as_count(0.29, 100, None) == 29  # 0.29 * 100 is a little less
    grouped = ("--group", "order", "--max-positives", "10%")
    assert run("decide", "scores.csv", *grouped, "--average", "pooled").code == 0
    for command in ("decide", "report"):
        ended = run(command, "scores.csv", *grouped)
        assert (ended.code, ended.out) == (2, "")
        assert "is a number of rows in each group" in ended.err


@pytest.mark.parametrize(
    "call",
    [
        ["decide", "scores.csv", "-o", "./scores.csv"],
        ["decide", "scores.csv", "--output=link.csv"],
        ["decide", "scores.csv", "-o", "same.csv"],
        ["decide", "sc*.csv", "-o", "scores.csv"],
        ["decide", "past.csv", "--reference", "scores.csv", "-o", "scores.csv"],
        ["decide", "scores.csv", "--report", "scores.csv"],
        ["report", "scores.csv", "--format", "text", "-o", "scores.csv"],
        ["tune", "scores.csv", "-o", "scores.csv"],
        ["calibrate", "scores.csv", "-o", "scores.csv"],
        ["train", "scores.csv", "--target", "label", "-o", "scores.csv"],
        ["predict", "scores.csv", "past.csv", "-o", "scores.csv"],
        ["stream", "scores.csv", "--target", "label", "-o", "scores.csv"],
        ["spans", "scores.csv", "-o", "scores.csv"],
        ["tag", "train", "scores.csv", "--task", "ner", "--model", "scores.csv"],
        ["tag", "predict", "past.csv", "scores.csv", "-o", "scores.csv"],
        ["parse", "train", "scores.csv", "--model", "scores.csv"],
        ["parse", "predict", "past.csv", "scores.csv", "-o", "scores.csv"],
        ["summarize", "scores.csv", "--html", "scores.csv"],
        ["summarize", "scores.csv", "-o", "scores.csv"],
        ["summarize", "train", "scores.csv", "--out", "scores.csv"],
    ],
)
def test_no_output_overwrites_a_file_that_is_read(run: Run, call: list[str]) -> None:
    write_csv(label=Y)
    write_csv("past.csv", label=Y)
    Path("link.csv").symlink_to("scores.csv")
    Path("same.csv").hardlink_to("scores.csv")
    before = Path("scores.csv").read_bytes()
    ended = run(*call)
    assert (ended.code, ended.out) == (2, "")
    assert "is a file that is read: pass another name, or --force" in ended.err
    assert Path("scores.csv").read_bytes() == before


def test_a_file_that_is_read_is_overwritten_by_force(run: Run) -> None:
    write_csv(label=Y)
    ended = run("decide", "scores.csv", "-o", "scores.csv", "--force")
    assert ended.code == 0
    assert decisions(Path("scores.csv").read_text()) == DECIDED.tolist()
    # Another file may be there, and force changes nothing else
    write_csv("new.csv")
    assert run("decide", "new.csv", "-o", "scores.csv").code == 0
    assert run("decide", "new.csv", "-o", "none/x.csv", "--force").code == 1
    assert run("decide", "new.csv", "-o", "new.csv").code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["decide", "--max-positives"],
        ["decide", "--min-positives"],
        ["decide", "--coverage"],
        ["decide", "--jobs"],
        ["forecast", "--threshold"],
        ["forecast", "--overdispersion"],
        ["forecast", "--fail-under"],
        ["evaluate", "--fail-under"],
        ["tune", "--cost-fn", "1", "--cost-fp"],
        ["tune", "--seed"],
        ["train", "--seed"],
        ["train", "--jobs"],
        ["stream", "--features"],
        ["stream", "--step"],
        ["stream", "--memory"],
    ],
)
def test_numbers_that_are_none(run: Run, arguments: list[str]) -> None:
    write_csv(label=Y)
    command, *options = arguments
    option = options[-1]
    values = ["many", "inf", "nan", "1e400"]
    is_count = option in ("--max-positives", "--min-positives", "--jobs", "--seed")
    for value in [*values, "9" * 30] if is_count else values:
        ended = run(command, "scores.csv", *options, value)
        assert (ended.code, ended.out) == (2, ""), value
        assert ended.err.count("\n") == 1
        assert option in ended.err


def test_a_name_twice_is_kept_in_csv_and_nowhere_else(run: Run) -> None:
    Path("t.csv").write_text("x,score,x\n1,0.9,2\n")
    assert run("decide", "t.csv").out == "x,score,x,decision\n1,0.9,2,1\n"
    for name in ("o.jsonl", "o.parquet", "o.arrow"):
        ended = run("decide", "t.csv", "-o", name)
        assert ended.code == 1
        assert "t.csv has 2 columns named 'x': columns 1 and 3; rename" in ended.err
        assert not Path(name).exists()


def test_missing_and_truncated_files(run: Run) -> None:
    for name in ("scores.parquet", "scores.xyz"):
        ended = run("decide", name)
        assert ended == Ended(1, "", f"argmetric: {name}: no such file\n")
    pq.write_table(pa.table({"score": P}), "scores.parquet")
    whole = Path("scores.parquet").read_bytes()
    Path("scores.parquet").write_bytes(whole[: len(whole) // 2])
    ended = run("decide", "scores.parquet", "-o", "out.parquet")
    assert ended.code == 1
    assert ended.err.startswith("argmetric: scores.parquet is not a whole parquet file")
    assert ended.err.count("\n") == 1
    assert os.listdir() == ["scores.parquet"]


def test_another_name_for_the_decision(run: Run) -> None:
    write_csv(decision=1 - DECIDED)
    ended = run("decide", "scores.csv", "--decision-column", "mine")
    assert ended.out.splitlines()[0] == "id,score,decision,mine"
    assert decisions(ended.out) == DECIDED.tolist()


def test_full_disk_leaves_the_old_file(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv()
    Path("out.csv").write_text("old")

    def full(stream: Any, lines: Any) -> None:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_write, "_write_lines", full)
    ended = run("decide", "scores.csv", "-o", "out.csv")
    assert ended == Ended(
        1, "", "argmetric: cannot write out.csv: No space left on device\n"
    )
    assert Path("out.csv").read_text() == "old"
    assert sorted(os.listdir()) == ["out.csv", "scores.csv"]


def test_binary_rows_are_not_for_a_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"score": P}), "scores.parquet")

    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Terminal()))
    ended = run("decide", "scores.parquet")
    assert ended.code == 1
    assert ended.err == (
        "argmetric: parquet is not for a terminal; pass -o FILE or use a pipe\n"
    )


def test_bugs_show_a_traceback_only_on_demand(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv()

    def broken(*args: Any, **options: Any) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(am, "decide", broken)
    ended = run("decide", "scores.csv")
    assert ended.code == 1
    assert ended.err == (
        "argmetric: unexpected KeyError: 'oops' (run again with --debug)\n"
    )
    assert "Traceback" in run("decide", "scores.csv", "--debug").err
    monkeypatch.setenv("ARGMETRIC_DEBUG", "1")
    assert "Traceback" in run("decide", "scores.csv").err
    monkeypatch.setenv("ARGMETRIC_DEBUG", "0")
    assert "Traceback" not in run("decide", "scores.csv").err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, "argmetric: not enough memory\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_other_ends(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    write_csv()

    def fail(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(am, "decide", fail)
    ended = run("decide", "scores.csv")
    assert (ended.code, ended.err) == (code, message)


# Help


def test_help_and_version(run: Run) -> None:
    ended = run()
    assert ended.code == 0
    assert "Forecast the score of a decision" in ended.out
    assert run("--help").out == ended.out
    assert run("--version").out == f"{am.__version__}\n"


def test_the_package_is_the_command() -> None:
    asked = [sys.executable, "-m", "argmetric", "--version"]
    ended = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert ended.stdout == f"{am.__version__}\n"


@pytest.mark.parametrize(
    "command", ["decide", "forecast", "evaluate", "metrics", "demo"]
)
def test_every_option_has_a_help_text(run: Run, command: str) -> None:
    from argmetric.cli._app import app

    assert run(command, "--help").code == 0
    arguments = app[command].assemble_argument_collection(parse_docstring=True)
    for argument in arguments:
        if argument.parse and not argument._accepts_keywords:
            assert argument.parameter.help, argument.name


def test_progress_waits_and_needs_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("argmetric.cli._progress.PATIENCE_SECONDS", 0.02)
    with progress("working"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with progress("working"):
        time.sleep(0.2)
    assert "working" in capsys.readouterr().err
    monkeypatch.setattr("argmetric.cli._progress.PATIENCE_SECONDS", 5)
    with progress("working"):
        pass
    assert capsys.readouterr().err == ""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a terminal would be shown if the work took long."""
    texts: list[str] = []

    def status(console: Any, text: str) -> Any:
        texts.append(text)
        return SimpleNamespace(start=lambda: None, stop=lambda: None)

    monkeypatch.setattr("rich.console.Console.status", status)
    terminal = SimpleNamespace(isatty=lambda: True)
    streams = SimpleNamespace(stderr=terminal, stdin=terminal)
    monkeypatch.setattr("argmetric.cli._progress.sys", streams)
    return texts


SENTENCES = "the an DT\ncat an NN\nsees an VB\n\n" * 5


@pytest.mark.parametrize(
    ("command", "work"),
    [
        (
            "decide s.csv --decision-column d -o o.csv",
            "checking 60 rows, deciding 60 rows, writing",
        ),
        ("decide s.csv --scores scor* -o o.csv", "deciding 60 rows, writing"),
        ("forecast s.csv", "checking 60 rows, forecasting 60 rows"),
        ("report s.csv -o o.md", "checking 60 rows, reporting on 60 rows"),
        ("evaluate s.csv", "evaluating 60 rows"),
        ("tune s.csv --report o.md", "tuning on 60 rows, reporting"),
        ("calibrate s.csv -o m.json", "calibrating on 60 rows"),
        ("stream s.csv --drop id", ""),
        (
            "expect s.csv s.csv --label label",
            "reading s.csv, expecting f1 of 60 labels",
        ),
        ("tag train s.txt --task pos --model t --epochs 1", "training on 5 sentences"),
        ("tag evaluate s.txt --task pos", "comparing 15 tokens"),
        ("spans s.jsonl --names O,B-X -o o.jsonl", "decoding 1 sentences"),
    ],
)
def test_every_command_gives_a_sign_of_life(
    run: Run, shown: list[str], command: str, work: str
) -> None:
    write_csv("s.csv", label=Y, decision=DECIDED)
    Path("s.txt").write_text(SENTENCES)
    row = {"tokens": ["Ana", "va"], "probabilities": [[0.6, 0.4], [0.9, 0.1]]}
    Path("s.jsonl").write_text(json.dumps(row) + "\n")
    words = command.split()
    assert run(*words).code == 0
    file = next(word for word in words if word.startswith("s."))
    assert ", ".join(shown) == f"reading {file}, {work}".removesuffix(", ")


def test_someone_who_types_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, shown: list[str]
) -> None:
    with reading("-"):
        pass
    assert shown == []
    monkeypatch.setattr("argmetric.cli._progress.sys.stdin", io.StringIO())
    with reading("-"):
        pass
    assert shown == ["reading standard input"]


# Processes


@pytest.fixture
def thousand(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"score": rng.random(1000)}), tmp_path / "s.parquet")
    return tmp_path


def test_a_thousand_rows_are_light_and_quick(thousand: Path) -> None:
    code = """
import json, resource, sys
from argmetric.cli import main
code = main(["decide", "s.parquet", "-o", "out.parquet"])
heavy = {"sklearn", "pandas", "scipy.stats", "matplotlib"} & set(sys.modules)
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([code, sorted(heavy), usage.ru_utime + usage.ru_stime]))
"""
    command = [sys.executable, "-c", code]
    for _ in range(2):  # the first call may fill the cache of compiled kernels
        done = subprocess.run(command, cwd=thousand, capture_output=True, check=True)
        exit_code, heavy, seconds = json.loads(done.stdout)
        assert (exit_code, heavy) == (0, [])
    assert seconds <= 2.0


def test_only_the_command_that_is_called_is_loaded() -> None:
    code = """
import sys
from argmetric.cli import main
assert main(["metrics"]) == 0
loaded = {name for name in sys.modules if name.startswith("argmetric.cli._")}
others = {f"argmetric.cli._{name}" for name in ("decide", "forecast", "demo")}
assert not loaded & others, loaded
assert "pyarrow" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_pipeline_of_processes(thousand: Path) -> None:
    data = (thousand / "s.parquet").read_bytes()
    decided = start("decide", "-", input=data)
    assert decided.returncode == 0
    assert b"1,000 rows of standard input" in decided.stderr
    assert pq.read_table(pa.BufferReader(decided.stdout)).num_rows == 1000
    gated = start("forecast", "-", "--fail-under", "1", input=decided.stdout)
    assert gated.returncode == 3
    assert b"column 'decision'" in gated.stdout


def test_reader_that_leaves_early(tmp_path: Path) -> None:
    rows = "".join(f"{i},0.5\n" for i in range(200_000))
    (tmp_path / "s.csv").write_text("id,score\n" + rows)
    line = f"{sys.executable} -m argmetric.cli decide s.csv 2>err | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"id,score,decision\n"
    assert done.returncode == 141
    assert (tmp_path / "err").read_text() == ""


def test_reader_of_a_table_that_leaves_early(tmp_path: Path) -> None:
    line = f"{sys.executable} -m argmetric.cli metrics 2>err | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=tmp_path, check=False
    )
    assert done.returncode == 141
    assert (tmp_path / "err").read_text() == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["metrics"], ["decide", "s.parquet"]])
def test_full_standard_output(thousand: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "argmetric.cli", *arguments]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=thousand, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"argmetric: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
@pytest.mark.parametrize("work", ["time.sleep(600)", COMPILED])
def test_interruption_leaves_no_temporary_file(
    tmp_path: Path, sent: signal.Signals, code: int, work: str
) -> None:
    (tmp_path / "s.csv").write_text("score\n0.5\n")
    program = f"""
import hashlib, signal, sys, time
from argmetric.cli import main
from argmetric._files import _write

signal.signal(signal.SIGINT, signal.default_int_handler)

def slow(stream, lines):
    stream.write(b"half")
    print("writing", flush=True)
    {work}

_write._write_lines = slow
sys.argv = ["argmetric", "decide", "s.csv", "-o", "out.csv"]
sys.exit(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(sent)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, b"")
    assert os.listdir(tmp_path) == ["s.csv"]


def test_a_command_that_ends_in_order_is_given_time_once() -> None:
    program = f"""
import hashlib, signal, time
from argmetric.cli import _stop

signal.signal(signal.SIGINT, signal.default_int_handler)
_stop.end_soon_after_signals()
with _stop.ends_in_order(signal.SIGINT):
    try:
        print("begun", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        time.sleep(_stop.GRACE_SECONDS + 1)
    told = False
    while True:
        try:  # the second signal may come as soon as this is read
            if not told:
                told = True
                print("kept", flush=True)
            {COMPILED}
        except KeyboardInterrupt:
            pass
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for said in (b"begun\n", b"kept\n"):
            assert process.stdout.readline() == said
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
