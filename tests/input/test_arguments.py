"""Numbers, counts, flags and words: what is taken, and what is said of the rest."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from argmetric._input import arguments


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


NO_NUMBERS = [None, "1", b"1", True, 1j, [1], {}, np.array([1, 2]), Unprintable()]


@pytest.mark.parametrize(
    "three", [3, 3.0, np.int8(3), np.float32(3), np.array(3), Fraction(3), Decimal(3)]
)
def test_a_number_of_any_kind_is_taken(three):
    count = arguments.check_count(three, "n")
    assert (count, type(count)) == (3, int)
    number = arguments.check_number(three, "x")
    assert (number, type(number)) == (3.0, float)


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("check", [arguments.check_count, arguments.check_number])
def test_what_is_no_number_is_refused_by_name(check, value):
    with pytest.raises(TypeError, match=r"^size must be .* number.*, not "):
        check(value, "size")


@pytest.mark.parametrize(
    "value",
    [
        *(-1, 0.5, math.nan, math.inf, 2**63, Decimal("sNaN")),
        pytest.param(10**5000, id="5,000 digits"),
    ],
)
def test_what_is_no_count_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^size must be a whole number ≥ 0.*, not "):
        arguments.check_count(value, "size")


def test_counts_keep_every_digit():
    assert arguments.check_count(2**63 - 1, "size") == 2**63 - 1
    assert arguments.check_count(np.uint64(2**62 + 1), "size") == 2**62 + 1
    with pytest.raises(ValueError, match="from 2 to 1,000, not 1001"):
        arguments.check_count(1001, "size", low=2, high=1000)


@given(st.floats() | st.integers() | st.fractions() | st.decimals(allow_nan=True))
def test_a_range_holds_its_ends_unless_strict(value):
    try:
        inside = 0 <= value <= 1
    except ArithmeticError:  # a signalling nan compares with nothing
        inside = False
    if inside:
        assert arguments.check_fraction(value, "share") == float(value)
    else:
        with pytest.raises(ValueError, match="share must lie between 0 and 1, not"):
            arguments.check_fraction(value, "share")
    if inside and 0 < float(value) < 1:
        assert arguments.check_share(value, "share") == float(value)
    else:
        with pytest.raises(ValueError, match="share must lie strictly between 0 and"):
            arguments.check_share(value, "share")


def test_flags_and_words():
    for flag in (True, np.True_, 1, np.array(True)):
        assert arguments.check_flag(flag, "logits") is True
    assert arguments.check_flag(0, "logits") is False
    for wrong in ("yes", None, 2, 1.0, np.array([True]), math.nan):
        with pytest.raises(TypeError, match="logits must be True or False, not"):
            arguments.check_flag(wrong, "logits")
    for wrong in ("c", None, 1, np.array(["a"]), ["a"], {"a": 1}):
        with pytest.raises(ValueError, match="kind must be one of 'a', 'b', not"):
            arguments.check_choice(wrong, "kind", ("a", "b"))


def test_long_values_are_not_printed_in_full():
    with pytest.raises(TypeError, match=r"size .* not a value of type ndarray"):
        arguments.check_count(np.zeros(1000), "size")


@pytest.mark.parametrize("items", [["a", "b"], ("a", "b"), np.array(["a", "b"])])
def test_items_come_in_their_order(items):
    assert arguments.check_items(items, "words", "a list") == ["a", "b"]
    assert arguments.check_texts(iter(items), "words") == ["a", "b"]


@pytest.mark.parametrize(
    "wrong", ["ab", b"ab", bytearray(b"ab"), {"a": 1}, {"a"}, 3, None, np.array(3)]
)
def test_what_has_no_items_or_no_order_is_refused(wrong):
    with pytest.raises(TypeError, match="words must be a list of text, not "):
        arguments.check_texts(wrong, "words")


def test_what_is_no_text_is_named_with_its_place():
    with pytest.raises(TypeError, match=r"words must .* not None at position 1"):
        arguments.check_texts(["a", None], "words")


def test_names_of_files(tmp_path):
    assert arguments.check_path(tmp_path) == str(tmp_path)
    assert arguments.check_path("-") == "-"
    for wrong in (3, None, b"a"):
        with pytest.raises(TypeError, match="path must be the name of a file, not "):
            arguments.check_path(wrong)
    for wrong in ("", "a\0b"):
        with pytest.raises(ValueError, match="path must be the name of a file, not "):
            arguments.check_path(wrong)


@pytest.mark.parametrize("span", [np.timedelta64(1, "s"), np.timedelta64("NaT")])
def test_a_span_of_time_is_no_number_though_numpy_calls_it_an_integer(span):
    for check in (arguments.check_number, arguments.check_count, arguments.check_seed):
        with pytest.raises(TypeError, match="n must be"):
            check(span, "n")
    assert not arguments.is_whole(span)
    assert arguments.is_whole(np.int8(3))
    assert not arguments.is_whole(True)


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(path):
    with pytest.raises(ValueError, match="path must be the name of a file"):
        arguments.check_path(path)


def test_sparse_matrices_that_cannot_be_iterated_over_are_no_items():
    for matrix in (sp.bsr_matrix(np.eye(2)), sp.coo_matrix(np.eye(2))):
        with pytest.raises(TypeError, match="c must be four numbers, not"):
            arguments.check_items(matrix, "c", "four numbers")


def test_what_compares_with_nothing_is_no_label():
    with pytest.raises(TypeError, match="pos_label must be one label"):
        arguments.check_label(pd.NA)
    arguments.check_label("yes")
