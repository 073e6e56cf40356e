"""The rules of the claims of Jansche (2007), on cases that are made to fail them."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from claims import judged


@pytest.fixture(scope="module")
def exact():
    return importlib.import_module("papers_parts.jansche2007")


@pytest.fixture(scope="module")
def beams(exact):
    return importlib.import_module("papers_parts.jansche2007_beams")


def test_an_expectation_that_forgets_the_chain_fails(exact, monkeypatch):
    real = exact.expectation
    assert judged(exact, "section-3-1") == "holds"
    monkeypatch.setattr(
        exact,
        "expectation",
        lambda utility, z, chain: real(
            utility, z, exact.Independent(chain.marginals())
        ),
    )
    assert judged(exact, "section-3-1") == "does not hold"


def test_a_component_that_is_wrong_fails(exact, monkeypatch):
    assert judged(exact, "section-5-vectors") == "holds"
    right = exact.Table.value
    monkeypatch.setattr(
        exact.Table, "value", lambda self, state, z: (*right(self, state, z)[:3], 0.5)
    )
    assert judged(exact, "section-5-vectors") == "in part"


def test_the_f_of_expected_counts_is_not_the_expected_f(exact, monkeypatch):
    from argmetric.train._objectives import SoftMetric

    assert judged(exact, "section-1-3") == "holds"
    monkeypatch.setattr(exact, "ExpectedMetric", SoftMetric)
    assert judged(exact, "section-1-3") == "in part"


def rows_of(beams):
    """Runs of section 4 that are as the paper has them."""
    one = beams.sequence.Decoded("", 9, "", 0.6, True, 0.0)
    return [
        replace(one, distribution=kind, rule=rule, error=0.6 if rule == "1" else 0.0)
        for kind in beams.DISTRIBUTIONS
        for rule in beams.sequence.RULES
        for _ in range(40)
    ]


def test_beams_that_miss_the_optimum_are_told(beams):
    rows = rows_of(beams)
    missed = [replace(row, found=i % 4 == 0) for i, row in enumerate(rows)]
    off = [replace(row, error=row.error + 0.2) for row in rows]
    for name, rule, wrong, verdict in (
        ("section-4-one-state", "1", missed, "does not hold"),
        ("section-4-one-state-value", "1", off, "does not hold"),
        ("section-4-2n-states", "2n", missed, "in part"),
    ):
        assert judged(beams, name, beams.beam_figures(rows, rule)) == "holds"
        assert judged(beams, name, beams.beam_figures(wrong, rule)) == verdict


def test_bounds_of_another_model_are_told(beams):
    rng = np.random.default_rng(0)
    model = beams.Independent(rng.random(12))
    other = beams.Independent(np.minimum(1.0, model.p + 0.3))
    f1 = beams.sequence.PAPER_F
    for exact, verdict in ((model, "holds"), (other, "in part")):
        best = beams.decode(f1, exact)
        rows = [
            beams.sequence.beside_exact("", rule, model, best, 30)
            for rule in beams.sequence.RULES
        ]
        found = beams.bound_figures(rows)
        assert judged(beams, "section-4-bound", found) == verdict


def test_a_decoder_that_is_not_viterbi_is_told(beams, monkeypatch):
    assert judged(beams, "section-4-map") == "in part"
    real = beams.decode
    monkeypatch.setattr(
        beams, "decode", lambda metric, model, beam: real(metric, model)
    )
    assert judged(beams, "section-4-map") == "does not hold"


@pytest.mark.parametrize("power", [1, 2, 3, 4, 5])
def test_other_powers_of_n_are_told(beams, power):
    sizes = 10, 20, 40
    found = beams.slope(sizes, [7 * n**power for n in sizes])
    assert found == pytest.approx(power)
    for name, figures, right in (
        ("section-3-4-cubic", {"power of n, states": found}, 3),
        ("section-4-linear", {f"power of {of}, states": found for of in "nL"}, 1),
        (
            "section-4-decoder",
            {
                "power of n, exact, states": found,
                "power of n, L = 2n, states": found - 1,
                "power of n, L = 20, states": found - 2,
            },
            4,
        ),
        (
            "section-4-reuse",
            {"power of n, without": found, "power of n, reused": found},
            4,
        ),
    ):
        figures |= {
            "states over n³, the longest": 0.09,
            "states with maps reused, over those without": 0.7,
        }
        verdict = judged(beams, name, figures)
        assert (verdict == "holds") == (power == right), (name, verdict)


def test_costs_of_the_decoder_fail_without_what_saves_them(beams, monkeypatch):
    """States counted anew for each hypothesis, and a beam that keeps all."""
    assert judged(beams, "section-4-linear") == "holds"
    assert judged(beams, "section-4-reuse") == "holds"
    monkeypatch.setattr(
        beams,
        "decoder_costs",
        lambda *pairs: list(map(beams.states_without_reuse, *pairs)),
    )
    assert judged(beams, "section-4-reuse") == "in part"
    real = beams.expectation

    def exactly(utility, z, model, beam):
        return real(utility, z[::4], beams.Independent(model.p[::4]))

    monkeypatch.setattr(beams, "expectation", exactly)
    assert judged(beams, "section-4-linear") == "does not hold"
