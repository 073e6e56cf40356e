"""One label per row: classes of the columns, and rows that sum to 1."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from argmetric._input.classes import check_class_probabilities, class_codes
from argmetric._input.validation import Probabilities

P = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])


def test_labels_find_their_columns():
    codes, classes = class_codes(list("cab"), P, P)
    assert (codes.tolist(), classes) == ([2, 0, 1], ("a", "b", "c"))
    codes, classes = class_codes(list("bab"), P, P, list("cab"))
    assert (codes.tolist(), classes) == ([2, 1, 2], ("c", "a", "b"))
    frame = pd.DataFrame(P, columns=list("cab"))
    codes, classes = class_codes(list("bbb"), frame, P)
    assert (codes.tolist(), classes) == ([2, 2, 2], ("c", "a", "b"))
    codes, classes = class_codes(np.array([2.0, 0.0, 2.0]), P, P, range(3))
    assert (codes.tolist(), classes) == ([2, 0, 2], (0, 1, 2))


def test_whole_numbers_number_the_columns_where_they_may():
    codes, classes = class_codes([2, 0, 2], P, P, numbered=True)
    assert (codes.tolist(), classes) == ([2, 0, 2], (0, 1, 2))
    for y in ([0, 3, 3], [-1, 0, 0], [0.5, 0.0, 0.0]):
        with pytest.raises(ValueError, match="pass classes="):
            class_codes(y, P, P, numbered=True)
    with pytest.raises(ValueError, match="p has 3 columns but y has 2 classes"):
        class_codes([2, 0, 2], P, P)


@pytest.mark.parametrize(
    ("y", "given", "message"),
    [
        ("abx", "abc", r"y has the label 'x', which is not among classes \('a', 'b'"),
        ("ab", "abc", "y has 2 rows but p has 3"),
        ("aaa", "abc", "y has one class only: every label is 'a'"),
        ("abc", "ab", "classes must name the 3 columns of p"),
        ("abc", "abb", "classes has 'b' twice"),
        (["a", None, "b"], "abc", "no label at row 1"),
    ],
)
def test_labels_that_do_not_fit(y, given, message):
    with pytest.raises(ValueError, match=message):
        class_codes(list(y), P, P, list(given), several=True)


def test_columns_named_in_another_order_than_classes():
    frame = pd.DataFrame(P, columns=list("cab"))
    with pytest.raises(ValueError, match=r"column 0 of p is 'c' but classes has 'a'"):
        class_codes(list("abc"), frame, P, list("abc"))
    assert class_codes(list("abc"), frame, P, list("cab"))[0].tolist() == [1, 2, 0]


def test_rows_that_sum_to_one_are_left_as_they_are():
    assert check_class_probabilities(P) is P
    assert check_class_probabilities(Probabilities(P)) is P
    assert check_class_probabilities(P.tolist()).tolist() == P.tolist()
    short = check_class_probabilities((P / 3 * 3).astype(np.float32))
    assert short.dtype == np.float64
    np.testing.assert_allclose(short.sum(axis=1), 1.0, rtol=1e-15)
    near = P * np.array([[1.0009], [0.9991], [1.0]])
    given = near.copy()
    np.testing.assert_allclose(check_class_probabilities(near), P, rtol=1e-15)
    np.testing.assert_array_equal(near, given)
    z = np.array([[-3.0, 9.0], [0.5, 0.5]])
    assert check_class_probabilities(z, logits=True) is z


@pytest.mark.parametrize(
    ("p", "options", "message"),
    [
        ([[0.5, 0.7], [0.5, 0.5]], {}, r"sums to 1.2 in row 0, not to 1 \(1 of 2 rows"),
        ([[0.5, 0.5], [0.2, 0.1]], {}, "sums to 0.3 in row 1.*one-vs-rest.*divide"),
        ([[0.5, 0.5], [0.0, 0.0]], {}, "p is 0 for every class in row 1"),
        ([[-3.0, 2.0], [0.5, 0.5]], {}, "p is -3 at row 0, column 0.*pass logits=True"),
        ([[20.0, 80.0]], {}, "divide by 100"),
        ([[0.5, np.nan]], {}, "NaN at row 0, column 1"),
        ([[np.nan, 0.5]], {"logits": True}, "NaN at row 0, column 0"),
        ([[0.0, -np.inf]], {"logits": True}, "infinite scores in row 0"),
        ([[1.0], [1.0]], {}, "1 column, one class only"),
        ([0.5, 0.5], {}, r"one column per class, not an array of shape \(2,\)"),
        ([[1.1, -0.1]], {"name": "q"}, "q is 1.1 at row 0"),
    ],
)
def test_rows_that_are_no_probabilities_of_classes(p, options, message):
    with pytest.raises(ValueError, match=message):
        check_class_probabilities(p, **options)


def test_a_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match=r"pass p\.toarray\(\)"):
        check_class_probabilities(scipy.sparse.csr_array(P))
