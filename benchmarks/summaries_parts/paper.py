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
    """What the paper says of systems, and which of ours stand for them.

    `beside` are systems of ours of which the same could be said, and is not asked. An
    `own_system` of ours stands for the best one of DUC 2005.
    """

    name: str
    text: str
    paper: str
    pairs: tuple[Pair, ...]
    beside: tuple[Pair, ...] = ()
    nearly_equal: bool = False
    own_system: bool = False


CLAIMS = (
    Claim(
        "oracle",
        "SEARN extraction comes close to the oracle's",
        ".0362 and .0345 at 100 words",
        ((ORACLE, EXTRACTION),),
        ((ORACLE, "dagger, sentences"),),
        nearly_equal=True,
    ),
    Claim(
        "oracle-vines",
        "the oracle of vine growth is significantly better than the one of sentences",
        "significantly higher",
        ((f"oracle, {VINE}", ORACLE),),
        (("oracle, compressed", ORACLE),),
    ),
    Claim(
        "vines",
        "under SEARN, vine growth is uniformly better than extraction",
        "uniformly better",
        ((VINE, EXTRACTION),),
        (("dagger, compressed", "dagger, sentences"),),
    ),
    Claim(
        "over-best",
        "SEARN extraction and vine growth dominate the best system, which had less to "
        "learn from",
        "both above .0725 at 250 words",
        ((EXTRACTION, ILP), (VINE, ILP)),
        (("dagger, sentences", ILP), ("dagger, compressed", ILP)),
        own_system=True,
    ),
    Claim(
        "same-data",
        "with the same training data that system is better than SEARN extraction",
        ".0789 (estimated) is above",
        (("weights, sentences", EXTRACTION),),
        (("weights, sentences", "dagger, sentences"),),
        own_system=True,
    ),
    Claim(
        "vines-same-data",
        "vine growth is better than that system with the same training data",
        ".0789 (estimated) is below",
        ((VINE, "weights, sentences"),),
        (("dagger, compressed", "weights, sentences"),),
        own_system=True,
    ),
)


def compared(pair: Pair, name: str, *, quick: bool) -> tuple[System, System]:
    """What stands for the better system and what for the worse one."""
    better, worse = (system(name, what, quick=quick) for what in pair)
    return better, worse
