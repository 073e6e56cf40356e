"""Tagged sentences in files."""

from __future__ import annotations

import random
from pathlib import Path

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


def write(name: str, text: str, encoding: str = "utf-8") -> None:
    Path(name).write_bytes(text.encode(encoding))


def read(name: str, encoding: str = "utf-8") -> str:
    return Path(name).read_bytes().decode(encoding)
