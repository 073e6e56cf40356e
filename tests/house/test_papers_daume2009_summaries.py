"""The claims of Table 2 can fail: their questions on systems made to fail them.

On other data than the paper's they are not testable; here they are judged all the same.
"""

import dataclasses
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

from claims import claim_of

NAMES = ["oracle", "oracle-vines", "vines", "over-best", "same-data", "vines-same-data"]


@pytest.fixture(scope="module")
def claims():
    return importlib.import_module("papers_parts.daume2009_summaries")


def system(scores):
    return SimpleNamespace(scores=scores, mean=float(scores.mean()))


def verdict(claims, patch, name, worse, *, fast=False):
    """Of a claim: the better system has scores of about 10, the worse one these."""
    rng = np.random.default_rng(0)
    pairs = {one: system(10.0 + rng.normal(size=40)) for one in claims.table.SETS}

    def compared(pair, one, *, quick):
        return pairs[one], system(worse(pairs[one].scores, rng))

    patch.setattr(claims.table, "compared", compared)
    claim = claim_of(claims, f"table-2-{name}")
    assert claim.verdict({}, fast=fast)[0] == "not testable"
    claim = dataclasses.replace(claim, not_testable="")
    figures = claim.measure(fast)
    asked = {ask.figure for ask in claim.asks if not (fast and ask.full_only)}
    assert asked <= set(figures)
    return str(claim.verdict(figures, fast=fast)[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_system_that_is_not_better_does_not_pass(claims, monkeypatch, name):
    broken = {"oracle": 0.5}.get(name, 1.5)
    assert (
        verdict(claims, monkeypatch, name, lambda x, rng: broken * x) == "does not hold"
    )
    good = {"oracle": 0.97}.get(name, 0.8)
    assert verdict(claims, monkeypatch, name, lambda x, rng: good * x) == "holds"


@pytest.mark.parametrize("name", NAMES)
def test_noise_alone_does_not_pass(claims, monkeypatch, name):
    level = {"oracle": 0.9}.get(name, 1.0)

    def shuffled(scores, rng):
        return level * scores.mean() + 3.0 * rng.normal(size=scores.size)

    assert verdict(claims, monkeypatch, name, shuffled) != "holds"


def test_a_fast_run_does_not_decide_what_takes_long(claims, monkeypatch):
    assert verdict(claims, monkeypatch, "vines", lambda x, _: 0.8 * x, fast=True) != (
        "holds"
    )
    found = verdict(
        claims, monkeypatch, "oracle-vines", lambda x, _: 0.8 * x, fast=True
    )
    assert found == "holds"
