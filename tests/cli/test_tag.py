"""``argmetric tag``: train, predict, evaluate, bad input, interrupts."""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric.cli import _learning, _report, main
from argmetric.cli.tag._labels import ChunkLabels, read_tags
from argmetric.search import Tagger, default_templates
from argmetric.sequence import read_chunks, read_sentences
from command import Run

SMALL = "--hash-bits", "14"
QUICK = *SMALL, "--epochs", "3"


def corpus(n: int, seed: int = 0) -> list[list[tuple[str, str, str]]]:
    """Sentences of a small grammar: words, parts of speech, chunk labels."""
    draw = random.Random(seed)
    nouns, verbs = ["cat", "dog", "fish", "señal"], ["sees", "eats", "likes"]
    sentences = []
    for _ in range(n):
        rows = []
        for verb in (False, True):
            if verb:
                rows.append((draw.choice(verbs), "VBZ", "B-VP"))
            rows.append((draw.choice(["the", "a"]), "DT", "B-NP"))
            if draw.random() < 0.5:
                rows.append((draw.choice(["big", "red"]), "JJ", "I-NP"))
            rows.append((draw.choice(nouns), "NN", "I-NP"))
        rows.append((".", ".", "O"))
        sentences.append(rows)
    return sentences


def text_of(sentences: list[list[tuple[str, ...]]], separator: str = " ") -> str:
    parts = ("".join(separator.join(row) + "\n" for row in s) for s in sentences)
    return "".join(part + "\n" for part in parts)


def columns(sentences: list[list[tuple[str, ...]]], *chosen: int) -> str:
    return text_of([[tuple(row[c] for c in chosen) for row in s] for s in sentences])


TRAIN, TEST = corpus(40), corpus(10, seed=1)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tagger of each task."""
    folder = tmp_path_factory.mktemp("models")
    texts = {
        "chunk": text_of(TRAIN),
        "ner": text_of(TRAIN),
        "pos": columns(TRAIN, 0, 1),
        "joint": text_of(TRAIN),
    }
    for task, text in texts.items():
        path = folder / f"{task}.txt"
        path.write_text(text, encoding="utf-8")
        target = str(folder / f"{task}.tag")
        options = ["--task", task, "--model", target, *QUICK]
        assert main(["tag", "train", str(path), *options]) == 0
    return folder


@pytest.fixture
def run(run: Run) -> Run:
    """Run `argmetric tag` in a folder with small files."""
    write("train.txt", text_of(TRAIN))
    write("test.txt", text_of(TEST))
    return functools.partial(run, "tag")


def write(name: str, text: str, encoding: str = "utf-8") -> None:
    Path(name).write_bytes(text.encode(encoding))


def read(name: str, encoding: str = "utf-8") -> str:
    return Path(name).read_bytes().decode(encoding)


# -- train ---------------------------------------------------------------------


def test_train_predict_evaluate(run: Run) -> None:
    ended = run(
        *("train", "train.txt", "--task", "chunk", "--model", "m.tag"),
        *("--dev", "test.txt", *QUICK),
    )
    assert ended.code == 0
    lines = ended.err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == [
        f"{side}, epoch {n}" for side in ("left", "right") for n in (1, 2, 3)
    ]
    assert all(
        " % of the decisions wrong, dev 1.0000, " in line and line.endswith(" s")
        for line in (lines[2], lines[5])
    )
    assert "40 sentences" in ended.out
    assert "task       chunk, 4 labels" in ended.out
    assert "direction both, beam 5" in ended.out
    assert "F1 1.0000 (strict) on test.txt" in ended.out
    size = round(Path("m.tag").stat().st_size / 1e3)
    assert 0 < size < 1000
    assert f"written: m.tag ({size} kB)" in ended.out

    ended = run("predict", "m.tag", "test.txt", "-o", "out.txt")
    assert (ended.code, ended.out) == (0, "")
    assert "added      column 4" in ended.err
    assert "written: out.txt" in ended.err
    doubled = [[(*row, row[-1]) for row in sentence] for sentence in TEST]
    assert read("out.txt") == text_of(doubled)

    ended = run("evaluate", "out.txt")
    assert (ended.code, ended.err) == (0, "")
    assert "task       chunk, by the look of the labels" in ended.out
    assert "note" not in ended.out


def test_options_reach_the_tagger(run: Run) -> None:
    write("mine.txt", default_templates("chunk") + "w[-3]\n")
    ended = run(
        *("train", "train.txt", "--task", "chunk", "--model", "m.tag"),
        *("--templates", "mine.txt", "--direction", "right", "--beam", "2"),
        *("--learner", "perceptron", "--roll-in", "own", "--costs", "regret"),
        *("--epochs", "2", "--seed", "7", "--memory", "none", "--json", *SMALL),
    )
    assert ended.code == 0
    summary = json.loads(ended.out)
    assert summary["templates"] == "mine.txt"
    assert summary["dev_scores"] is None
    assert [row["epoch"] for row in summary["history"]] == [1, 2]
    expected = {
        **{"direction": "right", "beam": 2, "learner": "perceptron", "epochs": 2},
        **{"roll_in": "own", "costs": "regret", "memory": "none", "hash_bits": 14},
    }
    assert {name: summary[name] for name in expected} == expected
    found = Tagger.load("m.tag").get_params()
    assert {name: found[name] for name in expected} == expected
    assert found["random_state"] == 7
    assert "w[-3]" in found["templates"]


def test_the_model_is_that_of_python(run: Run, models: Path) -> None:
    sentences = read_sentences("train.txt")
    tagger = Tagger("chunk", hash_bits=14, epochs=3).fit(sentences)
    labels = tagger.predict([[row[:2] for row in s] for s in TEST])
    run("predict", str(models / "chunk.tag"), "test.txt", "-o", "out.txt")
    found = [s.labels for s in read_sentences("out.txt")]
    assert found == labels


def test_words_alone_leave_templates_out(run: Run) -> None:
    write("two.txt", columns(TRAIN, 0, 2))
    ended = run("train", "two.txt", "--task", "ner", "--model", "m.tag", *QUICK)
    assert ended.code == 0
    assert "note: no column of parts of speech: 10 of 83 templates out" in ended.out
    assert "73 of the recipe" in ended.out
    write("words.txt", columns(TEST, 0))
    assert run("predict", "m.tag", "words.txt", "-o", "out.txt").code == 0
    assert read("out.txt") == columns(TEST, 0, 2)
    words = [[row[0] for row in s] for s in TRAIN]
    labels = [[row[2] for row in s] for s in TRAIN]
    python = Tagger("ner", hash_bits=14, epochs=3).fit(words, labels)
    for own, other in zip(
        python._model.sides, Tagger.load("m.tag")._model.sides, strict=True
    ):
        assert (own.policy.weights == other.policy.weights).all()
    write("gold.txt", columns(TEST, 0, 2))
    run("predict", "m.tag", "gold.txt", "-o", "both.txt")
    assert json.loads(run("evaluate", "both.txt", "--json").out)["strict"]["f1"] == 1.0


def test_inside_labels_of_iob1_are_converted(run: Run, models: Path) -> None:
    old = [[(w, p, t.replace("B-", "I-")) for w, p, t in s] for s in TRAIN]
    write("old.txt", text_of(old))
    ended = run(
        *("train", "old.txt", "--task", "chunk", "--model", "m.tag", *QUICK),
        *("--dev", "old.txt"),
    )
    wrong = sum(row[2].startswith("B-") for s in TRAIN for row in s)
    assert (
        f"old.txt: {wrong} labels I-X with no X open before, read as B-X" in ended.out
    )
    assert "the first in line 1: I-NP" in ended.out
    assert "F1 1.0000 (strict) on old.txt" in ended.out
    one = Tagger.load(models / "chunk.tag")
    assert Tagger.load("m.tag").labels_ == one.labels_


def test_labels_that_only_dev_has_are_told(run: Run) -> None:
    new = [[(w, p, t.replace("-VP", "-XP")) for w, p, t in s] for s in TEST]
    write("dev.txt", text_of(new))
    ended = run(
        *("train", "train.txt", "--task", "chunk", "--model", "m.tag", *QUICK),
        *("--dev", "dev.txt"),
    )
    assert ended.code == 0
    assert "dev.txt: not in train.txt, so always missed: B-XP" in ended.out


def test_templates_are_printed_and_read_back(run: Run) -> None:
    ended = run("templates", "chunk")
    assert ended.out == default_templates("chunk").lstrip()
    write("joint.txt", run("templates", "joint").out)
    write("few.txt", "# a comment\n[chunk]\nw[0]\ntag[0]\n\n[tag]\nw[0]\nt[-1]\n")
    counts = []
    for name in ("joint.txt", "few.txt"):
        ended = run(
            *("train", "train.txt", "--task", "joint", "--model", "m.tag", "--json"),
            *("--templates", name, "--epochs", "1", *SMALL),
        )
        counts.append(json.loads(ended.out)["template_count"])
    parts = (default_templates(f"joint {name}") for name in ("tag", "chunk"))
    lines = sum(
        bool(line) and not line.startswith("#")
        for part in parts
        for line in part.splitlines()
    )
    assert counts == [lines, 4]


# -- predict -------------------------------------------------------------------


@pytest.mark.parametrize("separator", [" ", "\t", "  "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_but_the_new_column_is_left_as_it_is(
    run: Run, models: Path, separator: str, end: str
) -> None:
    rows = [["the", "DT"], ["red", "JJ"], ["fish", "NN"], [".", "."]]
    lines = [
        "-DOCSTART- -X-",
        "",
        *(separator.join(row) for row in rows),
        "",
        "",
        " ",
        *(separator.join(row) for row in rows),
        "-DOCSTART-",
        *(separator.join(row) for row in rows),
    ]
    data = end.join(lines)  # no end of line at the end
    write("in.txt", "\ufeff" + data)
    ended = run("predict", str(models / "chunk.tag"), "in.txt", "-o", "out.txt")
    assert ended.code == 0
    assert "3 sentences, 12 tokens of in.txt" in ended.err
    tags = {"the": "B-NP", "red": "I-NP", "fish": "I-NP", ".": "O"}
    glue = "\t" if separator == "\t" else " "
    expected = [
        line + glue + tags[line.split()[0]]
        if line.split(separator)[0] in tags
        else line
        for line in lines
    ]
    assert read("out.txt") == "\ufeff" + end.join(expected)


def test_standard_streams_and_json(run: Run, models: Path) -> None:
    model = str(models / "chunk.tag")
    ended = run("predict", model, "-", stdin=text_of(TEST).encode())
    assert ended.code == 0
    assert ended.out == text_of([[(*r, r[-1]) for r in s] for s in TEST])
    assert "of standard input" in ended.err
    ended = run("predict", model, "test.txt", "--json")
    assert json.loads(ended.out)["output"] is None
    assert ended.err == "argmetric: lines not written: no --output\n"
    ended = run("predict", model, "test.txt", "--json", "-o", "out.txt")
    summary = json.loads(ended.out)
    assert summary["columns"] == [4]
    assert (summary["sentences"], summary["task"]) == (10, "chunk")
    assert read("out.txt").count("\n") == read("test.txt").count("\n")
    ended = run("predict", model, "test.txt", "--json", "-o", "-")
    assert ended.code == 2


def test_parts_of_speech(run: Run, models: Path) -> None:
    write("test.txt", columns(TEST, 0, 1))
    run("predict", str(models / "pos.tag"), "test.txt", "-o", "out.txt")
    assert read("out.txt") == columns(TEST, 0, 1, 1)
    ended = run("evaluate", "out.txt", "--json")
    summary = json.loads(ended.out)
    assert summary["task"] == "pos"
    assert (summary["accuracy"], summary["sentences_correct"]) == (1.0, 10)


def test_joint(run: Run, models: Path) -> None:
    ended = run("predict", str(models / "joint.tag"), "test.txt", "-o", "out.txt")
    assert "added      columns 4 and 5" in ended.err
    assert read("out.txt") == columns(TEST, 0, 1, 2, 1, 2)
    ended = run("evaluate", "out.txt")
    assert "task       joint, by the look" in ended.out
    assert "columns    3 gold, 5 predicted" in ended.out
    assert "tags       1.0000" in ended.out
    assert "labels     1.0000" in ended.out
    write("out.txt", read("out.txt").replace(" NN I-NP\n", " XX I-NP\n"))
    summary = json.loads(run("evaluate", "out.txt", "--json").out)
    assert summary["strict"]["f1"] == summary["accuracy"] == 1.0
    tags = [row[1] for sentence in TEST for row in sentence]
    assert summary["tag"]["accuracy"] == 1 - tags.count("NN") / len(tags)
    assert f"1 tag of {tags.count('NN')} tokens (NN)" in summary["tag"]["notes"][0]


def test_other_encodings(run: Run) -> None:
    write("latin.txt", text_of(TRAIN), "latin-1")
    ended = run("train", "latin.txt", "--task", "chunk", "--model", "m.tag", *QUICK)
    first = next(i for i, x in enumerate(text_of(TRAIN).split("\n"), 1) if "ñ" in x)
    assert ended.code == 1
    assert f"latin.txt, line {first}: not utf-8 text (byte " in ended.err
    assert " is 0xF1); pass --encoding" in ended.err
    same = "--encoding", "latin-1"
    ended = run(
        "train", "latin.txt", "--task", "chunk", "--model", "m.tag", *QUICK, *same
    )
    assert ended.code == 0
    write("latin.txt", text_of(TEST), "latin-1")
    assert run("predict", "m.tag", "latin.txt", "-o", "out.txt", *same).code == 0
    assert read("out.txt", "latin-1") == columns(TEST, 0, 1, 2, 2)
    assert run("evaluate", "out.txt", *same).code == 0
    assert run("evaluate", "out.txt", "--encoding", "nonsense").code == 2


def test_words_may_hold_a_no_break_space(run: Run, models: Path) -> None:
    write("in.txt", "10\xa0000 CD\nfish NN\n\n")
    assert (
        run("predict", str(models / "chunk.tag"), "in.txt", "-o", "out.txt").code == 0
    )
    assert read("out.txt").startswith("10\xa0000 CD ")


# -- evaluate ------------------------------------------------------------------

OUT = """\
Ann NNP B-PER B-PER
Lee NNP I-PER I-PER
saw VBD O O
Rome NNP B-LOC I-LOC

Bob NNP B-PER B-ORG
went VBD O O
to TO O O
New NNP B-MISC O
"""


def test_scores_by_hand(run: Run) -> None:
    write("out.txt", OUT)
    ended = run("evaluate", "out.txt", "--json")
    summary = json.loads(ended.out)
    assert summary["strict"] == {
        **{"gold": 4, "predicted": 2, "correct": 1},
        **{"precision": 1 / 2, "recall": 1 / 4, "f1": 1 / 3},
    }
    assert summary["lenient"]["correct"] == 2
    assert summary["lenient"]["f1"] == 4 / 7
    assert summary["types"]["LOC"]["strict"]["recall"] == 0.0
    assert summary["types"]["LOC"]["lenient"]["f1"] == 1.0
    assert summary["types"]["ORG"]["strict"]["gold"] == 0
    assert summary["accuracy"] == 5 / 8
    strict, never = summary["notes"]
    assert "1 label I-X with no X open before, predicted: no chunk strictly" in strict
    assert "line 4: I-LOC" in strict
    assert "2 labels of 2 tokens (B-LOC, B-MISC)" in never
    table = run("evaluate", "out.txt").out
    row = next(line.split() for line in table.splitlines() if line[:3] == "all")
    assert row == ["all", "4", "2", "1", "0.5000", "0.2500", "0.3333", "0.5714"]


def test_gold_of_iob1_is_converted(run: Run) -> None:
    write("out.txt", "Ann I-PER B-PER\nLee I-PER I-PER\nsaw O O\n")
    ended = run("evaluate", "out.txt")
    assert ended.code == 0
    assert (
        "gold: read as B-X (IOB1 becomes IOB2); the first in line 1: I-PER" in ended.out
    )
    assert "1.0000" in ended.out


def test_a_slip_in_gold_is_no_chunk_strictly(run: Run) -> None:
    write("out.txt", OUT.replace("Rome NNP B-LOC", "Rome NNP I-LOC"))
    summary = json.loads(run("evaluate", "out.txt", "--json").out)
    assert "gold: no chunk strictly, one for conlleval" in summary["notes"][0]
    assert summary["strict"]["gold"] == 3
    assert summary["lenient"]["gold"] == 4


def test_the_gate(run: Run) -> None:
    write("out.txt", OUT)
    assert run("evaluate", "out.txt", "--fail-under", "0.3").code == 0
    ended = run("evaluate", "out.txt", "--fail-under", "0.4")
    assert ended.code == 3
    assert "the strict F1 of chunks is 0.333333, under 0.4" in ended.err
    ended = run("evaluate", "out.txt", "--fail-under", "0.7", "--task", "pos")
    assert ended.code == 3
    assert "accuracy is 0.625" in ended.err


LABELS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.tuples(LABELS, LABELS), min_size=1), min_size=1))
def test_counts_equal_the_slow_ones(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[list[tuple[str, str]]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "pairs.txt"
    path.write_text(text_of([[("w", *pair) for pair in s] for s in pairs]))
    text = read_tags(str(path), "utf-8")
    types: dict[str, int] = {"X": 0, "Y": 1}
    coded = [ChunkLabels.read(text, column, types, "") for column in (-2, -1)]
    plain = [list(labels.labels) for labels in coded]
    mended = [labels.repaired() for labels in coded]
    gold = mended[0] if coded[0].is_iob1 else plain[0]
    for lenient, columns in ((False, (gold, plain[1])), (True, mended)):
        expected = np.zeros((2, 3), dtype=int)
        for a, b in pairwise(text.sentences.tolist()):
            true, found = (set(read_chunks(column[a:b])) for column in columns)
            for k, part in enumerate((true, found, true & found)):
                for chunk in part:
                    expected[types[chunk.type], k] += 1
        counts = coded[0].counts(coded[1], 2, lenient=lenient)
        assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (1, "1 kB"),
        (42_499, "42 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (12_345_678, "12.3 MB"),
    ],
)
def test_sizes_of_models_are_never_nought(n_bytes: int, text: str) -> None:
    told = _report.written({"model": "m.tag", "bytes": n_bytes})
    assert told == [f"m.tag ({text})"]


# -- bad input -----------------------------------------------------------------

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


# -- interrupts ----------------------------------------------------------------


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


# -- real data -----------------------------------------------------------------


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
