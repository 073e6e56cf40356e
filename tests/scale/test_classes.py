"""One of several classes per row, over files: what memory gives."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from opened import decide_classes, evaluate_classes
from scale_data import left_beside, read_back, write_parts

NAMES = ("ok", "late", "lost")
COLUMNS = [f"p_{name}" for name in NAMES]
HOW = {"scores": COLUMNS, "classes": NAMES}


def classified(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([3.0, 0.7, 0.3], n)
    y = (p.cumsum(axis=1)[:, :2] < rng.random((n, 1))).sum(axis=1)
    columns = dict(zip(COLUMNS, p.T, strict=True))
    return pa.table({"id": np.arange(n), **columns, "label": np.array(NAMES)[y]}), p


@pytest.fixture
def files(tmp_path):
    table, p = classified()
    return write_parts(tmp_path / "in", table, [700, 700, 2500]), table, p


def arrow_parts(folder, table):
    folder.mkdir()
    for i, first in enumerate((0, 1100)):
        part = table.slice(first, 1100 if i == 0 else None)
        with pa.ipc.new_file(folder / f"part-{i}.arrow", table.schema) as writer:
            writer.write_table(part, 300)
    return folder


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("f1", "arrow"),
        *((one, "parquet") for one in ("f1", "gmean", "mcc", "accuracy", "recall")),
    ],
)
def test_labels_and_expected_counts_are_those_of_the_rule_in_memory(
    files, tmp_path, metric, kind
):
    folder, table, p = files
    if kind == "arrow":
        folder = arrow_parts(tmp_path / "arrow", table)
    found = decide_classes(folder, metric, output=tmp_path / "out", **HOW)
    decision = am.classes.decide(p, metric, classes=NAMES)
    labels = decision.rule.apply(p)
    written = read_back(tmp_path / "out")
    assert written["decision"].to_pylist() == labels.tolist()
    assert written.drop_columns("decision").equals(table)
    codes = np.array([NAMES.index(one) for one in labels])
    wanted = p.T @ np.eye(3)[codes]  # by true class and label
    np.testing.assert_allclose(found.expected_confusion, wanted, rtol=1e-12)
    assert found.expected == pytest.approx(found.metric.score(wanted), rel=1e-12)
    assert found.expected == pytest.approx(decision.expected, abs=5e-3)
    plain = p.T @ np.eye(3)[p.argmax(axis=1)]
    assert found.most_probable == pytest.approx(found.metric.score(plain), rel=1e-12)
    assert found.counts.tolist() == np.bincount(codes, minlength=3).tolist()
    assert (found.n, found.n_sampled, found.classes) == (3000, 3000, NAMES)
    assert left_beside(tmp_path / "out") == []


@pytest.mark.parametrize("words", [{}, {"n_jobs": 2}])
def test_a_given_rule_with_a_calibrator_labels_every_row(files, tmp_path, words):
    folder, table, p = files
    y = np.array(table["label"].to_pylist())
    rule = am.classes.decide(
        p[:1000], "f1", classes=NAMES, reference=(y[:1000], p[:1000])
    ).rule
    found = decide_classes(folder, output=tmp_path / "out", rule=rule, **HOW, **words)
    labels = rule.apply(p)
    assert read_back(tmp_path / "out")["decision"].to_pylist() == labels.tolist()
    mapped = rule.calibrator.apply(p)
    wanted = mapped.T @ (labels[:, None] == np.array(NAMES))
    np.testing.assert_allclose(found.expected_confusion, wanted, rtol=1e-12)
    assert found.n_sampled == 0
    assert "rule           given" in repr(found)


def test_a_sample_finds_nearly_the_rule_of_all_rows(tmp_path, monkeypatch):
    table, p = classified(30_000)
    folder = write_parts(tmp_path / "in", table, [100, 12_000])
    monkeypatch.setattr("argmetric.scale._classes.SAMPLE_ROWS", 5000)
    found = decide_classes(folder, output=tmp_path / "out", **HOW)
    again = decide_classes(folder, output=tmp_path / "out", **HOW)
    assert found.n_sampled == 5000
    assert found.rule.weights.tolist() == again.rule.weights.tolist()
    best = am.classes.decide(p, "f1", classes=NAMES)
    assert best.expected - 5e-3 < found.expected <= best.expected + 1e-3
    other = decide_classes(folder, output=tmp_path / "out", random_state=1, **HOW)
    assert found.rule.weights.tolist() != other.rule.weights.tolist()


REFUSED = {"gmean": (0.0, 1.0), "mcc": (1.0,), "kappa": (1.0,)}


@pytest.mark.parametrize("metric", ["f1", "gmean", "mcc", "kappa", "accuracy"])
def test_the_actual_score_is_that_of_memory(files, tmp_path, metric):
    found = decide_classes(files[0], output=tmp_path / "out", **HOW)
    written = read_back(found.output)
    y, z = (written[name].to_pylist() for name in ("label", "decision"))
    for words in ({}, {"classes": NAMES}, {"classes": [*NAMES, "gone"]}):
        for absent in (0.0, 1.0, float("nan")):
            how = {**words, "zero_division": absent}
            if absent in REFUSED.get(metric, ()):
                with pytest.raises(ValueError, match="would change nothing"):
                    evaluate_classes(found.output, metric, n_jobs=2, **how)
                continue
            wanted = am.classes.evaluate(y, z, metric, **how)
            score = evaluate_classes(found.output, metric, n_jobs=2, **how)
            assert score == pytest.approx(wanted, rel=1e-12, nan_ok=True)
            assert score.classes == wanted.classes
            assert score.confusion.tolist() == wanted.confusion.tolist()


def test_labels_may_be_numbers_or_dictionaries(tmp_path):
    rng = np.random.default_rng(3)
    y, z = rng.integers(0, 40, (2, 2000))
    whole = pa.table({"y": y, "pred": z.astype(np.int8)})
    names = pa.array([f"c{i:02d}" for i in range(50)])  # of which no row has the last
    coded = pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array(one.astype(np.int8)), names)
            for name, one in (("y", y), ("pred", z))
        }
    )
    wanted = am.classes.evaluate(y, z, "f1")
    for folder in (
        write_parts(tmp_path / "whole", whole, [250]),
        write_parts(tmp_path / "coded", coded, [250]),
        arrow_parts(tmp_path / "arrow", coded),
    ):
        score = evaluate_classes(folder)
        assert score == pytest.approx(wanted, rel=1e-12)
        assert len(score.classes) == 40
    known = [f"c{i:02d}" for i in range(40)]
    assert evaluate_classes(tmp_path / "arrow", classes=known) == score


def test_a_column_of_ids_is_no_column_of_classes(tmp_path):
    table = pa.table({"y": np.arange(20_000), "pred": np.zeros(20_000, int)})
    folder = write_parts(tmp_path / "in", table, [])
    with pytest.raises(ValueError, match="column 'y' has more than 10,000 classes"):
        evaluate_classes(folder)


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("p_late", np.nan, "column 'p_late', row 1704: nan is not a finite number"),
        ("p_lost", -0.5, "scores is -0.5 at row 1704, column 2"),
        ("p_ok", 0.999, r"scores sums to 1\.\d+ in row 1704"),
    ],
)
def test_a_bad_row_is_named_with_its_file(tmp_path, monkeypatch, column, value, what):
    monkeypatch.setattr(
        "argmetric.scale._columns.MOST_VALUES", 3
    )  # batches of 1024 rows
    table, _ = classified(4000)
    values = table[column].to_numpy().copy()
    values[2000 + 1703] = value
    place = table.column_names.index(column)
    table = table.set_column(place, column, pa.array(values))
    folder = write_parts(tmp_path / "in", table, [2000])
    with pytest.raises(ValueError, match=f"part-001.parquet: {what}"):
        decide_classes(folder, output=tmp_path / "out", **HOW)
    rule = am.classes.MultiClassRule(NAMES, np.ones(3), am.FBeta())
    with pytest.raises(ValueError, match=f"part-001.parquet: {what}"):
        decide_classes(folder, output=tmp_path / "out", rule=rule, **HOW)
    assert not (tmp_path / "out").exists()
    assert left_beside(tmp_path / "out") == []


def test_a_bad_label_is_named_with_its_file(tmp_path):
    labels = ["a", "b"] * 50
    table = pa.table({"y": [*labels[:70], None, *labels[71:]], "pred": labels})
    folder = write_parts(tmp_path / "in", table, [50])
    with pytest.raises(ValueError, match=r"part-001.parquet: y has no label at row 21"):
        evaluate_classes(folder)
    pq.write_table(table.slice(0, 60), folder / "part-001.parquet")
    with pytest.raises(
        ValueError, match=r"part-000.parquet: column 'y' has the label 'b' at row 2, wh"
    ):
        evaluate_classes(folder, classes=["a", "c"])


def own(table):
    return table[0, 0] / max(table.sum(), 1.0)


def test_what_cannot_be_is_refused(files, tmp_path):
    folder = files[0]
    how = {"output": tmp_path / "out"}
    with pytest.raises(ValueError, match="open the files with scores=, two columns or"):
        decide_classes(folder, scores=["p_ok", "p_ok"], **how)
    with pytest.raises(ValueError, match="own has no rule for single rows: pass rule="):
        decide_classes(folder, own, **HOW, **how)
    rule = am.classes.MultiClassRule(NAMES[::-1], np.ones(3), am.FBeta())
    with pytest.raises(ValueError, match="rule is for the classes"):
        decide_classes(folder, rule=rule, **HOW, **how)
    rule = am.classes.MultiClassRule(NAMES, np.ones(3), am.FBeta())
    with pytest.raises(ValueError, match="rule has a map of its own"):
        decide_classes(folder, rule=rule, reference=lambda p: p, **HOW, **how)
    with pytest.raises(TypeError, match="rule must be a MultiClassRule"):
        decide_classes(folder, rule="best", **HOW, **how)
    with pytest.raises(ValueError, match="already has a column 'id'"):
        decide_classes(folder, decision_column="id", **HOW, **how)


def test_the_result_shows_what_was_decided(files, tmp_path):
    found = decide_classes(files[0], output=tmp_path / "out", **HOW)
    pytest.importorskip("matplotlib")
    texts = [one.get_text() for one in found.plot().get_yticklabels()]
    assert f"most probable {found.most_probable:.3f}" in texts
    assert json.loads(json.dumps(found.to_dict()))["n"] == 3000
    assert repr(found).splitlines()[1:5] == [
        "  metric         macro f1; a class that is neither true nor predicted is left "
        "out",
        "  rows           3,000 in 4 files",
        "  classes        3",
        "  rule           a sample of 3,000 rows",
    ]


@pytest.mark.parametrize("large", [2**70, 10**400])
def test_classes_that_no_column_can_hold_are_refused_at_once(large, tmp_path):
    pq.write_table(pa.table({"a": [0.2, 0.9], "b": [0.8, 0.1]}), tmp_path / "p.parquet")
    with pytest.raises(
        ValueError, match=r"classes has \d+…?, which no column of a file"
    ):
        decide_classes(
            tmp_path / "p.parquet",
            output=tmp_path / "out",
            scores=["a", "b"],
            classes=[1, large],
        )
    assert not (tmp_path / "out").exists()
