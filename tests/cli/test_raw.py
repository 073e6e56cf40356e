"""``argmetric tag predict --raw``: tokens and entities know their characters."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.cli import main

CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0\ufeff")
TEXTS = st.text(
    st.sampled_from("ab AB 1 .!?…'\"()-\n\t。é’@/:,") | CHARACTERS, max_size=60
).filter(lambda text: text.strip())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Taggers of words alone, of both tiers, and one that reads two columns."""
    folder = tmp_path_factory.mktemp("raw")
    rows = [
        f"{name} N B-PER|lives V O|in P O|{place} N B-LOC|. . O".split("|")
        for name in ("Ana", "Ben", "Cleo", "Dora")
        for place in ("Porto", "Lima", "Oslo")
    ]
    for name, task, columns in (
        ("names", "ner", (0, 2)),
        ("both", "joint", (0, 1, 2)),
        ("three", "ner", (0, 1, 2)),
    ):
        lines = [
            "\n".join(" ".join(row.split()[c] for c in columns) for row in sentence)
            for sentence in rows
        ]
        path = folder / f"{name}.train"
        path.write_text("\n\n".join(lines))
        small = "--hash-bits", "14", "--epochs", "3", "--model"
        command = "tag", "train", str(path), "--task", task
        assert main([*command, *small, str(folder / f"{name}.tag")]) == 0
    return folder


def tagged(folder, text):
    """Objects of the sentences of a text, and the text with its entities marked."""
    source, lines, marked = folder / "in.txt", folder / "o.jsonl", folder / "o.txt"
    source.write_bytes(text.encode())
    for target in (lines, marked):
        command = "tag", "predict", str(folder / "both.tag"), str(source), "--raw"
        assert main([*command, "-o", str(target)]) == 0
    found = lines.read_text("utf-8").split("\n")[:-1]
    return list(map(json.loads, found)), marked.read_bytes().decode()


@given(TEXTS)
def test_tokens_are_all_of_the_text_but_white_space(folder, text):
    lines, marked = tagged(folder, text)
    rest, size = list(text), len(text)
    for line in lines:
        first = line["start"]
        assert text[first:].startswith(line["text"])
        assert "\n" not in line["text"]
        for one in (*line["entities"], *line["tokens"]):
            assert line["text"][one["start"] : one["end"]] == one["text"] != ""
        for token in line["tokens"]:
            assert not any(map(str.isspace, token["text"]))
            a, b = first + token["start"], first + token["end"]
            rest[a:b] = " " * (b - a)
        size += sum(len(one["type"]) + 3 for one in line["entities"])
    assert "".join(rest).strip() == ""
    assert len(marked) == size


@pytest.mark.parametrize(
    "sentences",
    [
        "Dr . Ana left . | She won !",
        "e.g. this",
        "The U.S. and J . Doe",
        "See http://a.b/c . | Now",
        "a@b.co paid 1,250.50",
        "don't well-known",
        "好 。 | 是 ！",
        "Obst , z . B . Äpfel , ist teuer . | Das ist so .",
        "Hay ciudades , p . ej . Madrid . | Son grandes .",
    ],
)
def test_tokens_and_sentences(folder, sentences):
    text = sentences.replace(" | ", " ")
    for mark in ".,!。！":
        text = text.replace(f" {mark}", mark)
    lines, _ = tagged(folder, text)
    found = [" ".join(one["text"] for one in line["tokens"]) for line in lines]
    assert found == sentences.split(" | ")


def test_plain_text_is_tagged(folder, run):
    text = "Ben lives in Oslo.  Dora lives in Lima.\n\nAna lives in Porto .\n"
    Path("letter.txt").write_text(text)
    names, three = (str(folder / f"{name}.tag") for name in ("names", "three"))
    ended = run("tag", "predict", names, "letter.txt", "--raw")
    assert ended.out == (
        "[PER Ben] lives in [LOC Oslo].  [PER Dora] lives in [LOC Lima].\n\n"
        "[PER Ana] lives in [LOC Porto] .\n"
    )
    assert "found      6 entities" in ended.err
    assert (
        run("tag", "predict", names, "letter.txt", "--raw", "-o", "o.jsonl").code == 0
    )
    lines = list(map(json.loads, Path("o.jsonl").read_text().splitlines()))
    starts = [line["start"] for line in lines]
    parts = [text[a:b].strip() for a, b in pairwise([*starts, None])]
    assert [line["text"] for line in lines] == parts
    assert starts == [0, 20, 41]
    assert lines[1]["entities"] == [
        {"type": "PER", "start": 0, "end": 4, "text": "Dora"},
        {"type": "LOC", "start": 14, "end": 18, "text": "Lima"},
    ]
    for arguments, stdin, message in (
        (
            (three, "letter.txt", "--raw"),
            None,
            "reads 2 columns, and plain text has wo",
        ),
        ((names, "-", "--raw"), b" \n", "standard input has no words\n"),
        (
            (names, "letter.txt", "--output-format", "text"),
            None,
            "is about --raw: pass",
        ),
    ):
        ended = run("tag", "predict", *arguments, stdin=stdin)
        assert message in ended.err
        assert ended.code == (2 if "--output-format" in arguments else 1)
