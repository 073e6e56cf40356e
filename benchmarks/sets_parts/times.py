"""4. CPU time as answers, questions and items grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import cpu_seconds, emit, text_table

import argmetric as am
from sets_parts.quality import best_sample, votes

# questions, answers to each, items in all, items of an answer
CASES = (
    (1, 10, 30, 10),
    (1, 1_000, 30, 10),
    (1, 100_000, 30, 10),
    (100, 10, 30, 10),
    (10_000, 10, 30, 10),
    (1, 100, 300, 100),
    (1, 100, 3_000, 1_000),
)
WAYS = ("F1", "Jaccard", "votes", "MBR")
PEERS = 1_000  # answers in all beyond which the best sample takes too long


def drawn(n: int, k: int, m: int, size: int) -> list[list[frozenset[int]]]:
    """Answers of about `size` items; the first items are the likely ones."""
    rng = np.random.default_rng(0)
    p = np.linspace(1.0, 0.0, m) ** 2
    p *= size / p.sum()
    return [
        [frozenset(np.flatnonzero(row).tolist()) for row in rng.random((k, m)) < p]
        for _ in range(n)
    ]


def timed(samples: list[list[frozenset[int]]], *, mbr: bool) -> dict[str, float]:
    calls: dict[str, Callable[[], Any]] = {
        "F1": lambda: am.sets.decide(samples, "f1"),
        "Jaccard": lambda: am.sets.decide(samples, "jaccard"),
        "votes": lambda: [votes(one) for one in samples],
    }
    if mbr:
        calls["MBR"] = lambda: [best_sample(one) for one in samples]
    return {name: cpu_seconds(call) for name, call in calls.items()}


def run(*, quick: bool) -> str:
    rows = []
    timed([[frozenset({1}), frozenset({2})]], mbr=False)  # compiles
    for case in CASES[:2] if quick else CASES:
        seconds = timed(drawn(*case), mbr=case[0] * case[1] <= PEERS)
        for name, value in seconds.items():
            emit("time", f"{name}, questions × answers × items {case[:3]}", value, "s")
        told = [f"{seconds[x]:.3g}" if x in seconds else "" for x in WAYS]
        rows.append([*(f"{x:,}" for x in case), *told])
    head = ("questions", "answers each", "items", "items of an answer")
    return text_table((*head, *(f"{name}, s" for name in WAYS)), rows)
