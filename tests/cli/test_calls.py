"""A command says what a call of the package says, in every layout of the rows."""

from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from cli_scores import ORDER, N, P, Y, write_csv
from command import plain

RNG = np.random.default_rng(29)
NAMES = ["cat", "dog", "bird"]
LAYOUTS = {"ONE": "--score score --label y", "WIDE": "--scores p_* --labels y_*"}
LAYOUTS["CLASSES"] = "--scores p_* --one-label --label kind"
WEIGHTS = RNG.multinomial(1000, [0.6, 0.3, 0.1], N) + RNG.integers(0, 900, (N, 3))
Q = np.round(WEIGHTS / WEIGHTS.sum(axis=1, keepdims=True), 4)
KIND = np.array(NAMES)[(Q.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1).clip(0, 2)]
DATA = {
    **{"am": am, "np": np, "P": P, "Y": Y, "G": ORDER, "NAMES": NAMES, "Q": Q},
    "HALF": (P >= 0.5).astype(int),
    "LOGITS": np.log(P / (1 - P)),
    "SEEN": np.where(np.arange(N) < 30, Y.astype(float), np.nan),
    "KIND": KIND,
    "CALLED": np.roll(KIND, 1),
    "SPAM": np.where(Y == 1, "spam", "ham"),
    "W": np.arange(N) % 3 + 1,
    "TRUE": (RNG.random((N, 3)) < Q).astype(int),
    "TAKEN": (Q >= 0.3).astype(int),
}
KEYS = {"decide": "decision", "forecast": "forecast", "evaluate": "actual"}
KEYS |= {"calibrate": "check"}
CALLS = [
    tuple(line.split(" -> "))
    for line in Path(__file__).with_name("calls.txt").read_text().splitlines()
    if line and line[0] != "#"
]


def write_rows():
    seen = ["" if np.isnan(x) else int(x) for x in DATA["SEEN"]]
    columns = {"y": Y, "order": ORDER, "half": DATA["HALF"], "kind": KIND, "seen": seen}
    columns |= {"logit": DATA["LOGITS"], "called": DATA["CALLED"]}
    columns |= {"spam": DATA["SPAM"], "w": DATA["W"]}
    for prefix, matrix in (("p", Q), ("y", DATA["TRUE"]), ("t", DATA["TAKEN"])):
        columns |= {f"{prefix}_{x}": matrix[:, i] for i, x in enumerate(NAMES)}
    write_csv("rows.csv", **columns)


@pytest.mark.filterwarnings("ignore:the 3 columns of p sum to 1")  # LAYOUTS["WIDE"]
@pytest.mark.parametrize("place", range(len(CALLS)), ids=[typed for typed, _ in CALLS])
def test_a_command_says_what_the_call_says(answer, place):
    write_rows()
    typed, call = CALLS[place]
    before = [x for _, x in CALLS[:place] if ".decide(" in x]
    decision = eval(before[-1], DATA) if "d." in call and before else None
    verb, layout, *more = typed.split(" ", 2)
    found = answer(" ".join([verb, "rows.csv", LAYOUTS.get(layout, layout), *more]))
    wanted = eval(call, {**DATA, "d": decision}).to_dict()
    said = found["rules"][0] if verb == "tune" else found[KEYS[verb]]
    assert rounded(said) == rounded(plain(wanted))


def rounded(value):
    """Plain values with nine digits of each number."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return f"{value:.9g}" if isinstance(value, float) else value
