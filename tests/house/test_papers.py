"""The claims of the papers: how they are declared, run, judged and told."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DECLARED = [
    "name",
    "paper",
    "place",
    "says",
    "data",
    "seeds",
    "asked",
    "printed",
    "remark",
]


@pytest.fixture(scope="module")
def papers() -> Any:
    """The module that declares the claims, with its neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
        yield importlib.import_module("papers")


@pytest.fixture(scope="module")
def writer() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
        yield importlib.import_module("write_papers")


def claim(papers: Any, measure: Any, *asks: Any) -> Any:
    from papers_parts.claim import Claim, at_least

    asks = asks or (at_least("share", 0.5),)
    return Claim("jansche2007-made-up", "nowhere", "It is so.", measure, asks)


def test_every_paper_has_claims_of_its_own_name(papers: Any) -> None:
    names = [one.name for one in papers.CLAIMS]
    assert len(set(names)) == len(names) >= 25
    assert {one.paper for one in papers.CLAIMS} == set(papers.PAPERS)
    for one in papers.CLAIMS:
        asked = [ask.figure for ask in one.asks]
        assert asked
        assert len(set(asked)) == len(asked), one.name
        assert one.says.endswith("."), one.name


def test_a_verdict_follows_from_the_figures(papers: Any) -> None:
    from papers_parts.claim import Estimate, at_least, at_most, within

    def verdict(*asks: Any, fast: bool = False, **figures: Any) -> tuple[str, str]:
        return claim(papers, lambda fast: {}, *asks).verdict(figures, fast=fast)

    asks = at_least("share", 99), at_most("error", 1e-9), within("gap", 0.5, 0.7)
    assert verdict(*asks, share=99.0, error=0.0, gap=0.6) == (
        "holds",
        "so: share 99 (asked >= 99), error 0 (asked <= 1e-09), gap 0.6 (asked 0.5 to "
        "0.7)",
    )
    assert verdict(*asks, share=18.8, error=0.1, gap=0.71)[0] == "does not hold"
    assert verdict(*asks, share=18.8, error=0.0, gap=float("nan")) == (
        "in part",
        "not so: share 18.8 (asked >= 99), gap nan (asked 0.5 to 0.7); so: error 0 "
        "(asked <= 1e-09)",
    )
    gain = at_least("gain", 0.0)
    assert verdict(gain, gain=Estimate(1.0, -0.5, 2.5)) == (
        "in part",
        "open: gain 1 (-0.5 to 2.5) (asked >= 0)",
    )
    assert verdict(gain, gain=Estimate(1.0, 0.5, 1.5))[0] == "holds"
    assert verdict(gain, gain=Estimate(-1.0, -1.5, -0.5))[0] == "does not hold"
    more = at_least("more", 1, full_only=True)
    assert verdict(gain, more, fast=True, gain=1.0)[0] == "holds"
    assert verdict(gain, more, fast=True, gain=1.0, more=0.0)[0] == "in part"
    with pytest.raises(KeyError):
        verdict(gain, more, gain=1.0)


def test_an_estimate_is_students(papers: Any) -> None:
    from papers_parts.claim import Estimate

    found = Estimate.of([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.high - 2.0 == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert found.low == pytest.approx(4.0 - found.high)


def test_whatever_becomes_of_a_claim_the_next_is_run(
    papers: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness import MissingData, emit

    def holds(fast: bool) -> dict[str, float]:
        emit("section", "what", 1.0, "unit")
        return {"share": 0.75, "other": float("inf")}

    def fails(fast: bool) -> dict[str, float]:
        return {"share": 0.25}

    def without_data(fast: bool) -> dict[str, float]:
        raise MissingData("tabular/a9a.npz", Path("nowhere"), "https://example.org")

    def without_package(fast: bool) -> dict[str, float]:
        return importlib.import_module("no_such_package.inside")

    def broken(fast: bool) -> dict[str, float]:
        return {"share": 1 / 0}

    measures = without_data, broken, without_package, fails, holds
    found = list(papers.runner.run([claim(papers, one) for one in measures], fast=True))
    assert [one["verdict"] for one in found] == [
        "not run",
        "failed",
        "not run",
        "does not hold",
        "holds",
    ]
    assert found[0]["why"] == (
        "no tabular/a9a.npz in nowhere; set ARGMETRIC_DATA to where it is. It is "
        "published at https://example.org"
    )
    assert found[1]["why"].startswith(
        "ZeroDivisionError: division by zero, test_papers.py:"
    )
    assert (
        found[2]["why"] == "no_such_package is not installed: it is in the extra bench"
    )
    assert found[4]["ours"] == {
        "share": {"value": 0.75, "interval": None},
        "other": {"value": None, "interval": None},
    }
    assert capsys.readouterr().out == ""  # what benchmarks print is not heard


def test_claims_are_chosen_by_name_or_paper(papers: Any) -> None:
    assert papers.chosen(()) == list(papers.CLAIMS)
    assert [one.name for one in papers.chosen(["jansche2007-footnote-3"])] == [
        "jansche2007-footnote-3"
    ]
    assert all(one.paper == "jansche2007" for one in papers.chosen(["jansche2007"]))
    with pytest.raises(ValueError, match=r"'jansche2008': did you mean jansche2007"):
        papers.chosen(["jansche2008"])


@pytest.mark.parametrize(
    ("name", "verdict", "figure", "value"),
    [
        ("jansche2007-algorithm-1", "holds", "most that the optimum lacks", 0.0),
        ("jansche2007-footnote-3", "holds", "lengths with another number of states", 0),
        ("jansche2005-section-6-likelihood", "holds", "θ0", 0.347242),
        (
            "natarajan2015-theorem-6-any-distribution",
            "does not hold",
            "E[F1] of the best answer",
            0.38,
        ),
        (
            "daume2009-theorem-3",
            "in part",
            "errors over T/2, ε = 0.00001, T = 10",
            1.1e-4,
        ),
    ],
)
def test_claims_that_take_no_time(
    papers: Any, name: str, verdict: str, figure: str, value: float
) -> None:
    (found,) = papers.run([name], fast=True, data=None)
    assert found["verdict"] == verdict
    assert found["ours"][figure]["value"] == pytest.approx(value, rel=1e-3, abs=1e-15)


def test_the_page_is_what_the_results_say(papers: Any, writer: Any) -> None:
    found = writer.results()
    assert writer.PAGE.read_text() == writer.page(found, papers.PAPERS)


def test_every_claim_has_a_result_of_what_is_declared_now(
    papers: Any, writer: Any
) -> None:
    kept = {x["name"]: {k: x[k] for k in DECLARED} for x in writer.results()}
    assert kept == {one["name"]: one for one in papers.entries()}
    assert len(writer.results()) == len(kept)
    assert [x["name"] for x in writer.results() if x["verdict"] == "failed"] == []
