"""Tables in several files, and what was written of them."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import argmetric as am
from opened import decide

SMALL = 200_000  # bytes: a thousand rows in a bucket


def write_parts(folder, table, cuts):
    """Write a table to part-000.parquet and so on, cut before the given rows."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    bounds = [0, *sorted(cuts), table.num_rows]
    for i, (first, last) in enumerate(itertools.pairwise(bounds)):
        pq.write_table(
            table.slice(first, last - first), folder / f"part-{i:03d}.parquet"
        )
    return folder


def scored(n=5000, groups=700, seed=0, digits=2):
    """Rows with many tied scores in groups that lie all over the files."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "user": rng.integers(0, groups, n),
            "note": [f"row {i}" for i in range(n)],
            "score": np.round(rng.beta(0.4, 2, n), digits),
        }
    )


def read_back(output):
    """All rows of an output, file by file in order."""
    paths = sorted(Path(output).rglob("*.parquet"))
    return pa.concat_tables([pq.ParquetFile(path).read() for path in paths])


def by_user(table):
    """Labels of one call in memory, for the mean over users."""
    p, ids = table["score"].to_numpy(), table["user"].to_numpy()
    return am.decide(p, groups=ids, average="groups").labels


def decide_by_user(files, **words):
    """Decide in many buckets; files are a folder, its rows and an output."""
    how = {"group": "user", "output": files[2], "memory": SMALL}
    return decide(files[0], **how | words)


def decisions(output):
    return read_back(output)["decision"].to_numpy()


def left_beside(output):
    """Names beside an output that a run has not removed."""
    return sorted(p.name for p in Path(output).parent.iterdir() if p.name[0] == ".")
