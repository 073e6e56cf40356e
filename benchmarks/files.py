"""Measure how fast rows of text become matrices, against pyarrow's readers.

    python benchmarks/files.py                  # 10^6 rows of each format
    python benchmarks/files.py csv svmlight     # some of them
    python benchmarks/files.py hostile --table  # files that are made to hurt
    python benchmarks/files.py --quick          # few rows: figures mean nothing

Ours are the blocks that `argmetric stream` learns from: a matrix, dense or sparse,
labels as 0 and 1, and the place of every block. pyarrow gets pieces of whole lines of
the same size and one thread, and has to give the same arrays. It has no reader of
svmlight: there the peers are scikit-learn, and pyarrow's CSV reader on as many numbers.
`hostile` runs the command on files that are made to hurt: what each gets, its memory
and CPU seconds. One JSON object a line; ratios are CPU seconds of the peer over ours:
above 1, ours is faster.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
from files_parts import hostile
from harness import (
    Target,
    cpu_seconds,
    emit,
    emit_machine,
    emit_summary,
    interleaved,
    judge,
    median_ratio,
)

from argmetric.scale.files.blocks import Request, open_rows

ROWS = 1_000_000
FEATURES = 10
STRIDE = 1000  # columns of the sparse matrix for each feature that a row has
PIECE = 1 << 20
REPEATS = 3
# CSV and JSONL are pyarrow's work: ours adds the check of every cell and its place
TARGETS: dict[tuple[str, str], Target] = {
    ("csv", "pyarrow"): (">=", 1.0),
    ("svmlight", "pyarrow (CSV)"): None,
    ("svmlight", "scikit-learn"): (">=", 2.0),
    ("jsonl", "pyarrow"): (">=", 0.7),
}
NAMES = [f"x{j}" for j in range(FEATURES)]


def ours(path: Path, **how: Any) -> float:
    """The sum of all that was read, so that nothing can be left out."""
    total = 0.0
    for block in open_rows(str(path), Request(**how)).reader.blocks():
        total += float(block.X.sum()) + float(block.y.sum())
    return total


def pieces(path: Path) -> Iterator[bytes]:
    """Whole lines, about as many bytes at a time as our readers take."""
    rest = b""
    with path.open("rb") as file:
        while data := file.read(PIECE):
            cut = data.rfind(b"\n") + 1
            yield rest + data[:cut]
            rest = data[cut:]
    if rest:
        yield rest


def total_of(table: pa.Table) -> float:
    """The same arrays as ours: features side by side, labels as 0 and 1."""
    X = np.empty((table.num_rows, FEATURES))
    for j, name in enumerate(NAMES):
        X[:, j] = table.column(name).to_numpy()
    y = pc.equal(table.column("y"), 1).to_numpy().astype(np.uint8)
    return float(X.sum()) + float(y.sum())


def arrow_csv(path: Path) -> float:
    types = {name: pa.float64() for name in NAMES} | {"y": pa.int64()}
    convert = pyarrow.csv.ConvertOptions(column_types=types)
    total, names = 0.0, None
    for piece in pieces(path):
        read = pyarrow.csv.ReadOptions(
            use_threads=False, block_size=2 * len(piece), column_names=names
        )
        table = pyarrow.csv.read_csv(
            pa.BufferReader(piece), read_options=read, convert_options=convert
        )
        names = table.column_names
        total += total_of(table)
    return total


def arrow_jsonl(path: Path) -> float:
    schema = pa.schema([(name, pa.float64()) for name in NAMES])
    parse = pyarrow.json.ParseOptions(explicit_schema=schema)
    total = 0.0
    for piece in pieces(path):
        read = pyarrow.json.ReadOptions(use_threads=False, block_size=2 * len(piece))
        total += total_of(
            pyarrow.json.read_json(
                pa.BufferReader(piece), read_options=read, parse_options=parse
            )
        )
    return total


def sklearn_svmlight(path: Path) -> float:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=STRIDE * FEATURES)
    return float(X.sum()) + float(y.sum())


def write_files(folder: Path, rows: int) -> None:
    """The same numbers in every format."""
    rng = np.random.default_rng(0)
    formats = {
        "csv": ",".join([*(["%.6g"] * FEATURES), "%d"]) + "\n",
        "svmlight": "%d" + " %d:%.6g" * FEATURES + "\n",
        "jsonl": "{" + ", ".join(f'"{n}": %.6g' for n in NAMES) + ', "y": %d}\n',
    }
    files = {name: (folder / f"rows.{name}").open("w") for name in formats}
    files["csv"].write(",".join([*NAMES, "y"]) + "\n")
    for start in range(0, rows, 10_000):
        n = min(10_000, rows - start)
        X, y = rng.normal(size=(n, FEATURES)), rng.integers(0, 2, n)
        indices = 1 + STRIDE * np.arange(FEATURES) + rng.integers(0, STRIDE, X.shape)
        for row, places, label in zip(
            X.tolist(), indices.tolist(), y.tolist(), strict=True
        ):
            files["csv"].write(formats["csv"] % (*row, label))
            pairs = chain.from_iterable(zip(places, row, strict=True))
            files["svmlight"].write(formats["svmlight"] % (label, *pairs))
            files["jsonl"].write(formats["jsonl"] % (*row, label))
    for file in files.values():
        file.close()


def compare(
    section: str, path: Path, rows: int, calls: dict[str, Callable[[], float]]
) -> None:
    """Time the calls in turns; all of them must have read the same."""
    sums = [call() for call in calls.values()]  # compiles and warms up
    np.testing.assert_allclose(sums, sums[0], rtol=1e-6)
    times = interleaved(calls, REPEATS, cpu_seconds)
    mine = times.pop("argmetric")
    speed = rows / float(np.median(mine))
    size = path.stat().st_size
    emit(section, "rows a CPU second", speed, "rows/s", megabytes=size / 1e6)
    for peer, seconds in times.items():
        ratio = median_ratio(seconds, mine)
        emit(section, f"{peer} over argmetric", ratio, "ratio", TARGETS[section, peer])


def main() -> int:
    speeds = ("csv", "svmlight", "jsonl")
    sections = (*speeds, "hostile")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[*sections, []], default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", action="store_true", help="that of the docs, last")
    given = parser.parse_args()
    rows = 10_000 if given.quick else ROWS
    judge(not given.quick)
    emit_machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chosen = given.sections or sections
        if set(chosen) & set(speeds):
            write_files(folder, rows)
        paths = {one: folder / f"rows.{one}" for one in speeds}
        csv, svmlight, jsonl = paths["csv"], paths["svmlight"], paths["jsonl"]
        calls: dict[str, dict[str, Callable[[], float]]] = {
            "csv": {
                "argmetric": lambda: ours(csv),
                "pyarrow": lambda: arrow_csv(csv),
            },
            "svmlight": {
                "argmetric": lambda: ours(svmlight, features=STRIDE * FEATURES),
                "pyarrow (CSV)": lambda: arrow_csv(csv),
                "scikit-learn": lambda: sklearn_svmlight(svmlight),
            },
            "jsonl": {
                "argmetric": lambda: ours(jsonl),
                "pyarrow": lambda: arrow_jsonl(jsonl),
            },
        }
        for section in (one for one in speeds if one in chosen):
            compare(section, paths[section], rows, calls[section])
        if "hostile" in chosen:
            found = hostile.section(folder, quick=given.quick)
            if given.table:
                print(hostile.table(found))
    emit_summary()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
