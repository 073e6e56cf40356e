"""``argmetric tag``: bad input, interrupts, real data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from argmetric.cli import _learning
from argmetric.search import Tagger
from argmetric.sequence import read_sentences
from cli_tag import QUICK, SMALL, TEST, TRAIN, columns, corpus, read, text_of, write
from command import Run

CASES = {
    "a missing column": (
        "the DT B-NP\nred JJ\n",
        "line 2: 2 columns, but line 1 has 3",
    ),
    "an empty column": ("the\tDT\tB-NP\nred\t\tO\n", "line 2: an empty column"),
    "an empty file": ("", "bad.txt has no sentences"),
    "only empty lines": ("\n\n \n", "bad.txt has no sentences"),
    "only documents": ("-DOCSTART- -X- O\n\n", "bad.txt has no sentences"),
    "another scheme": ("Ann NNP S-PER\n", "line 1: 'S-PER' in column 3 is no label"),
    "no label": (
        "a DT B-NP\n\nb NN X\n",
        "line 3: 'X' in column 3 is no label of IOB2",
    ),
    "one column": ("the\n", "needs words and labels, 2 columns or more; there is 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files(run: Run, case: str) -> None:
    text, message = CASES[case]
    write("bad.txt", text)
    write("m.tag", "old")
    ended = run("train", "bad.txt", "--task", "chunk", "--model", "m.tag", *QUICK)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err
    assert ended.err.startswith("argmetric: bad.txt")
    assert ended.err.count("\n") == 1
    assert read("m.tag") == "old"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("train.txt", "--task", "pos"), 1, "column 3, where --task pos has its tags"),
        (("pos.txt", "--task", "chunk"), 1, "line 1: 'DT' in column 2 is no label"),
        (("pos.txt", "--task", "joint"), 1, "needs words, tags and chunk labels, 3"),
        (("nobody.txt", "--task", "pos"), 1, "cannot read nobody.txt: No such file"),
        (("train.txt", "--task", "chunk", "--dev", "pos.txt"), 1, "has 2 columns, but"),
        (("train.txt", "--task", "sing"), 2, "--task"),
        (("pos.txt", "--task", "pos", "--memory", "both"), 2, "memory is for spans"),
        (("train.txt", "--task", "chunk", "--beam", "0"), 2, "--beam"),
        (
            ("train.txt", "--task", "chunk", "--templates", "t.txt"),
            1,
            "t.txt: template 2",
        ),
        (
            ("train.txt", "--task", "joint", "--templates", "t.txt"),
            1,
            "under a line [tag]",
        ),
        (
            ("train.txt", "--task", "chunk", "--templates", "e.txt"),
            1,
            "has no templates",
        ),
        (("train.txt", "--task", "chunk", "--templates", "no"), 1, "cannot read no:"),
    ],
)
def test_what_does_not_fit(
    run: Run, arguments: tuple[str, ...], code: int, message: str
) -> None:
    write("pos.txt", columns(TRAIN, 0, 1))
    write("t.txt", "w[0]\nsound[0]\n")
    write("e.txt", "# nothing\n")
    ended = run("train", *arguments, "--model", "m.tag", *SMALL)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not Path("m.tag").exists()


def test_a_target_that_cannot_be(run: Run) -> None:
    begin = "train", "train.txt", "--task", "chunk", "--model"
    assert run(*begin, "-").code == 2
    ended = run(*begin, "nowhere/m.tag")
    assert (ended.code, "there is no folder nowhere" in ended.err) == (1, True)


def test_bad_models(run: Run, models: Path) -> None:
    data = (models / "chunk.tag").read_bytes()
    half = len(data) // 2
    damaged = bytearray(data)
    damaged[half : half + 64] = bytes(64)
    with np.load(models / "chunk.tag") as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    newer = json.dumps(header | {"version": header["version"] + 1}).encode()
    less = {name: value for name, value in header.items() if name != "streams"}
    for name, text in (("newer", newer), ("less", json.dumps(less).encode())):
        coded = np.frombuffer(text, dtype=np.uint8)
        with open(name, "wb") as file:
            np.savez(file, **(arrays | {"header": coded}))
    Path("cut").write_bytes(data[:half])
    Path("damaged").write_bytes(damaged)
    write("foreign", "not a model\n")
    matrix = Tagger("label", hash_bits=8, epochs=1)
    matrix.fit_matrix(np.eye(4), ["a", "b", "a", "b"], [2, 2]).save("matrix")
    for model, message in {
        "cut": "cut is not a tagger of argmetric, or it is cut off",
        "damaged": "damaged",
        "foreign": "foreign is not a tagger of argmetric, or",
        "newer": f"has version {header['version'] + 1} of its format",
        "less": "less is damaged",
        "matrix": "matrix is a tagger of another task",
        "nobody": "cannot read nobody: No such file",
    }.items():
        ended = run("predict", model, "test.txt", "-o", "out.txt")
        assert (ended.code, ended.out) == (1, "")
        assert message in ended.err
        assert "unexpected" not in ended.err
        assert ended.err.count("\n") == 1
    assert run("predict", "-", "test.txt").code == 2
    assert not Path("out.txt").exists()


def test_predict_refuses_what_it_cannot_read(run: Run, models: Path) -> None:
    model = str(models / "chunk.tag")
    write("words.txt", columns(TEST, 0))
    write("two.txt", columns(TEST, 0, 2))
    write("empty.txt", "\n")
    write("out.txt", "old")
    for name, message in {
        "words.txt": "reads 2 columns, words first; there is 1",
        "two.txt": "holds the labels that it should find: a column seems to be missing",
        "empty.txt": "empty.txt has no sentences",
        "nobody.txt": "cannot read nobody.txt",
    }.items():
        ended = run("predict", model, name, "-o", "out.txt")
        assert (ended.code, ended.out) == (1, "")
        assert message in ended.err
    assert read("out.txt") == "old"
    assert run("predict", model, "test.txt", "-o", "no/out.txt").code == 1


def test_a_label_that_the_encoding_cannot_write(run: Run) -> None:
    write("train.txt", "a X\nb Ж\n\n" * 4)
    run("train", "train.txt", "--task", "pos", "--model", "m.tag", *QUICK)
    write("test.txt", "b\nb\n")
    ended = run("predict", "m.tag", "test.txt", "-o", "o.txt", "--encoding", "latin-1")
    assert ended.code == 1
    assert "a word or label has 'Ж', which latin-1 cannot write" in ended.err


def test_evaluate_refuses_what_it_cannot_judge(run: Run) -> None:
    write("two.txt", columns(TEST, 0, 2))
    ended = run("evaluate", "two.txt")
    assert (ended.code, "3 for --task chunk" in ended.err) == (1, True)
    ended = run("evaluate", "test.txt")  # no right labels before the predicted ones
    assert ended.code == 1
    assert "line 1: 'DT' in column 2 is no label of IOB2" in ended.err
    assert "the last column is predicted, the one before it gold" in ended.err
    assert run("evaluate", "test.txt", "--task", "joint").code == 1


def test_an_interrupt_keeps_the_best_so_far(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def say(message: str) -> None:
        told.append(message)
        if len(told) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_learning, "say", say)
    ended = run("train", "train.txt", "--task", "chunk", "--model", "m.tag", *QUICK)
    assert ended.code == 130
    assert "note: interrupted: this is the best tagger so far" in ended.out
    assert "direction left" in ended.out
    assert "written: m.tag" in ended.out
    assert run("predict", "m.tag", "test.txt", "-o", "out.txt").code == 0
    assert run("evaluate", "out.txt", "--fail-under", "0.9").code == 0


def test_an_interrupt_before_anything_was_learned(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tagger, "fit", fit)
    write("m.tag", "old")
    ended = run("train", "train.txt", "--task", "chunk", "--model", "m.tag")
    assert (ended.code, ended.out) == (130, "")
    assert "no tagger is written" in ended.err
    assert read("m.tag") == "old"


def test_a_real_signal(run: Run) -> None:
    write("big.txt", text_of(corpus(300)))
    command = [
        *(sys.executable, "-m", "argmetric.cli", "tag", "train", "big.txt"),
        *("--task", "pos", "--model", "m.tag", "--epochs", "100000", *SMALL),
    ]
    write("big.txt", columns(corpus(300), 0, 1))
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ},
        # Ignored, where tests run in the background: a child would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert started.stderr is not None
    assert b"left, epoch 1: " in started.stderr.readline()
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    assert started.returncode == 130
    assert b"interrupted: this is the best tagger so far" in out
    write("test.txt", columns(TEST, 0))
    assert run("predict", "m.tag", "test.txt", "-o", "out.txt").code == 0
    assert read("out.txt") == columns(TEST, 0, 1)
    assert not list(Path().glob(".m.tag*"))


@pytest.mark.data
@pytest.mark.parametrize(
    ("task", "train", "test", "least"),
    [
        ("chunk", "conll2000/train.txt", "conll2000/test.txt", 0.89),
        ("ner", "conll2002/esp.train", "conll2002/esp.testb", 0.5),
    ],
)
def test_real_data(
    run: Run, data_folder: Path, task: str, train: str, test: str, least: float
) -> None:
    for name, path in (("train.txt", train), ("test.txt", test)):
        text = (data_folder / path).read_text(encoding="utf-8")
        write(name, "\n\n".join(text.split("\n\n")[:300]) + "\n")
    model = "--model", "m.tag", "--hash-bits", "18"
    assert run("train", "train.txt", "--task", task, *model).code == 0
    assert run("predict", "m.tag", "test.txt", "-o", "out.txt").code == 0
    cut = [line.rpartition(" ")[0] for line in read("out.txt").split("\n")]
    assert "\n".join(cut) == read("test.txt")
    ended = run("evaluate", "out.txt", "--json", "--fail-under", str(least))
    assert ended.code == 0
    summary = json.loads(ended.out)

    metrics = pytest.importorskip("seqeval.metrics")
    scheme = pytest.importorskip("seqeval.scheme")
    sentences = read_sentences("out.txt")
    gold = [s.columns[-1] for s in sentences]
    own = [s.labels for s in sentences]
    strict = metrics.f1_score(gold, own, mode="strict", scheme=scheme.IOB2)
    assert summary["strict"]["f1"] == pytest.approx(strict, abs=1e-12)
    assert summary["lenient"]["f1"] == pytest.approx(metrics.f1_score(gold, own))
