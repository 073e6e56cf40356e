"""Make some ninety mistakes on the command line and print the message of each.

    python benchmarks/mistakes.py           # a Markdown table
    python benchmarks/mistakes.py metric    # mistakes with this word only

Files with the usual faults are made in a folder that is removed afterwards.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from argmetric.cli import main

MISTAKES = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()


class Answer(NamedTuple):
    """What a mistake got: the exit code and the lines on standard error."""

    code: int
    message: str


def make_files() -> None:
    """Write the files into the current folder; most have one fault each."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 2.0, 60).round(3).clip(0.001, 0.999)
    y = (rng.random(60) < p).astype(int)

    def table(name: str, header: str, *columns: Any, sep: str = ",") -> None:
        rows = [sep.join(map(str, row)) for row in zip(*columns, strict=True)]
        Path(name).write_text("\n".join([header, *rows, ""]), encoding="utf-8")

    def spoilt(cell: str, column: Any = p) -> list[Any]:
        return [*column[:4], cell, *column[5:]]

    row = np.arange(60)
    commas = [str(value).replace(".", ",") for value in p]
    table("scores.csv", "id,p,label,group", row, p, y, [f"g{i % 6}" for i in row])
    table("no_score.csv", "id,value,outcome", row, p, y)
    table("percent.csv", "id,p", row, [f"{100 * value:.1f}%" for value in p])
    table("hundred.csv", "id,p", row, [f"{100 * value:.1f}" for value in p])
    table("comma.csv", "id;p", row, commas, sep=";")
    table("comma_label.csv", "p;label", commas, y, sep=";")
    table("empty_cell.csv", "id,p", row, spoilt(""))
    table("missing.csv", "id,p", row, spoilt("NA"))
    table("words.csv", "id,p", row, spoilt("high"))
    table("logits.csv", "id,p", row, np.log(p / (1 - p)).round(3))
    names = [f"p_{j}" for j in range(60)]
    table("many.csv", ",".join(["id", *names]), row, *rng.random((60, 60)).round(3))
    shares = rng.dirichlet([1, 1, 1], 60).round(3).T
    table("classes.csv", "id,p_cat,p_dog,p_bird,label", row, *shares, row % 3)
    table("yes_no.csv", "p,label", p, np.where(y == 1, "yes", "no"))
    table("empty_label.csv", "p,label", p, spoilt("", y))
    table("only_zeros.csv", "p,label", p, 0 * y)
    table("three.csv", "p,label", p, row % 3)
    table("two.csv", "id,p,prob", row, p, p)
    table("decided.csv", "p,label,decision", p, y, (p > 0.3).astype(int))
    cities = np.where(row % 2, "Lima", "Oslo")
    table("table.csv", "id,age,city,bought", row, 20 + row % 50, cities, y)
    tokens = "Ana NNP B-PER\nvisited VBD O\nRome NNP B-LOC\n\n" * 20
    for name, text in {
        "no_header.csv": "1,0.2\n2,0.4\n3,0.9\n",
        "ragged.csv": "id,p\n1,0.2\n2\n3,0.9\n",
        "empty.csv": "",
        "header_only.csv": "id,p\n",
        "list.json": '[{"p": 0.2}, {"p": 0.7}]\n',
        "other.json": '{"a": 1}\n',
        "twice.json": '{"file": "argmetric rule", "n": 1, "n": 2}\n',
        "huge.json": '{"file": "argmetric rule", "threshold": 1e400}\n',
        "zero_byte.csv": "id,p\0\n1,0.2\n",
        "names.csv": "label,decision\ncat,cat\ndog,bird\nbird,dog\n",
        "train.conll": tokens,
        "other.conll": tokens,
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("latin.csv").write_bytes("id,p,name\n1,0.2,café\n".encode("latin-1"))
    Path("model.pkl").write_bytes(b"\x80\x04K\x01.")
    Path("empty_folder").mkdir()


def answer_to(typed: str) -> Answer:
    """Run a command line, without the word argmetric, in the current folder."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    said = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = main(shlex.split(typed))
    return Answer(code, said.getvalue().strip())


def answers(word: str = "") -> Iterator[tuple[str, Answer]]:
    """Make the mistakes that have a word, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_files()
        for typed in MISTAKES:
            if word in typed:
                yield typed, answer_to(typed)


if __name__ == "__main__":
    print("| typed after `argmetric` | exit | message |\n|---|---|---|")
    for typed, (code, text) in answers(*sys.argv[1:2]):
        shown = text.removeprefix("argmetric: ").replace("\n", " ⏎ ")
        print(f"| `{typed}` | {code} | {shown.replace('|', chr(92) + '|')} |")
