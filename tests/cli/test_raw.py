"""``argmetric tag predict --raw``: tokens and entities know their characters."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric._text.corpus.sentences import tokenized
from argmetric.cli.tag._commands import Marked
from command import Run

TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab AB 1 .!?…'\"()-\n\t。é’@/:,"), st.characters(codec="utf-8")
    ),
    max_size=60,
)


@given(TEXTS)
def test_tokens_are_all_of_the_text_but_white_space(text: str) -> None:
    plain = tokenized(text)
    spans = plain.spans.tolist()
    assert [text[a:b] for a, b in spans] == plain.tokens
    assert all(token and not any(c.isspace() for c in token) for token in plain.tokens)
    rest = list(text)
    for a, b in spans:
        rest[a:b] = " " * (b - a)
    assert "".join(rest).strip() == ""
    bounds = plain.sentences.tolist()
    assert bounds[0] == 0
    assert bounds[-1] == len(plain.tokens)
    assert bounds == sorted(set(bounds))
    for first, last in pairwise(bounds):
        assert "\n" not in text[spans[first][0] : spans[last - 1][1]]


@given(TEXTS.filter(lambda text: text.strip()), st.randoms(use_true_random=False))
def test_entities_are_where_they_are_said_to_be(text: str, draw: random.Random) -> None:
    plain = tokenized(text)
    labels = [draw.choice(["O", "B-PER", "I-PER", "B-X", "I-X"]) for _ in plain.tokens]
    tags = [draw.choice(["NN", "VB"]) for _ in plain.tokens]
    marked = Marked(plain, labels, tags)
    lines = [json.loads(line) for line in marked.as_lines().split("\n")[:-1]]
    assert len(lines) == plain.n_sentences
    n_found = 0
    for line in lines:
        assert text[line["start"] :].startswith(line["text"])
        for one in (*line["entities"], *line["tokens"]):
            assert line["text"][one["start"] : one["end"]] == one["text"]
            assert one["text"]
        n_found += len(line["entities"])
    assert [t["text"] for line in lines for t in line["tokens"]] == plain.tokens
    assert [t["tag"] for line in lines for t in line["tokens"]] == tags
    assert n_found == len(marked.types)
    begun = sum(label.startswith("B-") for label in labels)
    assert n_found >= begun
    size = sum(len(kind) + 3 for kind in marked.types)
    assert len(marked.as_text()) == len(text) + size


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Ana left. She won!", [["Dr", ".", "Ana", "left", "."],
                                    ["She", "won", "!"]]),
        ("one\ntwo", [["one"], ["two"]]),
        ("e.g. this", [["e.g.", "this"]]),
        ("The U.S. and J. Doe", [["The", "U.S.", "and", "J", ".", "Doe"]]),
        ("See http://a.b/c. Now", [["See", "http://a.b/c", "."], ["Now"]]),
        ("a@b.co paid 1,250.50", [["a@b.co", "paid", "1,250.50"]]),
        ("don't well-known", [["don't", "well-known"]]),
        ("好。是！", [["好", "。"], ["是", "！"]]),
    ],
)  # fmt: skip
def test_tokens_and_sentences(text: str, sentences: list[list[str]]) -> None:
    assert [list(one.tokens) for one in tokenized(text).objects()] == sentences


@pytest.fixture
def folder(run: Run) -> Run:
    rows = []
    for name in ("Ana", "Ben", "Cleo", "Dora"):
        for place in ("Porto", "Lima", "Oslo"):
            words = [(name, "B-PER"), ("lives", "O"), ("in", "O")]
            rows += [f"{word} {label}" for word, label in words]
            rows += [f"{place} B-LOC", ". O", ""]
    Path("names.train").write_text("\n".join(rows))
    Path("three.train").write_text("\n".join(r.replace(" ", " X ") for r in rows))
    for name in ("names", "three"):
        small = "--hash-bits", "14", "--epochs", "3", "--model", f"{name}.tag"
        assert run("tag", "train", f"{name}.train", "--task", "ner", *small).code == 0
    return run


def test_plain_text_is_tagged(folder: Run) -> None:
    text = "Ben lives in Oslo.  Dora lives in Lima.\n\nAna lives in Porto .\n"
    Path("letter.txt").write_text(text)
    ended = folder("tag", "predict", "names.tag", "letter.txt", "--raw")
    assert ended.out == (
        "[PER Ben] lives in [LOC Oslo].  [PER Dora] lives in [LOC Lima].\n\n"
        "[PER Ana] lives in [LOC Porto] .\n"
    )
    assert "found      6 entities" in ended.err
    command = "tag", "predict", "names.tag", "letter.txt", "--raw", "-o", "out.jsonl"
    assert folder(*command).code == 0
    lines: list[Any] = [
        json.loads(line) for line in Path("out.jsonl").read_text().splitlines()
    ]
    assert [line["text"] for line in lines] == [
        "Ben lives in Oslo.",
        "Dora lives in Lima.",
        "Ana lives in Porto .",
    ]
    assert lines[1]["start"] == 20
    assert lines[1]["entities"] == [
        {"type": "PER", "start": 0, "end": 4, "text": "Dora"},
        {"type": "LOC", "start": 14, "end": 18, "text": "Lima"},
    ]
    ended = folder("tag", "predict", "three.tag", "letter.txt", "--raw")
    assert ended.err == (
        "argmetric: three.tag reads 2 columns, and plain text has words alone: train "
        "one on a file with words and labels\n"
    )
    ended = folder("tag", "predict", "names.tag", "-", "--raw", stdin=b" \n")
    assert ended.err == "argmetric: standard input has no words\n"
    ended = folder(
        "tag", "predict", "names.tag", "letter.txt", "--output-format", "text"
    )
    assert ended.code == 2
    assert ended.err == "argmetric: --output-format is about --raw: pass it too\n"
