"""Command lines: exit code, JSON by value, text, and the files that are written.

The mistakes of `benchmarks/mistakes.py` are recorded too, with their messages. Later
lines use files that earlier ones wrote.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Calls = Iterator[tuple[str, Callable[[], Any]]]
# With --json, and without
BOTH = """
decide rows.csv -o d1.csv
decide rows.csv --metric jaccard --zero-division 1 -o d2.csv
decide rows.csv --group g -o decided.csv
decide rows.csv --group g --average pooled -m mcc -o d4.csv
decide rows.csv --max-positives 5% --min-positives 1 -o d5.csv
decide rows.csv --min-recall 0.8 --min-precision 0.2 -o d6.csv
decide rows.csv --group g --max-positives 2 -o d7.csv
decide rows.csv --reference val.csv -o d8.csv
decide rows.csv --reference val.csv --prior estimate -o d9.csv
decide rows.csv --reference val.csv --prior 0.1 --group g -o d10.csv
decide logits.csv --logits -o d11.csv
decide logits.csv --logits --reference logits.csv -o d12.csv
decide none.csv -o d13.csv
decide tied.csv -o d14.csv
decide words.csv --label bought --pos-label yes -o d15.csv
decide words.csv -o d16.csv
decide rows.jsonl -o d17.jsonl
decide rows.parquet -o d18.parquet
decide rows.csv val.csv -o d19.csv
decide many --group g -o folder1
decide many -m jaccard --memory 1GB --max-positives 9 -o folder2
decide many --reference val.csv -o folder3
decide wide.csv --scores p_* --labels y_* -o wide-out.csv
decide wide.csv --scores p_* --average micro -m jaccard -o w2.csv
decide wide.csv --scores p_* --average samples --decision-column *_d -o w3.csv
decide wide.csv --scores p_* --labels y_* --reference map.json -o w4.csv
decide kinds.csv --scores p_* --one-label -o kinds-out.csv
decide kinds.csv --scores p_* --one-label --group g -m mcc -o k2.csv
decide kinds.csv --scores p_* --one-label --reference kinds.csv -o k3.csv
decide kinds.csv --scores p_* --one-label --average weighted -o k4.csv
decide unnamed.csv --scores p_* --one-label -o k5.csv
decide rows.csv --report report1.json -o d20.csv
decide rows.csv --rule rule.json -o d21.csv
decide rows.csv --rule rule.json --group g -o d22.csv
decide words.csv --rule words.json -o d23.csv
decide wide.csv --scores p_* --labels y_* --rule wide.json -o w5.csv
forecast rows.csv
forecast decided.csv --group g
forecast decided.csv --fail-under 0.9
forecast decided.csv --fail-under 0.1 --fail-on interval --coverage 0.8
forecast rows.csv --threshold 0.5 --known part
forecast rows.csv --threshold 0.4 --reference val.csv
forecast rows.csv --reference val.csv --prior estimate
forecast rows.csv --prior 0.2 --overdispersion 0.5
forecast rows.csv --rule rule.json
forecast rows.csv --rule rule.json --reference val.csv
forecast rows.csv --reference map.json -m mcc
forecast rows.csv --zero-division nan -m precision --group g
forecast rows.csv --report report2.json
forecast out-many --group g
forecast wide-out.csv --scores p_* --labels y_*
forecast wide.csv --scores p_* --rule wide.json
forecast wide.csv --scores p_* --average samples
forecast kinds-out.csv --scores p_* --one-label
forecast kinds.csv --scores p_* --one-label --reference kinds.csv
forecast kinds-out.csv --scores p_* --one-label --fail-under 0.99
evaluate decided.csv
evaluate decided.csv --label y --score p --group g
evaluate decided.csv --group g --average pooled -m jaccard
evaluate rows.csv --threshold 0.3
evaluate rows.csv --threshold 0.3 --group g --fail-under 0.99
evaluate decided.csv -m brier_like_unknown
evaluate decided.csv -m error --fail-under 0.01
evaluate judged --group g
evaluate wide-out.csv --labels y_*
evaluate wide-out.csv --labels y_* --scores p_* --average samples
evaluate kinds-out.csv --one-label
evaluate kinds-out.csv --one-label -m mcc --scores p_*
evaluate kinds-out.csv --one-label --group g --fail-under 0.99
tune rows.csv -o rule.json
tune rows.csv -m f1 -m mcc -o rule-{metric}.json
tune rows.csv --group g --choice one-se
tune rows.csv --cost-fp 1 --cost-fn 3
tune rows.csv --no-label -m jaccard
tune rows.csv --weight w --seed 3 --coverage 0.8
tune rows.csv --max-positives 5% --min-precision 0.3
tune words.csv --label bought --pos-label yes -o words.json
tune raw.csv --score value
tune judged
tune judged --cost-fp 1 --cost-fn 2
tune wide.csv --scores p_* --labels y_* -o wide.json
tune wide.csv --scores p_* --labels y_* --average micro
tune kinds.csv --scores p_* --one-label -o w.json
tune rows.csv --report report3.json
calibrate rows.csv -o map.json
calibrate rows.csv --method isotonic --group g -m mcc
calibrate rows.csv --weight w --method platt
calibrate logits.csv --logits
calibrate rows.csv --map map.json -o mended.csv
calibrate judged
calibrate kinds.csv --scores p_* --one-label -o class-map.json
calibrate kinds.csv --scores p_* --one-label --method temperature --group g
decide kinds.csv --scores p_* --one-label --reference class-map.json -o k6.csv
monitor rows.csv --reference val.csv --every 100
monitor rows.csv --reference val.csv --every 100 --by g --threshold 0.4
monitor rows.csv --reference val.csv --every 100 --append state.json
monitor timed.csv --reference val.csv --time at --every month -o m.csv
monitor timed.csv --reference val.csv --time at --rule rule.json --floor 0.99
expect rows.csv decided.csv --label y
expect rows.csv decided.csv --label y --quantiles --utility windowdiff --window 3
train table.csv --label y --model logistic -o m.skops
predict m.skops table.csv -o p1.csv
predict m.skops table.csv --joint -o p2.csv
stream rows.svm --on-error skip -o s1.jsonl
stream rows.svm --on-error skip --hash-bits 8
stream rows.svm --on-error skip --checkpoint kept
stream predict kept rows.svm --on-error skip -o s2.jsonl
spans spans.jsonl --names O,B-X -o spans-out.jsonl
tag train text.txt --task chunk --epochs 1 --dev text.txt -o t.tagger
tag predict t.tagger text.txt -o tagged.txt
tag evaluate tagged.txt
tag evaluate tagged.txt --task pos
summarize sources --words 9
summarize sources --references gold.txt --report p.html
summarize train clusters.jsonl --words 5 -o s.model
summarize evaluate clusters.jsonl --model s.model
metrics
""".strip().splitlines()
# Without --json: rows on standard output, reports, and what is refused
ONCE = """
decide rows.csv
decide rows.jsonl
decide rows.csv --json
decide wide.csv --scores p_*
report rows.csv
report rows.csv --group g --reference val.csv --report report3.json
report rows.csv --max-positives 5% --report report4.md
calibrate rows.csv --map map.json
tag templates chunk
forecast rows.csv --threshold 0.5 --rule rule.json
decide rows.csv -o - --json
decide rows.csv --reference map.json --prior estimate
decide rows.csv --prior estimate
decide rows.csv --reference-score p
decide rows.csv --rule rule.json --metric f1
decide rows.csv --rule rule.json --max-positives 3
decide rows.csv --scores p_* --group g
decide rows.csv --score p --group p
decide wide.csv --labels y_*
decide wide.csv --scores p
decide wide.csv --scores q_*
decide wide.csv --scores p_* --label y_a
decide wide.csv --scores p_* --average groups
decide wide.csv --one-label
decide kinds.csv --scores p_* --one-label --labels y_*
decide kinds.csv --scores p_* --one-label --pos-label a
decide kinds.csv --scores p_* --one-label --prior 0.2
decide kinds.csv --scores p_* --one-label -m f1_macro
decide wide.csv --scores p_* --one-label
decide rows.csv --average weighted
decide many
decide many -o folder4 --label y
decide rows.csv --scheduler tcp://nowhere:1
decide rows.csv --decision-column p
decide rows.csv --group nothing
decide rows.csv --max-line much
decide rows.csv --encoding klingon
forecast rows.csv --known p
evaluate decided.csv --threshold 0.2 --decision-column decision
evaluate decided.csv --scores p_*
evaluate wide-out.csv --labels y_* --group g
tune rows.csv -m f1 -m f1
tune rows.csv -m f1 -m mcc -o one.json
tune rows.csv --cost-fp 1
tune rows.csv --cost-fp 1 --cost-fn 2 -m f1
tune rows.csv --no-label --label y
tune rows.csv -o nowhere/rule.json
tune wide.csv --scores p_*
calibrate rows.csv --method matrix
calibrate rows.csv --output-format csv
calibrate rows.csv --map map.json --method platt
calibrate wide.csv --scores p_*
report rows.csv --report page.pdf
monitor rows.csv --reference val.csv
monitor rows.csv --every 100
monitor rows.csv --reference val.csv --every week
""".strip().splitlines()


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
    for line in ("tune wide.csv --scores p_* --labels y_* -o wide.json",):
        ran(line, "lines")
    ran("tune words.csv --label bought --pos-label yes -o words.json", "lines")
    for line in BOTH:
        yield f"line/{line}/json", functools.partial(ran, f"{line} --json", "lines")
        again = f"{line} --resume" if line.startswith("decide many") else line
        yield f"line/{line}/text", functools.partial(ran, again, "lines")
    for line in ONCE:
        yield f"line/{line}", functools.partial(ran, line, "lines")
    for line in mistakes.MISTAKES:
        yield f"line/mistake/{line}", functools.partial(ran, line, "mistakes")


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
    for name, lines in (("rows.jsonl", zip(p.tolist(), y.tolist(), strict=True)),):
        text = [json.dumps({"p": a, "y": b}) for a, b in lines]
        Path(name).write_text("\n".join([*text, ""]))
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
    lines_ = [f"{b} 1:{a} 2:1" for a, b in zip(p, y, strict=True)]
    Path("rows.svm").write_text("\n".join([*lines_, "1 x", ""]))
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
