"""Where nothing is proven: typed numbers, no cut that passes, no fewer labels."""

import re

import numpy as np
import pytest

import argmetric as am

QUICK = {"n_bootstrap": 0, "cv": None}
RNG = np.random.default_rng(0)
P = RNG.beta(0.5, 0.5, 300)
Y = (RNG.random(300) < P).astype(int)


def refusal(y, p, **options):
    """The error, or None where something is certified."""
    try:
        am.tune(y, p, "f1", **QUICK, **options)
    except am.NotCertifiedError as error:
        return error
    return None


BEGIN = "no threshold is proven to keep "


TYPED = """
min_precision=0.5, prior=0.03, confidence=0.9 -> min_precision=0.5 at 3 % positives with
    a confidence of 90 %: at p ≥
min_precision=0.99, min_recall=0.5, confidence=0.9 -> min_precision=0.99 with a
    confidence of 90 %:
min_precision=0.99, confidence=0.9, new_rows=50 -> min_precision=0.99 for the next 50
    such rows with a confidence of 90 %:
min_recall=0.99, min_npv=0.5, confidence=0.8, prior=0.5 -> min_recall=0.99 at 50 %
    positives with a confidence of 80 %: it takes 230 positive rows at the least, not
    {POSITIVE}; about
max_positives=1, confidence=0.9 -> max_positives=1 with a confidence of 90 %: it takes
    690 rows at the least, not 300; about 690 labelled rows may do (a forecast)
max_positives="0.5%", confidence=0.9 -> max_positives=0.5% with a confidence of 90 %: it
    takes 460 rows
min_precision=1.0, confidence=0.9 -> min_precision=1 with a confidence of 90 %: no
    number of rows proves it
min_precision=0.99999999, confidence=0.999999 -> min_precision=0.99999999 with a
    confidence of 99.9999 %: at p ≥
min_npv=0.999, confidence=0.9 -> min_npv=0.999 with a confidence of 90 %: at p <
min_precision=0.9, min_recall=0.9, confidence=0.9 -> min_precision=0.9 and
    min_recall=0.9 with a confidence of 90 %: the proven thresholds do not meet
    (min_precision=0.9 holds from
"""


@pytest.mark.parametrize("line", TYPED.replace("\n    ", " ").strip().split("\n"))
def test_the_words_are_those_that_were_typed(line):
    options, words = line.split(" -> ")
    said = str(refusal(Y, P, **eval(f"dict({options})")))
    assert said.startswith(BEGIN + words.format(POSITIVE=Y.sum()))


def test_one_of_several_labels_is_named_with_the_typed_confidence():
    y, p = np.c_[Y, Y], np.c_[P, np.random.default_rng(1).permutation(P)]
    error = refusal(y, p, min_precision=0.8, confidence=0.9)
    assert str(error).startswith(
        f"column 1 of y: {BEGIN}min_precision=0.8 with a confidence of 90 % for all 2 "
        "labels: "
    )


def test_labels_in_groups_are_counted_as_rows():
    groups = np.arange(300) // 3
    error = refusal(Y, P, min_precision=0.9, confidence=0.95, groups=groups)
    found = re.search(r"about ([\d,]+) labelled rows in ([\d,]+) groups", str(error))
    rows, count = (int(x.replace(",", "")) for x in found.groups())
    assert error.labels_needed == rows == 3 * count
    assert rows > 300


def test_scores_that_are_too_high_ask_for_no_fewer_labels():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.5, 1.0, 2000)
    y = (rng.random(2000) < 0.6 * p).astype(int)
    error = refusal(y, p, min_precision=0.9, confidence=0.9)
    assert error.labels_needed is None
    assert "by the scores these rows should do" in str(error)
    assert "labelled rows may do" not in str(error)


def test_the_fewest_rows_are_named_where_there_are_less():
    error = refusal(Y[:40], P[:40], min_precision=0.9, confidence=0.9)
    assert "at most 0 may be wrong" in str(error)
    error = refusal(Y[:40], P[:40], min_precision=0.95, confidence=0.9)
    assert "among 40 rows, and it takes 45 rows without an error at the least" in str(
        error
    )
    assert error.nearest["k"] == 40
    assert error.nearest["allowed"] == -1


def test_a_start_inside_of_a_tie_names_no_cut():
    p = np.r_[np.full(60, 0.9), np.full(200, 0.05)]
    found = []
    for wrong in range(2, 9):
        y = np.r_[np.zeros(wrong), np.ones(60 - wrong), np.zeros(200)].astype(int)
        found.append(refusal(y, p, min_precision=0.8, confidence=0.9))
    inside = [one for one in found if one and "inside of a tie" in str(one)]
    assert inside
    assert all(one.nearest is None for one in inside)


def test_unlabelled_scores_go_with_one_column_of_probabilities():
    options = {"min_precision": 0.8, "confidence": 0.9, "new_rows": P[:50]}
    with pytest.raises(ValueError, match="one column of scores, not with a matrix"):
        am.tune(np.c_[Y, Y], np.c_[P, P], **options)
    with pytest.raises(ValueError, match="p lies outside of"):
        am.tune(Y, 3 * P - 1, **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [("min_positives", 250), ("budget", (np.ones(300), 5.0)), ("per_row", 1)],
)
def test_a_decision_refuses_what_has_no_guarantee(name, value):
    options = {"min_recall": 0.8, "confidence": 0.9, "reference": (Y, P), name: value}
    with pytest.raises(ValueError, match=f"{name} has no guarantee"):
        am.decide(P, **options)


def sweep():
    """Refusals of many kinds: scores, sizes, limits, prevalences, groups."""
    for seed in range(160):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([20, 60, 200, 600]))
        latent = rng.beta(0.4, 0.8, n)
        y = (rng.random(n) < latent).astype(int)
        if not 0 < y.sum() < n:
            continue
        power = rng.choice([0.4, 1.0, 2.5])  # too high, calibrated, too low
        p = latent**power
        p = np.round(p, int(rng.choice([1, 2, 16])))
        floor = float(rng.choice([0.5, 0.8, 0.9, 0.95, 0.99]))
        name = rng.choice(["min_precision", "min_npv", "min_recall"])
        options = {str(name): floor, "confidence": float(rng.choice([0.8, 0.9, 0.95]))}
        kind = seed % 5
        if kind == 1:
            options["prior"] = float(rng.choice([0.01, 0.1, 0.6]))
        elif kind == 2:
            options["min_specificity"] = 0.9
        elif kind == 3:
            options["new_rows"] = 40
        elif kind == 4:
            options["groups"] = np.arange(n) // 2
        yield y, p, options


@pytest.mark.filterwarnings("ignore:.*every row as a draw:UserWarning")
def test_no_refusal_names_a_cut_that_passes_or_fewer_labels():
    count = named = planned = 0
    for y, p, options in sweep():
        error = refusal(y, p, **options)
        if error is None:
            continue
        count += 1
        text = str(error)
        typed = [f"{k}={x:g}" for k, x in options.items() if k.startswith("min")]
        assert any(one in text for one in typed)
        assert f"confidence of {100 * options['confidence']:.4g} %" in text
        for share in re.findall(r"([\d.]+) % positives", text):
            assert float(share) == pytest.approx(100 * options["prior"])
        if error.nearest is not None:
            named += 1
            cut = error.nearest
            assert cut["errors"] > cut["allowed"]
            if "groups" not in options and "min_npv" not in options:
                chosen = p >= cut["threshold"]
                assert cut["k"] == chosen.sum()
                assert cut["errors"] == (1 - y)[chosen].sum()
        if error.labels_needed is not None:
            planned += 1
            assert error.labels_needed > y.size
    assert count > 60
    assert named > 30
    assert planned > 10
