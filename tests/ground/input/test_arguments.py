"""Numbers, counts, flags, words, names: what is taken, and what is said of others."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
from refusing import refuses

P = [0.9, 0.8, 0.7, 0.6, 0.2]
RULE = am.Rule("f1", 0.5)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "three", [3, 3.0, np.int8(3), np.float32(3), np.array(3), Fraction(3), Decimal(3)]
)
def test_a_number_of_any_kind_is_taken(three):
    assert am.decide(P, max_positives=three).n_positives == 3
    assert am.FBeta(three) == am.FBeta(3)


@pytest.mark.parametrize(
    "value",
    [
        *("1", b"1", True, 1j, [1], {}, np.array([1, 2]), Unprintable()),
        *(np.timedelta64(1, "s"), np.timedelta64("NaT", "s")),  # an integer, says numpy
    ],
)
def test_what_is_no_number_is_refused_by_name(value):
    with pytest.raises(TypeError, match=r"^min_positives must be .* number.*, not "):
        am.decide(P, min_positives=value)
    refuses(TypeError, r"^beta must be a number, not ", am.FBeta, value)


@pytest.mark.parametrize(
    "value",
    [
        *(-1, 1.5, math.nan, math.inf, 2**63, Decimal("sNaN")),
        pytest.param(10**5000, id="5,000 digits"),
    ],
)
def test_what_is_no_count_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^max_positives must be a whole number ≥ 0"):
        am.decide(P, max_positives=value)


def test_counts_keep_every_digit_and_their_range():
    for large in (2**63 - 1, np.uint64(2**62 + 1)):
        assert am.decide(P, max_positives=large).n_positives == 4
    with pytest.raises(TypeError, match=r"max_positives .* a value of type ndarray"):
        am.decide(P, max_positives=np.zeros(1000))


@given(st.floats() | st.integers() | st.fractions() | st.decimals(allow_nan=True))
def test_a_range_holds_its_ends_unless_strict(value):
    try:
        inside = 0 <= value <= 1
    except ArithmeticError:  # a signalling nan compares with nothing
        inside = False
    if inside:
        assert am.decide(P, min_precision=value).n <= 5
    else:
        with pytest.raises(ValueError, match="min_precision must lie between 0 and 1"):
            am.decide(P, min_precision=value)
    if inside and 0 < float(value) < 1:
        assert am.forecast(P, [1, 1, 0, 0, 0], coverage=value).coverage == float(value)
    else:
        with pytest.raises(ValueError, match="coverage must lie strictly between 0 an"):
            am.forecast(P, [1, 1, 0, 0, 0], coverage=value)


def test_flags_and_words():
    wanted = am.decide(P, logits=True).expected
    for flag in (np.True_, 1, np.array(True)):
        assert am.decide(P, logits=flag).expected == wanted
    assert am.decide(P, logits=0).expected == am.decide(P).expected
    for wrong in ("yes", None, 2, 1.0, np.array([True]), math.nan):
        with pytest.raises(TypeError, match="logits must be True or False, not"):
            am.decide(P, logits=wrong)
    for wrong in ("c", None, 1, np.array(["auto"]), ["auto"], {"auto": 1}):
        with pytest.raises(ValueError, match="operator must be one of '>=', '<', not"):
            am.Rule("f1", 0.5, operator=wrong)


@pytest.mark.parametrize("make", [list, tuple, np.array, iter])
def test_items_come_in_their_order(make):
    metric = am.LinearFractional(make([0, 1, 0, 2]), (1, 0, 0, 0))
    assert metric.c == (0.0, 1.0, 0.0, 2.0)


@pytest.mark.parametrize(
    "wrong",
    [
        *("abcd", b"abcd", bytearray(b"ab"), {"a": 1}, {1, 2, 3, 4}, 3, None),
        *(np.array(3), sp.bsr_matrix(np.eye(2)), sp.coo_matrix(np.eye(2))),
    ],
)
def test_what_has_no_items_or_no_order_is_refused(wrong):
    with pytest.raises(TypeError, match="c must be four numbers, not"):
        am.LinearFractional(wrong, (1, 0, 0, 0))


@pytest.mark.parametrize("wrong", [3, None, b"a", "", "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(wrong):
    refuses(
        (TypeError, ValueError), "path must be the name of a file", RULE.save, wrong
    )


@pytest.mark.parametrize(
    ("keyword", "says"),
    [
        ("group", "'group': is groups meant?$"),
        ("by_group", "'by_group': is groups meant?$"),
        ("top_k", "'top_k': is per_row meant?$"),
        ("n_positives", "'n_positives': is max_positives meant?$"),
        ("max_per_class", "no max_per_class: one label .*classes.decide$"),
        ("beta", r"no beta: it belongs to the metric: 'f2', or FBeta\(1.5\)$"),
        ("colour", "keyword argument 'colour'$"),
    ],
)
def test_a_keyword_of_others_is_answered_with_ours(keyword, says):
    refuses(TypeError, says.replace("?", r"\?"), am.decide, [0.2, 0.7], **{keyword: 1})
