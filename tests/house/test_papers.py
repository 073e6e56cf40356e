"""The claims of the papers: how they are declared, run, judged and told."""

import dataclasses
import importlib
import json
import math
import re
from pathlib import Path

import pytest

from claims import Modules

ROOT = Path(__file__).parents[2]


modules = Modules(papers="papers", writer="write_papers")


@pytest.fixture
def papers():
    return modules.papers


@pytest.fixture
def writer():
    return modules.writer


def claim(papers, measure, *asks):
    from papers_parts.claim import Claim, at_least

    asks = asks or (at_least("share", 0.5),)
    return Claim("jansche2007-made-up", "nowhere", "It is so.", measure, asks)


def test_every_paper_has_claims_of_its_own_name(papers):
    names = [one.name for one in papers.CLAIMS]
    assert len(set(names)) == len(names) >= 25
    assert {one.paper for one in papers.CLAIMS} == set(papers.PAPERS)
    for one in papers.CLAIMS:
        asked = [ask.figure for ask in one.asks]
        assert asked
        assert len(set(asked)) == len(asked), one.name
        assert one.says.endswith("."), one.name


def test_a_verdict_follows_from_the_figures(papers):
    from papers_parts.claim import at_least, at_most, within

    def verdict(*asks, fast=False, **figures):
        return claim(papers, lambda fast: {}, *asks).verdict(figures, fast=fast)

    asks = at_least("share", 99), at_most("error", 1e-9), within("gap", 0.5, 0.7)
    assert verdict(*asks, share=99.0, error=0.0, gap=0.6) == (
        "holds",
        "so: share 99 (asked >= 99), error 0 (asked <= 1e-09), gap 0.6 (asked 0.5 to "
        "0.7)",
    )
    assert verdict(*asks, share=18.8, error=0.1, gap=0.71)[0] == "does not hold"
    assert verdict(*asks, share=18.8, error=0.0, gap=float("nan")) == (
        "in part",
        "not so: share 18.8 (asked >= 99), gap nan (asked 0.5 to 0.7); so: error 0 "
        "(asked <= 1e-09)",
    )
    with pytest.raises(KeyError):
        verdict(at_least("gain", 0.0), share=1.0)


def test_a_claim_with_no_question_answered_so_is_open(papers):
    from papers_parts.claim import Estimate, at_least

    asks = at_least("a", 0.0), at_least("b", 0.0)
    so, not_so = Estimate(1.0, 0.5, 1.5), Estimate(-1.0, -1.5, -0.5)
    unsure = Estimate(1.0, -0.5, 2.5)

    def verdict(a, b, *, fast=False):
        one = claim(papers, lambda fast: {}, *asks)
        return one.verdict({"a": a, "b": b}, fast=fast)

    assert verdict(so, so)[0] == "holds"
    assert verdict(not_so, not_so)[0] == "does not hold"
    assert verdict(so, not_so)[0] == verdict(so, unsure)[0] == "in part"
    assert verdict(unsure, unsure)[0] == verdict(not_so, unsure)[0] == "open"
    assert verdict(not_so, unsure)[1] == (
        "not so: a -1 (-1.5 to -0.5) (asked >= 0); open: b 1 (-0.5 to 2.5) (asked >= 0)"
    )
    assert verdict(so, unsure, fast=True)[0] == "fast: not decided"
    assert verdict(so, not_so, fast=True)[0] == "in part"


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        ((0.6, -9.0, 9.0), "open"),  # past both ends, the mean outside
        ((0.0, -9.0, 9.0), "open"),
        ((0.6, 0.4, 0.8), "open"),
        ((0.1, -0.5, 0.5), "so"),
        ((0.7, 0.6, 0.8), "not so"),
        ((-0.7, -0.8, -0.6), "not so"),
        ((math.nan, math.nan, math.nan), "not so"),
    ],
)
def test_an_interval_that_meets_the_range_is_not_a_no(papers, interval, answer):
    from papers_parts.claim import Estimate, within

    assert within("gap", -0.5, 0.5).answer(Estimate(*interval)) == answer


def test_a_fast_run_decides_nothing_from_a_part_of_the_questions(papers):
    from papers_parts.claim import at_least

    asks = at_least("gain", 0.0), at_least("more", 1, full_only=True)
    one = claim(papers, lambda fast: {}, *asks)
    left_out = "fast: not decided", "so: gain 1 (asked >= 0); left out: more"
    assert one.verdict({"gain": 1.0}, fast=True) == left_out
    assert one.verdict({"gain": 1.0, "more": 0.0}, fast=True) == left_out
    assert one.verdict({"gain": 1.0, "more": 0.0}, fast=False)[0] == "in part"
    with pytest.raises(KeyError):
        one.verdict({"gain": 1.0}, fast=False)


def test_what_cannot_be_tested_says_why_and_keeps_its_figures(papers):
    one = claim(papers, lambda fast: {"share": 0.25})
    one = dataclasses.replace(one, not_testable="The data are lost.")
    found = papers.runner.outcome(one, fast=False)
    assert found["verdict"] == "not testable"
    assert found["why"] == "The data are lost."
    assert found["ours"]["share"]["value"] == 0.25


BOUNDED = {"share ": (0.0, 1.0), "%": (0.0, 100.0)}  # names that begin or end so
DIFFERENCE = re.compile(r"\b(less|over|gain|gains|lost|rise|fall|slope|difference)\b")


def reach(figure):
    """The values that a figure can have, as far as its name tells."""
    for mark, ends in BOUNDED.items():
        marked = figure.startswith(mark) or figure.endswith(mark)
        if marked and not DIFFERENCE.search(figure):
            return ends
    if figure.startswith(("largest difference", "largest error", "|")):
        return 0.0, math.inf
    return -math.inf, math.inf


def test_every_claim_broken_on_purpose_does_not_hold(papers):
    """Each question has a wrong side in reach, and on it the claim does not hold.

    From the right side a single wrong figure is enough to take "holds" away. Where a
    term of the claim is deleted and the answers stay right, it is not contradicted.
    """
    judged = 0
    for one in papers.CLAIMS:
        right = {ask.figure: ask.target[1] for ask in (*one.asks, *one.deleted)}
        if one.not_testable:
            assert one.verdict(right, fast=False) == ("not testable", one.not_testable)
            continue
        every = (*one.asks, *one.deleted)
        wrong = {ask.figure: ask.wrong(*reach(ask.figure)) for ask in every}
        for figure, value in wrong.items():
            assert value is not None, f"{one.name}: {figure!r} cannot be wrong"
        assert one.verdict(wrong, fast=False)[0] == "does not hold", one.name
        seen = right | {ask.figure: wrong[ask.figure] for ask in one.deleted}
        assert one.verdict(seen, fast=False)[0] == "holds", one.name
        for ask in one.asks:
            broken = seen | {ask.figure: wrong[ask.figure]}
            assert one.verdict(broken, fast=False)[0] in ("in part", "does not hold")
        for ask in one.deleted:
            blind = seen | {ask.figure: right[ask.figure]}
            verdict, why = one.verdict(blind, fast=False)
            assert verdict == "not contradicted", one.name
            assert f"not seen: {ask.figure} " in why
        judged += 1
    assert judged >= 80


def test_rules_that_cannot_fail_are_found(papers):
    from papers_parts.claim import at_least, at_most, within

    assert at_most("share of rows", 1).wrong(0, 1) is None
    assert at_most("share of rows", 0.99).wrong(0, 1) == 1.0
    assert within("found, %", 0, 100).wrong(*reach("found, %")) is None
    assert within("found, %", 0, 99).wrong(*reach("found, %")) == 100.0
    assert at_least("largest error", 0).wrong(*reach("largest error")) is None
    assert at_most("a", math.inf).wrong() is None
    assert at_least("a", 0).wrong() == -1.0


def test_cases_made_to_fail_a_claim_fail_it(papers):
    for one in papers.CLAIMS:
        if one.fails_on is not None:
            verdict, why = one.verdict(one.fails_on(), fast=False)
            assert verdict in ("does not hold", "in part", "open"), (one.name, why)


def test_an_estimate_is_students(papers):
    from papers_parts.claim import Estimate

    found = Estimate.of([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.high - 2.0 == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert found.low == pytest.approx(4.0 - found.high)


def test_whatever_becomes_of_a_claim_the_next_is_run(papers, capsys):
    from harness import MissingData, emit

    def holds(fast):
        emit("section", "what", 1.0, "unit")
        return {"share": 0.75, "other": float("inf")}

    def fails(fast):
        return {"share": 0.25}

    def without_data(fast):
        raise MissingData("tabular/a9a.npz", Path("nowhere"), "https://example.org")

    def without_package(fast):
        return importlib.import_module("no_such_package.inside")

    def broken(fast):
        return {"share": 1 / 0}

    measures = without_data, broken, without_package, fails, holds
    found = list(papers.runner.run([claim(papers, one) for one in measures], fast=True))
    assert [one["verdict"] for one in found] == [
        "not run",
        "failed",
        "not run",
        "does not hold",
        "holds",
    ]
    assert found[0]["why"] == (
        "no tabular/a9a.npz in nowhere; set ARGMETRIC_DATA to where it is. It is "
        "published at https://example.org"
    )
    assert found[1]["why"].startswith(
        "ZeroDivisionError: division by zero, test_papers.py:"
    )
    assert (
        found[2]["why"] == "no_such_package is not installed: it is in the extra bench"
    )
    assert found[4]["ours"] == {
        "share": {"value": 0.75, "interval": None},
        "other": {"value": None, "interval": None},
    }
    assert capsys.readouterr().out == ""  # what benchmarks print is not heard


def test_a_stored_result_is_judged_by_the_rules_of_now(papers):
    from papers_parts.claim import Estimate, at_least

    measured = {"share": Estimate(1 / 3, 0.25, 0.6), "other": float("nan")}
    one = claim(papers, lambda fast: measured, at_least("share", 1 / 3))
    found = papers.runner.outcome(one, fast=False)
    assert found["verdict"] == "open"
    stored = json.loads(json.dumps(found))
    assert papers.runner.judged_again(one, stored) == found
    easier = dataclasses.replace(one, asks=[at_least("share", 0.2)], says="It is.")
    again = papers.runner.judged_again(easier, stored)
    assert (again["verdict"], again["says"]) == ("holds", "It is.")
    assert again["asked"] == {"share": ">= 0.2"}
    missing = {**stored, "verdict": "not run", "ours": {}, "answers": {}}
    assert papers.runner.judged_again(one, missing) == missing


def test_claims_are_chosen_by_name_or_paper(papers):
    assert papers.chosen(()) == list(papers.CLAIMS)
    assert [one.name for one in papers.chosen(["jansche2007-footnote-3"])] == [
        "jansche2007-footnote-3"
    ]
    assert all(one.paper == "jansche2007" for one in papers.chosen(["jansche2007"]))
    with pytest.raises(ValueError, match=r"'jansche2008': did you mean jansche2007"):
        papers.chosen(["jansche2008"])


@pytest.mark.parametrize(
    ("name", "verdict", "figure", "value"),
    [
        ("jansche2007-algorithm-1", "holds", "most that the optimum lacks", 0.0),
        ("jansche2007-footnote-3", "holds", "lengths with another number of states", 0),
        ("jansche2005-section-6-likelihood", "holds", "θ0", 0.347242),
        (
            "natarajan2015-proposition-8",
            "does not hold",
            "E of the best answer, row 3 alone",
            0.262,
        ),
        (
            "daume2009-theorem-3",
            "in part",
            "errors over T/2, ε = 0.00001, T = 10",
            1.1e-4,
        ),
    ],
)
def test_claims_that_take_no_time(papers, name, verdict, figure, value):
    (found,) = papers.run([name], fast=True)
    assert found["verdict"] == verdict
    assert found["ours"][figure]["value"] == pytest.approx(value, rel=1e-3, abs=1e-15)


def test_the_page_is_what_the_results_say(papers, writer):
    page = writer.page(writer.results(), papers.PAPERS, writer.table_1())
    assert writer.PAGE.read_text() == page


def test_every_claim_has_a_result_of_what_is_declared_now(papers, writer):
    """Words, questions and verdicts of the stored results follow from the claims."""
    kept = {one["name"]: one for one in writer.results()}
    assert len(writer.results()) == len(kept)
    assert list(kept) == [one.name for one in papers.CLAIMS]
    for one in papers.CLAIMS:
        assert writer.stale(one, kept[one.name]) == "", one.name
        assert papers.runner.judged_again(one, kept[one.name]) == kept[one.name]
    assert [name for name, one in kept.items() if one["verdict"] == "failed"] == []


def test_results_of_files_are_taken_in_and_judged_again(
    papers, writer, tmp_path, monkeypatch, capsys
):
    from papers_parts.claim import Claim, at_least

    def declared(name, data="generated"):
        ask = at_least("share", 0.5)
        return Claim(name, "Page 1", "It is so.", lambda fast: {}, [ask], data=data)

    def stored(name, share, verdict, data="generated"):
        one = dataclasses.replace(
            declared(name, data), measure=lambda fast: {"share": share}
        )
        return {**papers.runner.outcome(one, fast=False), "verdict": verdict}

    first, second = declared("liu2018-a"), declared("daume2009-b", "new data")
    for name in ("RESULTS", "PAGE", "TABLE_1"):
        monkeypatch.setattr(writer, name, tmp_path / getattr(writer, name).name)
    monkeypatch.setattr(papers, "CLAIMS", (first, second, declared("liu2018-c")))
    old = [stored("liu2018-old", 1.0, "holds"), stored("liu2018-a", 0.1, "holds")]
    new = [stored("liu2018-a", 0.4, "in part"), stored("daume2009-b", 0.9, "holds")]
    for one in new:
        del one["answers"]  # as results were once
    row = {"task": "chunks", "system": "CRF", "value": 93.5, "standard_error": 0.04}
    rows = [row | {"cpu_seconds": 61.2, "seeds": 5, "cores": 1}, {"cores": 2}]
    rows.append(row | {"system": "MEMM", "standard_error": 0.0, "seeds": 1})
    rows.append({"task": "chunks", "system": "M3N", "score": None, "why": "no package"})
    writer._write(writer.RESULTS, old)
    writer._write(tmp_path / "new", new)
    writer._write(tmp_path / "rows", rows)
    assert writer.main([str(tmp_path / "new"), str(tmp_path / "rows")]) == 0
    assert [one["verdict"] for one in writer.results()] == ["does not hold", "holds"]
    assert capsys.readouterr().err.splitlines() == [
        "liu2018-a: in part, judged again does not hold",
        "daume2009-b: other data or seeds are declared than were run; run it again",
        "liu2018-c: no result yet",
        "liu2018-old: no claim any more, dropped",
    ]
    page = writer.PAGE.read_text()
    assert "- ✗ share (≥ 0.5): 0.4\n" in page
    assert '"CRF","93.50 ± 0.04 (5)"\n' in page
    names = ["task", "system", "score", "error", "seconds", "seeds"]
    kept = [list(one) for one in writer.table_1()]
    assert kept == [names, names, [*names, "why"]]
    assert '"M3N","not run"\n' in page
    assert "Not run: *M3N*: no package.\n" in page
    assert '"MEMM","93.50 (1)"\n' in page
    assert writer.stale(first, {**new[0], "ours": {"other": {}}}) == "no figure share"


def test_what_a_system_gains_is_paired_by_seed(writer):
    def row(task, system, *scores):
        told = {"task": task, "system": system, "score": sum(scores) / len(scores)}
        by_seed = {str(seed): score for seed, score in enumerate(scores)}
        return told | {"error": None, "seeds": len(scores), "scores": by_seed}

    rows = [
        row("chunks", "MEMM", 90.0, 91.0),
        row("chunks", "SEARN β = 1", 91.5, 91.5),
        row("joint", "MEMM", 96.0, 96.5),
        row("joint", "SEARN β = 1", 96.0),
        row("NER", "LOLS", 80.0),
    ]
    page = writer.page([], {}, rows)
    assert '"Difference","chunks","joint"\n' in page
    assert '"SEARN β = 1, less MEMM","+1.00 ± 0.50","+0.00"\n' in page
    assert ", less SEARN" not in page
    assert "What systems gain" not in writer.page([], {}, rows[-1:])


def test_what_the_page_says_of_table_1_is_in_its_figures(writer):
    rows = {(one["task"], one["system"]): one for one in writer.table_1()}
    tasks = {task for task, _ in rows}
    searn, beam = "SEARN β = 1, beam 10", ", beam 10"

    def gains(one, other, name="score"):
        found = {
            x: [rows.get((x, y), {}).get(name) for y in (one, other)] for x in tasks
        }
        return {x: a - b for x, (a, b) in found.items() if None not in (a, b)}

    over_memm = gains(searn, f"MEMM{beam}")
    assert over_memm.pop("handwriting, large") > 1
    assert len(over_memm) > 5
    assert max(over_memm.values()) < 0.4
    coin = "LOLS, a coin for each action"
    won_back = gains(f"LOLS{beam}", f"{coin}{beam}")["handwriting, small"]
    assert 0.65 < won_back < 0.75
    assert gains(f"LOLS{beam}", searn)["handwriting, small"] < 0
    for system in (coin, "AggreVaTe"):
        over_searn = gains(f"{system}{beam}", searn)
        assert over_searn.pop("handwriting, small") < 0
        for task in ("NER", "NER, small"):
            assert (over_searn.pop(task) < 0) == (system == coin)
        assert len(over_searn) > 2
        assert min(over_searn.values()) > 0
        assert max(over_searn.values()) < 0.55
    scores = {task: one["score"] for (task, x), one in rows.items() if x == searn}
    for task in ("chunks", "NER"):
        assert scores[f"{task}, chunk at a time"] < scores[task]
    small = [x["score"] or 0 for (task, _), x in rows.items() if "small" in task]
    assert max(small) < 87.6
    kernel, linear = f"SEARN β = 1, SVM, quadratic kernel{beam}", "SEARN β = 1, SVM"
    assert 5.95 < gains(kernel, f"{linear}{beam}")["handwriting, small"] < 6.15
    kinds = {"SEARN β = 1": "logistic", linear: "SVM"}
    for system, kind in {**kinds, "SEARN β = 1, perceptron": "perceptron"}.items():
        over_alone = gains(system, f"independent, {kind}")["NER, small"]
        assert 5.5 < over_alone < 7.5
    of_chunks = [x["score"] or 0 for x in rows.values() if "chunks" in x["task"]]
    assert max(of_chunks) < 94.47
    all_pairs = gains(f"SEARN β = 1, weighted all pairs with costing{beam}", searn)
    for size in ("small", "large"):
        assert 1 < all_pairs.pop(f"handwriting, {size}") < 3
    assert all(-9 < gain < -3 for gain in all_pairs.values())
    whole = f"SEARN β = 1 for whole sequences{beam}"
    more = gains(whole, searn, "whole")
    assert more.pop("handwriting, large") > 0
    assert more.pop("NER, small") > 0
    assert max(more.values()) < 0
    assert gains(whole, f"MEMM{beam}", "whole")["handwriting, large"] < 0


FOOTNOTE, THEOREM = "jansche2007-footnote-3", "jansche2007-theorem-1"


def result(name, verdict, **ours):
    figures = {k: {"value": v, "interval": None} for k, v in ours.items()}
    told = {"says": "It is so.", "place": "Page 1", "printed": {"a": ".5"}}
    told |= {"remark": "", "asked": {"a": ">= 0.5"}, "data": "B stands in for A"}
    told |= {"seeds": "one", "cpu_seconds": 1.5}
    why = "not so: a 0.25 (asked >= 0.5)" if ours else "no data"
    return {"name": name, **told, "ours": figures, "verdict": verdict, "why": why}


@pytest.fixture
def results(papers, monkeypatch):
    """Results, or errors, that the experiments are made to give."""
    given = []

    def run(names, *, fast):
        for one in given:
            if isinstance(one, BaseException):
                raise one
            yield one

    monkeypatch.setattr(papers, "run", run)
    monkeypatch.setattr(papers, "stored_verdicts", lambda: {THEOREM: "holds"})
    return given


def test_a_failed_experiment_is_told_by_the_exit_code(papers, results, capsys):
    first = result(THEOREM, "does not hold", a=0.25, b=1.0)
    results += [first, result(FOOTNOTE, "not run")]
    assert papers.main([THEOREM, FOOTNOTE]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[:6] == [
        f"{THEOREM}: does not hold",
        "claim    It is so. (Page 1)",
        "data     B stands in for A; drawn: one",
        "not so   a 0.25 (asked >= 0.5)",
        "besides  b 1",
        "paper    a .5",
    ]
    assert told.err.splitlines()[2:] == [
        "does not hold 1, not run 1; 3 s of CPU",
        f"not run: {FOOTNOTE} (no data)",
        "not the paper's own data: B stands in for A",
        f"{THEOREM}: does not hold, and in docs/papers.jsonl holds",
    ]
    results[1] = result(FOOTNOTE, "failed")
    assert papers.main([THEOREM, FOOTNOTE]) == 1


def test_an_interrupted_run_keeps_what_was_done(papers, results, tmp_path):
    kept = tmp_path / "results.jsonl"
    old = {"name": "liu2018-old", "verdict": "holds"}
    kept.write_text(json.dumps(old) + "\n" + json.dumps({"name": THEOREM}) + "\n")
    results += [result(THEOREM, "holds"), KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        papers.main([THEOREM, FOOTNOTE, "-o", str(kept)])
    lines = [json.loads(x) for x in kept.read_text().splitlines()]
    assert lines == [old, result(THEOREM, "holds")]
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]
