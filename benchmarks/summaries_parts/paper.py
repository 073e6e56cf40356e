"""Table 2 of the paper, claim by claim.

Its figures are of DUC 2005: 50 clusters of 25 news articles with a query, summaries of
100 and of 250 words. Ours are of reviews without a query, which it is not compared to:
the question is which of its statements hold here too. SEARN extraction and vine growth
are as published. What it says of the best system of DUC 2005 is asked of the best
system beside them: concept coverage, which learns nothing, and greedy search on learned
weights, which learns from the same clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

from summaries_parts.learned import EXTRACTION, VINE
from summaries_parts.sets import system
from summaries_parts.system import System
from summaries_parts.unlearned import ILP, ORACLE

SETS = ("fewsum", "opinosis")
NEARLY = 0.9  # of the oracle: "nearly solved"
Pair = tuple[str, str]  # what is to be better, and what worse


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about systems, and which of ours stand for them."""

    name: str
    pairs: tuple[Pair, ...]
    nearly_equal: bool = False


CLAIMS = (
    Claim("oracle", ((ORACLE, EXTRACTION),), nearly_equal=True),
    Claim("oracle-vines", ((f"oracle, {VINE}", ORACLE),)),
    Claim("vines", ((VINE, EXTRACTION),)),
    Claim("over-best", ((EXTRACTION, ILP), (VINE, ILP))),
    Claim("same-data", (("weights, sentences", EXTRACTION),)),
    Claim("vines-same-data", ((VINE, "weights, sentences"),)),
)


def compared(pair: Pair, name: str, *, quick: bool) -> tuple[System, System]:
    """What stands for the better system and what for the worse one."""
    better, worse = (system(name, what, quick=quick) for what in pair)
    return better, worse
