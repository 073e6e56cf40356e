"""Systems of whole sentences beside ours, on the judged clusters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from search_parts.data import timed

from summaries_parts import baselines
from summaries_parts.coverage import GAP, TIME_LIMIT, Coverage, beam, greedy, ilp
from summaries_parts.data import Clusters, clusters
from summaries_parts.sentences import Sentences, sentences_of
from summaries_parts.system import System

DRAWS = 10
BEAM = 20  # of section 6.2.3
ILP = "concept coverage, ILP"
ORACLE = f"oracle, sentences, beam {BEAM}"

Choose = Callable[[Sentences, int, int], list[int]]  # sentences, budget, cluster


@cache
def unlearned(name: str, *, quick: bool) -> dict[str, System]:
    """Systems by name."""
    own = clusters(name, quick=quick)
    cut = [sentences_of(own.documents[i]) for i in own.judged]
    draws = range(2 if quick else DRAWS)
    found = [
        _system("random", own, cut, [_random(draw) for draw in draws]),
        _system("lead", own, cut, [lambda s, n, _: baselines.lead(s, n)]),
        _system("SumBasic", own, cut, [lambda s, n, _: baselines.sum_basic(s, n)]),
        _system(
            "concept coverage, greedy",
            own,
            cut,
            [lambda s, n, _: baselines.lead(s, n, greedy(baselines.concepts(s, n)))],
        ),
        _by_ilp(ILP, own, cut, lambda s, n, _: baselines.concepts(s, n)),
    ]

    def wanted(sentences: Sentences, budget: int, i: int) -> Coverage:
        return baselines.rouge(sentences, own.references[i], budget)

    searches = {
        "oracle, sentences, greedy": lambda s, n, i: greedy(wanted(s, n, i)),
        ORACLE: lambda s, n, i: beam(wanted(s, n, i), BEAM),
    }
    found += [_system(what, own, cut, [search]) for what, search in searches.items()]
    found.append(_by_ilp("oracle, sentences, ILP", own, cut, wanted))
    return {system.name: system for system in found}


def _random(draw: int) -> Choose:
    rng = np.random.default_rng(draw)
    return lambda sentences, budget, _: baselines.random(sentences, budget, rng)


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

    system = _system(name, own, cut, [choose])
    system.details.update(
        largest_gap=max(gap for gap, _ in ends),
        gap_asked_for=GAP,
        out_of_time=sum(late for _, late in ends),
        seconds_allowed=TIME_LIMIT,
    )
    return system


def _system(
    name: str, own: Clusters, cut: list[Sentences], draws: list[Choose]
) -> System:
    def write() -> list[list[str]]:
        numbered = list(zip(own.judged, cut, strict=True))
        return [
            [one.text(choose(one, own.words, i)) for i, one in numbered]
            for choose in draws
        ]

    texts, seconds = timed(write)
    spent = 1000.0 * seconds / (len(draws) * max(len(cut), 1))
    return System(name, own, texts, {"cpu_ms_per_summary": spent})
