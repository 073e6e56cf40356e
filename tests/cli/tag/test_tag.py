"""``argmetric tag``: train, predict, evaluate."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.cli import _report, main
from argmetric.search import Tagger, default_templates
from argmetric.sequence import read_chunks, read_sentences
from cli_tag import QUICK, SMALL, TEST, TRAIN, columns, read, text_of, write
from command import Run


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
    assert "task       chunk, guessed from the labels" in ended.out
    assert "note" not in ended.out


def test_options_reach_the_tagger(run: Run) -> None:
    write("mine.txt", default_templates("chunk") + "w[-3]\n")
    ended = run(
        *("train", "train.txt", "--task", "chunk", "--model", "m.tag"),
        *("--templates", "mine.txt", "--direction", "right", "--beam", "2"),
        *("--roll-in", "own"),
        *("--epochs", "2", "--seed", "7", "--memory", "none", "--json", *SMALL),
    )
    assert ended.code == 0
    summary = json.loads(ended.out)
    assert summary["templates"] == "mine.txt"
    assert summary["dev_scores"] is None
    assert [row["epoch"] for row in summary["history"]] == [1, 2]
    expected = {
        **{"direction": "right", "beam": 2, "epochs": 2},
        **{"roll_in": "own", "memory": "none", "hash_bits": 14},
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
    note = "note: no column of parts of speech: 10 of 83 templates are unused"
    assert note in ended.out
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
    assert "task       joint, guessed from" in ended.out
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
    assert "task       ner, guessed from the labels" in ended.out
    assert "the strict F1 of entities is 0.333333, under 0.4" in ended.err
    ended = run("evaluate", "out.txt", "--fail-under", "0.7", "--task", "pos")
    assert ended.code == 3
    assert "accuracy is 0.625" in ended.err


LABELS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@given(st.lists(st.lists(st.tuples(LABELS, LABELS), min_size=1), min_size=1))
def test_counts_equal_the_slow_ones(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[list[tuple[str, str]]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "pairs.txt"
    path.write_text(text_of([[("w", *pair) for pair in s] for s in pairs]))
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
        counts = {
            kind: [scores[name][key] for key in ("gold", "predicted", "correct")]
            for kind, scores in answer["types"].items()
        }
        assert counts == expected


def begun(labels: list[str]) -> list[str]:
    """The labels with B-X for an I-X that goes on with nothing."""
    before = ["O", *labels]
    return [
        f"B{label[1:]}" if label[0] == "I" and last[1:] != label[1:] else label
        for last, label in zip(before, labels, strict=False)
    ]


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
