"""Scored rows in files, for tests of commands."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import argmetric as am

N = 60
RNG = np.random.default_rng(3)
P = RNG.beta(0.6, 2.0, N).round(3).clip(0.001, 0.999)
Y = (RNG.random(N) < P).astype(int)
ORDER = RNG.permutation(np.repeat([f"o{i}" for i in range(12)], 5))
DECIDED = np.asarray(am.decide(P, "f1").labels)


def write_csv(name="scores.csv", **extra):
    columns = {
        "id": [f"{i:03d}" for i in range(N)],
        "score": [str(value) for value in P],
        **extra,
    }
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def decisions(text):
    return [int(line.rsplit(",", 1)[1]) for line in text.splitlines()[1:]]


def start(*arguments, **options):
    command = [sys.executable, "-m", "argmetric.cli", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)


# A call that hears of no signal, and takes hours
COMPILED = "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
