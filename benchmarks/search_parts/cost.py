"""7. Memory of training, and how its time grows with the text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from harness import emit

from argmetric.search import Searn, SequenceLabelling, Tagger
from search_parts.data import chunks, data_file, simple_table, timed, tokens_of
from search_parts.rows import warm_up

SHARES = (1, 2, 4, 8)  # parts of the training text that are learned from
TRAIN = """
import json, resource, sys
from argmetric.search import Tagger
from argmetric.sequence import read_sentences
sentences = read_sentences(sys.argv[1], labels="yes")[: int(sys.argv[3])]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
Tagger("chunk", direction=sys.argv[2]).fit(sentences)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([before, after]))
"""


def run(*, quick: bool, figures: Path | None) -> str:
    """Measure, and return the table."""
    path = data_file("conll2000/train.txt")
    n = 300 if quick else 10**9
    for direction in ("left", "both"):
        command = [sys.executable, "-c", TRAIN, str(path), direction, str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        before, after = json.loads(done.stdout)
        emit(
            "cost",
            f"peak memory of a process that learns CoNLL-2000, direction {direction}",
            after / 2**20,
            "GB",
            ("<=", 1.5),
            before_learning=before / 2**20,
        )
    return "\n\n".join([_compiled(quick), _generic(quick)])


def _compiled(quick: bool) -> str:
    train = chunks().train[: 800 if quick else None]
    warm_up("chunk", train)
    rows, tokens, seconds = [], [], []
    for share in reversed(SHARES):
        part = train[: len(train) // share]
        spent = min(
            timed(lambda p=part: Tagger("chunk", direction="left").fit(p))[1]
            for _ in range(2)
        )
        tokens.append(tokens_of(part))
        seconds.append(spent)
        epochs = 6 * tokens[-1]
        emit(
            "cost",
            f"learning from {tokens[-1]:,} tokens",
            spent,
            "CPU s",
            microseconds_per_token_and_epoch=1e6 * spent / epochs,
        )
        rows.append((f"{tokens[-1]:,}", f"{spent:.2f}", f"{1e6 * spent / epochs:.1f}"))
    slope = float(np.polyfit(np.log(tokens), np.log(seconds), 1)[0])
    emit("cost", "exponent of time in tokens", slope, "", ("<=", 1.1))
    return simple_table(("tokens", "CPU s", "µs per token and epoch"), rows)


def _generic(quick: bool) -> str:
    """An iteration of `Searn`, on labels by words and suffixes."""
    corpus = chunks().train[: 100 if quick else 800]
    labels = sorted({label for s in corpus for label in s.labels})
    rows, tokens, seconds = [], [], []
    for share in reversed(SHARES[:3]):
        part = corpus[: len(corpus) // share]
        X, Y = [list(s.columns[0]) for s in part], [tuple(s.labels) for s in part]
        searn = Searn(SequenceLabelling(labels), beta=1.0, iterations=2)
        spent = timed(lambda s=searn, a=X, b=Y: s.fit(a, b))[1] / 2
        tokens.append(tokens_of(part))
        seconds.append(spent)
        emit("cost", f"an iteration of Searn, {tokens[-1]:,} tokens", spent, "CPU s")
        rows.append(
            (f"{tokens[-1]:,}", f"{spent:.2f}", f"{1e6 * spent / tokens[-1]:.0f}")
        )
    slope = float(np.polyfit(np.log(tokens), np.log(seconds), 1)[0])
    emit("cost", "exponent of an iteration's time in tokens", slope, "", ("<=", 1.1))
    return simple_table(("tokens, Searn", "CPU s, an iteration", "µs per token"), rows)
