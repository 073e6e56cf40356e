"""Systems of whole sentences beside ours, on the judged clusters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from search_parts.data import timed

from summaries_parts import baselines
from summaries_parts.coverage import Coverage, beam, ilp
from summaries_parts.data import clusters
from summaries_parts.sentences import Sentences, sentences_of
from summaries_parts.system import System

BEAM = 20  # of section 6.2.3
ILP = "concept coverage, ILP"
ORACLE = f"oracle, sentences, beam {BEAM}"

Choose = Callable[[Sentences, int], list[int]]  # sentences, cluster


NAMES = ("lead", ILP, ORACLE, "oracle, sentences, ILP")


def unlearned(name: str, *, quick: bool) -> dict[str, System]:
    """All systems by name."""
    return {what: system(name, what, quick=quick) for what in NAMES}


@cache
def system(name: str, what: str, *, quick: bool) -> System:
    """One of the systems on a set."""
    own = clusters(name, quick=quick)
    cut = [sentences_of(own.documents[i]) for i in own.judged]

    def wanted(sentences: Sentences, i: int) -> Coverage:
        return baselines.rouge(sentences, own.references[i], own.words)

    def by_ilp(sentences: Sentences, problem: Coverage) -> list[int]:
        return baselines.lead(sentences, own.words, ilp(problem))

    searches: dict[str, Choose] = {
        "lead": lambda s, _: baselines.lead(s, own.words),
        ILP: lambda s, _: by_ilp(s, baselines.concepts(s, own.words)),
        ORACLE: lambda s, i: beam(wanted(s, i), BEAM),
        "oracle, sentences, ILP": lambda s, i: by_ilp(s, wanted(s, i)),
    }
    choose = searches[what]

    def write() -> list[str]:
        numbered = zip(own.judged, cut, strict=True)
        return [one.text(choose(one, i)) for i, one in numbered]

    texts, seconds = timed(write)
    spent = 1000.0 * seconds / max(len(cut), 1)
    return System(what, own, texts, {"cpu_ms_per_summary": spent})
