"""Lazy tables of Polars and DuckDB: the answers are those of arrays in memory."""

import math
import warnings

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric import scale
from argmetric._forecast.distributions import count_pmf
from argmetric.scale import _lazy, _lazy_items
from refusing import refuses

NASTY = (0.0, 1.0, 1e-300, 0.5, 0.25, 0.1, 1 - 2**-53, 0.7, 0.3, 5e-324)
METRICS = ("f1", "jaccard", "mcc", "balanced_accuracy", "gmean", "kappa", "accuracy")
ENGINES = ("polars", "duckdb")


def lazy(engine, columns):
    frame = pl.DataFrame(columns)
    if engine == "polars":
        return frame.lazy()
    con = duckdb.connect()
    con.register("t", frame.to_arrow())
    return con.sql("FROM t")


def fetched(table):
    """The columns of a lazy table as arrays."""
    if isinstance(table, pl.LazyFrame):
        frame = table.collect()
        return {name: frame[name].to_numpy() for name in frame.columns}
    arrow = table.to_arrow_table()
    return {
        name: arrow[name].to_numpy(zero_copy_only=False) for name in arrow.column_names
    }


def answer(call, *args, **how):
    with warnings.catch_warnings(action="ignore"):
        try:
            return call(*args, **how)
        except ValueError:
            return None


def best_whole_cut(p, metric, how):
    """Expected metric of the best cut that splits no tie; None if none is allowed."""
    limits = dict(how)
    zero = limits.pop("zero_division")
    found = answer(am.decide, p, metric, zero_division=zero)
    if found is None or answer(am.decide, p, metric, **how) is None:
        return None
    key = np.sort(p)[::-1]
    whole = [k for k in range(p.size + 1) if k in (0, p.size) or key[k] < key[k - 1]]
    low, high = limits.get("min_positives", 0), limits.get("max_positives", p.size)
    if math.isnan(zero) and not low:
        high = min(high, max(int((p > 0).sum()), low))
    values = [found.curve[k] for k in whole if low <= k <= high]
    best = np.fmax.reduce(values) if values else None
    return None if values and np.isnan(best) and p.max() > 0 else best


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_vector_gets_the_best_cut_that_splits_no_tie(engine, data):
    p = np.array(data.draw(st.lists(st.sampled_from(NASTY), min_size=1, max_size=30)))
    how = {"zero_division": data.draw(st.sampled_from([0.0, 1.0, math.nan]))}
    if data.draw(st.booleans()):
        how["min_positives"] = data.draw(st.integers(0, p.size))
        how["max_positives"] = data.draw(st.integers(how["min_positives"], p.size))
    metric = data.draw(st.sampled_from(METRICS))
    wanted = best_whole_cut(p, metric, how)
    found = answer(scale.open(lazy(engine, {"p": p})).decide, metric, **how)
    assert (found is None) == (wanted is None)
    if found is None:
        return
    labels = fetched(found.table)["decision"]
    near = pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)
    assert found.expected == near
    assert found.n == p.size
    assert found.n_positives == labels.sum()
    assert labels.dtype == np.int8
    assert np.array_equal(labels, p >= found.threshold)
    memory = am.decide(p, metric, **how)
    assert found.n_half == memory.cut_half.n_positives
    if memory.threshold is not None:
        assert np.array_equal(labels, memory.labels)
    else:  # a tie without a price needs no note
        lost = memory.expected - found.expected
        noted = any("equal scores" in note for note in found.notes)
        assert noted or not lost > 1e-9


def test_limits_hold_where_no_cut_has_a_defined_score():
    """A cut splits no tie, so that both rows are the least that one row allows."""
    table = scale.open(lazy("polars", {"p": np.zeros(2)}))
    for zero in 0.0, math.nan:
        how = {"zero_division": zero, "min_positives": 1, "max_positives": 2}
        assert table.decide("gmean", **how).n_positives == 2


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_groups_scores_and_forecasts_are_those_of_memory(engine, data):
    n = data.draw(st.integers(1, 30))
    values = {"user": st.integers(0, 4), "p": st.sampled_from(NASTY)}
    values |= dict.fromkeys(("y", "d"), st.integers(0, 1))
    rows = {
        name: np.array(data.draw(st.lists(one, min_size=n, max_size=n)))
        for name, one in values.items()
    }
    zero = data.draw(st.sampled_from([0.0, 1.0, math.nan]))
    metric = data.draw(st.sampled_from(METRICS))
    how = {"zero_division": zero}
    group = data.draw(st.sampled_from([None, "user"]))
    grouped = {"groups": rows["user"], "average": "groups"} if group else {}
    table = scale.open(
        lazy(engine, rows), score="p", label="y", decision_column="d", group=group
    )
    if group:
        wanted = answer(am.decide, rows["p"], metric, **grouped, **how)
        found = answer(table.decide, metric, output="new", **how)
        assert (found is None) == (wanted is None)
        if found is not None:
            near = pytest.approx(wanted.expected, rel=1e-12, nan_ok=True)
            assert found.expected == near
            assert found.n_groups == wanted.n_groups
            assert found.n_positives == wanted.n_positives
            assert found.n_half == wanted.cut_half.n_positives
            labels = fetched(found.table)
            pairs = zip(labels["user"], labels["p"], labels["new"], strict=True)
            mine = zip(rows["user"], rows["p"], wanted.labels, strict=True)
            assert sorted(pairs) == sorted(mine)
    wanted = answer(am.evaluate, rows["y"], rows["d"], metric, **grouped, **how)
    found = answer(table.evaluate, metric, **how)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found == pytest.approx(wanted, rel=1e-12)
        assert found.counts == wanted.counts
        assert found.interval == pytest.approx(wanted.interval)
        assert found.n_groups == wanted.n_groups
    wanted = answer(am.forecast, rows["p"], rows["d"], metric, **grouped, **how)
    found = answer(table.forecast, metric, **how)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found.mean == pytest.approx(wanted.mean, rel=1e-9, abs=1e-12)
        assert found.interval == pytest.approx(wanted.interval, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=30, deadline=None)
@given(data=st.data(), few=st.sampled_from([0, 7, 1 << 22]))
def test_a_threshold_is_tuned_as_in_memory(engine, few, data):
    scores = (*NASTY, -1.5, 3.0, 1e300, -7e11)
    n = data.draw(st.integers(2, 40))
    p = np.array(data.draw(st.lists(st.sampled_from(scores), min_size=n, max_size=n)))
    y = np.array(
        data.draw(st.lists(st.sampled_from(["no", "yes"]), min_size=n, max_size=n))
    )
    metric = data.draw(st.sampled_from(METRICS))
    quick = {"n_bootstrap": 0, "cv": None, "pos_label": "yes"}
    table = scale.open(lazy(engine, {"p": p, "y": y}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lazy_items, "MOST_SCANNED", few)
        found = answer(table.tune, metric, **quick)
    wanted = answer(am.tune, y, p, metric, **quick)
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found.threshold == wanted.threshold
        assert found.score == pytest.approx(wanted.score, rel=1e-12)
        assert (found.pos_label, found.neg_label) == ("yes", "no")


@pytest.fixture(scope="module")
def million():
    p = np.random.default_rng(0).beta(0.5, 2, 1_000_000)
    return p, {engine: lazy(engine, {"p": p}) for engine in ENGINES}


@pytest.mark.parametrize(
    "metric", ["f1", "jaccard", "mcc", "balanced_accuracy", "gmean", "kappa"]
)
def test_a_million_rows_take_two_passes(million, metric):
    p, tables = million
    wanted = am.decide(p, metric)
    for table in tables.values():
        found = scale.open(table).decide(metric)
        assert found.n_positives == wanted.n_positives
        assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
        assert found.expected_half == pytest.approx(wanted.cut_half.expected, rel=1e-12)
        assert found.threshold == pytest.approx(wanted.threshold, rel=1e-9)
        assert found.plan == "one vector, 2 passes"
        assert fetched(found.table)["decision"].sum() == wanted.n_positives


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("digits", [2, 3])
@pytest.mark.parametrize(
    "limits", [{}, {"max_positives": 5_000}, {"min_positives": 60_000}]
)
@pytest.mark.parametrize("metric", ["f1", "gmean", "mcc"])
def test_many_rows_with_ties(engine, digits, limits, metric):
    p = np.random.default_rng(1).beta(0.5, 2, 70_000).round(digits)
    found = scale.open(lazy(engine, {"p": p})).decide(metric, **limits)
    low = limits.get("min_positives", 0)
    high = limits.get("max_positives", p.size)
    key = np.sort(p)[::-1]
    curve = am.decide(p, metric).curve
    whole = np.flatnonzero(np.r_[True, key[1:] != key[:-1], True])
    whole = whole[(whole >= low) & (whole <= high)]
    best = whole[curve[whole].argmax()]
    assert found.n_positives == best == (p >= found.threshold).sum()
    assert found.expected == pytest.approx(curve[best], rel=1e-11)
    lost = curve[low : high + 1].max() - curve[best]
    assert len(found.notes) == (lost > 1e-9)
    assert not found.notes or f"by {lost:.2g}" in found.notes[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_options_of_decide_on_one_vector(engine):
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 2, 3_000)
    y = (rng.random(3_000) < p**1.5).astype(int)
    calibrator = am.calibrate(y, p)
    mine = lambda tp, k, t, n: (tp - 0.2 * (k - tp)) / n  # noqa: E731
    for how in (
        {"reference": (y, p)},
        {"reference": calibrator},
        {"min_precision": 0.6},
        {"min_recall": 0.9, "max_positives": "50%"},
        {"zero_division": 1.0, "min_positives": 5},
        {"metric": mine},
    ):
        wanted = am.decide(p, **how)
        found = scale.open(lazy(engine, {"p": p})).decide(**how)
        assert found.n_positives == wanted.n_positives
        assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
        assert found.scale == wanted.scale
        assert found.threshold_raw == wanted.threshold_raw
        assert np.array_equal(fetched(found.table)["decision"], wanted.labels)
    logits = np.log(p / (1 - p))
    table = scale.open(lazy(engine, {"p": logits}))
    wanted, found = am.decide(logits, logits=True), table.decide(logits=True)
    assert np.array_equal(fetched(found.table)["decision"], wanted.labels)
    assert found.scale == "logit"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(0.5, 2), (1e-3, 1), (5, 0.1)])
def test_a_forecast_in_bins_is_that_of_all_rows(engine, shape, monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.beta(*shape, 3_000)
    p[:5] = 0.0, 1.0, 0.5, 0.5 + 2**-20, 1e-300
    d = (p + rng.normal(0, 0.1, p.size) > 0.5).astype(int)
    table = scale.open(lazy(engine, {"p": p, "d": d}), decision_column="d")
    wanted = am.forecast(p, d, "f1")
    assert table.forecast("f1").mean == pytest.approx(wanted.mean, rel=1e-12)
    monkeypatch.setattr(_lazy, "MOST_CONVOLVED", 0)
    found = table.forecast("f1")
    assert found.mean == pytest.approx(wanted.mean, abs=1e-9)
    assert found.std == pytest.approx(wanted.std, abs=1e-8)
    atom = np.ptp(wanted.values) / (1 << 14)  # values are binned, from other ends
    assert found.interval == pytest.approx(wanted.interval, abs=atom)
    assert found.n_positives == d.sum()
    assert found.expected_positives == pytest.approx(p.sum(), rel=1e-12)
    grouped = scale.open(table.table, decision_column="d", group="p", score="d")
    refuses(ValueError, "one column has two roles: d, d", grouped.forecast, "f1")


@pytest.mark.parametrize("shape", [(0.5, 2), (1e-3, 1), (5, 0.1), (300, 300)])
def test_bins_of_probabilities_give_the_distribution_of_their_sum(shape):
    p = np.random.default_rng(7).beta(*shape, 4_000)
    p[:6] = 0.0, 1.0, 0.5, 0.5 + 2**-20, 1e-300, 5e-324
    x = p * _lazy_items.BINS
    bins, at = np.unique(np.floor(x), return_inverse=True)
    sums = {name: np.bincount(at, x**j) for j, name in enumerate(("rows", "x"))}
    sums |= {"bin": bins, "x2": np.bincount(at, x**2), "x3": np.bincount(at, x**3)}
    wanted, found = count_pmf(p, 1.0 - p), _lazy_items.binned_pmf(sums)
    inside = found.probabilities[int(wanted.first - found.first) :]
    inside = inside[: wanted.probabilities.size]
    assert np.abs(inside - wanted.probabilities).max() < 1e-12
    nothing = {name: values[:0] for name, values in sums.items()}
    assert _lazy_items.binned_pmf(nothing) == (0, np.ones(1))


def test_a_result_says_what_was_decided():
    p = [0.9, 0.45, 0.4, 0.1]
    table = scale.open(lazy("polars", {"score": p}), decision_column="chosen")
    assert repr(table).startswith("<LazyTable: polars, decision_column='chosen'")
    found = table.decide("f1")
    assert repr(found).startswith("LazyDecision: expected F1 0.690, 3 of 4 (75.0%)")
    assert "one vector, 2 passes" in repr(found)
    assert found.assumptions[0] == "calibrated probabilities"
    told = found.to_dict()
    assert told["n_positives"] == 3
    assert told["threshold_raw"] == told["threshold"] == found.threshold
    assert not {"table", "n_files", "skipped"} & told.keys()
    assert found.table.collect_schema().names() == ["score", "chosen"]
    grouped = scale.open(lazy("duckdb", {"score": p, "g": [1, 1, 2, 2]}), group="g")
    found = grouped.decide("f1")
    assert "groups of 2" in repr(found)
    assert found.table.columns == ["score", "g", "decision"]


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_of_odd_kinds(engine, tmp_path):
    for p in (
        np.float32([0.1, 0.7, 0.7, 0.9]),
        np.array([0, 1, 1, 0]),
        np.array([True, False, True, True]),
        np.full(60_000, 0.3),
        np.full(60_000, 0.0),
        np.array([1e-13 - 1e-13, -1e-13, 1 + 1e-13, 0.4]),
    ):
        rows = {"p": p, "bin": p, "x": p, "rows": p, "g": p, "d": p}
        found = answer(scale.open(lazy(engine, rows), score="p").decide, "f1")
        wanted = answer(am.decide, p, "f1")
        labels = fetched(found.table)["decision"]
        assert labels.sum() == found.n_positives
        assert found.expected == pytest.approx(wanted.expected)
    parts = np.random.default_rng(4).beta(1, 3, (3, 50))
    for i, part in enumerate(parts):
        pl.DataFrame({"p": part, "g": [f"g{i}"] * 50}).write_parquet(
            tmp_path / f"{i}.parquet"
        )
    pattern = str(tmp_path / "*.parquet")
    con = duckdb.connect()
    scan = pl.scan_parquet(pattern) if engine == "polars" else con.read_parquet(pattern)
    found = scale.open(scan, group="g").decide("f1")
    wanted = am.decide(parts.ravel(), groups=np.repeat(range(3), 50))
    assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
    assert fetched(found.table)["decision"].sum() == wanted.n_positives
    some = (
        scan.filter(pl.col("p") > 0.2)
        if engine == "polars"
        else (con.sql(f"FROM '{pattern}' WHERE p > 0.2 ORDER BY p DESC LIMIT 20"))
    )
    kept = np.sort(parts[parts > 0.2])[::-1]
    kept = kept if engine == "polars" else kept[:20]
    found = scale.open(some).decide("f1")
    assert found.n == kept.size
    assert found.expected == pytest.approx(am.decide(kept).expected, rel=1e-12)


def test_a_group_of_many_batches_stays_whole(monkeypatch):
    monkeypatch.setattr("argmetric.scale._lazy_groups.BATCH_ROWS", 2048)
    rng = np.random.default_rng(5)
    users = np.repeat([3, 1, 2, 7], [9_000, 1, 5_000, 30])
    rows = {
        "p": rng.beta(1, 3, users.size),
        "user": users,
        "row": np.arange(users.size),
    }
    order = rng.permutation(users.size)
    rows = {name: values[order] for name, values in rows.items()}
    wanted = am.decide(rows["p"], groups=rows["user"])
    found = scale.open(lazy("duckdb", rows), group="user").decide("f1")
    table = fetched(found.table.order("row"))
    assert np.array_equal(table["decision"], wanted.labels[np.argsort(rows["row"])])
    again = fetched(found.table.order("row"))  # the relation is read as often as asked
    assert np.array_equal(again["decision"], table["decision"])
    assert found.n_positives == wanted.n_positives == table["decision"].sum()


P = np.linspace(0, 1, 5)
REFUSALS = [
    (
        {"p": [0.1, None]},
        {},
        "column 'p' is missing .NULL or NaN. in 1 of 2 rows: drop",
    ),
    ({"p": [0.1, math.nan]}, {}, "column 'p' is missing .NULL or NaN. in 1 of 2 rows"),
    ({"p": [0.1, 1.5]}, {}, r"column 'p' is from 0.1 to 1.5, outside of \[0, 1\]"),
    ({"p": [-math.inf, 1.0]}, {}, r"from -inf to 1, outside of \[0, 1\]"),
    ({"p": ["a", "b"]}, {}, "column 'p' holds String, not numbers"),
    ({"p": np.zeros(0)}, {}, "the table is empty: there are no rows"),
    ({"p": P}, {"score": "q"}, "no column 'q': there are 'p'"),
    ({"p": P, "prob": P}, {}, "which column is the score.* there are 'p', 'prob'"),
    ({"p": P, "Decision": P}, {}, "there is a column 'decision' already: name another"),
    ({"p": P, "g": [1, 1, None, 2, 2]}, {"group": "g"}, "'g' is missing .* in 1 of 5"),
    (
        {"p": P, "g": [1.0, 1, 2, 2, math.nan]},
        {"group": "g"},
        "'g' is missing .* 1 of 5",
    ),
    ({"p": P}, {"group": "p"}, "one column has two roles: p, p"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("columns", "how", "words"), REFUSALS)
def test_refusals(engine, columns, how, words):
    refuses(ValueError, words, scale.open(lazy(engine, columns), **how).decide, "f1")


@pytest.mark.parametrize("engine", ENGINES)
def test_other_refusals(engine, monkeypatch):
    rows = {"p": P, "y": [0, 1, None, 1, 0], "d": [0, 1, 2, 1, 0], "s": list("abcab")}
    open_ = lambda **how: scale.open(lazy(engine, rows), **how)  # noqa: E731
    with pytest.raises(ValueError, match=r"column 'y' is missing .* in 1 of 5 rows"):
        open_(decision_column="d").evaluate()
    refuses(ValueError, r"column 'y' is missing .* in 1 of 5 rows", open_().tune, "f1")
    refuses(ValueError, "which column is the decision_column", open_().forecast)
    with pytest.raises(ValueError, match="a threshold for the mean over groups"):
        open_(group="s").tune("f1")
    with pytest.raises(TypeError, match="output must be the name of a column, not 3"):
        open_().decide("f1", output=3)
    refuses(ValueError, "memory goes with files, not with a lazy", open_, memory="1GB")
    refuses(ValueError, "missing_groups goes with files", open_, missing_groups="own")
    monkeypatch.setattr(_lazy, "MOST_ROWS", 4)
    refuses(ValueError, "5 rows have to be decided at once", open_().decide, "f1")
    monkeypatch.undo()
    monkeypatch.setattr(_lazy_items, "MOST_LABELS", 2)
    with pytest.raises(ValueError, match="more than 2 distinct values would have"):
        open_(label="p", decision_column="s").evaluate()
    monkeypatch.undo()
    monkeypatch.setattr(_lazy, "MOST_CONVOLVED", 4)
    rows["s"] = list("ababa")
    with pytest.raises(ValueError, match="a forecast by group takes at most 4 rows"):
        open_(decision_column="s", group="d").forecast(pos_label="a")


def test_tables_of_other_kinds():
    with pytest.raises(TypeError, match="this table of polars is in memory: pass its"):
        scale.open(pl.DataFrame({"p": P}))
    refuses(TypeError, "files must be", scale.open, 3)


def test_a_filter_that_fails_says_so():
    table = pl.LazyFrame({"p": P}).filter(pl.col("nothing") > 0)
    refuses(Exception, "nothing", scale.open(table).decide, "f1")


def test_a_table_that_changes_between_passes_is_refused():
    rng = np.random.default_rng(6)
    for rows in (100, 60_000):  # by distinct scores, and by bins
        sizes = iter(range(rows, 2 * rows))

        def generate(with_columns, predicate, n_rows, batch_size, sizes=sizes):
            yield pl.DataFrame({"p": rng.random(next(sizes))})

        from polars.io.plugins import register_io_source

        table = register_io_source(generate, schema={"p": pl.Float64})
        with pytest.raises(ValueError, match="the table changes while it is read"):
            scale.open(table).decide("f1")
