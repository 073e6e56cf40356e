"""The claims of Liu et al. (2018) fail on figures that are made to fail them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from claims import Modules, claim_of, judged

parts = Modules(
    theory="papers_parts.liu2018",
    figures="papers_parts.liu2018_figures",
    learned="papers_parts.liu2018_learned",
)
LENGTHS = np.array([1_000, 100_000, 10_000_000])


def ends(power, **scale):
    """Thresholds whose distance to the best falls as n^power, in place of runs."""

    def made(stream, fast):
        noise = 1 + 0.02 * np.random.default_rng(0).random((10, 1))
        away = 0.1 * noise * (LENGTHS / LENGTHS[0]) ** power
        return LENGTHS, {
            rule: stream.best + scale.get(rule, 1.0) * away
            for rule in ("FOFO", "SFO", "OFO", "newton")
        }

    return made


@pytest.mark.parametrize("name", ["theorem-2", "theorem-3", "theorem-4"])
def test_a_threshold_that_stays_wrong_fails_the_theorems(monkeypatch, name):
    monkeypatch.setattr(parts.theory, "_ends", ends(-0.02))
    assert judged(parts.theory, name, fast=False) == "does not hold"
    monkeypatch.setattr(parts.theory, "_ends", ends(-0.6))
    assert judged(parts.theory, name, fast=False) == "holds"


def test_fofo_has_to_be_closer_than_ofo(monkeypatch):
    monkeypatch.setattr(parts.theory, "_ends", ends(-0.5, OFO=0.5))
    assert judged(parts.theory, "section-1-faster", fast=False) == "does not hold"
    monkeypatch.setattr(parts.theory, "_ends", ends(-0.5, OFO=2.0))
    assert judged(parts.theory, "section-1-faster", fast=False) == "holds"


def test_wrong_probabilities_fail_lemma_1(monkeypatch):
    assert judged(parts.theory, "lemma-1", fast=False) == "holds"
    shifted = tuple(replace(one, shift=1.0) for one in parts.theory.COMMON)
    monkeypatch.setattr(parts.theory, "COMMON", shifted)
    assert judged(parts.theory, "lemma-1", fast=False) != "holds"


def test_no_smaller_constant_does_in_lemma_2():
    claim = claim_of(parts.theory, "lemma-2")
    (found,) = claim.measure(True).values()
    assert 0.99 < found <= 1 + 1e-9
    assert claim.verdict({parts.theory.LARGEST: 1.01 * found}, fast=True)[0] == (
        "does not hold"
    )


def test_the_threshold_of_f1_fails_other_metrics(monkeypatch):
    def f1_for_all(stream, lengths, seeds, *others):
        away = 0.1 * (lengths / 1_000.0) ** -0.5
        return {"FOFO": stream.best + np.tile(away, (seeds, 1))}

    monkeypatch.setattr(parts.theory, "ends_of", f1_for_all)
    assert judged(parts.theory, "section-5-other-metrics", fast=False) == "in part"


@pytest.mark.parametrize("name", ["theorem-3-learned", "theorem-4-learned"])
def test_a_model_that_stays_wrong_fails_the_theorems(monkeypatch, name):
    def made(power):
        noise = 1 + 0.02 * np.random.default_rng(0).random((10, 1))
        away = 0.1 * noise * (LENGTHS / LENGTHS[0]) ** power
        return lambda *_: (LENGTHS, away, 10 * away[:, -1])

    monkeypatch.setattr(parts.learned, "_learned", made(-0.02))
    assert judged(parts.learned, name, fast=False) == "does not hold"
    monkeypatch.setattr(parts.learned, "_learned", made(-0.6))
    assert judged(parts.learned, name, fast=False) == "holds"


def test_memory_of_rows_fails_table_1(monkeypatch):
    def kept(method, n, d):
        return 8.0 * d * n**0.5, 1e-9 * n * d**2

    def linear(method, n, d):
        m = 10 if method == "OMCSL" else 1
        return 8.0 * d * m, 1e-9 * n * d * m

    monkeypatch.setattr(parts.learned, "_measured", kept)
    assert judged(parts.learned, "table-1-costs", fast=False) == "in part"
    monkeypatch.setattr(parts.learned, "_measured", linear)
    assert judged(parts.learned, "table-1-costs", fast=False) == "holds"


def made_of(lead, rare_lead=0.0):
    """Scores in which FOFO leads each other method by so much, and OFO by more."""
    Found, METHODS = parts.figures.Found, parts.figures.METHODS

    def found(name, fast):
        names = [f"covtype {c}" for c in range(1, 8)] if name == "covtype" else [name]
        results = {}
        for i, one in enumerate(names):
            rng = np.random.default_rng(i)
            scores = np.full((10, len(METHODS)), 60.0) + 0.01 * rng.random((10, 1))
            for method, gap in lead.items():
                scores[:, METHODS.index(method)] -= gap
            if one in ("covtype 5", "covtype 6", "w8a"):
                scores[:, METHODS.index("OFO")] -= rare_lead
            curves = np.repeat(scores[:, :, None], 100, axis=2)
            task = SimpleNamespace(name=one, n=900)
            seconds = np.full(len(METHODS), 1e-7)
            results[one] = Found(task, scores, scores, curves, seconds)
        return results

    return found


@pytest.mark.parametrize("name", ["figure-1", "figure-2", "figures-3-4", "test-scores"])
def test_fofo_has_to_lead(monkeypatch, name):
    module = parts.figures
    leads = {"OFO": 0.1, "LR": 15.0, "STAMP": 5.0, "OMCSL": 5.0}
    monkeypatch.setattr(module, "_found", made_of(leads, 3.0))
    assert judged(module, name, fast=False) == "holds"
    behind = {method: -gap for method, gap in leads.items()}
    monkeypatch.setattr(module, "_found", made_of(behind, -3.0))
    assert judged(module, name, fast=False) in ("does not hold", "in part")
    monkeypatch.setattr(module, "_found", made_of(leads | {"OMCSL": -1.0}, 3.0))
    assert judged(module, name, fast=False) == "in part"


def test_a_slow_method_is_behind_in_time():
    found = made_of({})("a9a", False)["a9a"]
    i, j = (parts.figures.METHODS.index(name) for name in ("FOFO", "OMCSL"))
    found.curves[:] = np.linspace(1.0, 100.0, found.ticks.size)
    assert parts.figures.lead_in_time(found, "OMCSL") == pytest.approx(np.zeros(10))
    found.seconds[j] = 2 * found.seconds[i]
    half = np.interp(found.ticks, 2 * found.ticks, found.curves[0, j], left=0.0)
    assert parts.figures.lead_in_time(found, "OMCSL") == pytest.approx(
        np.full(10, (found.curves[0, i] - half).mean())
    )
    assert half.mean() < 0.51 * found.curves[0, i].mean()
