"""One vector that is larger than memory: the labels of one call in memory."""

import math

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from opened import decide
from refusing import refuses
from scale_data import decisions, left_beside, write_parts

N = 60_000
METRICS = (
    *("f1", "f2", "f0.5", "jaccard", "mcc", "kappa", "gmean", "hmean", "qmean"),
    *("balanced_accuracy", "youden", "recall", "specificity", "lift", "fm"),
    *("accuracy", "precision", "markedness", "sec"),
)
DISTRIBUTIONS = {
    "skewed": lambda rng: rng.beta(0.3, 2, N),
    # Binary fractions are the edges of bins
    "rounded": lambda rng: (128 * rng.random(N)).round() / 128,
    "two values": lambda rng: rng.choice([0.25, 0.75], N),
    "some certain": lambda rng: np.where(
        rng.random(N) < 0.3, rng.choice([0.0, 1.0], N), rng.random(N)
    ),
}


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch):
    monkeypatch.setattr("argmetric.scale._memory.ALWAYS_FITS", 0)
    monkeypatch.setattr(
        "argmetric.scale._vector.SCORES_SORTED_HERE", 500
    )  # finer bins before rows are taken


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Folder and probabilities of every distribution."""
    made = {}
    for i, (name, draw) in enumerate(DISTRIBUTIONS.items()):
        p = draw(np.random.default_rng(i))
        folder = tmp_path_factory.mktemp("vector") / "in"
        made[name] = write_parts(folder, pa.table({"score": p}), [9000, 9000, 41000]), p
    return made


def in_pieces(folder, output, metric="f1", **words):
    return decide(folder, metric, output=output, **{"memory": "1MB"} | words)


def assert_same(found, output, wanted):
    np.testing.assert_array_equal(decisions(output), wanted.labels)
    assert found.n_positives == wanted.n_positives
    assert found.threshold == wanted.threshold
    assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
    assert found.n_half == wanted.cut_half.n_positives
    assert found.expected_half == pytest.approx(wanted.cut_half.expected, rel=1e-12)
    assert found.notes == wanted.notes
    assert found.error == pytest.approx(wanted.error)
    assert found.plan.startswith("one vector, ")
    assert found.plan.endswith(" passes")
    assert left_beside(output) == []


@pytest.mark.parametrize("metric", METRICS)
def test_labels_are_those_of_one_call_in_memory(inputs, metric, tmp_path):
    folder, p = inputs["skewed"]
    found = in_pieces(folder, tmp_path / "out", metric)
    assert_same(found, tmp_path / "out", am.decide(p, metric))


@pytest.mark.parametrize("name", list(DISTRIBUTIONS)[1:])
@pytest.mark.parametrize("metric", ["f1", "mcc", "accuracy"])
def test_ties_are_split_in_the_order_of_files_and_rows(inputs, name, metric, tmp_path):
    folder, p = inputs[name]
    whole = int((p >= 0.75).sum())  # a limit that splits no tie
    for words in ({}, {"max_positives": 20_123}, {"max_positives": whole}):
        found = in_pieces(folder, tmp_path / "out", metric, **words)
        assert_same(found, tmp_path / "out", am.decide(p, metric, **words))


@pytest.mark.parametrize(
    "words",
    [
        {"min_positives": 50_000},
        {"max_positives": 0},
        {"min_positives": N},
        {"zero_division": math.nan},
        {"metric": am.Utility(1, -0.2)},
        {"metric": am.Utility(3, 1)},  # all of them
    ],
)
def test_limits_and_conventions(inputs, words, tmp_path):
    folder, p = inputs["some certain"]
    found = in_pieces(folder, tmp_path / "out", **words)
    assert_same(found, tmp_path / "out", am.decide(p, **words))


def test_calibrated_scores_are_cut_as_in_memory(inputs, tmp_path):
    folder, p = inputs["skewed"]
    some = p[:2000]
    y = (np.random.default_rng(0).random(some.size) < some / 2).astype(int)
    for method in ("platt", "isotonic"):
        known = am.calibrate(y, some, method=method)
        found = in_pieces(folder, tmp_path / "out", reference=known)
        assert_same(found, tmp_path / "out", am.decide(p, reference=known))
    with pytest.raises(ValueError, match=r"makes ties.* a calibrator without steps"):
        in_pieces(folder, tmp_path / "out", reference=known, max_positives=100)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"min_recall": 0.5}, "f1 with these limits.*another metric, or no floors"),
        ({"metric": lambda tp, k, t, n: tp / n}, "takes all of them at once"),
        ({"logits": True}, "logits cannot be decided in pieces.* take probabilities"),
        ({"min_positives": N + 1}, "is more than the 60000 items"),
    ],
)
def test_what_takes_all_rows_at_once_says_what_to_do(inputs, tmp_path, words, message):
    folder, _ = inputs["skewed"]
    refuses(ValueError, message, in_pieces, folder, tmp_path / "out", **words)
    assert left_beside(tmp_path / "out") == []


def test_a_cut_that_is_not_carried_out_is_noticed(inputs, tmp_path, monkeypatch):
    folder, _ = inputs["skewed"]
    monkeypatch.setattr("argmetric.scale._vector.cut_between", lambda *ends: 0.9)
    with pytest.raises(ValueError, match="other positives were written"):
        in_pieces(folder, tmp_path / "out")


def test_the_cut_at_half_is_on_the_scores_as_given(inputs, tmp_path):
    """Also where the calibrator has steps, or falls."""
    folder, p = inputs["rounded"]
    assert (p == 0.5).any()
    y = np.random.default_rng(0).random(2000) < 0.6 * p[:2000]
    maps = [am.calibrate(y, p[:2000], method) for method in ("platt", "isotonic")]
    for map_ in (*maps, lambda p: 0.8 - 0.6 * p):
        found = in_pieces(folder, tmp_path / "out", reference=map_)
        wanted = am.decide(p, reference=map_).cut_half
        assert found.n_half == wanted.n_positives == (p >= 0.5).sum()
        assert found.expected_half == pytest.approx(wanted.expected, rel=1e-12)
