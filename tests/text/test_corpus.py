"""Labelled text: one reader of column files, one reading and counting of chunks."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import search_oracle as oracle
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import (
    ChunkCounts,
    CodedLabels,
    count_chunks,
    roles_of,
)
from argmetric._text.corpus.sentences import Sentence, read_columns
from argmetric.cli import main
from argmetric.search import Tagger
from argmetric.sequence import read_chunks, read_sentences, write_sentences

LABELS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])
PAIRS = st.lists(st.lists(st.tuples(LABELS, LABELS), max_size=7), max_size=5)
WORD = "10\u00a0000"  # with a no-break space
TEXT = f"{WORD} CD B-NP\nfish NN I-NP\nswim VB O\n\n"


@settings(max_examples=200, deadline=None)
@given(PAIRS)
def test_counts_equal_those_of_the_oracle(pairs):
    gold, found = ([[pair[i] for pair in s] for s in pairs] for i in (0, 1))
    for lenient in (False, True):
        there, own = (
            {
                (s, *chunk)
                for s, one in enumerate(labels)
                for chunk in oracle.chunks(one, lenient)
            }
            for labels in (gold, found)
        )
        expected = len(there), len(own), len(there & own)
        assert count_chunks(gold, found, lenient=lenient) == expected
    for one in gold:
        assert {tuple(c) for c in read_chunks(one)} == oracle.chunks(one, False)


def test_dangling_labels_are_found_sentence_by_sentence():
    labels = ["B-X", "I-X", "I-X", "I-Y", "I-Y", "O", "I-X"]
    coded = CodedLabels.read(labels, np.array([0, 2, 2, 7]))
    assert coded.dangling().tolist() == [2, 3, 6]
    strict, lenient = coded.chunks(), coded.chunks(lenient=True)
    assert (strict.start.tolist(), strict.stop.tolist()) == ([0], [2])
    assert (lenient.start.tolist(), lenient.stop.tolist()) == (
        [0, 2, 3, 6],
        [2, 3, 5, 7],
    )


def test_closed_chunks_need_their_end():
    labels = ["B-X", "I-X", "E-X", "S-Y", "B-X", "I-X", "B-X", "E-Y", "E-X"]
    found = CodedLabels.read(labels, np.array([0, 9]), {}, "BIOES").chunks(closed=True)
    assert (found.start.tolist(), found.stop.tolist()) == ([0, 3], [3, 4])
    table = roles_of(["O", "S-Y", "B-X", "E-X", "I-X"], "BIOES")
    assert table.types == ("Y", "X")
    assert table.table.tolist() == [[-1, -1, -1, 1], [2, 4, 3, -1]]


def test_unfinished_sentences_are_counted_from_their_beginning():
    assert count_chunks([["B-X", "O", "B-X"], ["B-X"]], [["B-X"], ["B-X"]]) == (3, 2, 2)
    with pytest.raises(ValueError, match="shorter"):
        count_chunks([["O"]], [])


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        ((0, 0, 0), 1.0, 1.0, 1.0),
        ((3, 0, 0), 0.0, 0.0, 0.0),
        ((0, 2, 0), 0.0, 0.0, 0.0),
        ((4, 2, 1), 0.5, 0.25, 1 / 3),
    ],
)
def test_nothing_of_nothing_is_all_of_it(counts, precision, recall, f1):
    found = ChunkCounts(*counts)
    assert (found.precision, found.recall, found.f1) == (precision, recall, f1)


# -- files ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text(TEXT * 20, encoding="utf-8")
    return tmp_path


def test_a_no_break_space_is_part_of_a_word_at_every_door(folder, capfd):
    sentences = read_sentences("in.txt")
    assert sentences[0].columns == ([WORD, "fish", "swim"], ["CD", "NN", "VB"])
    assert sentences[0].labels == ["B-NP", "I-NP", "O"]
    write_sentences("same.txt", sentences, [s.labels for s in sentences])
    assert read_columns("same.txt").columns[0] == read_columns("in.txt").columns[0]

    train = "tag", "train", "in.txt", "--task", "chunk", "--model", "m.tag"
    assert main([*train, "--hash-bits", "12", "--epochs", "2"]) == 0
    assert main(["tag", "predict", "m.tag", "in.txt", "-o", "out.txt"]) == 0
    lines = (folder / "out.txt").read_text(encoding="utf-8").split("\n")
    assert lines[0] == f"{WORD} CD B-NP B-NP"
    capfd.readouterr()
    assert main(["tag", "evaluate", "out.txt", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["tokens"], found["strict"]["gold"]) == (60, 20)


def test_a_no_break_space_is_part_of_a_word_for_spans(folder, capfd):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="trains with extra 'crf'")
    trainer = pycrfsuite.Trainer(verbose=False)
    from argmetric.sequence import standard_features

    for sentence in read_sentences("in.txt"):
        trainer.append(standard_features(sentence.columns), sentence.labels)
    trainer.train("m.crfsuite")
    options = "--model", "m.crfsuite", "-o", "out.conll"
    assert main(["spans", "in.txt", *options]) == 0
    lines = (folder / "out.conll").read_text(encoding="utf-8").split("\n")
    assert lines[0] == f"{WORD} CD B-NP B-NP"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [" ", "   ", "\t"])
def test_lines_are_read_alike_however_they_are_set(tmp_path, separator, end):
    path = tmp_path / "a.conll"
    rows = [["Ana", "NP", "B-PER"], ["va", "V", "O"], [], ["Sol\u2003", "NP", "O"]]
    lines = [
        "-DOCSTART- x",
        *(separator.join(row) for row in rows),
        " \t ",
        "-DOCSTART-",
    ]
    data = end.join([*lines, separator.join(["fin", "N", "O"]) + " "])
    path.write_bytes(("\ufeff" + data).encode())
    first, second, third = read_sentences(path)
    assert first == Sentence((["Ana", "va"], ["NP", "V"]), ["B-PER", "O"], 2, 0)
    assert second == Sentence((["Sol\u2003"], ["NP"]), ["O"], 5, 0)
    assert third == Sentence((["fin"], ["N"]), ["O"], 8, 1)
    text = read_columns(str(path))
    assert text.columns[2] == ["B-PER", "O", "O", "O"]
    assert "\n".join(text.lines) == "\ufeff" + data
    added = text.with_columns([["1", "2", "3", "4"]]).split("\n")[1]
    glue = "\t" if separator == "\t" else " "
    assert added == separator.join(rows[0]) + glue + "1" + end.removesuffix("\n")


BIOES = ["S-PER", "O", "B-ORG", "I-ORG", "E-ORG", "B-LOC", "E-LOC"]
IOB2 = ["B-PER", "O", "B-ORG", "I-ORG", "I-ORG", "B-LOC", "I-LOC"]


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl"])
def test_labels_of_bioes_are_converted_or_kept(tmp_path, name):
    path = tmp_path / name
    words = [*"abcdefg"]
    rows = "".join(f"{w} {y}\n" for w, y in zip(words, BIOES, strict=True))
    line = json.dumps({"tokens": words, "labels": BIOES})
    path.write_text(rows if name == "a.conll" else line)
    [converted], [kept] = read_sentences(path), read_sentences(path, scheme="BIOES")
    assert (converted.columns, converted.labels) == ((words,), IOB2)
    assert (kept.columns, kept.labels) == ((words,), BIOES)
    assert read_chunks(IOB2) == read_chunks(BIOES, "BIOES")
    tagger = Tagger("ner", hash_bits=12).fit([converted] * 4)
    assert tagger.predict([words]) == [IOB2]
    message = (
        f"^{path}, sentence at line 1, token 6: label 'E-LOC' is not of IOB2: O, B"
    )
    with pytest.raises(ValueError, match=message):
        Tagger("ner", hash_bits=12).fit([converted, kept])


def test_labels_of_no_scheme_are_refused_with_their_line(tmp_path):
    columns, lines = tmp_path / "a.conll", tmp_path / "a.jsonl"
    columns.write_text("a S-X\nb O\nc L-X\n")
    lines.write_text('{"tokens": ["a"]}\n{"tokens": ["c"], "labels": ["L-X"]}\n')
    known = {"IOB2": "O, B-TYPE, I-TYPE", "BIOES": "O, B-TYPE, I-TYPE, E-TYPE, S-TYPE"}
    for scheme, labels in known.items():
        for path, line in ((columns, 3), (lines, 2)):
            with pytest.raises(DataError) as error:
                read_sentences(path, scheme=scheme)
            told = f"{path}, line {line}: label 'L-X' is not of {scheme}: {labels}"
            assert str(error.value) == told


def test_sentences_of_several_files_are_named_by_file_and_line(tmp_path):
    first, second = tmp_path / "a.conll", tmp_path / "b.conll"
    first.write_text("a O\n\nb O\n")
    second.write_text("-DOCSTART- O\n\na O\n\n\nb O\nc I-X\n")
    sentences = read_sentences(first) + read_sentences(second)
    assert [Path(one.file).name for one in sentences] == [
        *["a.conll"] * 2,
        "b.conll",
        "b.conll",
    ]
    where = f"the first in {second}, sentence at line 6, token 1 (I-X)"
    with pytest.warns(UserWarning, match=re.escape(where)):
        tagger = Tagger("chunk", hash_bits=10, epochs=1).fit(sentences)
    bare = read_sentences(second, labels="no")
    where = f"^{second}: the sentence at line 6 has "
    with pytest.raises(ValueError, match=f"{where}no labels"):
        Tagger("chunk").fit([sentences[0], bare[1]])
    with pytest.raises(ValueError, match=f"{where}2 columns, the sentences before it"):
        tagger.predict([sentences[0], bare[1]])


def test_lines_of_documents_do_not_shift_the_numbers_of_sentences():
    sentences = [["-DOCSTART-"], ["a"], ["b"]]
    with pytest.warns(UserWarning, match=r"first in sentence 2, token 0 \(I-X\)"):
        Tagger("chunk", hash_bits=10, epochs=1).fit(sentences, [["O"], ["O"], ["I-X"]])


def test_words_with_blanks_keep_their_tabs(tmp_path):
    path, copy = tmp_path / "a.conll", tmp_path / "b.conll"
    path.write_text("New York\tO\nis \u00a0\tO\nbig O\n")
    sentences = read_sentences(path)
    assert sentences[0].tokens == ["New York", "is \u00a0", "big"]
    write_sentences(copy, sentences, [["O", "O", "O"]])
    assert copy.read_text() == "New York\tO\tO\nis \u00a0\tO\tO\nbig\tO\tO\n\n"
    assert read_sentences(copy)[0].tokens == sentences[0].tokens
