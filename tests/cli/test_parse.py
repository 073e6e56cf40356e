"""``argmetric parse``: train, predict, evaluate, bad input, interrupts."""

import functools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from argmetric.cli import main
from argmetric.search import Parser, Tagger, read_trees, score_trees, write_trees
from treebank import treebank

SMALL = "--hash-bits", "15"
QUICK = *SMALL, "--epochs", "4", "--direction", "left"
TRAIN, TEST = treebank(120), treebank(20, seed=1)
N_WORDS = sum(map(len, TEST))
BARE = "1\tthe\t_\t_\t_\t_\t_\t_\t_\t_\n2\tcat\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a parser, one with a tagger of its own, and a tagger."""
    folder = tmp_path_factory.mktemp("models")
    write_trees(folder / "train.conllu", TRAIN)
    words, tags = [t.words for t in TRAIN], [t.tags for t in TRAIN]
    Tagger("pos", hash_bits=12, epochs=3).fit(words, tags).save(folder / "pos.tag")
    command = "parse", "train", str(folder / "train.conllu"), *QUICK
    assert main([*command, "--model", str(folder / "a.parser")]) == 0
    alone = *command, "--learn-tagger", "--model", str(folder / "alone.parser")
    assert main(alone) == 0
    return folder


@pytest.fixture
def run(run):
    """Run `argmetric parse` in a folder with small files."""
    write_trees("train.conllu", TRAIN)
    write_trees("test.conllu", TEST)
    return functools.partial(run, "parse")


def write(name, text):
    Path(name).write_bytes(text.encode())


def read(name):
    return Path(name).read_bytes().decode()


def test_train_predict_evaluate(run):
    ended = run(
        *("train", "train.conllu", "--model", "m.parser", "--dev", "test.conllu"),
        *(*SMALL, "--epochs", "3"),
    )
    assert ended.code == 0
    lines = ended.err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == [
        f"{stage}, epoch {n}"
        for stage in ("left", "right", "relations")
        for n in (1, 2, 3)
    ]
    assert " % of the decisions wrong, dev 1.0000, " in lines[2]
    assert "120 sentences" in ended.out
    assert re.search(r"^relations +10 *$", ended.out, re.MULTILINE)
    assert "direction both, beam 8" in ended.out
    assert f"1.0000, {N_WORDS} of {N_WORDS} words" in ended.out
    assert "written: m.parser (" in ended.out

    ended = run("predict", "m.parser", "test.conllu", "-o", "out.conllu")
    assert (ended.code, ended.out) == (0, "")
    assert "m.parser, heads and relations" in ended.err
    assert "of the file" in ended.err
    assert "written: out.conllu" in ended.err

    ended = run("evaluate", "test.conllu", "out.conllu")
    assert (ended.code, ended.err) == (0, "")
    assert f"UAS                  1.0000, {N_WORDS} of {N_WORDS} words" in ended.out
    assert "exact match          1.0000, 20 of 20 sentences" in ended.out
    assert "LAS" in ended.out
    assert "sentence " not in ended.out.split("UAS")[-1]  # none of them is drawn


def test_options_reach_the_parser(run):
    ended = run(
        *("train", "train.conllu", "-o", "m.parser", "--json", *SMALL),
        *("--direction", "right", "--beam", "2", "--roll-in", "static"),
        *("--epochs", "2", "--seed", "7"),
    )
    summary, found = json.loads(ended.out), Parser.load("m.parser").get_params()
    expected = {"direction": "right", "beam": 2, "roll_in": "static", "epochs": 2}
    expected |= {"hash_bits": 15, "step": 0.05, "dropout": 0.3}
    for one in (summary, found):
        assert {name: one[name] for name in expected} == expected
    assert (summary["seed"], found["random_state"]) == (7, 7)
    known = {"relations": 10, "tags": "file", "crossing": 0, "tagger": None}
    assert {name: summary[name] for name in known} == known
    assert summary["dev_scores"] is None
    stages = [row["stage"] for row in summary["history"]]
    assert stages == ["right", "right", "relations", "relations"]
    assert summary["bytes"] == Path("m.parser").stat().st_size


KEPT = """\
\ufeff# sent_id = 1
# text = Don't see
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tthe\tThe\t_\tD\tx=1|y=2\t_\t_\t2:det\t_
2\tcat\t\u00e9\t_\tN\t_\t9\tdep\t_\tGloss=a b
2.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_
# in between
3\tsees\t_\t_\tV\t_\t_\t_\t_\t_\r


# last
1\tsees\t_\t_\tV\t_\t_\t_\t_\t_"""


def test_predict_changes_heads_and_relations_alone(run, models):
    write("in.conllu", KEPT)
    ended = run("predict", str(models / "a.parser"), "in.conllu", "-o", "out.conllu")
    assert ended.code == 0
    assert read("out.conllu") == (
        KEPT.replace("\tx=1|y=2\t_\t_\t", "\tx=1|y=2\t2\tdet\t")
        .replace("\t9\tdep\t", "\t3\tnsubj\t")
        .replace("sees\t_\t_\tV\t_\t_\t_\t", "sees\t_\t_\tV\t_\t0\troot\t")
    )
    ended = run("predict", str(models / "a.parser"), "-", stdin=KEPT.encode())
    assert ended.out == read("out.conllu")


def test_what_evaluate_tells(run):
    found = [replace(tree, heads=tree.heads.copy()) for tree in TEST]
    n = len(TEST[3])
    found[3].heads[:] = [0, *[1] * (n - 1)]
    found[3].heads.flags.writeable = False
    write_trees("out.conllu", found)
    wrong = int((TEST[3].heads != found[3].heads).sum())
    ended = run("evaluate", "test.conllu", "out.conllu")
    share = f"{1 - wrong / N_WORDS:.4f}, {N_WORDS - wrong:,} of {N_WORDS} words"
    assert f"UAS                  {share}" in ended.out
    assert "exact match          0.9500, 19 of 20 sentences" in ended.out
    line = read_trees("test.conllu")[3].line
    title = f"sentence 4, line {line}: {wrong} of {n} heads wrong"
    assert title in ended.out
    drawn = ended.out.partition(title)[2].strip("\n").split("\n")
    assert drawn[0].split() == ["right", "predicted"]
    assert len(drawn) == n + 1
    assert all(TEST[3].words[i] in drawn[i + 1] for i in range(n))
    assert sum("✗" in row for row in drawn) == wrong
    summary = json.loads(run("evaluate", "test.conllu", "out.conllu", "--json").out)
    (worst,) = summary["worst"]
    assert (worst["sentence"], worst["line"], worst["wrong"]) == (4, line, wrong)
    assert worst["predicted"] == [0, *[1] * (n - 1)]
    scores = score_trees(TEST, found)
    assert summary["scores"]["uas"]["share"] == scores.uas
    assert summary["scores"]["las"]["share"] == scores.las
    assert [row["length"] for row in summary["lengths"]] == ["1-10", "11-20"]
    assert sum(row["uas"]["total"] for row in summary["lengths"]) == N_WORDS
    ended = run("evaluate", "test.conllu", "out.conllu", "--worst", "0")
    assert "✗" not in ended.out
    gate = "evaluate", "test.conllu", "out.conllu", "--json", "--fail-under"
    assert run(*gate, f"{scores.uas:.6f}"[:-2]).code == 0
    ended = run(*gate, "1")
    assert ended.code == 3
    assert "gate not met: the UAS is 0." in ended.err


# -- taggers --------------------------------------------------------------------


def test_a_parser_with_a_tagger_of_its_own(run, models):
    write("bare.conllu", BARE)
    ended = run("predict", str(models / "alone.parser"), "bare.conllu")
    assert "by the parser's own tagger" in ended.err
    assert ended.out == (
        "1\tthe\t_\t_\tD\t_\t2\tdet\t_\t_\n2\tcat\t_\t_\tN\t_\t0\troot\t_\t_\n\n"
    )
    write("bare.dp", "the _ _\ncat\t_\t_\n\n")
    ended = run("predict", str(models / "alone.parser"), "bare.dp")
    assert ended.out == "the D 2\ncat\tN\t0\n\n"


def test_a_tagger_that_is_named(run, models):
    write("bare.conllu", BARE)
    tagger = "--tagger", str(models / "pos.tag")
    ended = run("predict", str(models / "a.parser"), "bare.conllu", *tagger)
    assert f"by {models / 'pos.tag'}" in ended.err
    assert "\tthe\t_\t_\tD\t_\t2\tdet\t" in ended.out
    trained = run("train", "train.conllu", "-o", "m", *QUICK, *tagger, "--json")
    summary = json.loads(trained.out)
    assert (summary["tags"], summary["tagger"]) == ("tagger", tagger[1])
    assert run("predict", "m", "bare.conllu").out == ended.out


# -- bad input ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("train train.conllu -o -", 2, "a parser is written to a file"),
        ("train - -o m --dev -", 2, "only one of the files"),
        (
            "train train.conllu -o m --tagger x --learn-tagger",
            2,
            "--tagger and --learn-tagger exclude each other",
        ),
        ("train train.conllu -o m --tagger -", 2, "a tagger is read from"),
        ("train train.conllu -o no/m", 1, "there is no folder no"),
        ("predict - test.conllu", 2, "a parser is read from a file"),
        ("predict P test.conllu -o - --json", 2, "share standard out"),
        ("predict test.conllu test.conllu", 1, "is not a parser of argmetric"),
        ("predict T test.conllu", 1, "holds 'argmetric tagger', not"),
        (
            "predict P bare.conllu",
            1,
            "bare.conllu has no parts of speech: the parser has no tagger of its own",
        ),
        (
            "predict P bare.conllu --tagger chunk.tag",
            1,
            "chunk.tag is a tagger of the task chunk: parts of speech are needed",
        ),
        ("predict P no.conllu", 1, "cannot read no.conllu"),
        ("evaluate - -", 2, "only one of the files"),
        ("evaluate test.conllu test.conllu --worst 11", 2, "worst"),
        ("evaluate test.conllu few", 1, "predicted has 5 sentences but gold has 20"),
    ],
)
def test_what_cannot_be_is_told(run, models, arguments, code, message):
    write("bare.conllu", BARE)
    write_trees("few", TEST[:5])
    chunks = Tagger("chunk", templates="w[0]", hash_bits=8, epochs=1)
    chunks.fit([["a"]], [["B-X"]]).save("chunk.tag")
    named = {"P": str(models / "a.parser"), "T": str(models / "pos.tag")}
    ended = run(*(named.get(word, word) for word in arguments.split()))
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


# -- interrupts -----------------------------------------------------------------


def test_an_interrupt_keeps_the_best_so_far(run, monkeypatch):
    told = []

    def say(message):
        told.append(message)
        if len(told) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("argmetric.cli._learning.say", say)
    ended = run("train", "train.conllu", "-o", "m.parser", *SMALL)
    assert ended.code == 130
    assert "note: interrupted: this is the best parser so far" in ended.out
    assert "direction left" in ended.out
    assert "written: m.parser" in ended.out
    run("predict", "m.parser", "test.conllu", "-o", "out.conllu")
    ended = run("evaluate", "test.conllu", "out.conllu", "--fail-under", "0.95")
    assert ended.code == 0
