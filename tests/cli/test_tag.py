"""``argmetric tag``: train, predict, evaluate, bad input, interrupts, real data."""

import contextlib
import functools
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.cli import main
from argmetric.search import Tagger, default_templates
from argmetric.sequence import read_chunks, read_sentences
from cli_files import QUICK, SMALL, TEST, TEXTS, columns, corpus
from command import PATIENCE

TRAINED = "train", "train.txt", "--task", "chunk", "--model", "m.tag", *QUICK


def write(name, text, encoding="utf-8"):
    Path(name).write_bytes(text.encode(encoding))


def read(name, encoding="utf-8"):
    return Path(name).read_bytes().decode(encoding)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a tagger of each task."""
    folder = tmp_path_factory.mktemp("models")
    for task in ("chunk", "pos", "joint"):
        path = folder / f"{task}.txt"
        path.write_text(TEXTS["pos.txt" if task == "pos" else "train.txt"], "utf-8")
        options = "--task", task, "--model", str(folder / f"{task}.tag"), *QUICK
        assert main(["tag", "train", str(path), *options]) == 0
    return folder


@pytest.fixture
def run(run):
    """Run `argmetric tag` in a folder with small files."""
    for name, text in TEXTS.items():
        write(name, text)
    return functools.partial(run, "tag")


# -- train, predict, evaluate ---------------------------------------------------


def test_train_predict_evaluate(run):
    ended = run(*TRAINED, "--dev", "test.txt")
    assert ended.code == 0
    lines = ended.err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == [
        f"{side}, epoch {n}" for side in ("left", "right") for n in (1, 2, 3)
    ]
    for line in (lines[2], lines[5]):
        assert " % of the decisions wrong, dev 1.0000, " in line
    size = round(Path("m.tag").stat().st_size / 1e3)
    for text in (
        "40 sentences",
        "task       chunk, 4 labels",
        "direction both, beam 5",
        "F1 1.0000 (strict) on test.txt",
        f"written: m.tag ({size} kB)",
    ):
        assert text in ended.out
    ended = run("predict", "m.tag", "test.txt", "-o", "out.txt")
    assert (ended.code, ended.out) == (0, "")
    assert "added      column 4" in ended.err
    assert "written: out.txt" in ended.err
    assert read("out.txt") == columns(TEST, 0, 1, 2, 2)
    ended = run("evaluate", "out.txt")
    assert (ended.code, ended.err) == (0, "")
    assert "task       chunk, guessed from the labels" in ended.out
    assert "note" not in ended.out


def test_options_reach_the_tagger(run):
    write("mine.txt", default_templates("chunk") + "w[-3]\n")
    ended = run(
        *("train", "train.txt", "--task", "chunk", "--model", "m.tag", "--json"),
        *("--templates", "mine.txt", "--direction", "right", "--beam", "2", *SMALL),
        *("--roll-in", "own", "--epochs", "2", "--seed", "7", "--memory", "none"),
    )
    summary = json.loads(ended.out)
    assert (summary["templates"], summary["dev_scores"]) == ("mine.txt", None)
    assert [row["epoch"] for row in summary["history"]] == [1, 2]
    expected = {"direction": "right", "beam": 2, "epochs": 2, "roll_in": "own"}
    expected |= {"memory": "none", "hash_bits": 14}
    found = Tagger.load("m.tag").get_params()
    for one in (summary, found):
        assert {name: one[name] for name in expected} == expected
    assert found["random_state"] == 7
    assert "w[-3]" in found["templates"]


def test_templates_are_printed_and_read_back(run):
    assert run("templates", "chunk").out == default_templates("chunk").lstrip()
    write("joint.txt", run("templates", "joint").out)
    write("few.txt", "# a comment\n[chunk]\nw[0]\ntag[0]\n\n[tag]\nw[0]\nt[-1]\n")
    begin = "train", "train.txt", "--task", "joint", "--model", "m.tag", "--json"
    counts = [
        json.loads(run(*begin, "--templates", name, "--epochs", "1", *SMALL).out)
        for name in ("joint.txt", "few.txt")
    ]
    lines = "".join(default_templates(f"joint {name}") for name in ("tag", "chunk"))
    expected = sum(bool(x) and x[0] != "#" for x in lines.splitlines())
    assert [one["template_count"] for one in counts] == [expected, 4]


@pytest.mark.parametrize("separator", [" ", "\t", "  "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_but_the_new_column_is_left_as_it_is(run, models, separator, end):
    tags = {"the": "B-NP", "red": "I-NP", "fish": "I-NP", ".": "O"}
    pairs = zip(tags, ("DT", "JJ", "NN", "."), strict=True)
    rows = [separator.join(pair) for pair in pairs]
    documents = "-DOCSTART- -X-", "-DOCSTART-"
    lines = [documents[0], "", *rows, "", "", " ", *rows, documents[1], *rows]
    write("in.txt", "\ufeff" + end.join(lines))  # no end of line at the end
    ended = run("predict", str(models / "chunk.tag"), "in.txt", "-o", "out.txt")
    assert "3 sentences, 12 tokens of in.txt" in ended.err
    glue = "\t" if separator == "\t" else " "
    expected = [
        f"{line}{glue}{tags[line.split()[0]]}" if line in rows else line
        for line in lines
    ]
    assert read("out.txt") == "\ufeff" + end.join(expected)


# -- scores ---------------------------------------------------------------------

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


def test_scores_by_hand_and_the_gate(run, answer):
    write("out.txt", OUT)
    summary = answer("evaluate out.txt")
    strict, lenient, types = (summary[k] for k in ("strict", "lenient", "types"))
    assert list(strict.values()) == [4, 2, 1, 1 / 2, 1 / 4, 1 / 3]
    assert list(strict) == ["gold", "predicted", "correct", "precision", "recall", "f1"]
    assert (lenient["correct"], lenient["f1"]) == (2, 4 / 7)
    assert types["LOC"]["strict"]["recall"] == types["ORG"]["strict"]["gold"] == 0
    assert types["LOC"]["lenient"]["f1"] == 1.0
    assert summary["accuracy"] == 5 / 8
    loose, never = summary["notes"]
    assert "1 label I-X with no X open before, predicted: no chunk strictly" in loose
    assert "line 4: I-LOC" in loose
    assert "2 labels of 2 tokens (B-LOC, B-MISC)" in never
    assert run("evaluate", "out.txt", "--fail-under", "0.3").code == 0
    ended = run("evaluate", "out.txt", "--fail-under", "0.4")
    row = next(line.split() for line in ended.out.splitlines() if line[:3] == "all")
    assert row == ["all", "4", "2", "1", "0.5000", "0.2500", "0.3333", "0.5714"]
    assert ended.code == 3
    assert "task       ner, guessed from the labels" in ended.out
    assert "the strict F1 of entities is 0.333333, under 0.4" in ended.err
    ended = run("evaluate", "out.txt", "--fail-under", "0.7", "--task", "pos")
    assert (ended.code, "accuracy is 0.625" in ended.err) == (3, True)


LABELS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@given(st.lists(st.lists(st.tuples(LABELS, LABELS), min_size=1), min_size=1))
def test_counts_equal_the_slow_ones(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / "pairs.txt"
    path.write_text(columns([[("w", *pair) for pair in s] for s in pairs]))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["tag", "evaluate", str(path), "--task", "ner", "--json"]) == 0
    answer = json.loads(out.getvalue())
    plain = [[[pair[i] for pair in s] for s in pairs] for i in (0, 1)]
    mended = [[begun(labels) for labels in column] for column in plain]
    # IOB1: I-X begins chunks, B-X only parts neighbors of one type
    parting = all(
        i and labels[i - 1][2:] == label[2:]
        for labels in plain[0]
        for i, label in enumerate(labels)
        if label[0] == "B"
    )
    gold = mended[0] if plain[0] != mended[0] and parting else plain[0]
    for name, both in (("strict", (gold, plain[1])), ("lenient", tuple(mended))):
        expected = {kind: [0, 0, 0] for kind in answer["types"]}
        for columns_ in zip(*both, strict=True):
            true, found = (set(read_chunks(labels)) for labels in columns_)
            for k, part in enumerate((true, found, true & found)):
                for chunk in part:
                    expected[chunk.type][k] += 1
        assert expected == {
            kind: [scores[name][key] for key in ("gold", "predicted", "correct")]
            for kind, scores in answer["types"].items()
        }


def begun(labels):
    """The labels with B-X for an I-X that goes on with nothing."""
    return [
        f"B{label[1:]}" if label[0] == "I" and last[1:] != label[1:] else label
        for last, label in zip(["O", *labels], labels, strict=False)
    ]


# -- bad input ------------------------------------------------------------------


# -- interrupts, real data ------------------------------------------------------


def test_an_interrupt_keeps_the_best_so_far(run, monkeypatch):
    told = []

    def say(message):
        told.append(message)
        if len(told) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("argmetric.cli._learning.say", say)
    ended = run(*TRAINED)
    assert ended.code == 130
    assert "note: interrupted: this is the best tagger so far" in ended.out
    assert "direction left" in ended.out
    assert "written: m.tag" in ended.out
    assert run("predict", "m.tag", "test.txt", "-o", "out.txt").code == 0
    assert run("evaluate", "out.txt", "--fail-under", "0.9").code == 0


def test_a_real_signal(run):
    write("big.txt", columns(corpus(300), 0, 1))
    options = "--task", "pos", "--model", "m.tag", "--epochs", "100000", *SMALL
    started = subprocess.Popen(
        [sys.executable, "-m", "argmetric.cli", "tag", "train", "big.txt", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Ignored, where tests run in the background: a child would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert b"left, epoch 1: " in started.stderr.readline()
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=PATIENCE)
    assert started.returncode == 130
    assert b"interrupted: this is the best tagger so far" in out
    assert run("predict", "m.tag", "words.txt", "-o", "out.txt").code == 0
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
def test_real_data(run, data_folder, task, train, test, least):
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
    pair = [s.columns[-1] for s in sentences], [s.labels for s in sentences]
    strict = metrics.f1_score(*pair, mode="strict", scheme=scheme.IOB2)
    assert summary["strict"]["f1"] == pytest.approx(strict, abs=1e-12)
    assert summary["lenient"]["f1"] == pytest.approx(metrics.f1_score(*pair))
