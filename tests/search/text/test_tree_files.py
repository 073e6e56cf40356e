"""Dependency trees in files: read, and files that are wrong."""

import re

import numpy as np
import pytest

from argmetric.search import Summarizer, read_trees
from tree_texts import put


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


CONLLU = (
    "# newdoc id = d1\n"
    "# sent_id = 1\n"
    "# text = vámonos al mar\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t1:obj\t_\n"
    "# in between\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\ta\ta\tADP\tE\t_\t5\tcase\t_\t_\n"
    "4\tel\tel\tDET\tD\t_\t5\tdet\t_\t_\n"
    "5\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\tSpaceAfter=No\n"
    "5.1\tfue\tir\tVERB\tV\t_\t_\t_\t0:root\t_\n"
    "\n"
    "\n"
    "# sent_id = 2\n"
    "1\t10 000\t10 000\tNUM\tZ\t_\t_\t_\t_\t_\n"
    "\n"
)


DP = "#\tIN\t2\nfish\tNN\t0\n\nswim\tVB\t0\n\n"


def test_what_conllu_says():
    first, second = read_trees(put("a.conllu", CONLLU))
    assert first.words == ["vamos", "nos", "a", "el", "mar"]
    assert first.tags == ["VERB", "PRON", "ADP", "DET", "NOUN"]
    assert first.heads.tolist() == [0, 1, 5, 5, 1]
    assert first.heads.dtype == np.int64
    assert first.relations == ["root", "obj", "case", "det", "obl"]
    assert first.comments == [
        *("# newdoc id = d1", "# sent_id = 1", "# text = vámonos al mar"),
        "# in between",
    ]
    assert (first.file, first.line, first.format) == ("a.conllu", 1, "conllu")
    assert (second.words, second.tags, second.relations) == (["10 000"], ["NUM"], ["_"])
    assert second.heads.tolist() == [-1]
    assert (second.line, second.comments, len(second)) == (15, ["# sent_id = 2"], 1)


def test_what_dp_says():
    first, second = read_trees(put("a.dp", DP))
    assert (first.words, first.tags) == (["#", "fish"], ["IN", "NN"])
    assert (first.heads.tolist(), first.relations) == ([2, 0], None)
    assert (second.words, second.line, second.comments) == (["swim"], 4, [])
    assert first.comments == []
    with pytest.raises(ValueError, match="read-only"):
        first.heads[0] = 1


def test_tags_are_xpos_where_there_is_no_upos():
    rows = "1\ta\t_\t_\tDT\t_\t_\t_\t_\t_\n2\tb\t_\t_\tNN\t_\t_\t_\t_\t_\n"
    (found,) = read_trees(put("a.conllu", rows))
    assert (found.tags, found.relations) == (["DT", "NN"], None)
    (found,) = read_trees(put("a.conllu", rows.replace("DT", "_").replace("NN", "_")))
    assert found.tags is None


VARIANTS = {
    "as it is": lambda text: text,
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "a mark before a token": lambda text: "\ufeff" + text[text.index("1-2") :],
    "no line at the end": lambda text: text.rstrip("\n"),
    "no empty line at the end": lambda text: text.rstrip("\n") + "\n",
    "empty lines before": lambda text: "\n \n" + text,
    "comments behind": lambda text: text + "# the end\n",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_of_conllu_are_read_alike(variant):
    text = VARIANTS[variant](CONLLU)
    trees = read_trees(put("a.conllu", text))
    assert [one.heads.tolist() for one in trees] == [[0, 1, 5, 5, 1], [-1]]
    assert trees[0].relations == ["root", "obj", "case", "det", "obl"]
    assert "".join(one.source for one in trees) == text


@pytest.mark.parametrize(
    "text",
    [DP, DP.replace("\t", "  "), DP.replace("\n", "\r\n"), DP[:-2], "\ufeff" + DP],
)
def test_variants_of_dp_are_read_alike(text):
    trees = read_trees(put("a.dp", text))
    assert [one.words for one in trees] == [["#", "fish"], ["swim"]]
    assert [one.heads.tolist() for one in trees] == [[2, 0], [0]]


@pytest.mark.data
@pytest.mark.parametrize("part", ["train", "test"])
def test_real_trees(data_folder, part):
    path = data_folder / "deptb" / f"{part}.dp"
    trees = read_trees(path)
    assert (len(trees), sum(map(len, trees))) == {
        "train": (3509, 84627),
        "test": (405, 9457),
    }[part]
    assert all(one.heads.tolist().count(0) == 1 for one in trees)
    lines = path.read_text(encoding="utf-8").split("\n\n")
    assert (
        "".join(one.source for one in trees[:300]) == "\n\n".join(lines[:300]) + "\n\n"
    )


ROW = "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n"


NONE = "is none among the 2 tokens of the sentence"
INSIDE = "begins in the range before, which ends with token 2"


def ranged(*ids):
    """A sentence with these numbers in its first column."""
    return "".join(f"{one}{ROW[1:]}" for one in ids)


RANGES = [
    ("1 2 2-3 3", 3, "2-3 must stand right before token 2"),
    ("2-3 1 2 3", 1, "2-3 must stand right before token 2"),
    ("1 2 3 1-2", 4, "1-2 must stand right before token 1"),
    ("1 2-3 2", 2, f"2-3 {NONE}"),
    *((f"{one} 1 2", 1, f"{one} {NONE}") for one in ("2-1", "1-1", "0-1")),
    ("1-2 1 2-3 2 3", 3, f"2-3 {INSIDE}"),
    ("1-2 1-3 1 2 3", 2, f"1-3 {INSIDE}"),
]
WRONG = [
    *((text, "e.conllu has no sentences") for text in ("", "# a\n\n# b\n")),
    (ROW.replace("1", "1-2"), "e.conllu has no sentences"),
    ("\n\n", "e.dp has no sentences"),
    ("", "e.txt has no sentences"),
    (
        "a b\n",
        "e.txt has 2 columns: CoNLL-U has 10, .dp has 3 (word, tag, head); if it is "
        "one of them, say so by `format`",
    ),
    (
        "# a\na\tDT\t0\n",
        "e.conllu, line 2: 3 columns, but CoNLL-U has 10, with tabs between them",
    ),
    ("a\tDT\n", "e.dp, line 1: 2 columns, but .dp has 3: word, tag, head"),
    (ROW + "2\tb\n", "e.conllu, line 2: 2 columns, but line 1 has 10: '2 b'"),
    (
        ROW.replace("\ta\t", "\t\t"),
        "e.conllu, line 1: an empty column: '1  _ _ _ _ 0 _ _ _'",
    ),
    (
        ROW + "\n# b\n" + ROW + ROW.replace("1", "3"),
        "e.conllu, line 5: sentence 2: token 2 ('a') has the number 3",
    ),
    *(
        (
            ROW + ROW.replace("1\t", f"{bad}\t"),
            f"e.conllu, line 2: {bad!r} is no number of a token (1), of several (1-2) "
            "or of an empty node (3.1)",
        )
        for bad in ("x", "0", "02", "²", "1-", " 2")
    ),
    *(
        (
            ROW + "\n" + ranged(*ids.split()),
            f"e.conllu, line {line + 2}: sentence 2: the range {what}",
        )
        for ids, line, what in RANGES
    ),
    (
        ROW + "\n1-2" + ROW[1:] + "\n" + ranged("1", "2"),
        "e.conllu, line 3: sentence 2: the range 1-2 is none among the 0 tokens of the "
        "sentence",
    ),
    *(
        (
            f"a\tDT\t0\n\nb\tNN\t{bad}\n",
            "e.dp, line 3: the head must be a whole number, or _ where it is unknown, "
            f"not {bad!r}",
        )
        for bad in ("x", "-1", "01", "1.0", "+1", "٣", "1_0")
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_with_a_file(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_trees(put(re.match(r"e\.\w+", message)[0], text))


def test_ranges_and_empty_nodes_in_their_places_are_read():
    text = ranged("1-2", "1", "2", "2.1", "3-5", "3", "4", "5", "5.1") + "\n"
    text += ranged("0.1", "1", "2-3", "2", "3")
    first, second = read_trees(put("a.conllu", text))
    assert (len(first), len(second)) == (5, 3)
    assert first.source + second.source == text


def test_sentences_of_several_files_are_counted_in_their_own():
    good, bad = ROW + "\n" + ROW, ROW + "\n" + ROW.replace("\t0\t", "\t7\t")
    trees = read_trees(put("a.conllu", good)) + read_trees(put("b.conllu", bad))
    assert [(one.file, one.number, one.line) for one in trees] == [
        ("a.conllu", 1, 1),
        ("a.conllu", 2, 3),
        ("b.conllu", 1, 1),
        ("b.conllu", 2, 3),
    ]
    message = r"b\.conllu, line 3: sentence 2, token 1 \('a'\): head 7 is outside"
    for some in (trees, trees[1:], trees[3:]):
        with pytest.raises(ValueError, match=message):
            Summarizer("compressed").predict([[some]], words=9)


BAD_BYTE = r"^a\.dp, line 2: not UTF-8 text \(byte 8 is 0xE9\); convert it"


def test_other_encodings_are_refused_by_name():
    with pytest.raises(ValueError, match=BAD_BYTE):
        read_trees(put("a.dp", "a\tDT\t0\né\tNN\t1\n", "latin-1"))
    with pytest.raises(ValueError, match=r"^a\.dp is UTF-16 text; iconv"):
        read_trees(put("a.dp", DP, "utf-16"))
