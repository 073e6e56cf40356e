"""The claims of Natarajan et al. (2015) fail on cases that are made to fail them."""

import numpy as np
import pytest

from claims import Modules, claim_of, judged

parts = Modules(
    theory="papers_parts.natarajan2015",
    rates="papers_parts.natarajan2015_rates",
    printed="papers_parts.natarajan2015_printed",
    tables="papers_parts.natarajan2015_tables",
    harness="harness",
)


def test_theorem_6_needs_metrics_that_rise_with_tp(monkeypatch):
    assert judged(parts.theory, "theorem-6") == "holds"
    monkeypatch.setattr(
        parts.theory, "valued", lambda metric, zero: parts.theory._not_ranked
    )
    assert judged(parts.theory, "theorem-6") == "does not hold"


@pytest.mark.parametrize("name", ["theorem-13", "corollary-14"])
def test_an_estimate_that_stays_wrong_fails_consistency(monkeypatch, name):
    assert judged(parts.theory, name) == "holds"
    right = parts.theory.frequencies

    def wrong(rng, p, m):
        return 1 - right(rng, p, m)

    monkeypatch.setattr(parts.theory, "frequencies", wrong)
    assert judged(parts.theory, name) == "does not hold"


def test_the_printed_loop_without_k_0_is_not_consistent():
    figures = claim_of(parts.theory, "corollary-14").measure(True)
    (printed,) = [x for name, x in figures.items() if "k from 1" in name]
    assert printed.value > 1e-3
    whole = parts.theory._lost(
        parts.theory.accuracy, parts.theory.by_algorithm("accuracy"), True
    )
    assert whole.value < 1e-3 < printed.value


def test_another_threshold_fails_the_asymptotics(monkeypatch):
    for metric, cut in (("balanced_accuracy", 0.2), ("f1", 0.288115)):
        assert parts.theory.population_threshold(metric) == pytest.approx(cut, abs=1e-5)
    monkeypatch.setattr(parts.theory, "population_threshold", lambda metric: 0.4)
    assert judged(parts.theory, "section-6-asymptotics") == "does not hold"


def test_gamma_of_another_metric_fails(monkeypatch):
    falling = {name: lambda a, b, p: a - 2 * b for name in parts.rates.GAMMAS}
    monkeypatch.setattr(parts.rates, "GAMMAS", falling)
    assert judged(parts.rates, "proposition-9") == "does not hold"
    assert judged(parts.rates, "definition-10") == "does not hold"


def test_the_converse_of_proposition_11_fails(monkeypatch):
    assert judged(parts.rates, "proposition-11") == "holds"
    right = parts.rates.tp_falls, parts.rates.rate_falls
    monkeypatch.setattr(parts.rates, "tp_falls", right[1])
    monkeypatch.setattr(parts.rates, "rate_falls", right[0])
    assert judged(parts.rates, "proposition-11") == "in part"
    assert judged(parts.rates, "remark-12") == "in part"


def test_algorithm_2_with_line_8_anew_is_not_quadratic(monkeypatch):
    assert judged(parts.printed, "algorithms-cost") == "holds"
    module = parts.printed
    right = module.counted_algorithm_2

    def anew(*given, **_):
        return right(*given, anew=True)

    monkeypatch.setattr(module, "counted_algorithm_2", anew)
    assert judged(module, "algorithms-cost") == "in part"


def test_ways_that_are_alike_or_behind_do_not_often_win(monkeypatch):
    module = parts.tables
    names = ["table-2-over-baseline", "table-2-over-eum", "table-3-over-baseline"]
    names.append("table-3-no-winner")

    def verdicts(dta, baseline, eum):
        def scores(name, fast):
            rng = np.random.default_rng(len(name))
            noise = 0.01 * rng.normal(size=(5, 3))
            found = noise + np.array([dta, baseline, eum])
            return dict.fromkeys(module.tables.METRICS, found)

        monkeypatch.setattr(module, "_scores", scores)
        return {name: judged(module, name) for name in names}

    ahead = verdicts(0.5, 0.4, 0.5)
    assert ahead["table-2-over-baseline"] == "holds"
    assert ahead["table-2-over-eum"] == "open"  # the two are alike
    assert ahead["table-3-no-winner"] == "holds"  # and no one leads
    behind = verdicts(0.4, 0.5, 0.5)
    assert behind["table-2-over-baseline"] == "does not hold"
    assert behind["table-2-over-eum"] == "does not hold"
    assert behind["table-3-over-baseline"] in ("does not hold", "in part")
    assert behind["table-3-no-winner"] == "does not hold"
    assert "holds" not in verdicts(0.3, 0.5, 0.4)["table-3-over-baseline"].split()[:1]
    assert verdicts(0.5, 0.4, 0.3)["table-2-over-eum"] == "holds"


def test_rows_of_a_table_leave_rare_classes_out(monkeypatch):
    tables = parts.tables.tables

    def classes(*given):
        return [
            (positives, {m: [score] * 4 for m in tables.METRICS})
            for positives, score in ((3, 0.0), (60, 1.0))
        ]

    monkeypatch.setattr(tables, "_classes", classes)
    with parts.harness.unheard():
        found = {n: tables.measure(f"reuters_{n}", 2)["f1"] for n in (1, 10, 50)}
    assert [float(one.mean()) for one in found.values()] == [0.5, 1.0, 1.0]
