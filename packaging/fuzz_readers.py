"""Damage valid files at random, and read them: an answer, or an error of ours.

    python packaging/fuzz_readers.py --seconds 60            # each reader in turn
    python packaging/fuzz_readers.py --only csv rule --seed 7

A file after which a reader raises something else, or takes longer than ten seconds, is
kept in fuzz-failures/ under the name of the reader, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import argmetric as am
from argmetric.cli import main as argmetric

SLOW = 10.0  # seconds; whole files are read in milliseconds
ODD = [b"\0", b"\xff", b'"', b",", b"\n", b"\r", b"{", b"]", b"nan", b"1e999", b"-1"]
ODD += [b"[" * 200, b"9" * 400, b"\xef\xbb\xbf", b"\x1f\x8b", b"PAR1", "é".encode()]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return a copy with a few bytes changed, doubled, lost or replaced by odd ones."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        place = rng.randrange(len(out) + 1)
        way = rng.randrange(5)
        if way == 0 and place < len(out):
            out[place] ^= 1 << rng.randrange(8)
        elif way == 1:
            out[place:place] = rng.choice(ODD)
        elif way == 2:
            del out[place : place + rng.randrange(1, 40)]
        elif way == 3:
            start = rng.randrange(len(out) + 1)
            out[place:place] = out[start : start + rng.randrange(1, 40)]
        else:
            del out[place:]
    return bytes(out)


def by_command(*arguments: str) -> Callable[[Path], bool]:
    """Read a file by a command, which must end with 0, 1 or 2 and without surprise."""

    def read(path: Path) -> bool:
        import contextlib
        import io

        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = argmetric([one.replace("FILE", str(path)) for one in arguments])
        if code not in (0, 1, 2) or "unexpected" in said.getvalue():
            raise AssertionError(f"exit code {code}: {said.getvalue()[-500:]}")
        return code == 0

    return read


def by_function(function: Callable[[Path], object]) -> Callable[[Path], bool]:
    """Read a file by a function, which may refuse it by an error of ours."""

    def read(path: Path) -> bool:
        try:
            function(path)
            return True
        except (ValueError, TypeError, OSError) as error:
            if not str(error):
                raise AssertionError("an error without words") from error
            return False

    return read


def seeds(folder: Path) -> dict[str, tuple[Path, Callable[[Path], bool]]]:
    """Yield a valid file for each reader, and what reads it."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 60).round(3)
    y = (rng.random(60) < p).astype(int)
    table = pa.table({"id": np.arange(60), "score": p, "label": y})
    rows = table.to_pylist()
    text = "id,score,label\n" + "".join(
        f'"{r["id"]}",{r["score"]},{r["label"]}\n' for r in rows
    )
    (folder / "t.csv").write_text(text)
    (folder / "t.tsv").write_text(text.replace(",", "\t").replace('"', ""))
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(table, folder / "t.parquet")
    pyarrow.feather.write_feather(table, folder / "t.arrow", compression="uncompressed")
    words = "the DT B-NP B-NP\ncat NN I-NP O\nsat VB O O\n\na DT B-NP B-NP\n\n"
    (folder / "t.conll").write_text(words * 5)
    tree = (
        "1\ta\ta\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
    )
    (folder / "t.conllu").write_text(tree * 5)
    three = "\n".join(line.rpartition(" ")[0] for line in (words * 5).split("\n"))
    (folder / "three.conll").write_text(three)
    by_command(
        *("tag", "train", str(folder / "three.conll"), "--task", "chunk"),
        *("--model", str(folder / "m.tag")),
    )(folder)
    by_command(
        *("train", str(folder / "t.csv"), "--label", "label", "--drop", "id"),
        *("--model", "logistic", "-o", str(folder / "m.skops")),
    )(folder)
    rule = am.tune(y, p, "f1", reference=am.calibrate(y, p))
    rule.save(folder / "rule.json")
    am.calibrate(y, p).save(folder / "map.json")
    decide = by_command(
        "decide", "FILE", "--score", "score", "-o", str(folder / "out.csv")
    )
    return {
        "csv": (folder / "t.csv", decide),
        "tsv": (folder / "t.tsv", decide),
        "jsonl": (folder / "t.jsonl", decide),
        "parquet": (folder / "t.parquet", decide),
        "arrow": (folder / "t.arrow", decide),
        "rule": (folder / "rule.json", by_function(am.Rule.load)),
        "map": (folder / "map.json", by_function(am.Calibrator.load)),
        "corpus": (folder / "t.conll", by_command("tag", "evaluate", "FILE")),
        "trees": (folder / "t.conllu", by_function(am.search.read_trees)),
        "tagger": (folder / "m.tag", by_function(am.search.Tagger.load)),
        "model": (
            folder / "m.skops",
            by_command(
                *("predict", "FILE", str(folder / "t.csv")),
                *("-o", str(folder / "out.csv"), "--score-column", "p"),
            ),
        ),
    }


def fuzz(
    name: str,
    seed: Path,
    read: Callable[[Path], bool],
    *,
    seconds: float,
    rng: random.Random,
    keep: Path,
) -> tuple[int, int]:
    """Files that were read, and how many of them broke the reader."""
    whole, target = seed.read_bytes(), seed.with_name(f"damaged{seed.suffix}")
    tried = broken = 0
    target.write_bytes(whole)
    if not read(target):
        raise AssertionError(f"{name}: the file that is not damaged is refused")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = damaged(whole, rng)
        target.write_bytes(data)
        tried, start = tried + 1, time.monotonic()
        try:
            read(target)
            if time.monotonic() - start > SLOW:
                raise AssertionError(f"took {time.monotonic() - start:.0f} s")
        except Exception:
            broken += 1
            keep.mkdir(exist_ok=True)
            kept = keep / f"{name}-{broken}{seed.suffix}"
            kept.write_bytes(data)
            print(f"{kept}\n{traceback.format_exc()}", file=sys.stderr)
    return tried, broken


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each reader")
    parser.add_argument("--only", nargs="*", help="names of readers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (seed, read) in seeds(Path(folder)).items():
            if asked.only and name not in asked.only:
                continue
            rng = random.Random(f"{asked.seed} {name}")
            tried, broken = fuzz(
                name, seed, read, seconds=asked.seconds, rng=rng, keep=asked.keep
            )
            print(json.dumps({"reader": name, "files": tried, "broken": broken}))
            failed += broken
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
