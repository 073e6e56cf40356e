"""The library's own systems: ten folds, made three times. They draw nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from search_parts.data import FOLDS, timed

from argmetric.search import Summarizer, Summary
from summaries_parts.data import clusters
from summaries_parts.parses import negations, parser
from summaries_parts.system import System

SEEDS = 3  # of folds
MODES = ("sentences", "compressed")
POLICIES = ("frequency", "weights", "searn")


def name_of(mode: str, policy: str) -> str:
    return f"{'SEARN' if policy == 'searn' else policy}, {mode}"


@cache
def learned(name: str, *, quick: bool) -> dict[str, System]:
    """Systems by name."""
    _warm_up(name, quick=quick)
    kinds = itertools.product(MODES, POLICIES)
    found = [_system(name, *kind, quick=quick) for kind in kinds]
    found.append(_oracle(name, quick=quick))
    return {system.name: system for system in found}


def summarizer(mode: str, policy: str | None, *, quick: bool) -> Summarizer:
    own = parser(quick=quick) if mode == "compressed" else None
    return Summarizer(mode=mode, policy=policy, parser=own)


def _system(name: str, mode: str, policy: str, *, quick: bool) -> System:
    own = clusters(name, quick=quick)
    learns = policy != "frequency"
    texts, counted, fitting, predicting = [], [], [], []
    histories: list[Any] = []
    for seed in range(SEEDS if learns and not quick else 1):
        found: dict[int, Summary] = {}
        for learn, test in own.folds(2 if quick or not learns else FOLDS, seed):
            model = summarizer(mode, policy, quick=quick)
            if learns:
                part = own.take(learn)
                fit = lambda m=model, p=part: m.fit(  # noqa: E731
                    p.documents, p.references, words=own.words
                )
                fitting.append(timed(fit)[1])
                histories.append(model.history_)
            documents = own.take(test).documents
            summaries, seconds = timed(
                lambda m=model, d=documents: m.predict(d, words=own.words)
            )
            predicting.append(seconds / len(test))
            found.update(zip(test.tolist(), summaries, strict=True))
        ordered = [found[i] for i in own.judged.tolist()]
        texts.append([summary.text for summary in ordered])
        if mode == "compressed":
            counted.append(negations(name, ordered, quick=quick))
        _check(own.words, ordered)
    details: dict[str, Any] = {"cpu_ms_per_summary": 1e3 * float(np.mean(predicting))}
    if counted:
        kept_heads, dropped = np.sum(counted, axis=0).tolist()
        details["negations_with_kept_heads"] = kept_heads
        details["negations_dropped"] = dropped
    if learns:
        details["fold_cpu_seconds"] = float(np.mean(fitting))
        details["slowest_fold_cpu_seconds"] = float(np.max(fitting))
    return System(name_of(mode, policy), own, texts, details, histories)


def _oracle(name: str, *, quick: bool) -> System:
    """Compressed summaries that know the references: what there is to reach."""
    own = clusters(name, quick=quick)
    judged = own.take(own.judged)
    model = summarizer("compressed", None, quick=quick)
    summaries, seconds = timed(
        lambda: model.oracle(judged.documents, judged.references, words=own.words)
    )
    _check(own.words, summaries)
    kept_heads, dropped = negations(name, summaries, quick=quick)
    details = {
        "cpu_ms_per_summary": 1e3 * seconds / len(judged),
        "negations_with_kept_heads": kept_heads,
        "negations_dropped": dropped,
    }
    texts = [summary.text for summary in summaries]
    return System(name_of("compressed", "oracle"), own, [texts], details)


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
            model.fit(few.documents, few.references, words=few.words)
        model.predict(few.documents, words=few.words)
