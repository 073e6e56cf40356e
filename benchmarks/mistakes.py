"""Make some ninety mistakes on the command line and print the message of each.

    python benchmarks/mistakes.py           # a Markdown table
    python benchmarks/mistakes.py metric    # mistakes with this word only

Files with the usual faults are made in a folder that is removed afterwards.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from argmetric.cli import main

MISTAKES = """
decid scores.csv
decide
decide scroes.csv
decide empty_folder
decide scores.csv out.csv
decide scores.csv --out out.csv
decide scores.csv --threshold 0.3
decide scores.csv --rule scores.csv
decide scores.csv --rule other.json
decide scores.csv --rule model.pkl
decide scores.csv --metric f1_score
decide scores.csv --metric F1 score
decide scores.csv --metric 'F1 score'
decide scores.csv --metric fbeta
decide scores.csv --metric f1_macro
decide scores.csv --metric macro-f1
decide scores.csv --metric f1_weighted
decide scores.csv --metric jacard
decide scores.csv --metric auc
decide scores.csv --metric banana
decide scores.csv --metric ''
decide scores.csv --decision-column ''
decide scores.csv --memory 0
decide scores.csv --rule twice.json
decide scores.csv --rule huge.json
decide scores.csv --scor p
decide scores.csv --column p
decide scores.csv --score proba
decide scores.csv --score zebra
decide scores.csv --average macro
decide scores.csv --average groups
decide scores.csv --max-positives 0.1
decide scores.csv --min-recall 90
decide scores.csv --min-recall 90%
decide scores.csv -o out.xls
decide scores.csv -o nowhere/out.csv
decide scores.csv -o scores.csv
decide no_score.csv
decide percent.csv
decide hundred.csv
decide comma.csv
decide empty_cell.csv
decide missing.csv
decide words.csv
decide logits.csv
decide many.csv
decide classes.csv
decide two.csv
decide no_header.csv
decide ragged.csv
decide empty.csv
decide header_only.csv
decide zero_byte.csv
decide latin.csv
decide list.json
decide model.pkl
decide decided.csv
forecast scores.csv --coverage 90
forecast scores.csv --prior 5%
evaluate scores.csv
evaluate no_score.csv
evaluate names.csv
evaluate scores.csv --threshold 0,3
monitor scores.csv --reference scores.csv --every 20 -o page.pdf
monitor scores.csv --reference scores.csv --every 20 --append empty_folder
evaluate scores.csv --threshold 30%
tune scores.csv --threshold 0.3
tune percent.csv
tune no_score.csv --label bought
tune yes_no.csv --pos-label true
tune empty_label.csv
tune only_zeros.csv
tune three.csv
calibrate scores.csv --label bought
calibrate scores.csv --reference scores.csv
train table.csv
train table.csv --label bough
predict model.pkl table.csv
predict scores.csv table.csv
report scores.csv --report page.pdf
stream table.csv
stream table.csv --label bought --features age
stream table.csv --label bought
stream comma_label.csv
summarize empty_folder
summarize scores.csv -o page.html
tag train train.conll --task chnk --model m
tag evaluate train.conll
tag evaluate train.conll other.conll
metrics --name f1
""".strip().splitlines()


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
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            make_files()
            for typed in MISTAKES:
                if word in typed:
                    yield typed, answer_to(typed)
        finally:
            os.chdir(before)


if __name__ == "__main__":
    print("| typed after `argmetric` | exit | message |\n|---|---|---|")
    for typed, (code, text) in answers(*sys.argv[1:2]):
        shown = text.removeprefix("argmetric: ").replace("\n", " ⏎ ")
        print(f"| `{typed}` | {code} | {shown.replace('|', chr(92) + '|')} |")
