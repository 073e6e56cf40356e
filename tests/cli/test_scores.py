"""Commands on scores: files in, files out."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric import _files as aio
from argmetric.cli import _demo
from cli_scores import DECIDED, ORDER, N, P, Y, decisions, write_csv
from command import Ended, Run


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
        f"positives {d.n_positives} of {N} ({d.n_positives / N:.1%})",
        f"forecast {d.expected:.4f}, 90 % interval {low:.4f} to {high:.4f}",
        f"actual score {am.evaluate(Y, d.labels):.4f}",
        f"{d.best_cut.n_positives} "
        f"{d.best_cut.expected:.4f} {am.evaluate(Y, best):.4f}",
        f"cut at 0.5: score >= 0.5 {half.sum()} "
        f"{d.cut_half.expected:.4f} {am.evaluate(Y, half):.4f}",
        "ties ",
        "assumes: ",
    ):
        assert line in err


def plain(values: Any) -> Any:
    """Values as JSON gives them back."""
    return json.loads(json.dumps(values))


def test_decide_json_holds_what_the_functions_return(run: Run) -> None:
    write_csv(y=Y)
    ended = run("decide", "scores.csv", "--json", "-m", "f2", "--coverage", "0.8")
    found = json.loads(ended.out)
    d = am.decide(P, "f2")
    f = am.forecast(P, d.labels, "f2", 0.8)
    half = (P >= 0.5).astype(int)
    assert found["rows"] == N
    assert found["columns"] == {"score": "score", "label": "y"}
    assert found["decision"] == plain(d.to_dict())
    assert found["forecast"] == plain(f.to_dict())
    assert found["actual"] == plain(am.evaluate(Y, d.labels, "f2").to_dict())
    best = (d.best_cut.threshold <= P).astype(int)
    cuts = {"best_cut": best, "cut_half": half}
    for name, labels in cuts.items():
        score = float(am.evaluate(Y, labels, "f2"))
        assert found["actual_of_cuts"][name] == score
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
    pooled = am.decide(P, "f1", groups=ORDER, average="pooled")
    assert found["decision"] == plain(pooled.to_dict())
    assert found["columns"]["group"] == "order"


@pytest.mark.parametrize("convention", ["0", "1", "nan"])
def test_convention_for_zero_over_zero(run: Run, convention: str) -> None:
    write_csv(order=ORDER)
    arguments = ["scores.csv", "--group", "order", "--zero-division", convention]
    found = json.loads(run("decide", *arguments, "--json").out)
    d = am.decide(
        P, "f1", groups=ORDER, average="groups", zero_division=float(convention)
    )
    assert found["decision"] == plain(d.to_dict())
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
    assert json.loads(run("decide", *arguments).out)["n_positives"] == d.n_positives
    arguments = ["scores.csv", "--min-precision", "0.6", "--json"]
    d = am.decide(P, "f1", min_precision=0.6)
    assert json.loads(run("decide", *arguments).out)["n_positives"] == d.n_positives


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
    expected = am.decide(P).expected
    assert found["decision"]["expected"] == pytest.approx(expected, rel=1e-9)


def test_threshold_is_short_and_still_exact(run: Run) -> None:
    p = np.linspace(0.300001, 0.30002, 20)
    write = "".join(f"{value:.6f}\n" for value in p)
    Path("t.csv").write_text("p\n" + write)
    told = run("decide", "t.csv", "--max-positives", "7").err
    assert "threshold  p >= 0.3000135 gives the same labels" in told
    assert int((p.round(6) >= 0.3000135).sum()) == 7
    write_csv()
    told = run("decide", "scores.csv").err
    digits = re.findall(r"score >= (\S+) gives", told)[0]
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
    found = json.loads(run("decide", "t.csv", "--zero-division", "1", "--json").out)
    expected = pytest.approx(0.95 * 0.96 * 0.97, rel=1e-12)
    assert found["decision"]["expected"] == expected


def test_labels_of_other_kinds(run: Run) -> None:
    write_csv(kind=np.where(Y == 1, "spam", "ham"))
    arguments = ["scores.csv", "--label", "kind", "--pos-label", "spam", "--json"]
    found = json.loads(run("decide", *arguments).out)
    assert found["actual"]["score"] == float(am.evaluate(Y, DECIDED))


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
    values = json.loads(ended.out)["decision"]
    wanted = am.decide(P, reference=(Y, P))
    assert values["threshold_raw"] == wanted.threshold_raw != values["threshold"]
    text = " ".join(run(*call).err.split())
    both = (
        r"threshold calibrated score >= (\S+), or score >= (\S+) gives the same labels"
    )
    ((calibrated, cut),) = re.findall(both, text)
    np.testing.assert_array_equal(float(cut) <= P, wanted.labels)
    assert float(calibrated) == pytest.approx(wanted.threshold, abs=0.05)
    values = json.loads(run("decide", "scores.csv", "--json").out)["decision"]
    assert values["threshold_raw"] == values["threshold"]


def test_a_positive_label_for_a_reference_is_no_reason_to_fail(run: Run) -> None:
    write_csv(label=["ham"] * N)
    write_csv("past.csv", label=np.where(Y == 1, "spam", "ham"))
    past = ["--reference", "past.csv", "--pos-label", "spam"]
    ended = run("decide", "scores.csv", *past)
    assert ended.code == 0
    assert "label 'label'" in ended.err
    assert "actual score" in ended.err


def test_known_labels_and_decisions_may_all_be_negative(run: Run) -> None:
    known = ["ham"] * 5 + [""] * (N - 5)
    write_csv(known=known)
    arguments = ["--known", "known", "--pos-label", "spam", "--json"]
    found = json.loads(run("forecast", "scores.csv", *arguments).out)
    assert found["known"] == 5
    write_csv(label=np.where(Y == 1, "spam", "ham"), decision=["ham"] * N)
    found = run("evaluate", "scores.csv", "--pos-label", "spam", "--json")
    assert json.loads(found.out)["actual"]["counts"]["fn"] == Y.sum()


def test_a_column_named_like_labels_is_no_reason_to_fail(run: Run) -> None:
    write_csv(y=P * 7)
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    assert "note: labels not used: scores.csv: column 'y' holds" in ended.err
    write_csv(y=Y, label=Y)
    ended = run("decide", "scores.csv")
    assert ended.code == 0
    assert "which column is the label? Candidates: 'y', 'label'" in ended.err


def test_forecast_of_the_best_decision(run: Run) -> None:
    write_csv()
    ended = run("forecast", "scores.csv", "--json")
    f = am.forecast(P, DECIDED, "f1")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert ended.err == ""
    assert found["source"] == "optimal for f1"
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
        assert found["source"] == source
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


@pytest.mark.filterwarnings("ignore:the scores moved since the reference")
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
            assert found["forecast"]["n_positives"] == d.n_positives
            assert found["forecast"]["interval"] == list(f.interval)
            share = None if f.share is None else f.share._asdict()
            assert found["forecast"]["share"] == share
            moved = [note for note in found["notes"] if "the scores moved" in note]
            assert len(moved) == (prior is None)
            assert all("; --prior estimate takes" in note for note in moved)
            if command == "decide":
                assert found["decision"] == plain(d.to_dict())
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
    ],
)
def test_a_share_that_is_refused(
    run: Run, command: str, arguments: list[str], message: str
) -> None:
    write_csv()
    ended = run(command, "scores.csv", *arguments)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())


def test_a_share_is_for_a_rule_too(run: Run) -> None:
    write_csv(y=Y)
    assert run("tune", "scores.csv", "-o", "r.json").code == 0
    how = ["scores.csv", "--rule", "r.json", "--prior", "0.2", "--json"]
    rule = am.Rule.load("r.json")
    known: Any = rule.reference
    wanted = am.forecast(P, rule.apply(P), prior=0.2, reference=known).to_dict()
    for command in ("decide", "forecast"):
        assert json.loads(run(command, *how).out)["forecast"] == plain(wanted)


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


def test_evaluate(run: Run) -> None:
    write_csv(decision=DECIDED, label=Y, order=ORDER)
    ended = run("evaluate", "scores.csv")
    assert ended.code == 0
    assert ended.err == ""
    assert f"score   {am.evaluate(Y, DECIDED):.4f}" in ended.out
    tp, k = int((Y * DECIDED).sum()), int(DECIDED.sum())
    found = json.loads(run("evaluate", "scores.csv", "--json", "-m", "jaccard").out)
    assert found["actual"]["counts"]["tp"] == tp
    assert found["actual"]["counts"]["fp"] == k - tp
    assert found["actual"]["score"] == pytest.approx(tp / (k + Y.sum() - tp), rel=1e-12)
    arguments = ["scores.csv", "--group", "order", "--zero-division", "1", "--json"]
    found = json.loads(run("evaluate", *arguments).out)
    by_hand = []
    for order in np.unique(ORDER):
        y, d = Y[order == ORDER], DECIDED[order == ORDER]
        both = y.sum() + d.sum()
        by_hand.append(2 * (y * d).sum() / both if both else 1.0)
    assert found["actual"]["score"] == pytest.approx(np.mean(by_hand), rel=1e-12)
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
        "actual",
        "interval",
        "assumes",
    ):
        assert words in ended.out
    assert ended.out == run("demo").out


def test_demo_gains_more_than_luck(run: Run) -> None:
    """The lower end of every interval of a gain lies above 0."""
    out = run("demo").out
    lows = [float(low) for low in re.findall(r" \(([+-][\d.]+) to [+-][\d.]+\)", out)]
    assert len(lows) == 5
    assert min(lows) > 0.01
    assert "0, the same labels" in out  # one cut is best where all items count together
    hits = int(re.findall(r"(\d+) of 100 such intervals contain", out)[0])
    assert 84 <= hits <= 96  # two standard errors around 90
    assert len(out.splitlines()) < 45


def test_demo_gain_has_the_parts_of_its_orders() -> None:
    """Orders are left out one by one, or scored one by one, and evaluated plainly."""
    shop = _demo._generated()
    labels = (shop.p >= 0.5).astype(int)
    few = 5
    pooled = _demo._parts(shop, labels, am.decide(shop.p, "f1"))
    whole, n = am.evaluate(shop.bought, labels, "f1"), int(shop.order[-1]) + 1
    for order in range(few):
        kept = shop.order != order
        without = am.evaluate(shop.bought[kept], labels[kept], "f1")
        assert pooled[order] == pytest.approx(n * whole - (n - 1) * without)
    decision = am.decide(shop.p, "f1", groups=shop.order, average="groups")
    scores = _demo._parts(shop, labels, decision)
    for order in range(few):
        kept = shop.order == order
        plain = am.evaluate(shop.bought[kept], labels[kept], decision.metric)
        assert scores[order] == plain
    assert _demo._gain(np.array([0.1, 0.2, 0.3, 0.4])) == "+0.250 (+0.144 to +0.356)"


def test_demo_writes_a_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    ended = run("demo", "--report", str(page))
    assert ended.code == 0
    assert f"written: {page}" in ended.out.replace("\n", "")
    assert "0.479" in page.read_text(encoding="utf-8")  # the actual score
    refused = run("demo", "--report", str(tmp_path / "demo.pdf"))
    assert refused.code == 2
    assert refused.out == ""
