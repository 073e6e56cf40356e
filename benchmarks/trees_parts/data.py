"""Trees of the files of the benchmark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Tree(NamedTuple):
    words: list[str]
    tags: list[str]
    heads: list[int]


def read(name: str, most: int | None = None) -> list[Tree]:
    """The first trees of a file of deptb: word, part of speech, head in columns."""
    folder = Path(os.environ.get("ARGMETRIC_DATA", ROOT.parent / "shared" / "data"))
    text = (folder / "deptb" / f"{name}.dp").read_text(encoding="utf-8")
    found = []
    for block in text.strip().split("\n\n")[:most]:
        rows = [line.split("\t") for line in block.split("\n")]
        words, tags, heads = zip(*rows, strict=True)
        found.append(Tree(list(words), list(tags), list(map(int, heads))))
    return found
