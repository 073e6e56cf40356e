"""What the benchmark of sets draws and compares with."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import argmetric as am
from argmetric.sequence import LinearChainCRF
from argmetric.sequence._crf import build_batch

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def parts() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
        names = ("models", "quality", "coverage")
        found = {x: importlib.import_module(f"sets_parts.{x}") for x in names}
        yield type("Parts", (), found)


def test_sampled_chains_have_the_marginals_of_the_model(parts: Any) -> None:
    rng = np.random.default_rng(0)
    pairwise = rng.normal(0.0, 1.5, (3, 3))
    chains = [LinearChainCRF(rng.normal(size=(n, 3)), pairwise) for n in (4, 1, 6)]
    drawn = parts.models.sampled_chains(build_batch(chains), 20_000, rng)
    for chain, sequences in zip(chains, drawn, strict=True):
        assert sequences.shape == (20_000, len(chain))
        found = np.stack([(sequences == y).mean(axis=0) for y in range(3)], axis=1)
        np.testing.assert_allclose(found, chain.marginals, atol=0.02)
        for t, wanted in enumerate(chain.pair_marginals):
            pairs = 3 * sequences[:, t] + sequences[:, t + 1]
            shares = np.bincount(pairs, minlength=9) / len(pairs)
            np.testing.assert_allclose(shares.reshape(3, 3), wanted, atol=0.02)


def test_no_peer_is_above_the_chosen_set_on_the_answers(parts: Any) -> None:
    quality = parts.quality
    rng = np.random.default_rng(1)
    for _ in range(30):
        rows = rng.random((6, 7)) < rng.random(7)
        answers = [frozenset(np.flatnonzero(row).tolist()) for row in rows]
        found = am.sets.decide(answers, "f1", zero_division=1.0)
        assert found.expected == pytest.approx(quality.enumerated(answers), abs=1e-12)
        for way in quality.WAYS.values():
            assert quality.over(way(answers), answers) <= found.expected + 1e-12
        votes = quality.votes(answers)
        assert votes == set(np.flatnonzero(rows.mean(axis=0) >= 0.5))


def test_coverage_counts_either_end(parts: Any) -> None:
    rng = np.random.default_rng(2)
    draws = (rng.random((5, 90, 6)) < rng.random((90, 6))).astype(int)
    truth = (rng.random((90, 6)) < 0.5).astype(int)
    answers, true = parts.models.Pool(draws, truth).sets()
    harness = importlib.import_module("harness")
    with harness.unheard():
        row = parts.coverage._row("made", answers, true, 40, 30, 20)
    assert row[:3] == ["made", "40", "30"]
    below, above = (int(x) for x in row[4].removesuffix(" %").split(" / "))
    assert int(row[3].removesuffix(" %")) + below + above == pytest.approx(100, abs=1)
