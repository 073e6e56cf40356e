"""Metrics that other packages add by entry points."""

import sys

import numpy as np
import pytest

import argmetric as am

MODULE = """
import argmetric as am

def overlap(tp, k, t, n):
    return 2 * tp / (k + t)

quarter = am.FBeta(0.25)

"""
ENTRY_POINTS = """
[argmetric.metrics]
overlap = added:overlap
wrong = added:quarter
gone = added:not_there
broken = no_such_module:metric
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
