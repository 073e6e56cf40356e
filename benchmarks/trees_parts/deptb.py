"""Roll-ins, beams and directions side by side."""

from __future__ import annotations

import time
from collections import defaultdict
from functools import partial

import numpy as np
from harness import Target, cpu_seconds, emit

from argmetric.search import Parser
from trees_parts.data import read
from trees_parts.tables import shares, table

FITS = {
    "left, static": ("left", "static"),
    "left, own": ("left", "own"),
    "both, own": ("both", "own"),
}
PAIRS = (("left, own", "left, static"),)
HEADS = ["read from", "roll-in", "search", "UAS", "no punct.", "whole trees"]
HEADS += ["training, s", "words/s"]
TARGETS: dict[tuple[str, int], Target] = {
    ("left, own", 1): (">=", 88.3),
    ("left, own", 8): (">=", 88.7),
    ("both, own", 8): (">=", 89.2),
}


def run(*, quick: bool) -> str:
    train, test = (read(name, 100 if quick else None) for name in ("train", "test"))
    n_words = sum(len(tree.words) for tree in test)
    scores, seconds = defaultdict(list), defaultdict(list)
    Parser(epochs=1, hash_bits=12).fit(train[:8]).predict(test[:2])  # compilers
    Parser(direction="left", beam=1, epochs=1, hash_bits=12).fit(train[:8]).predict(
        test[:2]
    )
    for seed in range(1 if quick else 3):
        for name, (direction, roll_in) in FITS.items():
            parser = Parser(direction=direction, roll_in=roll_in, random_state=seed)
            start = time.process_time()
            parser.fit(train)
            seconds[name].append(time.process_time() - start)
            for beam in (1, 8):
                parser.set_params(beam=beam)
                scores[name, beam].append(parser.evaluate(test))
                parse = partial(parser.predict, test)
                spent = min(cpu_seconds(parse) for _ in range(2))
                seconds[name, beam].append(spent)
    rows = []
    for name, (direction, roll_in) in FITS.items():
        training = float(np.mean(seconds[name]))
        emit("deptb", f"training, {name}", training, "CPU s", ("<=", 60.0))
        for beam in (1, 8):
            found = scores[name, beam]
            all_words, exact = shares(found, "uas"), shares(found, "exact_match")
            others = shares(found, "uas_without_punctuation")
            speed = n_words / float(np.mean(seconds[name, beam]))
            emit(
                "deptb",
                f"UAS, {name}, beam {beam}",
                float(all_words.mean()),
                "%",
                TARGETS.get((name, beam)),
                deviation=float(all_words.std(ddof=1)) if not quick else 0.0,
                seeds=all_words.tolist(),
                without_punctuation=float(others.mean()),
                exact=float(exact.mean()),
            )
            fast: Target = (
                (">=", 60_000.0) if (name, beam) == ("left, own", 1) else None
            )
            emit("deptb", f"speed, {name}, beam {beam}", speed, "words / CPU s", fast)
            cells = [direction, roll_in, "greedy" if beam == 1 else f"beam {beam}"]
            cells += [f"{v.mean():.2f}" for v in (all_words, others, exact)]
            cells += [f"{training:.0f}", f"{speed:,.0f}"]
            rows.append(cells)
    for beam in (1, 8):
        for one, other in PAIRS:
            gain = shares(scores[one, beam], "uas")
            gain = gain - shares(scores[other, beam], "uas")
            what = f"{one} against {other}, beam {beam}"
            emit("deptb", what, float(gain.mean()), "points", seeds=gain.tolist())
    return table(HEADS, rows)
