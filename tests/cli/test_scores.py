"""Commands on scores: files in, files out."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric.scale import files as aio
from cli_scores import DECIDED, ORDER, N, P, Y, decisions, write_csv
from command import Ended, plain, words

HALF = (P >= 0.5).astype(int)
GROUPED = {"groups": ORDER, "average": "groups"}


SHORTER = "metric", "expected"  # lines of a decision that are told otherwise


def test_decide_summary(run):
    write_csv(y=Y)
    err = words(run("decide", "scores.csv").err)
    d = am.decide(P, "f1")
    low, high = am.forecast(P, d.labels, "f1").interval
    for line in (
        "rows 60 rows of scores.csv (score 'score', label 'y')",
        "metric f1; 0/0 counts as 0",
        f"positives {d.n_positives} of {N} ({d.n_positives / N:.1%})",
        f"forecast {d.expected:.4f}, 90 % interval {low:.4f} to {high:.4f}",
        f"actual score {am.evaluate(Y, d.labels):.4f}",
        *(words(" ".join(line)) for line in d.lines() if line[0] not in SHORTER),
        "assumes: ",
    ):
        assert line in err


def test_decide_json_holds_what_the_functions_return(run):
    write_csv(y=Y)
    ended = run("decide", "scores.csv", "--json", "-m", "f2", "--coverage", "0.8")
    found = json.loads(ended.out)
    d = am.decide(P, "f2")
    assert found["rows"] == N
    assert found["columns"] == {"score": "score", "label": "y"}
    assert found["decision"] == plain(d.to_dict())
    assert found["forecast"] == plain(am.forecast(P, d.labels, "f2", 0.8).to_dict())
    assert found["actual"] == plain(am.evaluate(Y, d.labels, "f2").to_dict())
    assert found["output"] is None
    assert ended.err == "argmetric: rows not written: no --output\n"


def test_json_and_rows(run):
    write_csv()
    ended = run("decide", "scores.csv", "--json", "-o", "out.csv")
    assert json.loads(ended.out)["output"] == "out.csv"
    assert ended.err == ""
    assert decisions(Path("out.csv").read_text()) == DECIDED.tolist()
    said = "argmetric: --json and the rows cannot share standard output: -o FILE\n"
    assert run("decide", "scores.csv", "--json", "-o", "-") == Ended(2, "", said)


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "feather", "jsonl"])
def test_decide_writes_every_format(run, extension):
    name = f"out.{extension}"
    pq.write_table(pa.table({"id": np.arange(N), "p": P, "order": ORDER}), "in.parquet")
    assert run("decide", "in.parquet", "-o", name).code == 0
    table = aio.read_table(name)
    assert table.names == ["id", "p", "order", "decision"]
    assert aio.labels(table, "decision").tolist() == DECIDED.tolist()
    assert aio.groups(table, "order")[1] == list(dict.fromkeys(ORDER.tolist()))


def test_decide_reads_standard_input(run):
    data = Path(write_csv()).read_bytes()
    ended = run("decide", "-", "-o", "-", stdin=data)
    assert decisions(ended.out) == DECIDED.tolist()
    assert "60 rows of standard input" in ended.err
    ended = run("decide", "-", "--output-format", "jsonl", stdin=data)
    first = json.loads(ended.out.splitlines()[0])
    assert first == {"id": "000", "score": P[0], "decision": int(DECIDED[0])}


@pytest.mark.parametrize("convention", ["0", "1", "nan"])
def test_convention_for_zero_over_zero(run, convention):
    write_csv(order=ORDER)
    line = f"decide scores.csv --group order --zero-division {convention}"
    shown = "is left out" if convention == "nan" else f"counts as {convention}"
    summary = words(run(*line.split()).err)
    assert f"metric f1; 0/0 {shown}" in summary


def test_ties_and_empty_answers_are_told(run, answer):
    Path("t.csv").write_text("p\n" + "0.5\n" * 6)
    ended = run("decide", "t.csv", "--metric", "gmean")
    assert sum(decisions(ended.out)) == 3
    assert "none: a tie is split (earlier rows come first)" in ended.err
    Path("t.csv").write_text("p\n0.05\n0.04\n0.03\n")
    ended = run("decide", "t.csv", "--zero-division", "1")
    assert ended.out == "p,decision\n0.05,0\n0.04,0\n0.03,0\n"
    assert "none: no row is positive" in ended.err
    found = answer("decide t.csv --zero-division 1")["decision"]["expected"]
    assert found == pytest.approx(0.95 * 0.96 * 0.97, rel=1e-12)


@pytest.mark.parametrize("command", ["decide", "forecast", "evaluate", "calibrate"])
def test_a_positive_label_that_never_occurs(run, command):
    write_csv(label=np.where(Y == 1, "spam", "ham"), decision=DECIDED)
    extra = ["--decision-column", "mine"] if command == "decide" else []
    for label in ([], ["--label", "label"]):
        run(command, "scores.csv", "--pos-label", "Spam", *label, *extra).failed(
            1, "never holds 'Spam', which --pos-label names; it holds"
        )


def test_labels_of_one_kind_are_no_reason_to_fail(run, answer):
    write_csv(kind=np.where(Y == 1, "spam", "ham"))
    found = answer("decide scores.csv --label kind --pos-label spam")
    assert found["actual"]["score"] == float(am.evaluate(Y, DECIDED))
    write_csv("past.csv", label=np.where(Y == 1, "spam", "ham"))
    write_csv(label=["ham"] * N)
    past = ["--reference", "past.csv", "--pos-label", "spam"]
    ended = run("decide", "scores.csv", *past)
    assert ended.code == 0
    assert "label 'label'" in ended.err
    assert "actual score" in ended.err
    write_csv(known=["ham"] * 5 + [""] * (N - 5))
    assert answer("forecast scores.csv --known known --pos-label spam")["known"] == 5
    write_csv(label=np.where(Y == 1, "spam", "ham"), decision=["ham"] * N)
    found = answer("evaluate scores.csv --pos-label spam")
    assert found["actual"]["counts"]["fn"] == Y.sum()


def test_a_column_named_like_labels_is_no_reason_to_fail(run):
    write_csv(y=P * 7)
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    assert "note: labels not used: scores.csv: column 'y' holds" in ended.err
    write_csv(y=Y, label=Y)
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    assert "which column is the label? Candidates: 'y', 'label'" in ended.err


# ------------------------------------------------------------------------ forecast


def test_forecast_of_the_best_decision(run):
    write_csv()
    ended = run("forecast", "scores.csv", "--json")
    f = am.forecast(P, DECIDED, "f1")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert found["source"] == "optimal for f1"
    assert found["forecast"] == plain(f.to_dict())
    shown = words(run("forecast", "scores.csv").out)
    low, high = f.interval
    assert f"forecast {f.mean:.4f}, 90 % interval {low:.4f} to {high:.4f}" in shown
    assert f"labels {f.n_positives} positive of {N}" in shown
    assert f"expected positives {f.expected_positives:.1f}" in shown
    assert f"assumes: {f.assumptions[0]}" in shown


@pytest.mark.parametrize(
    ("option", "source"),
    [
        ("", "column 'decision'"),
        ("--decision-column mine", "column 'mine'"),
        ("--threshold 0.5", "score >= 0.5"),
    ],
)
def test_what_is_forecast_is_told(answer, option, source):
    write_csv(**{"mine" if "mine" in option else "decision": HALF})
    assert answer(f"forecast scores.csv {option}")["source"] == source


def test_labels_that_arrived_are_counted(run, answer):
    write_csv(seen=[*Y[:30], *[""] * 30])
    line = "forecast scores.csv --known seen"
    assert answer(line)["known"] == 30
    assert "30 labels arrived" in run(*line.split()).out


def test_gate(run):
    write_csv()
    f = am.forecast(P, DECIDED, "f1")
    bound = (f.mean + f.interval[0]) / 2
    arguments = ["forecast", "scores.csv", "--fail-under"]
    assert run(*arguments, str(bound)).code == 0
    end = f"the forecast is {f.interval[0]:.6g}, under {bound:g}"
    mean = f"the forecast is {f.mean:.6g}, under 0.99"
    for options, said in (
        ([str(bound), "--fail-on", "interval"], f"worse end of the interval of {end}"),
        (["0.99"], f"mean of {mean}"),
    ):
        ended = run(*arguments, *options)
        assert ended.code == 3
        assert "forecast" in ended.out
        assert ended.err == f"argmetric: gate not met: the {said}\n"
    minimised = ["forecast", "scores.csv", "--metric", "sec", "--fail-under"]
    assert run(*minimised, "0.5").code == 0
    ended = run(*minimised, "1e-9")
    assert ended.code == 3
    assert "over 1e-09" in ended.err


# ------------------------------------------------------------------------ evaluate


def test_evaluate(run, answer):
    write_csv(decision=DECIDED, label=Y, order=ORDER)
    ended = run("evaluate", "scores.csv")
    assert (ended.code, ended.err) == (0, "")
    score = am.evaluate(Y, DECIDED)
    shown = [("score", f"{score:.4f}"), *score.lines()]
    assert all(f"{name} {text}" in words(ended.out) for name, text in shown)
    tp, k = int((Y * DECIDED).sum()), int(DECIDED.sum())
    found = answer("evaluate scores.csv -m jaccard")["actual"]
    assert (found["counts"]["tp"], found["counts"]["fp"]) == (tp, k - tp)
    assert found["score"] == pytest.approx(tp / (k + Y.sum() - tp), rel=1e-12)
    found = answer("evaluate scores.csv --group order --zero-division 1")
    by_hand = []
    for order in np.unique(ORDER):
        y, d = Y[order == ORDER], DECIDED[order == ORDER]
        both = y.sum() + d.sum()
        by_hand.append(2 * (y * d).sum() / both if both else 1.0)
    assert found["actual"]["score"] == pytest.approx(np.mean(by_hand), rel=1e-12)
    empty = sum(Y[order == ORDER].sum() == 0 for order in np.unique(ORDER))
    assert found["groups_without_positives"] == empty


# ---------------------------------------------------------------- metrics and demo


def test_metrics_lists_the_catalogue(run, answer):
    found = answer("metrics")
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


def test_demo_gains_more_than_luck(run):
    """The lower end of every interval of a gain lies above 0."""
    started = time.process_time()
    ended = run("demo", "--report", "demo.html")
    assert (ended.code, ended.err) == (0, "")
    assert time.process_time() - started < 10
    out, _, written = ended.out.partition("written: ")
    assert "demo.html" in written.replace("\n", "")
    assert "0.479" in Path("demo.html").read_text("utf-8")  # the actual score
    for said in ("0/0 = 0", "0/0 = 1", "cut at 0.5", "actual", "interval", "assumes"):
        assert said in out
    lows = [float(low) for low in re.findall(r" \(([+-][\d.]+) to [+-][\d.]+\)", out)]
    assert len(lows) == 5
    assert min(lows) > 0.01
    assert "0, the same labels" in out  # one cut is best where all items count together
    hits = int(re.findall(r"(\d+) of 100 such intervals contain", out)[0])
    assert 84 <= hits <= 96  # two standard errors around 90
    assert len(out.splitlines()) < 45
    refused = run("demo", "--report", "demo.pdf")
    assert (refused.code, refused.out) == (2, "")


def test_expected_scores_of_groups_go_to_a_file_of_their_own(run):
    write_csv(order=ORDER)
    given = ("decide", "scores.csv", "--group", "order", "-o", "out.csv", "--by-group")
    assert "written: groups.parquet" in run(*given, "groups.parquet").err
    found = pq.read_table("groups.parquet").to_pydict()
    d = am.decide(P, "f1", groups=[str(one) for one in ORDER])
    assert list(found) == ["order", "n_positives", "expected"]
    assert dict(zip(found["order"], found["expected"], strict=True)) == dict(
        zip(d.group_ids, d.group_expected, strict=True)
    )
    Path("out.csv").unlink()
    for bad, message in {
        ("groups.xyz",): "unknown extension",
        ("none/groups.csv",): "there is no folder",
        ("groups.csv", "--average", "pooled"): "--average pooled has no score by group",
    }.items():
        assert message in run(*given, *bad).err
    assert not Path("out.csv").exists()
    alone = run("decide", "scores.csv", "-o", "out.csv", "--by-group", "groups.csv")
    assert "pass --group COLUMN" in alone.err
