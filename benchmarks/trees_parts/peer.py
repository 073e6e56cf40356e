"""Vowpal Wabbit's dependency parser on the same trees."""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import emit

from argmetric.search import Tree
from trees_parts.data import read

_ROOT = 255  # how its labels write a head of 0
_LEARN = """\
-d train -f model -k --cache_file cache --passes 3 --holdout_off -b 24
--search 6 --search_task dep_parser --root_label 2 --num_label 2 --search_alpha 1e-5
--search_rollin mix_per_roll --search_rollout none --search_history_length 3
--search_no_caching"""


def run(*, quick: bool) -> str:
    if importlib.util.find_spec("vowpalwabbit") is None:
        line = {"section": "peer", "what": "skipped: vowpalwabbit is not installed"}
        print(json.dumps(line), flush=True)
        return ""
    train, test = (read(name, 100 if quick else None) for name in ("train", "test"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "train", train)
        _write(folder / "test", test)
        training = _vw(folder, _LEARN)
        parsing = _vw(folder, "-d test -i model -t -p found")
        lines = (folder / "found").read_text().splitlines()
    # Between sentences stands a line that begins with a blank
    words = [line for line in lines if line[:1].isdigit()]
    found = np.array([int(line.split(":")[0]) for line in words])
    right = np.array([head for tree in test for head in tree.heads])
    lengths = np.array([len(tree.heads) for tree in test])
    without_head = found > np.repeat(lengths, lengths)
    # It leaves the last word of nearly every sentence without a head: the root's then,
    # which is mostly right for a full stop
    edges = np.cumsum(lengths)[:-1]
    roots = [int(np.argmax(own == 0)) + 1 for own in np.split(found, edges)]
    mended = np.where(without_head, np.repeat(roots, lengths), found)
    emit(
        "peer",
        "UAS, Vowpal Wabbit's dep_parser, greedy, mended",
        100 * float(np.mean(mended == right)),
        "%",
        as_it_is=100 * float(np.mean(found == right)),
        words_without_head=int(without_head.sum()),
        sentences=len(test),
    )
    emit("peer", "training, Vowpal Wabbit", training, "CPU s")
    emit("peer", "speed, Vowpal Wabbit", len(right) / parsing, "words / CPU s")
    return ""


def _write(path: Path, trees: list[Tree]) -> None:
    """Heads as the first class of a cost-sensitive label, relations as the second."""
    with path.open("w", encoding="utf-8") as file:
        for tree in trees:
            for word, tag, head in zip(tree.words, tree.tags, tree.heads, strict=True):
                label = f"{head or _ROOT}:0 {1 if head else 2}:0"
                file.write(f"{label}|w {_safe(word)}|p {_safe(tag)}\n")
            file.write("\n")


def _safe(text: str) -> str:
    return text.replace(":", "COLON").replace("|", "BAR")


def _vw(folder: Path, arguments: str) -> float:
    """CPU seconds of a run."""
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *arguments.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
