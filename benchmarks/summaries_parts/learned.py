"""What learns: the library's own policies, and SEARN and vine growth as published.

Ours are judged on ten folds, and draw nothing. The published ones take minutes a fold,
and are judged on five.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from search_parts.data import FOLDS, timed

from argmetric.search import Summarizer, Summary
from summaries_parts.data import clusters
from summaries_parts.parses import parser
from summaries_parts.system import System

PUBLISHED_FOLDS = 5
MODES = ("sentences", "compressed")
POLICIES = ("frequency", "weights", "dagger", "vine")
EXTRACTION, VINE = "SEARN extraction", "vine growth"  # of section 6.2


def name_of(mode: str, policy: str) -> str:
    if policy == "vine":
        return VINE if mode == "compressed" else EXTRACTION
    return f"{policy}, {mode}"


KINDS = {name_of(*kind): kind for kind in itertools.product(MODES, POLICIES)}
ORACLE = f"oracle, {VINE}"


def learned(name: str, *, quick: bool) -> dict[str, System]:
    """All systems by name."""
    _warm_up(name, quick=quick)
    return {what: system(name, what, quick=quick) for what in (*KINDS, ORACLE)}


@cache
def system(name: str, what: str, *, quick: bool) -> System:
    """One of the systems on a set."""
    if what == ORACLE:
        return _oracle(name, quick=quick)
    return _system(name, *KINDS[what], quick=quick)


def summarizer(mode: str, policy: str, *, quick: bool) -> Summarizer:
    own = parser(quick=quick) if mode == "compressed" else None
    few = {"iterations": 1, "oracle_beam": 2} if quick and policy == "vine" else {}
    return Summarizer(mode=mode, policy=policy, parser=own, **few)


def _system(name: str, mode: str, policy: str, *, quick: bool) -> System:
    own = clusters(name, quick=quick)
    learns = policy != "frequency"
    fitting, predicting = [], []
    n_folds = PUBLISHED_FOLDS if policy == "vine" else FOLDS if learns else 2
    found: dict[int, Summary] = {}
    for learn, test in own.folds(2 if quick else n_folds):
        model = summarizer(mode, policy, quick=quick)
        if learns:
            part = own.take(learn)
            fit = lambda m=model, p=part: m.fit(  # noqa: E731
                p.documents, p.references, words=own.words
            )
            fitting.append(timed(fit)[1])
        documents = own.take(test).documents
        summaries, seconds = timed(
            lambda m=model, d=documents: m.predict(d, words=own.words)
        )
        predicting.append(seconds / len(test))
        found.update(zip(test.tolist(), summaries, strict=True))
    ordered = [found[i] for i in own.judged.tolist()]
    texts = [summary.text for summary in ordered]
    _check(own.words, ordered)
    details: dict[str, Any] = {"cpu_ms_per_summary": 1e3 * float(np.mean(predicting))}
    if learns:
        details["fold_cpu_seconds"] = float(np.mean(fitting))
    return System(name_of(mode, policy), own, texts, details)


def _oracle(name: str, *, quick: bool) -> System:
    """Compressed summaries that know the references: what there is to reach."""
    own = clusters(name, quick=quick)
    judged = own.take(own.judged)
    model = summarizer("compressed", "vine", quick=quick)
    summaries, seconds = timed(
        lambda: model.oracle(judged.documents, judged.references, words=own.words)
    )
    _check(own.words, summaries)
    details: dict[str, Any] = {"cpu_ms_per_summary": 1e3 * seconds / len(judged)}
    texts = [summary.text for summary in summaries]
    return System(ORACLE, own, texts, details)


def _check(budget: int, summaries: Sequence[Summary]) -> None:
    """A hard budget, and nothing that is not in the sources."""
    for summary in summaries:
        assert summary.n_words == len(summary.text.split()) <= budget
        documents = summary.cluster.documents
        places = summary.positions
        columns = (places[key].tolist() for key in ("document", "start", "end"))
        words = [documents[d][a:b] for d, a, b in zip(*columns, strict=True)]
        assert " ".join(words) == summary.text


def _warm_up(name: str, *, quick: bool) -> None:
    """Compile, so that no time is the compiler's."""
    few = clusters(name, quick=quick).take(np.arange(3))
    for mode, policy in itertools.product(MODES, POLICIES):
        model = summarizer(mode, policy, quick=quick)
        if policy != "frequency":
            model.set_params(iterations=1).fit(
                few.documents, few.references, words=few.words
            )
        model.predict(few.documents, words=few.words)
