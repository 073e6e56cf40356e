"""Measure what runs in production: exports, latency, and passages.

    python benchmarks/production.py                   # everything, some minutes
    python benchmarks/production.py exports passages  # some sections
    python benchmarks/production.py --quick           # a smoke run

Every line is one JSON object.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from harness import ROOT, emit, run_sections

import argmetric as am


def exports(quick: bool) -> None:
    """Labels of every target against those of `apply`."""
    sys.path.insert(0, str(ROOT / "tests"))
    exported = importlib.import_module("exported")
    for target, (run, _) in exported.TARGETS.items():
        if reason := exported.missing(target):
            emit("exports", f"{target}: labels that differ", None, reason)
            continue
        different = rows = rules = 0
        for name, rule in exported.RULES.items():
            if target == "onnx" and name == "nothing":  # ONNX has no label 2.5
                continue
            values = exported.scores_for(rule)
            wanted, found = exported.expected_of(rule, values), run(rule, values)
            different += sum(a != b for a, b in zip(found, wanted, strict=True))
            rows, rules = rows + len(values), rules + 1
        what = f"{target}: labels that differ"
        emit("exports", what, different, "rows", ("<=", 0), rules=rules, rows=rows)


REPEATS = 5  # of a measurement; the best one counts, on a machine that others use
FIRST = """
import time; start = time.perf_counter()
import numpy as np, argmetric as am
p = np.linspace(0.01, 0.9, 2000)
am.decide(p, groups=np.arange(2000) // 20, average="groups")
print(time.perf_counter() - start)
"""


def latency(quick: bool) -> None:
    """One row by a rule, one basket by `decide`, and the first answer of a process."""
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.3
    p = np.clip(0.3 + 0.3 * y + rng.normal(0, 0.2, 2000), 0.001, 0.999)
    calibrator = am.calibrate(y, p)
    rule = am.tune(y, p, reference=calibrator, n_bootstrap=0, cv=None)
    basket = rng.beta(1, 4, 20)
    am.warmup()
    calls = {
        "one row by a rule with a calibrator": lambda: rule.apply([0.4]),
        "a basket of 20, jointly": lambda: am.decide(basket),
        "a basket of 20 through a calibrator": lambda: am.decide(
            basket, reference=calibrator
        ),
    }
    for what, call in calls.items():
        call()
        times = np.empty((REPEATS, 200 if quick else 5000))
        for place in np.ndindex(times.shape):
            start = time.perf_counter()
            call()
            times[place] = 1000 * (time.perf_counter() - start)
        p50, p99 = np.percentile(times, [50, 99], axis=1).min(axis=1)
        emit("latency", what, float(p50), "ms", p99=float(p99))
    first = np.empty((1 if quick else REPEATS, 2))
    for pair in first:
        with tempfile.TemporaryDirectory() as folder:
            room = os.environ | {"NUMBA_CACHE_DIR": folder}
            for state in range(2):
                command = [sys.executable, "-c", FIRST]
                pair[state] = float(subprocess.check_output(command, env=room))
    for state, wall in enumerate(first.min(axis=0).tolist()):
        kernels = ("no compiled kernels", "warmed kernels")[state]
        emit("latency", f"first answer on groups, {kernels}", wall, "s")


def collection(rng: np.random.Generator, n_queries: int) -> dict[str, Any]:
    """Queries with 30 passages: relevance, overconfident scores, and tokens."""
    size = 30
    query = np.repeat(np.arange(n_queries), size)
    hard = np.repeat(rng.normal(-2.5, 1.2, n_queries), size)
    x = hard + rng.normal(0, 1.8, query.size)
    relevant = rng.random(query.size) < 1 / (1 + np.exp(-x))
    score = 1 / (1 + np.exp(-(1.8 * x + 1.0)))
    tokens = np.maximum(rng.lognormal(4.8, 0.6, query.size).astype(int), 10)
    return {"query": query, "y": relevant, "p": score, "tokens": tokens}


def passages(quick: bool) -> None:
    """F1 per query and tokens spent, beside fixed k and cuts."""
    rng = np.random.default_rng(0)
    known, new = (collection(rng, 50 if quick else 1000) for _ in range(2))
    calibrator = am.calibrate(known["y"], known["p"])
    rule = am.tune(
        known["y"], known["p"], groups=known["query"], n_bootstrap=0, cv=None
    )
    rank = np.argsort(np.argsort(-new["p"].reshape(-1, 30), axis=1), axis=1).ravel()
    settings = {"groups": new["query"], "average": "groups", "reference": calibrator}
    joint = am.decide(new["p"], **settings)
    budget = 400
    within = am.decide(new["p"], **settings, budget=(new["tokens"], budget))
    answers = {f"the first {k}": rank < k for k in (3, 5, 10)}
    answers |= {
        "score >= 0.5": new["p"] >= 0.5,
        "tuned cut": rule.applies(new["p"]),
        "decide": joint.labels == 1,
        f"decide, {budget} tokens": within.labels == 1,
        f"by rank, what fits into {budget} tokens": by_rank(new, rank, budget),
    }
    for name, chosen in answers.items():
        hits = np.bincount(new["query"], chosen & new["y"])
        sizes = np.bincount(new["query"], chosen * 1 + new["y"] * 1)
        f1 = float((2 * hits / np.maximum(sizes, 1)).mean())
        spent = np.bincount(new["query"], chosen * new["tokens"])
        mean, most = float(spent.mean()), int(spent.max())
        emit("passages", f"{name}: F1", f1, "", tokens=mean, most_tokens=most)
    emit("passages", "gap of the budget to its bound", within.gap, "F1")


def by_rank(rows: dict[str, Any], rank: np.ndarray, budget: float) -> np.ndarray:
    """Passages of each query by rank; one that does not fit any more is passed over."""
    order = np.lexsort((rank, rows["query"])).reshape(-1, 30)
    left = np.full(len(order), float(budget))
    chosen = np.zeros(order.size, dtype=bool)
    for place in order.T:
        fits = rows["tokens"][place] <= left
        left -= rows["tokens"][place] * fits
        chosen[place] = fits
    return chosen


if __name__ == "__main__":
    sections = {"exports": exports}
    sections |= {"latency": latency, "passages": passages}
    raise SystemExit(run_sections(__doc__, sections))
