"""Metrics and file formats that other packages add by entry points."""

import sys

import numpy as np
import pytest

import argmetric as am
from argmetric.cli import main

MODULE = """
import argmetric as am
import pyarrow as pa

def overlap(tp, k, t, n):
    return 2 * tp / (k + t)

quarter = am.FBeta(0.25)

def read_pairs(path):
    with open(path) as lines:
        return pa.table({"score": [float(line.split("=")[1]) for line in lines]})

def read_nothing(path):
    return [1, 2]
"""
ENTRY_POINTS = """
[argmetric.metrics]
overlap = added:overlap
wrong = added:quarter
gone = added:not_there
broken = no_such_module:metric

[argmetric.formats]
pairs = added:read_pairs
list = added:read_nothing
"""


def install(folder, name="added-metrics", entry_points=ENTRY_POINTS):
    """A package as an installer leaves it: a module, and what it says of itself."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    (about / "METADATA").write_text(text)
    (about / "entry_points.txt").write_text(entry_points)
    (folder / "added.py").write_text(MODULE)


@pytest.fixture
def added(tmp_path, monkeypatch):
    (tmp_path / "packages").mkdir()
    install(tmp_path / "packages")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    yield tmp_path / "packages"
    sys.modules.pop("added", None)


def test_a_metric_of_another_package_works_by_its_name(added):
    p = np.random.default_rng(0).beta(1, 3, 200)
    assert "overlap" in am.metric_names()
    ours, theirs = am.decide(p, "f1"), am.decide(p, "overlap")
    np.testing.assert_array_equal(theirs.labels, ours.labels)
    assert theirs.expected == pytest.approx(ours.expected, rel=1e-12)
    assert am.get_metric("Overlap").name == "overlap"
    assert am.check_metric("overlap")


def test_a_saved_rule_finds_it_again(added, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 200)
    y = (rng.random(200) < p).astype(int)
    rule = am.tune(y, p, "overlap")
    rule.save(tmp_path / "rule.json")
    again = am.Rule.load(tmp_path / "rule.json")
    assert again.metric.value(2, 3, 4, 9) == pytest.approx(4 / 7, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong", "calls itself 'f0.25'"),
        ("gone", "offered by added-metrics, which cannot be loaded: AttributeError"),
        ("broken", "cannot be loaded: ModuleNotFoundError: No module named 'no_such"),
        ("overlapp", "did you mean"),
    ],
)
def test_what_is_wrong_with_it_is_said(added, name, message):
    with pytest.raises(ValueError, match=message):
        am.get_metric(name)


def test_two_packages_may_not_offer_one_name(added):
    for name in ("first", "second"):
        install(added, name, "[argmetric.metrics]\ntwice = added:overlap\n")
    with pytest.raises(ValueError, match="offered by first and second: uninstall one"):
        am.get_metric("twice")


def test_names_of_ours_are_not_replaced(added):
    install(added, "second", "[argmetric.metrics]\nf1 = added:quarter\n")
    assert am.get_metric("f1") == am.FBeta(1.0)
    assert am.metric_names().count("f1") == 1


def test_a_file_of_another_package_is_read_by_its_extension(
    added, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pairs").write_text("x=0.9\ny=0.3\nz=0.1\n")
    (tmp_path / "a.list").write_text("x")
    (tmp_path / "bad.pairs").write_text("x=oops\n")
    assert main(["decide", "a.pairs", "-o", "out.csv"]) == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [
        "0.9,1",
        "0.3,0",
        "0.1,0",
    ]
    capsys.readouterr()
    assert main(["decide", "a.list"]) == 1
    assert "must return a pyarrow.Table, and returned list" in capsys.readouterr().err
    assert main(["decide", "bad.pairs"]) == 1
    assert "bad.pairs: could not convert string" in capsys.readouterr().err
    assert main(["decide", "a.unknown"]) == 1
