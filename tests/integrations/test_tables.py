"""Tables decided one by one give the labels of one call on all rows."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import argmetric as am
from argmetric.integrations import decide_batches, decide_table
from partitioned import COLUMNS, rows, sorted_labels, whole
from refusing import refuses


def by_hash(table, count):
    bucket = table["user"].to_numpy() % count
    return [table.filter(pa.array(bucket == i)) for i in range(count)]


@pytest.mark.parametrize("kind", [lambda t: t, pa.Table.to_pandas, pl.from_arrow])
def test_a_table_of_any_kind_gets_the_labels_of_decide(kind):
    table = rows()
    given = kind(table)
    if isinstance(given, pd.DataFrame):
        given.index = given.index[::-1]
    found = decide_table(given, **COLUMNS, metric="f2", max_positives=3)
    assert type(found) is type(given)
    wanted = whole(table, "f2", max_positives=3)
    assert np.array_equal(np.asarray(found["decision"]), wanted)
    assert list(decide_table(given[:0], **COLUMNS)["decision"]) == []


def test_batches_give_the_labels_of_all_rows_at_once():
    table, p = rows(), rows(400, seed=1)["score"].to_numpy()
    reference = np.random.default_rng(2).random(400) < p**0.5, p
    found = decide_batches(by_hash(table, 7), **COLUMNS, reference=reference)
    assert np.array_equal(sorted_labels(found), whole(table, reference=reference))


def test_a_budget_names_its_column():
    table = rows()
    found = decide_batches(by_hash(table, 3), **COLUMNS, budget=("row", 3000))
    wanted = whole(table, budget=(table["row"], 3000))
    assert np.array_equal(sorted_labels(found), wanted)
    with pytest.raises(ValueError, match="no column 'tokens'"):
        decide_table(table, **COLUMNS, budget=("tokens", 3))


def test_a_group_in_two_batches_is_refused():
    table = rows(20, 3)
    batches = decide_batches([table[:10], table[10:]], **COLUMNS)
    next(batches)
    refuses(ValueError, "is in batch 1 and in an earlier one: partit", next, batches)


def test_what_depends_on_other_groups_is_refused():
    for name, value in (("prior", 0.2), ("average", "pooled"), ("odd", 1)):
        with pytest.raises(TypeError, match=f"{name} does not work on partitions"):
            decide_table(rows(), **COLUMNS, **{name: value})
    with pytest.raises(ValueError, match="no column 'x': there are user, score, row"):
        decide_table(rows(), p="x", groups="user")
    with pytest.raises(ValueError, match="there is a column 'row' already"):
        decide_table(rows(), **COLUMNS, output="row")


def test_wrong_tables_and_missing_values_are_refused():
    for odd in ({"user": [1]}, pl.LazyFrame({"user": [1]}), [rows()]):
        with pytest.raises(TypeError, match="a table must be a pyarrow Table, or a pa"):
            decide_table(odd, **COLUMNS)
    with pytest.raises(TypeError, match="decide_batches takes several"):
        next(decide_batches(rows(), **COLUMNS))
    with pytest.raises(TypeError, match=r"a pair \(y, p\) .* or a fitted Calibrator"):
        decide_table(rows(), **COLUMNS, reference=5)
    with pytest.raises(TypeError, match=r"budget must be a pair \(cost, most\)"):
        decide_table(rows(), **COLUMNS, budget=3)
    for column, message in (
        ("score", "p has NaN at row 1; drop or fill it"),
        ("user", "groups has a missing value at row 1"),
    ):
        whole = {"user": [1, 1], "score": [0.9, 0.5]}
        table = pa.table(whole | {column: [1, None]})
        refuses(ValueError, message, decide_table, table, **COLUMNS)


@pytest.mark.parametrize(
    ("call", "library", "extra"),
    [
        (lambda: am.integrations.spark.decide(None, **COLUMNS), "pyspark", "spark"),
        (
            lambda: am.integrations.mlflow.log_rule(am.Rule("f1", 0.5)),
            "mlflow",
            "mlflow",
        ),
    ],
)
def test_a_missing_library_names_its_extra(monkeypatch, call, library, extra):
    for name in [x for x in sys.modules if x.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    text = rf"this needs {library}: pip install 'argmetric\[{extra}\]'"
    refuses(ModuleNotFoundError, text, call)


def test_importing_the_room_loads_no_engine():
    assert "spark" in dir(am.integrations) or am.integrations.spark
    assert "decide_table" in dir(am.integrations)
