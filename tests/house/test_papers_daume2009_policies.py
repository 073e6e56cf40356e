"""Theorem 1, section 7 and Table 1: their questions fail where the claim is broken."""

import numpy as np
import pytest

from claims import Modules, claim_of

parts = Modules(
    papers="papers",
    policies="papers_parts.daume2009_policies",
    claim="papers_parts.claim",
    table1="search_parts.table1",
    phrases="search_parts.phrases",
)


def test_theorem_1_holds_without_scores_and_fails_with_them():
    claim = claim_of(parts.policies, "theorem-1")
    assert claim.verdict(parts.policies.theorem_1(True), fast=True)[0] == "holds"
    broken = claim.fails_on()
    assert broken["largest regret of the policy"] > 0.1


def test_the_chain_solves_its_problem():
    """Dynamic programming against all outputs, with scores and without."""
    rng = np.random.default_rng(3)
    T, K = 4, 3
    tables = [(rng.random((T, K)), rng.random((T - 1, K, K))) for _ in range(2)]
    chain = parts.policies.Chain(*tables)
    flipped = parts.policies.Chain(tables[1], tables[0])
    for weight in (0.0, 1.0):
        found, _ = chain.best((), weight)
        values = {
            y: weight * flipped.loss(y) - chain.loss(y) for y in np.ndindex(*(K,) * T)
        }
        assert values[tuple(found)] == pytest.approx(max(values.values()))
    rest, _ = chain.best((2, 0), 0.0)
    ends = {y: chain.loss((2, 0, *y)) for y in np.ndindex(K, K)}
    assert ends[tuple(rest)] == pytest.approx(min(ends.values()))


def test_no_claim_holds_by_chance_or_where_signs_turn():
    estimate = parts.claim.Estimate
    for claim in parts.papers.CLAIMS:
        generated = claim.data.startswith("generated")
        if claim.paper != "daume2009" or generated or claim.not_testable:
            continue
        asks = (*claim.asks, *claim.deleted)
        nothing = {ask.figure: estimate(0.0, -5.0, 5.0) for ask in asks}
        assert claim.verdict(nothing, fast=False)[0] != "holds", claim.name
        figures = {}
        for ask in claim.asks:
            value = -5.0 if ask.target[0] in (">=", "within") else 5.0
            figures[ask.figure] = estimate(value, value - 1, value + 1)
        assert claim.verdict(figures, fast=False)[0] == "does not hold", claim.name


def test_rows_of_a_phrase_name_what_is_in_and_around_it():
    words = parts.phrases.words_of([["Big", "dogs", "bark"], ["JJ", "NNS", "VBP"]])
    assert words[0] == ("big", "JJ", "Aaa", "Big", "Big")
    found = parts.phrases.phrase_features(words, 0, 2)
    for name in ("w big", "1 NNS", "g JJ NNS", "h big dogs", "T JJ_NNS", "a bark"):
        assert name in found
    assert len(found) == len(set(found))


def test_features_met_once_are_left_out():
    from argmetric.search import SpanChunking
    from argmetric.search._searn._decisions import hash_name
    from argmetric.search._searn._spans import PreparedSpans

    task = SpanChunking(["X"], 2, features=lambda x, a, b: list(x[a:b]))
    found = parts.phrases.common(PreparedSpans(task, [["a", "b"], ["b", "c", "d"]]))
    left = {hash_name(name) for name in "abcd"}  # all stand in two chunks or more
    assert set(found.rows.hashes.tolist()) == left
    found = parts.phrases.common(PreparedSpans(task, [["a"], ["b"], ["b"]]))
    assert found.rows.hashes.tolist() == [hash_name("b")] * 2
    assert found.rows.indptr.tolist() == [0, 0, 1, 2]


def test_features_that_were_kept_are_those_that_were_read(tmp_path, monkeypatch):
    from argmetric.search import SpanChunking
    from argmetric.search._searn._spans import PreparedSpans

    task = SpanChunking(["X"], 2, features=parts.phrases.phrase_features)
    X = [parts.phrases.words_of([list(x), list(x)]) for x in ("abc", "", "d")]
    read = PreparedSpans(task, X)
    file = tmp_path / "kept.npz"
    np.savez(file, indptr=read.rows.indptr, hashes=read.rows.hashes)
    kept = parts.phrases._kept(task, X, file)
    for name in ("starts", "firsts"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(read, name))
    for name in ("indptr", "hashes", "values"):
        np.testing.assert_array_equal(
            getattr(kept.rows, name), getattr(read.rows, name)
        )


def test_means_and_errors_of_the_table():
    row = {"task": "chunks", "system": "MEMM", "inputs": 8936, "group": "searn"}
    rows = [
        {**row, "seed": 0, "score": 90.0, "whole": 50.0, "seconds": 1.0},
        {**row, "seed": 1, "score": 92.0, "whole": 54.0, "seconds": 3.0},
    ]
    (line,) = parts.table1.summary(rows)
    assert (line["score"], line["error"], line["seeds"]) == (91.0, 1.0, 2)
    assert (line["whole"], line["whole_error"], line["seconds"]) == (52.0, 2.0, 2.0)
    (one,) = parts.table1.summary(rows[:1])
    assert one["error"] is None


def test_every_task_has_the_paper_s_groups():
    for task in parts.table1.TASKS:
        groups = parts.table1.groups_of(task)
        assert {"searn", "lols", "aggrevate", "whole"} <= set(groups)
        assert ("pairs" in groups) == (task not in parts.table1.PHRASES)


def test_what_is_not_run_has_no_group_and_a_reason():
    lines = parts.table1.not_run()
    assert all(line["score"] is None and line["why"] for line in lines)
    for system in ("M3N", "SVMstruct"):
        mine = [line["task"] for line in lines if line["system"] == system]
        assert mine == list(parts.table1.TASKS)
    left = {x["task"] for x in lines if x["system"] == parts.table1.ALL_PAIRS}
    assert left == {
        task
        for task in parts.table1.TASKS
        if "pairs" not in parts.table1.groups_of(task)
    }
