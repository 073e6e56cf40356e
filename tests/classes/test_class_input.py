"""One label per row: classes of the columns, and rows that sum to 1."""

import numpy as np
import pandas as pd
import pytest

import argmetric as am
from refusing import refuses

P = np.array([[0.2, 0.3, 0.5], [0.8, 0.1, 0.1], [0.25, 0.5, 0.25]])


@pytest.mark.parametrize(
    ("y", "classes", "names", "right"),
    [  # the largest p of a row is in columns 2, 0, 1
        ("cab", None, "abc", 3),
        ("bab", "cab", "cab", 1),
        ("bca", "cab", "cab", 3),
        ([2.0, 0.0, 2.0], range(3), (0, 1, 2), 2),
    ],
)
def test_labels_find_their_columns(y, classes, names, right):
    how = {"n_bootstrap": 0, "cv": None}
    given = None if classes is None else list(classes)
    found = am.classes.tune(list(y), P, "accuracy", classes=given, **how)
    assert found.classes == tuple(names)
    assert found.argmax_score == pytest.approx(right / 3)
    if given is not None:
        frame = pd.DataFrame(P, columns=given)
        assert am.classes.tune(list(y), frame, "accuracy", **how) == found


def test_whole_numbers_number_the_columns_where_they_may():
    found = am.classes.calibrate([2, 0, 2], P)
    assert found.classes == (0, 1, 2)
    np.testing.assert_allclose(found.prevalences, [1 / 3, 0, 2 / 3])
    for y in ([0, 3, 3], [-1, 0, 0], [0.5, 0.0, 0.0]):
        refuses(ValueError, "pass classes=", am.classes.calibrate, y, P)
    with pytest.raises(ValueError, match="p has 3 columns but y has 2 classes"):
        am.classes.tune([2, 0, 2], P)


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
    refuses(ValueError, message, am.classes.calibrate, list(y), P, classes=list(given))


def test_columns_named_in_another_order_than_classes():
    frame = pd.DataFrame(P, columns=list("cab"))
    with pytest.raises(ValueError, match=r"column 0 of p is 'c' but classes has 'a'"):
        am.classes.calibrate(list("abc"), frame, classes=list("abc"))
    found = am.classes.calibrate(list("bca"), frame, classes=list("cab"))
    assert found == am.classes.calibrate(list("bca"), P, classes=list("cab"))


def test_rows_that_miss_one_by_little_are_divided_by_their_sum():
    whole = am.classes.decide(P)
    near = P * np.array([[1.0009], [0.9991], [1.0]])
    given = near.copy()
    for p in (P.tolist(), P.astype(np.float32), near):
        found = am.classes.decide(p)
        assert found.expected == pytest.approx(whole.expected, rel=1e-6)
    np.testing.assert_array_equal(near, given)
    z = np.log(P) + np.array([[3.0], [-2.0], [0.0]])
    found = am.classes.decide(z, logits=True)
    assert found.expected == pytest.approx(whole.expected, rel=1e-12)


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
        ([0.5, 0.5], {}, "one column per class, not have 1 dimension: are p"),
    ],
)
def test_rows_that_are_no_probabilities_of_classes(p, options, message):
    refuses(ValueError, message, am.classes.decide, p, **options)


@pytest.mark.parametrize("prefix", ["p_", "", "score of "])
def test_columns_that_begin_alike_are_named_by_the_rest(prefix):
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 1], 90)
    names = np.array(["car", "cat", "dog"])
    y = names[[rng.choice(3, p=row) for row in p]]
    frame = pd.DataFrame(p, columns=[prefix + name for name in names])
    straight = am.classes.tune(y, p, "f1", n_bootstrap=0, cv=0)
    turned = am.classes.tune(
        y,
        frame[[prefix + name for name in ("dog", "car", "cat")]],
        "f1",
        n_bootstrap=0,
        cv=0,
    )
    assert turned.score == straight.score
    other = pd.DataFrame(p, columns=["x", "y", "z"])  # in the order of the classes
    assert am.classes.tune(y, other, "f1", n_bootstrap=0, cv=0).score == straight.score


def test_labels_of_other_names_are_said_and_score_0():
    y = np.tile(["A", "B"], 10)
    with pytest.warns(UserWarning, match="no class in common: y has .*'A'.* 'p_A'"):
        assert am.classes.evaluate(y, np.tile(["p_A", "p_B"], 10), "f1") == 0.0
