"""Command lines: exit code, JSON by value, text, and the files that are written.

The mistakes of `benchmarks/mistakes.py` are recorded too, with their messages. Later
lines use files that earlier ones wrote.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
Calls = Iterator[tuple[str, Callable[[], Any]]]
# With --json, and without
BOTH = (FOLDER / "lines_twice.txt").read_text("utf-8").splitlines()
# Without --json: rows on standard output, reports, and what is refused
ONCE = (FOLDER / "lines_once.txt").read_text("utf-8").splitlines()


def line_calls() -> Calls:
    """Every line, in its order; the files are made first."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import mistakes

    with contextlib.suppress(FileExistsError):
        os.mkdir("lines")
        os.mkdir("mistakes")
        with contextlib.chdir("lines"):
            make_files()
        with contextlib.chdir("mistakes"):
            mistakes.make_files()
    for line in ("tune rows.csv -o rule.json", "calibrate rows.csv -o map.json"):
        ran(line, "lines")  # which lines above their own use
    ran("tune wide.csv --scores p_* --labels y_* -o wide.json", "lines")
    ran("tune words.csv --label bought --pos-label yes -o words.json", "lines")
    for line in BOTH:
        yield f"line/{line}/json", partial(ran, f"{line} --json", "lines")
        again = f"{line} --resume" if line.startswith("decide many") else line
        yield f"line/{line}/text", partial(ran, again, "lines")
    for line in ONCE:
        yield f"line/{line}", partial(ran, line, "lines")
    for line in mistakes.MISTAKES:
        yield f"line/mistake/{line}", partial(ran, line, "mistakes")


def ran(line: str, folder: str) -> dict[str, Any]:
    """What a line leaves: exit code, standard output and error, files."""
    from argmetric.cli import main

    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.chdir(folder):
        before = stamps()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*shlex.split(line), "--force"])
        written = {
            str(path): content(path)
            for path, stamp in stamps().items()
            if before.get(path) != stamp
        }
    out.flush()
    text: Any = out.buffer.getvalue().decode()
    with contextlib.suppress(ValueError):
        text = json.loads(text)
    return {"code": code, "out": text, "err": err.getvalue(), "files": written}


def stamps() -> dict[Path, int]:
    every = (one for one in Path().rglob("*") if one.is_file())
    return {one: one.stat().st_mtime_ns for one in every}


def content(path: Path) -> str:
    """Text of rows; a digest of columns; of models only that they are there."""
    if path.suffix in (".csv", ".jsonl", ".txt", ".conllu"):
        return hashlib.sha1(path.read_bytes()).hexdigest()[:12]
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        rows = repr(pq.read_table(path).to_pydict())
        return hashlib.sha1(rows.encode()).hexdigest()[:12]
    return "written"


def make_files() -> None:
    """Rows of all layouts and kinds, in the current folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(5)
    n = 300
    p = rng.beta(0.7, 2.0, n).round(4).clip(0.001, 0.999)
    y = (rng.random(n) < p).astype(int)
    g = [f"o{i % 25:02d}" for i in range(n)]
    w = rng.integers(1, 4, n)
    part = np.where(rng.random(n) < 0.3, y.astype(str), "")

    def table(name: str, **columns: Any) -> None:
        rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        Path(name).write_text("\n".join([",".join(columns), *rows, ""]))

    table("rows.csv", p=p, y=y, g=g, w=w, part=part)
    q = rng.beta(0.7, 1.6, 400).round(4).clip(0.001, 0.999)
    z = (rng.random(400) < q**1.3).astype(int)
    table("val.csv", p=q, y=z, g=["v"] * 400, w=z + 1, part=z)
    table("logits.csv", logit=np.log(p / (1 - p)).round(4), y=y)
    table("none.csv", p=[0.0])
    table("tied.csv", p=p.round(1), y=y, g=g)
    table("raw.csv", value=(7 * p - 2).round(3), y=y)
    table("words.csv", p=p, bought=np.where(y == 1, "yes", "no"))
    days = np.datetime64("2025-01-01") + np.arange(n) // 4
    table("timed.csv", p=p, y=y, at=days)
    pairs = zip(p.tolist(), y.tolist(), strict=True)
    text = [json.dumps({"p": a, "y": b}) for a, b in pairs]
    Path("rows.jsonl").write_text("\n".join([*text, ""]))
    columns = {"p": p, "y": y, "g": g}
    pq.write_table(pa.table(columns), "rows.parquet")
    decided = (p > 0.3).astype(int)
    for folder, added in (
        ("many", {}),
        ("out-many", {"decision": decided}),
        ("judged", {"y": y, "decision": decided}),
    ):
        os.mkdir(folder)
        whole = {"p": p, "g": np.array(g), **added}
        for i in range(2):
            half = {name: values[i::2] for name, values in whole.items()}
            pq.write_table(pa.table(half), f"{folder}/{i}.parquet")
    cells = rng.beta(0.7, 2.0, (n, 3)).round(4)
    truth = (rng.random((n, 3)) < cells).astype(int)
    wide = {f"p_{c}": cells[:, j] for j, c in enumerate("abc")}
    table("wide.csv", **wide, **{f"y_{c}": truth[:, j] for j, c in enumerate("abc")})
    shares = rng.dirichlet([2, 1, 1], n).round(4)
    shares[:, 0] = (1 - shares[:, 1:].sum(axis=1)).round(4)
    kinds = [
        "abc"[(row.cumsum() < u).sum()]
        for row, u in zip(shares, rng.random(n) * 0.999, strict=True)
    ]
    classes = {f"p_{c}": shares[:, j] for j, c in enumerate("abc")}
    table("kinds.csv", **classes, y=kinds, g=g)
    Path("unnamed.csv").write_text("p_a,p_b\n0.3,0.7\n")
    table("table.csv", x=p, y=y, word=[f"w{i % 4}" for i in range(n)])
    lines_ = [f"{b},{a},1" for a, b in zip(p, y, strict=True)]
    Path("some.csv").write_text("\n".join(["y,a,b", *lines_, "1,x,1", ""]))
    sentence = {"tokens": ["Ana", "va"], "probabilities": [[0.6, 0.4], [0.9, 0.1]]}
    Path("spans.jsonl").write_text(json.dumps(sentence) + "\n")
    Path("text.txt").write_text("the DT B-NP\ndog NN I-NP\nruns VB O\n\n" * 5)
    os.mkdir("sources")
    Path("sources/a.txt").write_text("The room was big. It was clean, too.")
    Path("sources/b.txt").write_text("A big room. No lift. We liked it.")
    Path("gold.txt").write_text("The room was big and clean.")
    documents = ["The room was big. It was clean.", "A big room! No lift at all."]
    row = {"documents": documents, "references": ["a big room", "big and clean"]}
    Path("clusters.jsonl").write_text(f"{json.dumps(row)}\n" * 6)
    tree = "{}\t{}\t_\tX\t_\t_\t{}\tr\t_\t_\n"
    for name, heads in (("trees", (0, 1)), ("others", (2, 0))):
        words = [tree.format(i, "ab"[i - 1], h) for i, h in enumerate(heads, start=1)]
        Path(f"{name}.conllu").write_text(("".join(words) + "\n") * 5)
