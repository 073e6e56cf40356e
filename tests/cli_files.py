"""Small files for commands on text and on several models."""

import csv
import json
import random
from pathlib import Path

import numpy as np

SMALL = "--hash-bits", "14"
QUICK = *SMALL, "--epochs", "3"


def corpus(n, seed=0):
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
        sentences.append([*rows, (".", ".", "O")])
    return sentences


def columns(sentences, *chosen):
    chosen = chosen or range(len(sentences[0][0]))
    rows = ([" ".join(row[c] for c in chosen) for row in s] for s in sentences)
    return "".join("".join(f"{line}\n" for line in own) + "\n" for own in rows)


TRAIN, TEST = corpus(40), corpus(10, seed=1)
TEXTS = {
    "train.txt": columns(TRAIN),
    "test.txt": columns(TEST),
    "pos.txt": columns(TRAIN, 0, 1),
    "two.txt": columns(TEST, 0, 2),
    "words.txt": columns(TEST, 0),
}


REVIEWS = {
    "a.txt": "The room was big and clean. Breakfast was cold. We would come again!",
    "b.txt": "A big room, and clean. The lift did not work. Breakfast was cold, too.",
    "c.txt": "The room was clean. Staff was kind & helpful.\n\nThe lift did not work.",
}
REFERENCES = ["The rooms are big and clean.", "Big room; the lift did not work."]


def put(path, text, encoding="utf-8"):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode(encoding))


def write_texts():
    """Write documents, summaries that people wrote, and clusters of both."""
    for name, text in REVIEWS.items():
        put(f"reviews/{name}", text)
    put("gold/1.txt", REFERENCES[0])
    put("gold/2.txt", REFERENCES[1])
    documents = list(REVIEWS.values())
    rows = [
        {"documents": documents, "references": REFERENCES, "name": f"hotel {i}"}
        for i in range(4)
    ]
    put("data.jsonl", "\n".join(map(json.dumps, rows)))
    for i in range(3):
        for name, text in REVIEWS.items():
            put(f"topics/t{i}/{name}", text)
        put(f"people/t{i}.1.txt", REFERENCES[0])
        put(f"people/t{i}.2.txt", REFERENCES[1])


MODELS_RNG = np.random.default_rng(6)
X = MODELS_RNG.normal(-1.2, 1.6, 1400)
Y = (MODELS_RNG.random(1400) < 1 / (1 + np.exp(-X))).astype(int)
P = {
    name: (1 / (1 + np.exp(-X - MODELS_RNG.normal(0, s, 1400)))).round(6)
    for name, s in (("a", 1.5), ("b", 0.4))
}
OLD, NEW = slice(0, 500), slice(500, None)


def write_columns(path, columns):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


def write_models(old, new):
    """Write labelled rows and new ones, with scores and decisions of two models."""
    write_columns(old, {"p_a": P["a"][OLD], "p_b": P["b"][OLD], "y": Y[OLD]})
    ids = [f"{i:04d}" for i in range(900)]
    called = {f"d_{name}": (p[NEW] >= 0.4).astype(int) for name, p in P.items()}
    scores = {f"p_{name}": p[NEW] for name, p in P.items()}
    write_columns(new, {"id": ids, **scores, **called})
