"""Times of headline cells as ratios to a sort, and CPU seconds of first calls."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import cpu_seconds

import argmetric as am
from argmetric import search, stream
from argmetric._verbs.decide import decide_by
from recorded_parts.data import METRICS, groups_of, scores, truth
from recorded_parts.structures import corpus, reviews, table
from recorded_parts.verbs import reference

RECORDED = Path(__file__).parent / "times.json"
ROUNDS = 7  # over all cells in turn; the least of each counts
LEAST = 0.02  # CPU seconds that are timed at once: short calls are repeated
MILLION = 10**6
Call = Callable[[], Any]


def cells() -> dict[str, Call]:
    """The calls that are timed, by name."""
    found: dict[str, Call] = {}
    for name in ("f1", "mcc", "gmean"):
        for n in (10, 33, 64, 65, 1000, 10_000, MILLION):
            if n != 10_000 or name == "f1":
                p = scores(n)
                call = functools.partial(decide_by, p, name, check=False)
                found[f"decide {name} n={n}"] = call
    baskets = groups_of([10] * (MILLION // 10))
    given: dict[str, Any] = {"average": "groups", "check": False}
    p = scores(MILLION)
    for name in ("f1", "kappa", "mcc"):
        call = functools.partial(am.decide, p, name, groups=baskets, **given)
        found[f"decide {name} 10^5 baskets of 10"] = call
    groups = groups_of([100] * 200)
    for name in ("f1", "kappa", "mcc", "gmean"):
        call = functools.partial(am.decide, scores(20_000), name, groups=groups)
        found[f"decide {name} 200 groups of 100"] = functools.partial(call, **given)
    found["decide own n=100"] = functools.partial(
        am.decide, scores(100), METRICS["own"]
    )
    found["tune f1 n=10^6"] = functools.partial(am.tune, truth(p), p, "f1")
    p = scores(1000)
    call = functools.partial(am.forecast, p, p > 0.3, "f1")
    found["forecast f1 n=1000"] = call
    found["forecast f1 n=1000, reference"] = functools.partial(
        call, reference=reference()
    )
    p = scores(4000)
    found["calibrate n=4000"] = functools.partial(am.calibrate, truth(p), p)
    found["report f1 n=1000"] = lambda: am.report(
        am.decide(scores(1000), "f1"), truth(scores(1000))
    ).render(format="html")
    X, y = table(100_000, 10)
    found["stream sgd 10^5 rows"] = lambda: stream.OnlineClassifier(
        learner="sgd", random_state=0
    ).partial_fit(X, y, classes=[0, 1])
    sentences, chunks, _ = corpus(200)
    found["tagger 200 sentences"] = lambda: search.Tagger(
        "chunk", epochs=3, hash_bits=16
    ).fit(sentences, chunks)
    clusters, references = reviews(20)
    found["summarizer 20 clusters"] = lambda: search.Summarizer(
        policy="dagger", iterations=1
    ).fit(clusters, references, words=12)
    found["command decide n=1000"] = command
    return found


def command() -> None:
    from argmetric.cli import main

    if not Path("scores.csv").exists():
        Path("scores.csv").write_text("\n".join(["p", *map(str, scores(1000)), ""]))
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        assert main(["decide", "scores.csv", "--json"]) == 0


def ratios() -> dict[str, float]:
    """CPU time of every cell over that of a sort, the least of interleaved rounds."""
    numbers = np.random.default_rng(0).random(MILLION)
    calls = cells()
    repeats, least = {}, {}
    for name, call in calls.items():
        call()  # compiled, loaded, cached
        least[name] = cpu_seconds(call)
        repeats[name] = max(1, int(LEAST / max(least[name], 1e-6)))
    sort = np.inf
    for _ in range(ROUNDS):
        for name, call in calls.items():
            sort = min(sort, cpu_seconds(lambda: np.sort(numbers)))
            many = range(repeats[name])
            spent = cpu_seconds(lambda call=call, many=many: [call() for _ in many])
            least[name] = min(least[name], spent / len(many))
    print(json.dumps({"sort of 10^6 numbers, seconds": round(sort, 5)}))
    return {name: float(f"{one / sort:.4g}") for name, one in least.items()}


# ------------------------------------------------------------------- first calls

COLD = {
    "decide groups": "am.decide([.9, .2, .4, .6], 'mcc', groups=[0, 0, 1, 1], "
    "average='groups')",
    "stream partial_fit": "am.stream.OnlineClassifier(random_state=0).partial_fit("
    "[[.2], [1.], [.4], [2.]], [0, 1, 0, 1])",
    "forecast": "am.forecast(np.linspace(.01, .9, 5000), np.arange(5000) > 4000)",
    "warmup": "am.warmup()",
}
CHILD = """
import time, numpy as np, argmetric as am
start = time.process_time()
{call}
print(time.process_time() - start)
"""


def first_calls() -> dict[str, float]:
    """CPU seconds of a call in a new process that finds nothing compiled."""
    found = {}
    for name, call in COLD.items():
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.run(
                [sys.executable, "-c", CHILD.format(call=call)],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        found[name] = float(f"{float(child.stdout.split()[-1]):.3g}")
        print(json.dumps({"cold": name, "seconds": found[name]}), flush=True)
    return found


def run(section: str, *, record: bool) -> int:
    """Print the times of now beside the recorded ones, and never fail by them."""
    warnings.simplefilter("ignore")
    kept = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        now = first_calls() if section == "cold" else ratios()
    unit = "seconds" if section == "cold" else "ratio"
    before = kept.get(section, {})
    for name, one in now.items():
        line: dict[str, Any] = {"what": name, unit: one, "recorded": before.get(name)}
        if name in before:
            line["quotient"] = float(f"{one / before[name]:.3g}")
        print(json.dumps(line), flush=True)
    if record:
        RECORDED.write_text(json.dumps({**kept, section: now}, indent=1) + "\n")
    return 0
