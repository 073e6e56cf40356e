"""Labelled text: one reader of column files, one reading and counting of chunks."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import search_oracle as oracle
from argmetric.cli import main
from argmetric.search import Tagger
from argmetric.sequence import (
    Sentence,
    read_chunks,
    read_sentences,
    write_sentences,
)

LABELS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])
WORD = "10\u00a0000"  # with a no-break space
TEXT = f"{WORD} CD B-NP\nfish NN I-NP\nswim VB O\n\n"


@settings(max_examples=200, deadline=None)
@given(st.lists(LABELS, max_size=7))
def test_chunks_equal_those_of_the_oracle(labels):
    assert {tuple(c) for c in read_chunks(labels)} == oracle.chunks(labels, False)


def test_closed_chunks_need_their_end():
    labels = ["B-X", "I-X", "E-X", "S-Y", "B-X", "I-X", "B-X", "E-Y", "E-X"]
    assert read_chunks(labels, "BIOES") == [(0, 3, "X"), (3, 4, "Y")]


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
    assert [s.tokens for s in read_sentences("same.txt")] == [
        s.tokens for s in sentences
    ]
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
            told = f"{path}, line {line}: label 'L-X' is not of {scheme}: {labels}"
            with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
                read_sentences(path, scheme=scheme)


def test_sentences_of_several_files_are_named_by_file_and_line(tmp_path):
    first, second = tmp_path / "a.conll", tmp_path / "b.conll"
    first.write_text("a O\n\nb O\n")
    second.write_text("-DOCSTART- O\n\na O\n\n\nb O\nc I-X\n")
    sentences = read_sentences(first) + read_sentences(second)
    names = [Path(one.file).name for one in sentences]
    assert names == ["a.conll", "a.conll", "b.conll", "b.conll"]
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
