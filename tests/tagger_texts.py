"""A small text that taggers learn from."""

import numpy as np

from argmetric.search import Tagger

WORDS = {"D": ["the", "a"], "N": ["Cat", "dog", "U.S."], "V": ["sees", "ran"]}
WORDS["P"] = ["of"]


def text(n=40, seed=0):
    """Sentences whose chunks follow from the parts of speech."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        order, labels = [], []
        for _ in range(rng.integers(1, 4)):
            order += [*"DN"] if rng.random() < 0.5 else ["N"]
            labels += ["B-NP", "I-NP"] if order[-2:] == ["D", "N"] else ["B-NP"]
            if rng.random() < 0.7:
                order.append(rng.choice(["V", "P"]))
                labels.append("B-VP" if order[-1] == "V" else "O")
        sentences.append([(str(rng.choice(WORDS[p])), str(p)) for p in order])
        # A noun after a determiner goes on with its chunk
        for i in range(1, len(order)):
            if order[i - 1] == "D":
                labels[i] = "I-NP"
        tags.append(labels)
    return sentences, tags


def small(task="chunk", **options):
    return Tagger(task, **{"hash_bits": 14, **options})


def words_alone(sentences):
    return [[word for word, _ in sentence] for sentence in sentences]


def joint_tags(sentences, tags):
    return [
        [(p, t) for (_, p), t in zip(s, labels, strict=True)]
        for s, labels in zip(sentences, tags, strict=True)
    ]
