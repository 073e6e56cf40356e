"""Table 2 of the paper, claim by claim.

Its figures are of DUC 2005: 50 clusters of 25 news articles with a query, summaries of
100 and of 250 words. Ours are of reviews without a query, which it is not compared to:
the question is which of its statements hold here too. What it says of the best system
of DUC 2005 is asked of the best system beside ours: concept coverage, which learns
nothing, and greedy search on learned weights, which learns from the same clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import emit
from search_parts.data import simple_table

from summaries_parts.judge import interval
from summaries_parts.sets import systems
from summaries_parts.system import System
from summaries_parts.unlearned import ILP, ORACLE

NEARLY = 0.9  # of the oracle: "nearly solved"


@dataclass(frozen=True)
class Claim:
    """What the paper says of two systems, and which of ours stand for them."""

    text: str
    paper: str
    better: str
    worse: str
    nearly_equal: bool = False


CLAIMS = (
    Claim(
        "SEARN extraction comes close to the oracle's",
        ".0362 and .0345 at 100 words",
        ORACLE,
        "SEARN, sentences",
        nearly_equal=True,
    ),
    Claim(
        "the oracle of vines is better than the one of sentences",
        "significantly higher",
        "oracle, compressed",
        ORACLE,
    ),
    Claim(
        "under SEARN vines are better than sentences",
        "uniformly better",
        "SEARN, compressed",
        "SEARN, sentences",
    ),
    Claim(
        "SEARN extraction is better than the best system beside it",
        "above .0725 at 250 words",
        "SEARN, sentences",
        ILP,
    ),
    Claim(
        "with the same training data that system is better than SEARN extraction",
        ".0789 (estimated) is above",
        "weights, sentences",
        "SEARN, sentences",
    ),
    Claim(
        "SEARN's vines are better than that system with the same training data",
        ".0789 (estimated) is below",
        "SEARN, compressed",
        "weights, sentences",
    ),
)


def run(*, quick: bool) -> str:
    """Print each claim with our figures; return the table."""
    rows = []
    for claim in CLAIMS:
        for name in ("fewsum", "opinosis"):
            rows.append(_ask(claim, name, quick=quick))
    head = ("claim", "in the paper", "set", "better", "worse", "difference (95 %)", "")
    return simple_table(head, rows)


def compared(claim: Claim, name: str, *, quick: bool) -> tuple[System, System]:
    """What stands for the better system and what for the worse one."""
    found = systems(name, quick=quick)
    return found[claim.better], found[claim.worse]


def _ask(claim: Claim, name: str, *, quick: bool) -> list[str]:
    better, worse = compared(claim, name, quick=quick)
    gains = better.scores - worse.scores
    low, high = interval(gains)
    if claim.nearly_equal:
        verdict = "holds" if worse.mean >= NEARLY * better.mean else "does not hold"
    else:
        verdict = "holds" if low > 0 else "does not hold" if high < 0 else "open"
    emit(
        "paper",
        f"{claim.text}, {name}: {verdict}",
        float(gains.mean()),
        "points of R-2 recall",
        interval_95=[low, high],
        paper=claim.paper,
        better=[claim.better, better.mean],
        worse=[claim.worse, worse.mean],
        share_of_the_better=worse.mean / better.mean,
        clusters_where_better=float((gains > 0).mean()),
        clusters_where_worse=float((gains < 0).mean()),
    )
    return [
        claim.text,
        claim.paper,
        name,
        f"{better.mean:.2f}",
        f"{worse.mean:.2f}",
        f"{gains.mean():+.2f} ({low:+.2f} to {high:+.2f})",
        verdict,
    ]
