"""Systems of whole sentences beside ours, on the judged clusters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from search_parts.data import timed

from summaries_parts import baselines
from summaries_parts.coverage import GAP, TIME_LIMIT, Coverage, beam, ilp
from summaries_parts.data import Clusters, clusters
from summaries_parts.sentences import Sentences, sentences_of
from summaries_parts.system import System

BEAM = 20  # of section 6.2.3
ILP = "concept coverage, ILP"
ORACLE = f"oracle, sentences, beam {BEAM}"

Choose = Callable[[Sentences, int, int], list[int]]  # sentences, budget, cluster


NAMES = ("lead", ILP, ORACLE, "oracle, sentences, ILP")


def unlearned(name: str, *, quick: bool) -> dict[str, System]:
    """All systems by name."""
    return {what: system(name, what, quick=quick) for what in NAMES}


@cache
def system(name: str, what: str, *, quick: bool) -> System:
    """One of the systems on a set."""
    own = clusters(name, quick=quick)
    cut = [sentences_of(own.documents[i]) for i in own.judged]

    def wanted(sentences: Sentences, budget: int, i: int) -> Coverage:
        return baselines.rouge(sentences, own.references[i], budget)

    def covered(sentences: Sentences, budget: int, i: int) -> Coverage:
        return baselines.concepts(sentences, budget)

    if what.endswith("ILP"):
        problem = wanted if what.startswith("oracle") else covered
        return _by_ilp(what, own, cut, problem)
    searches: dict[str, Choose] = {
        "lead": lambda s, n, _: baselines.lead(s, n),
        ORACLE: lambda s, n, i: beam(wanted(s, n, i), BEAM),
    }
    return _system(what, own, cut, searches[what])


def _by_ilp(
    name: str,
    own: Clusters,
    cut: list[Sentences],
    problem: Callable[[Sentences, int, int], Coverage],
) -> System:
    ends = []

    def choose(sentences: Sentences, budget: int, i: int) -> list[int]:
        chosen, *end = ilp(problem(sentences, budget, i))
        ends.append(end)
        return baselines.lead(sentences, budget, chosen)

    system = _system(name, own, cut, choose)
    system.details.update(
        largest_gap=max(gap for gap, _ in ends),
        gap_asked_for=GAP,
        out_of_time=sum(late for _, late in ends),
        seconds_allowed=TIME_LIMIT,
    )
    return system


def _system(name: str, own: Clusters, cut: list[Sentences], choose: Choose) -> System:
    def write() -> list[str]:
        numbered = zip(own.judged, cut, strict=True)
        return [one.text(choose(one, own.words, i)) for i, one in numbered]

    texts, seconds = timed(write)
    spent = 1000.0 * seconds / max(len(cut), 1)
    return System(name, own, [texts], {"cpu_ms_per_summary": spent})
