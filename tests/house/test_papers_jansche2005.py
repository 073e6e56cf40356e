"""The rules of the claims of Jansche (2005), on cases that are made to fail them."""

import importlib

import numpy as np
import pytest

from claims import judged


@pytest.fixture(scope="module")
def paper():
    return importlib.import_module("papers_parts.jansche2005")


def test_a_training_blind_to_the_measure_fails_the_criterion(paper):
    def blind(alpha, **settings):
        return paper.jansche.published(0.5, **settings)

    assert judged(paper, "section-6-criterion", paper._criterion(True)) == "holds"
    found = paper._criterion(True, blind)
    assert judged(paper, "section-6-criterion", found) == "in part"


@pytest.mark.parametrize("shift", [-0.065, 0.065])
def test_a_gamma_that_matters_is_told(paper, shift):
    names = [
        f"F at γ = {gamma:g} less γ = 1, {name}"
        for gamma in paper.GAMMAS
        for name in paper.jansche.STAND_INS
    ]
    spread = np.array([-0.01, 0.0, 0.01])
    same = {name: paper.Estimate.of(0.1 * spread) for name in names}
    assert judged(paper, "section-5-gamma", same) == "holds"
    other = {name: paper.Estimate.of(shift + spread) for name in names}
    assert judged(paper, "section-5-gamma", other) == "does not hold"


def test_a_soft_f_that_is_far_from_the_expected_one_is_told(paper, monkeypatch):
    """A climb of one step, on six rows: labels stay as uncertain as they were."""
    rng = np.random.default_rng(0)
    X, y = 0.1 * rng.normal(size=(6, 2)), np.array([1, 0, 1, 0, 0, 1])
    fit = paper.jansche.published
    monkeypatch.setattr(paper.jansche, "STAND_INS", {"six rows": None})
    monkeypatch.setattr(paper.jansche, "draws_of", lambda name, draws: [(X, y)])
    monkeypatch.setattr(
        paper.jansche,
        "published",
        lambda alpha, **settings: fit(alpha, max_iter=1, n_restarts=1),
    )
    with pytest.warns(UserWarning, match="the best search stopped"):
        found = paper._approximately(True, n=6)
    assert judged(paper, "section-1", found) != "holds"


@pytest.mark.parametrize("name", ["over-likelihood", "over-moved-cut", "recall"])
def test_a_table_of_no_gains_is_not_taken_for_one(paper, name, monkeypatch):
    rng = np.random.default_rng(1)
    null = 0.5 + 0.05 * rng.normal(size=(20, len(paper.WAYS), 4))
    monkeypatch.setattr(paper, "_rates", lambda stand_in, fast: null)
    table = f"table-3-{name}"
    assert judged(paper, table, fast=False) != "holds"
    better = {"recall": [(2, 0, -0.2)]}.get(name, [(2, 2, 0.2)])
    for way, score, gain in better:
        null[:, way, score] += gain
    assert judged(paper, table, fast=False) == "holds"
