"""Trees of the files of the benchmark."""

from __future__ import annotations

import os
from pathlib import Path

from argmetric.search import Tree, read_trees

ROOT = Path(__file__).resolve().parents[2]


def read(name: str, most: int | None = None) -> list[Tree]:
    """The first trees of a file of deptb."""
    folder = Path(os.environ.get("ARGMETRIC_DATA", ROOT.parent / "shared" / "data"))
    return read_trees(folder / "deptb" / f"{name}.dp")[:most]
