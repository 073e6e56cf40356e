"""Dependency trees: files in and out, checks, projectivity, scores and drawings."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.heads import Heads, draw_tree
from argmetric._text.corpus.tree_scores import check_trees
from argmetric._text.corpus.trees import Tree
from argmetric.search import read_trees, score_trees, write_trees

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


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, text, encoding="utf-8"):
    with open(name, "wb") as stream:
        stream.write(text.encode(encoding))
    return name


def text_of(name):
    with open(name, "rb") as stream:
        return stream.read().decode("utf-8")


def tree(heads, **parts):
    words = [f"w{i}" for i in range(1, len(heads) + 1)]
    return Tree(**{"words": words, "tags": None, "heads": heads} | parts)


# -- reading -------------------------------------------------------------------


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


def test_heads_of_a_file_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        read_trees(put("a.dp", DP))[0].heads[0] = 1


def test_tags_are_xpos_where_there_is_no_upos():
    rows = "1\ta\t_\t_\tDT\t_\t_\t_\t_\t_\n2\tb\t_\t_\tNN\t_\t_\t_\t_\t_\n"
    (found,) = read_trees(put("a.conllu", rows))
    assert (found.tags, found.relations) == (["DT", "NN"], None)
    (found,) = read_trees(put("a.conllu", rows.replace("DT", "_").replace("NN", "_")))
    assert found.tags is None


@pytest.mark.parametrize(("text", "kind"), [(CONLLU, "conllu"), (DP, "dp")])
def test_the_format_is_seen(text, kind):
    put("a.txt", text)
    assert {one.format for one in read_trees("a.txt")} == {kind}
    assert {one.format for one in read_trees("a.txt", format=kind)} == {kind}


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
def test_conllu_goes_round_byte_for_byte(variant):
    text = VARIANTS[variant](CONLLU)
    trees = read_trees(put("a.conllu", text))
    assert [len(one) for one in trees][-1] == 1
    write_trees("b.conllu", trees)
    assert text_of("b.conllu") == text
    heads, relations = ([getattr(t, k) for t in trees] for k in ("heads", "relations"))
    write_trees("c", trees, heads=heads, relations=relations)
    assert text_of("c") == text


@pytest.mark.parametrize(
    "text",
    [DP, DP.replace("\t", "  "), DP.replace("\n", "\r\n"), DP[:-2], "\ufeff" + DP],
)
def test_dp_goes_round_byte_for_byte(text):
    write_trees("b.dp", read_trees(put("a.dp", text)))
    assert text_of("b.dp") == text


@pytest.mark.data
@pytest.mark.parametrize("part", ["train", "test"])
def test_real_trees(data_folder, part):
    path = data_folder / "deptb" / f"{part}.dp"
    trees = read_trees(path)
    assert (len(trees), sum(map(len, trees))) == {
        "train": (3509, 84627),
        "test": (405, 9457),
    }[part]
    check_trees(trees)
    assert Heads.of([one.heads for one in trees]).projective().all()
    write_trees("b.dp", trees[:300])
    lines = path.read_text(encoding="utf-8").split("\n\n")
    assert text_of("b.dp") == "\n\n".join(lines[:300]) + "\n\n"
    write_trees("c.conllu", trees)
    write_trees("d.dp", read_trees("c.conllu"))
    assert text_of("d.dp") == path.read_text(encoding="utf-8")


# -- writing -------------------------------------------------------------------


def test_other_heads_and_relations_leave_the_rest_alone():
    trees = read_trees(put("a.conllu", CONLLU))
    heads, relations = [[5, 1, 5, -1, 0], [0]], [["a", "b", "c", "_", "e"], ["root"]]
    write_trees("b.conllu", trees, heads=heads, relations=relations)
    before, after = CONLLU.split("\n"), text_of("b.conllu").split("\n")
    changed = [
        i for i, pair in enumerate(zip(before, after, strict=True)) if len({*pair}) > 1
    ]
    assert changed == [4, 5, 8, 9, 10, 15]
    assert after[9] == "4\tel\tel\tDET\tD\t_\t_\t_\t_\t_"
    assert after[10] == "5\tmar\tmar\tNOUN\tN\t_\t0\te\t_\tSpaceAfter=No"
    again = read_trees("b.conllu")
    assert [one.heads.tolist() for one in again] == heads
    assert [one.relations for one in again] == relations


def test_a_replaced_tree_is_written_with_its_own_heads():
    first, second = read_trees(put("a.dp", DP))
    write_trees("b.dp", [second, replace(first, heads=[0, 1])])
    assert text_of("b.dp") == "swim\tVB\t0\n\n#\tIN\t0\nfish\tNN\t1\n\n"


@pytest.mark.parametrize(
    ("name", "text", "tags", "expected"),
    [
        ("a.dp", "a _ 2\nb\t_\t0\r\n\n", ["X", "Y"], "a X 2\nb\tY\t0\r\n\n"),
        ("a.dp", "a Z 2\nb\t_\t0\n\n", ["X", "Y"], "a Z 2\nb\tY\t0\n\n"),
        ("a.dp", "x_ _ _\n_ _ 0\n\n", ["X", "Y"], "x_ X _\n_ Y 0\n\n"),
        (
            "a.conllu",
            "1\ta\t_\t_\t_\t_\t0\tr\t_\t_\n",
            ["NOUN"],
            "1\ta\t_\tNOUN\t_\t_\t0\tr\t_\t_\n",
        ),
        (
            "a.conllu",
            "1\ta\t_\t_\t_\t_\t0\tr\t_\t_\n2\tb\t_\t_\tZ\t_\t1\tr\t_\t_\n",
            ["NN", "X"],
            "1\ta\t_\t_\tNN\t_\t0\tr\t_\t_\n2\tb\t_\t_\tZ\t_\t1\tr\t_\t_\n",
        ),
    ],
)
def test_tags_are_written_where_a_file_has_none(name, text, tags, expected):
    (read,) = read_trees(put(name, text))
    write_trees(name, [replace(read, tags=tags)])
    assert text_of(name) == expected
    write_trees(put("b" + name, text), read_trees(put(name, text)))
    assert text_of("b" + name) == text


def test_trees_that_came_from_the_end_of_a_file_are_parted():
    for end in ("", "\n", "\n\n"):
        last = read_trees(put("a.dp", "swim\tVB\t0" + end))[0]
        write_trees("b.dp", [last, last])
        assert text_of("b.dp") == "swim\tVB\t0\n\nswim\tVB\t0" + end


def test_new_trees():
    made = tree(
        [2, 0], words=["a", "b"], tags=["DET", "NOUN"], relations=["det", "root"]
    )
    write_trees("a", [made])
    assert text_of("a") == (
        "1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    )
    write_trees("b.conllu", [replace(made, tags=["DT", "NN"], relations=None)])
    assert text_of("b.conllu") == (
        "1\ta\t_\t_\tDT\t_\t2\t_\t_\t_\n2\tb\t_\t_\tNN\t_\t0\t_\t_\t_\n\n"
    )
    write_trees("c.dp", [replace(made, tags=None, heads=[-1, 0])])
    assert text_of("c.dp") == "a\t_\t_\nb\t_\t0\n\n"
    assert read_trees("c.dp")[0].tags is None


def test_nothing_is_written_where_something_is_wrong():
    put("a.dp", DP)
    trees = read_trees("a.dp")
    wrong = {
        "heads has 1 sentences but trees has 2": {"heads": [[0]]},
        "heads[0] has 1 heads for 2 words": {"heads": [[0], [0]]},
        "heads: a.dp, line 2: sentence 1, token 2 ('fish'): head 3 is outside of the "
        "sentence of 2 tokens": {"heads": [[0, 3], [0]]},
        "heads[1] must be a list of whole numbers, not [0.5]": {
            "heads": [[0, 1], [0.5]]
        },
        "relations have no place in a .dp file: write CoNLL-U": {
            "relations": [["a", "b"], ["c"]]
        },
        "relations[1]: 'c\\td' cannot be written into a column": {
            "relations": [["a", "b"], ["c\td"]]
        },
        "relations[0]: '' cannot be written into a column": {
            "relations": [["a", ""], ["c"]]
        },
        "format must be one of 'conllu', 'dp', not 'json'": {"format": "json"},
    }
    for message, options in wrong.items():
        with pytest.raises((ValueError, TypeError)) as error:
            write_trees("a.dp", trees, **options)
        assert str(error.value) == message
    with pytest.raises(ValueError, match=r"trees\[0\]: 'a\\nb' cannot be written"):
        write_trees("a.dp", [tree([0], words=["a\nb"])])
    with pytest.raises(
        ValueError, match=r"trees\[0\] has 1 words, but 2 in its source"
    ):
        write_trees("a.dp", [replace(trees[0], words=["a"], tags=None, heads=[0])])
    with pytest.raises(TypeError, match="trees must be a list of Tree, not 3 at posit"):
        write_trees("a.dp", [3])
    assert text_of("a.dp") == DP


# -- files that are wrong ------------------------------------------------------

ROW = "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n"


def ranged(*ids):
    """A sentence with these numbers in its first column."""
    return "".join(f"{one}{ROW[1:]}" for one in ids)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.conllu", "", "e.conllu has no sentences"),
        ("e.dp", "\n\n", "e.dp has no sentences"),
        ("e.txt", "", "e.txt has no sentences"),
        ("e.conllu", "# a\n\n# b\n", "e.conllu has no sentences"),
        ("e.conllu", ROW.replace("1", "1-2"), "e.conllu has no sentences"),
        (
            "e.txt",
            "a b\n",
            "e.txt has 2 columns: CoNLL-U has 10, .dp has 3 (word, tag, head); if it "
            "is one of them, say so by `format`",
        ),
        (
            "e.conllu",
            "# a\na\tDT\t0\n",
            "e.conllu, line 2: 3 columns, but CoNLL-U has 10, with tabs between them",
        ),
        ("e.dp", "a\tDT\n", "e.dp, line 1: 2 columns, but .dp has 3: word, tag, head"),
        (
            "e.conllu",
            ROW + "2\tb\n",
            "e.conllu, line 2: 2 columns, but line 1 has 10: '2 b'",
        ),
        (
            "e.conllu",
            ROW.replace("\ta\t", "\t\t"),
            "e.conllu, line 1: an empty column: '1  _ _ _ _ 0 _ _ _'",
        ),
        (
            "e.conllu",
            ROW + "\n# b\n" + ROW + ROW.replace("1", "3"),
            "e.conllu, line 5: sentence 2: token 2 ('a') has the number 3",
        ),
        *(
            (
                "e.conllu",
                ROW + ROW.replace("1\t", f"{bad}\t"),
                f"e.conllu, line 2: {bad!r} is no number of a token (1), of several "
                "(1-2) or of an empty node (3.1)",
            )
            for bad in ("x", "0", "02", "²", "1-", " 2")
        ),
        *(
            (
                "e.conllu",
                ROW + "\n" + ranged(*ids),
                f"e.conllu, line {line + 2}: sentence 2: the range {what}",
            )
            for ids, line, what in (
                (["1", "2", "2-3", "3"], 3, "2-3 must stand right before token 2"),
                (["2-3", "1", "2", "3"], 1, "2-3 must stand right before token 2"),
                (["1", "2", "3", "1-2"], 4, "1-2 must stand right before token 1"),
                (
                    ["1", "2-3", "2"],
                    2,
                    "2-3 is none among the 2 tokens of the sentence",
                ),
                (
                    ["2-1", "1", "2"],
                    1,
                    "2-1 is none among the 2 tokens of the sentence",
                ),
                (
                    ["1-1", "1", "2"],
                    1,
                    "1-1 is none among the 2 tokens of the sentence",
                ),
                (
                    ["0-1", "1", "2"],
                    1,
                    "0-1 is none among the 2 tokens of the sentence",
                ),
                (
                    ["1-2", "1", "2-3", "2", "3"],
                    3,
                    "2-3 begins in the range before, which ends with token 2",
                ),
                (
                    ["1-2", "1-3", "1", "2", "3"],
                    2,
                    "1-3 begins in the range before, which ends with token 2",
                ),
            )
        ),
        (
            "e.conllu",
            ROW + "\n1-2" + ROW[1:] + "\n" + ranged("1", "2"),
            "e.conllu, line 3: sentence 2: the range 1-2 is none among the 0 tokens of "
            "the sentence",
        ),
        *(
            (
                "e.dp",
                f"a\tDT\t0\n\nb\tNN\t{bad}\n",
                "e.dp, line 3: the head must be a whole number, or _ where it is "
                f"unknown, not {bad!r}",
            )
            for bad in ("x", "-1", "01", "1.0", "+1", "٣", "1_0")
        ),
    ],
)
def test_what_is_wrong_with_a_file(name, text, message):
    with pytest.raises(DataError) as error:
        read_trees(put(name, text))
    assert str(error.value) == message


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
    message = r"^b\.conllu, line 3: sentence 2, token 1 \('a'\): head 7 is outside"
    for some in (trees, trees[1:], trees[3:]):
        with pytest.raises(DataError, match=message):
            check_trees(some)


BAD_BYTE = r"^a\.dp, line 2: not UTF-8 text \(byte 8 is 0xE9\); convert it"


def test_other_encodings_are_refused_by_name():
    with pytest.raises(DataError, match=BAD_BYTE):
        read_trees(put("a.dp", "a\tDT\t0\né\tNN\t1\n", "latin-1"))
    with pytest.raises(DataError, match=r"^a\.dp is UTF-16 text; iconv"):
        read_trees(put("a.dp", DP, "utf-16"))
    with pytest.raises(DataError, match=r"^cannot read none\.dp: "):
        read_trees("none.dp")
    with pytest.raises(
        ValueError, match="format must be one of 'conllu', 'dp', not 'x'"
    ):
        read_trees("a.dp", format="x")


# -- what is no tree -----------------------------------------------------------


def rows_of(*heads):
    return "".join(
        f"{i}\tw\t_\t_\t_\t_\t{h}\t_\t_\t_\n" for i, h in enumerate(heads, 1)
    )


GOOD = "# fine\n" + rows_of(2, 0) + "\n# text\n1-2\tww\t_\t_\t_\t_\t_\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("heads", "token", "what"),
    [
        ((2, 4, 0), 2, "head 4 is outside of the sentence of 3 tokens"),
        ((2, 0, "_"), 3, "it has no head"),
        ((2, 2, 0), 2, "it is its own head"),
        ((4, 3, 2, 0), 2, "its heads go round: 2 → 3 → 2"),
        ((3, 1, 2), 1, "its heads go round: 1 → 3 → 2 → 1"),
        ((0, 1, 0), 3, "a second root, after token 1"),
    ],
)
def test_what_is_no_tree_is_read_and_named(heads, token, what):
    trees = read_trees(put("a.conllu", GOOD + rows_of(*heads)))
    place = f"token {token} ('w'): {what}"
    with pytest.raises(DataError) as error:
        check_trees(trees)
    assert str(error.value) == f"a.conllu, line {6 + token}: sentence 2, {place}"
    with pytest.raises(DataError) as error:
        check_trees([trees[0], replace(trees[1], format=None)])
    assert str(error.value) == f"sentence 1, {place}"
    write_trees("b.conllu", trees)
    assert text_of("b.conllu") == GOOD + rows_of(*heads)


def test_several_roots_are_let_through_where_they_may_be():
    check_trees([tree([0, 1, 0])], roots="any")
    check_trees([])
    with pytest.raises(
        ValueError, match="roots must be one of 'one', 'any', not 'two'"
    ):
        check_trees([], roots="two")
    with pytest.raises(ValueError, match="heads has 1 values for 2 words"):
        Tree(["a", "b"], None, [0])


# -- projectivity --------------------------------------------------------------


def is_rooted(heads):
    return all(0 in way(heads, word) for word in range(1, len(heads) + 1))


def way(heads, word):
    """A word and all above it."""
    found = [word]
    while found[-1] and heads[found[-1] - 1] not in found:
        found.append(heads[found[-1] - 1])
    return found


def broken(heads):
    """Words whose arc spans a word not below their head, by definition."""
    return [
        word
        for word, head in enumerate(heads, start=1)
        if any(
            head not in way(heads, k)
            for k in range(min(word, head) + 1, max(word, head))
        )
    ]


@pytest.mark.parametrize("n", range(1, 7))
def test_all_short_sentences(n):
    every = [list(one) for one in product(range(n + 1), repeat=n)]
    flat = Heads.of([np.array(one) for one in every])
    bad = set(flat.sentence_of_words()[flat.unrooted()].tolist())
    assert bad == {i for i, one in enumerate(every) if not is_rooted(one)}
    trees = [one for i, one in enumerate(every) if i not in bad]
    assert len(trees) == (n + 1) ** (n - 1)  # Cayley
    flat = Heads.of([np.array(one) for one in trees])
    assert flat.projective().tolist() == [not broken(one) for one in trees]


TREES = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.permutations(range(1, n + 1)),
        st.tuples(*[st.integers(0, i) for i in range(n)]),
    )
)


def grown(order, choices):
    """A tree whose words are hung on earlier ones in some order; 0 is the root."""
    heads = [0] * len(order)
    for i, (word, choice) in enumerate(zip(order, choices, strict=True)):
        heads[word - 1] = [0, *order[:i]][choice]
    return heads


@settings(max_examples=150)
@given(st.lists(TREES.map(lambda parts: grown(*parts)), min_size=1, max_size=4))
def test_crossing_arcs_are_found(sentences):
    flat = Heads.of([np.array(one) for one in sentences])
    found = [broken(one) for one in sentences]
    assert flat.projective().tolist() == [not own for own in found]
    starts = flat.sentences.tolist()
    words = [a + w - 1 for a, own in zip(starts, found, strict=False) for w in own]
    assert flat.broken().tolist() == words


def test_broken_arcs_of_a_very_long_sentence():
    """Every even word hangs on the last odd one: 0 → 1 → 3 → ..., and 2, 4, ..."""
    n = 20_001
    words = np.arange(1, n + 1)
    heads = np.where(words % 2 == 0, n, np.maximum(words - 2, 0))
    flat = Heads.of([heads])
    # An arc between odd words spans an even one, which hangs below both; that of an
    # even word spans odd ones, which do not hang below the last
    assert flat.broken().tolist() == (words[1:-2:2] - 1).tolist()


# -- scores --------------------------------------------------------------------


def test_scores_by_hand():
    words, tags = ["He", "ate", "$", "5", "."], ["PRP", "VBD", "$", "CD", "."]
    relations = ["nsubj", "root", "obj", "nummod", "punct"]
    first = Tree(words, tags, [2, 0, 2, 3, 2], relations)
    second = Tree(["Go"], ["VB"], [0], ["root"])
    guess = replace(first, heads=[2, 0, 4, 3, 3], relations=[*relations[:3], "x", "y"])
    found = score_trees([second, first], [second, guess])
    assert found.heads == (4, 6)
    assert found.uas == 4 / 6
    assert found.without_punctuation == (4, 5)
    assert found.uas_without_punctuation == 4 / 5
    assert found.labelled == (3, 6)
    assert found.las == 1 / 2
    assert (found.sentences, found.exact_match) == ((1, 2), 1 / 2)
    assert (found.roots, found.root_accuracy) == ((2, 2), 1.0)
    assert found.by_length[0] == ("1-10", (4, 6), (1, 2))
    assert all(one[1:] == ((0, 0), (0, 0)) for one in found.by_length[1:])
    assert found.worst == (1,)
    assert repr(found).splitlines() == [
        "TreeScores",
        "  UAS                      66.67% (4 of 6)",
        "  UAS without punctuation  80.00% (4 of 5)",
        "  LAS                      50.00% (3 of 6)",
        "  exact match              50.00% (1 of 2)",
        "  roots                    100.00% (2 of 2)",
        "  UAS of 1-10 words        66.67% (4 of 6)",
    ]
    assert found._repr_html_().count("<tr>") == 6
    assert score_trees([second, first], iter([second, guess])) == found
    alone = score_trees([second, first], [[0], guess.heads])
    assert (alone.labelled, alone.las) == (None, None)
    assert replace(alone, labelled=found.labelled) == found


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        (None, 2),  # words with a letter or digit
        (["A", "B", "C", "D"], 2),  # no known tag of punctuation: words again
        (["PUNCT", "B", "C", "D"], 3),
        (["``", ",", ":", "''"], 0),
        (["$", "B", "C", "."], 3),
    ],
)
def test_what_is_punctuation(tags, kept):
    gold = Tree(["$", "é", "5%", "?!"], tags, [2, 0, 2, 2])
    assert score_trees([gold], [[2, 0, 2, 2]]).without_punctuation == (kept, kept)
    assert score_trees([gold], [[2, 0, 2, 2]]).uas_without_punctuation == 1.0


def slow_scores(gold, found):
    pairs = [list(zip(*pair, strict=True)) for pair in zip(gold, found, strict=True)]
    wrong = [sum(a != b for a, b in one) for one in pairs]
    roots = [all((a == 0) == (b == 0) for a, b in one) for one in pairs]
    bins = [0, 0, 0, 0, 0]
    for one, errors in zip(pairs, wrong, strict=True):
        bins[min((len(one) - 1) // 10, 4)] += len(one) - errors
    order = sorted((-errors, i) for i, errors in enumerate(wrong) if errors)
    return wrong.count(0), sum(roots), bins, tuple(i for _, i in order[:10])


def test_scores_equal_those_of_a_slow_twin():
    rng = np.random.default_rng(5)
    sizes = [*rng.integers(1, 60, 40).tolist(), 1, 10, 11, 20, 21, 30, 31, 40, 41]
    gold = [
        grown(rng.permutation(n) + 1, [rng.integers(i + 1) for i in range(n)])
        for n in sizes
    ]
    found = [
        [int(rng.integers(-1, len(one) + 1)) if rng.random() < 0.05 else h for h in one]
        for one in gold
    ]
    scores = score_trees([tree(one) for one in gold], found)
    exact, roots, bins, worst = slow_scores(gold, found)
    assert (scores.sentences, scores.roots) == ((exact, 49), (roots, 49))
    assert [one.heads.right for one in scores.by_length] == bins
    assert scores.heads == (sum(bins), sum(sizes))
    assert sum(one.heads.total for one in scores.by_length) == sum(sizes)
    assert sum(one.sentences.right for one in scores.by_length) == exact
    assert sum(one.sentences.total for one in scores.by_length) == 49
    assert scores.worst == worst
    assert len(worst) == 10


def test_scores_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = score_trees([tree([2, 0]), tree([0] + [1] * 44)], [[2, 0], [0] * 45]).plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == [
        "1-10\n(1)",
        ">40\n(1)",
    ]
    assert [bar.get_height() for bar in ax.patches] == [1.0, 1 / 45, 1.0, 0.0]
    assert ax.get_legend() is not None
    plt.close(ax.figure)


def test_what_cannot_be_scored():
    gold = [tree([2, 0])]
    wrong = {
        "predicted has 0 sentences but gold has 1": [],
        "predicted[0] has 1 heads, but gold has 2 words": [[0]],
        "predicted: sentence 0, token 1 ('w1'): head 3 is outside of the sentence of 2 "
        "tokens": [[3, 0]],
        "predicted has 'x' where gold has 'w2': sentence 0, token 2": [
            tree([2, 0], words=["w1", "x"])
        ],
        "predicted[0] must be a list of whole numbers, not 'ab'": ["ab"],
    }
    for message, predicted in wrong.items():
        with pytest.raises((ValueError, TypeError)) as error:
            score_trees(gold, predicted)
        assert str(error.value) == message
    with pytest.raises(ValueError, match="gold has no sentences"):
        score_trees([], [])
    with pytest.raises(
        DataError, match=r"^sentence 0, token 1 \('w1'\): it has no head"
    ):
        score_trees([tree([-1])], [[0]])
    put("a.dp", "a\tDT\t0\n\nb\tNN\t2\n")
    with pytest.raises(DataError, match=r"^predicted: a\.dp, line 3: sentence 2, tok"):
        score_trees(
            [tree([0], words=["a"]), tree([0], words=["b"])], read_trees("a.dp")
        )


# -- drawings ------------------------------------------------------------------

WORDS = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today", "."]


def test_a_drawing():
    heads, gold = [2, 4, 4, 0, 4, 7, 5, 7, 4], [2, 4, 4, 0, 2, 7, 5, 4, 4]
    relations = ["det", "nsubj", "aux", "root", "nmod", "det", "obl", "x", "punct"]
    assert draw_tree(WORDS, heads, relations, gold).split("\n") == [
        "1   ┌ A det",
        "2 ┌ hearing nsubj",
        "3 ├ is aux",
        "4 scheduled root",
        "5 ├ on nmod      ✗ 2 hearing",
        "6 │ │ ┌ the det",
        "7 │ └ issue obl",
        "8 │   └ today x  ✗ 4 scheduled",
        "9 └ . punct",
    ]


def test_a_drawing_with_crossing_arcs_and_an_unknown_head():
    heads = [2, 3, 0, 3, 2, 7, 5, 4, -1]
    assert draw_tree(WORDS, heads, gold_heads=[*heads[:8], 0]).split("\n") == [
        "1   ┌ A",
        "2 ┌ hearing",
        "3 is",
        "4 └ scheduled",
        "5   ╌ on     ← 2 hearing",
        "6     │ ┌ the",
        "7     └ issue",
        "8   ╌ today  ← 4 scheduled",
        "9 .          ← no head  ✗ root",
    ]


def test_drawings_at_their_edges():
    assert draw_tree(["Go"], [0]) == "1 Go"
    assert draw_tree([], []) == ""
    assert draw_tree(["a\x1b[2J"], [0]) == "1 a?[2J"
    n = 60
    lines = draw_tree(["word"] * n, [*range(2, n + 1), 0], width=40).split("\n")
    assert lines[-1] == "60 word"
    assert lines[0] == " 1 …" + " " * 17 + "┌ word"
    assert max(map(len, lines)) <= 40
    assert draw_tree(["x" * 50], [0], width=20) == "1 " + "x" * 17 + "…"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": [0]}, "heads has 1 values for 2 words"),
        ({"heads": [2, 1]}, "heads must be those of a tree: one is outside, or in a"),
        ({"heads": [3, 0]}, "heads must be those of a tree: one is outside, or in a"),
        ({"relations": ["x"]}, "relations has 1 values for 2 words"),
        ({"gold_heads": [1, 2, 3]}, "gold_heads has 3 values for 2 words"),
        ({"width": 5}, "width must be a whole number from 20 to 100,000, not 5"),
    ],
)
def test_what_cannot_be_drawn(options, message):
    with pytest.raises(ValueError, match=message):
        draw_tree(**{"words": ["a", "b"], "heads": [2, 0]} | options)


def test_names_for_users():
    for name in ("Tree", "TreeScores", "read_trees", "score_trees", "write_trees"):
        assert getattr(am.search, name).__name__ == name
