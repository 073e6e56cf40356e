"""Columns: found by name, and judged as numbers, probabilities, labels or groups."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from argmetric.scale import files as aio
from refusing import refuses


def read_text(name, content):
    Path(name).write_text(content)
    return aio.read_table(name)


def table_of(**columns):
    return aio.Table(pa.table(columns), "parquet", "t.parquet")


def find_score(table, name=None):
    names = aio.SCORE_NAMES
    return aio.find_column(table, name, names, what="score", role="score")


def test_columns_by_name_and_by_default():
    table = table_of(id=["a"], Prob=[0.5], other=[1.0])
    assert find_score(table) == "Prob"
    assert find_score(table, "other") == "other"


def test_two_candidates_are_never_guessed_between():
    with pytest.raises(aio.DataError) as caught:
        find_score(table_of(score=[0.5], prob=[0.5]))
    assert str(caught.value) == (
        "t.parquet: which column is the score? Candidates: 'score', 'prob'; "
        "choose with `score`"
    )


def test_missing_columns_offer_the_nearest_names():
    table = table_of(model_score=[0.5], x=[1])
    with pytest.raises(aio.DataError) as caught:
        find_score(table, "Model_scor")
    assert str(caught.value) == (
        "no column 'Model_scor' in t.parquet; did you mean 'model_score'? "
        "(columns: model_score, x)"
    )
    with pytest.raises(aio.DataError) as caught:
        find_score(table)
    assert str(caught.value).startswith("t.parquet has no score column (looked for ")
    assert str(caught.value).endswith("pass `score=COLUMN` (columns: model_score, x)")


def test_a_name_that_occurs_twice():
    table = read_text("in.csv", "score,x,score\n1,0,2\n")
    told = r"^in.csv has 2 columns named 'score': columns 1 and 3; rename one$"
    refuses(aio.DataError, told, aio.named_column, table, "score")
    refuses(aio.DataError, told, find_score, table)


def test_a_key_that_occurs_twice():
    content = '{"p": 0.1, "q": {"p": 1}}\n\n{"p": 0.2, "q": {"p": 2}, "p" : 0.3}\n'
    told = r"^in.jsonl, line 2: an object with the key 'p' twice$"
    with pytest.raises(aio.DataError, match=told):
        read_text("in.jsonl", content)
    table = read_text("in.jsonl", content.replace(', "p" : 0.3', ""))
    assert find_score(table) == "p"


def test_missing_header_is_pointed_out():
    table = read_text("in.csv", "0.5,1\n0.25,0\n")
    refuses(aio.DataError, r"the file needs a header line$", find_score, table)


def test_new_column_needs_a_free_name_and_every_row():
    table = table_of(a=[1, 2])
    with pytest.raises(aio.DataError, match=r"^t.parquet already has a column 'a'$"):
        table.with_column("a", [1, 2])
    refuses(aio.DataError, r"^1 values for 2 rows$", table.with_column, "b", [1])


MEND = "; write one, or remove the row"
COUNTED = "; rows are counted from 1, without the header"


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0.5, 1.0]),
        pa.array([0.5, 1.0], pa.float32()),
        pa.array(np.array([0.5, 1.0], np.float16)),
        pa.array(["0.5", " 1.0 "]),
        pa.array([".5", "1e0"], pa.large_string()),
        pa.array(["0.5", "+1."]).dictionary_encode(),
        pa.chunked_array([[0.5], [1.0]]),
        pa.array([9.9, 0.5, 1.0]).slice(1),
        pa.array([0.5, 1.0]).cast(pa.decimal128(5, 2)),
    ],
    ids=["f8", "f4", "f2", "text", "large", "dictionary", "chunks", "slice", "decimal"],
)
def test_numbers_of_every_kind(values):
    found = aio.numbers(table_of(s=values), "s")
    assert found.dtype == np.float64
    assert found.tolist() == [0.5, 1.0]


def test_text_is_read_as_the_nearest_float():
    texts = ["0.1", "1e-300", "0.30000000000000004", "4.9e-324", "1"]
    found = aio.numbers(table_of(s=texts), "s")
    assert found.tolist() == [float(text) for text in texts]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["0.5", "x1", "y"], f"row 2: 'x1' is not a number{MEND} (2 such rows)"),
        (["0.5", "0,5"], "row 2: '0,5' has a decimal comma; pass `decimal=,`"),
        (["", "1"], "row 1 is empty; fill it in or remove the row"),
        ([0.5, None], "row 2 is empty; fill it in or remove the row"),
        ([0.5, float("nan")], f"row 2: nan is not a finite number{MEND}"),
        (["inf", "1"], f"row 1: 'inf' is not a finite number{MEND}"),
        (["1e999", "1"], f"row 1: '1e999' is not a finite number{MEND}"),
        (["x" * 99], "row 1: '" + "x" * 39 + f"… is not a number{MEND}"),
    ],
)
def test_no_number(values, problem):
    with pytest.raises(aio.DataError) as caught:
        aio.numbers(table_of(s=values), "s")
    assert str(caught.value) == f"t.parquet: column 's', {problem}{COUNTED}"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([0.5, -4.125, 7.9], "-4.125 at row 2, outside of [0, 1] (range seen: -4.125 "
         "to 7.9); looks like logits: pass `logits`"),
        ([0.5, 97.25], "97.25 at row 2, outside of [0, 1] (range seen: 0.5 to 97.25); "
         "looks like percentages: divide by 100"),
        ([0.5, 1000.0], "1000 at row 2, outside of [0, 1] (range seen: 0.5 to 1000); "
         "probabilities are needed"),
        ([0.5, -0.1], "-0.1 at row 2, outside of [0, 1] (range seen: -0.1 to 0.5); "
         "probabilities are needed"),
        ([0.5, 1.00001], "1.00001 at row 2, outside of [0, 1] (range seen: 0.5 to "
         "1.00001); probabilities are needed"),
    ],
)  # fmt: skip
def test_no_probability(values, problem):
    table = table_of(s=values)
    with pytest.raises(aio.DataError) as caught:
        aio.probabilities(table, "s")
    assert str(caught.value) == f"t.parquet: column 's' is {problem}{COUNTED}"
    assert aio.probabilities(table, "s", logits=True).tolist() == values


def test_what_rounding_puts_outside_is_what_it_is_for_the_functions():
    values = [0.5, -1e-17, 1.0000001, 1.0 + 1e-6, -1e-6]
    read = aio.probabilities(table_of(s=values), "s")
    assert read.tolist() == [0.5, 0.0, 1.0, 1.0, 0.0]
    assert am.decide(read).expected == am.decide(values).expected
    for beyond in (1.0 + 1.1e-6, -1.1e-6):
        with pytest.raises(aio.DataError, match=r"at row 2, outside of \[0, 1\]"):
            aio.probabilities(table_of(s=[0.5, beyond]), "s")
        refuses(ValueError, r"at row 1, outside of \[0, 1\]", am.decide, [0.5, beyond])


@pytest.mark.parametrize(
    ("values", "pos_label", "expected"),
    [
        ([0, 1, 1], None, [0, 1, 1]),
        ([0.0, 1.0], None, [0, 1]),
        ([True, False], None, [1, 0]),
        (["True", "false", "TRUE"], None, [1, 0, 1]),
        (["0", "1.0", " 1 "], None, [0, 1, 1]),
        (["spam", "ham", "spam"], "spam", [1, 0, 1]),
        ([0, 0], "1", [0, 0]),
        (["false"], "True", [0]),
        ([-1, 1], "1", [0, 1]),
        ([-1.0, 1.0], "1", [0, 1]),
        ([True, False], "false", [0, 1]),
        ([0, 1], "0", [1, 0]),
        ([-1, 1], None, [0, 1]),
        (["-1", "+1", "1.0"], None, [0, 1, 1]),
        (["1.0", "0"], "1", [1, 0]),
        (["ham", "ham"], "spam", [0, 0]),
        ([1, 1], "0", [0, 0]),
    ],
)
def test_labels(values, pos_label, expected):
    found = aio.labels(table_of(y=values), "y", pos_label=pos_label)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "values", [[1, None, 0], ["1", "", "0"], [1.0, float("nan"), 0.0], ["1", "NA", "0"]]
)
def test_labels_that_have_not_arrived(values):
    table = table_of(y=values)
    found = aio.labels(table, "y", missing=True)
    np.testing.assert_array_equal(found, [1, np.nan, 0])
    with pytest.raises(
        aio.DataError, match=r"'y', row 2(: .*)? is empty; every row needs"
    ):
        aio.labels(table, "y")


@pytest.mark.parametrize(
    ("values", "pos_label", "problem"),
    [
        (["a", "b"], None, "holds 'a', 'b', not 0 and 1; pass `pos_label=b` or "
         "`pos_label=a`"),
        ([0, 2], None, "holds 0, 2, not 0 and 1; pass `pos_label=2` or `pos_label=0`"),
        (["a", "b"], "c", "never holds 'c', which `pos_label` names; it holds 'a', "
         "'b'"),
        (["ham", "ham"], "Ham", "never holds 'Ham', which `pos_label` names; it holds "
         "'ham'"),
        ([0, 1], "2", "never holds '2', which `pos_label` names; it holds 0, 1"),
        (["a", "b", "c"], "a", "holds 'a', 'b', 'c'; labels have two values; make a "
         "column with two of them first; commands take several classes with "
         "`one_label`"),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], None, "holds 0.1, 0.2, 0.3, 0.4, 0.5 and "
         "2 more values; labels have two values; are the columns of scores and labels "
         "swapped? If not, make a column with two of them first; commands take several "
         "classes with `one_label`"),
    ],
)  # fmt: skip
def test_no_labels(values, pos_label, problem):
    with pytest.raises(aio.DataError) as caught:
        aio.labels(table_of(y=values), "y", pos_label=pos_label)
    assert str(caught.value) == f"t.parquet: column 'y' {problem}"


def test_one_class_may_be_absent_where_that_says_nothing():
    table = table_of(y=["ham", None, "ham"])
    found = aio.labels(table, "y", pos_label="spam", missing=True)
    np.testing.assert_array_equal(found, [0, np.nan, 0])
    with pytest.raises(aio.DataError, match="one class only: every label is 'ham'"):
        aio.classes(table_of(y=["ham", "ham"]), "y", "spam")


def test_groups_of_any_kind_in_any_order():
    codes, ids = aio.groups(table_of(g=["b", "a", "b", "007"]), "g")
    assert codes.tolist() == [0, 1, 0, 2]
    assert ids == ["b", "a", "007"]
    assert aio.groups(table_of(g=[5.0, -1.0, 5.0]), "g")[1] == [5.0, -1.0]


@pytest.mark.parametrize("gap", [None, "", " "])
def test_rows_without_a_group(gap):
    place = r"'g', row 2(: ' ')? is empty; every row needs a group"
    refuses(aio.DataError, place, aio.groups, table_of(g=["a", gap]), "g")


def test_groups_that_cannot_be_told_apart():
    with pytest.raises(aio.DataError, match=r"'g' holds list<.*cannot be told apart"):
        aio.groups(table_of(g=[[1], [2]]), "g")


def test_errors_name_roles_and_no_flags():
    folder = Path(aio.__file__).parent
    flags = re.compile(r"--[a-z]|argmetric [a-z]+ -")
    spoken = [p.name for p in folder.rglob("*.py") if flags.search(p.read_text())]
    assert spoken == []
    said = f"{aio.marked('pos_label')}, {aio.marked('hash_bits', '18')}; `a`"
    assert said == "`pos_label`, `hash_bits=18`; `a`"
