"""Reviews that are made up, summaries of them, and parsers that know no grammar."""

from itertools import pairwise

import numpy as np

from argmetric.search import Summarizer, Tree

DOCUMENTS = [
    "The room was clean. We ate at a bar nearby. The pool is not open in May.",
    "Parking is hard to find. The room was clean and quiet. Staff: kind!",
    "The pool is not open. The staff was kind. We would not come again, ever.",
]
THINGS = ["room", "staff", "pool", "lift", "food", "bar"]
QUALITIES = ["clean", "kind", "cold", "old", "good", "far away"]


def hotels(n, seed=0):
    """Clusters of reviews, and summaries that take up what they say of three things."""
    rng = np.random.default_rng(seed)
    clusters, references = [], []
    for _ in range(n):
        said = [f"The {thing} was {rng.choice(QUALITIES)}" for thing in THINGS]
        documents = []
        for _ in range(4):
            lines = [f"{one}." for one in said if rng.random() < 0.4]
            seen = f"{rng.choice(QUALITIES)} {rng.choice(THINGS)}"
            lines += [f"I saw a {seen}, I think.", "It did not work!"]
            documents.append(" ".join(rng.permutation(lines).tolist()))
        clusters.append(documents)
        references.append(
            [f"{said[0]} and {said[1].lower()}.", f"{said[0]}; {said[2].lower()}."]
        )
    return clusters, references


class Chain:
    """Each word hangs on the one before it."""

    def parse(self, sentences):
        return [Tree(list(own), None, list(range(len(own)))) for own in sentences]


class Flat:
    """All words hang on the first one."""

    def parse(self, sentences):
        return [Tree(list(own), None, [0] + [1] * (len(own) - 1)) for own in sentences]


def read(documents):
    """The documents as a summary knows them: words, sentences and their places."""
    return Summarizer().predict([documents], words=10**6)[0].cluster


def sentences_of(text):
    cluster = read([text])
    bounds = pairwise(cluster.sentence_starts.tolist())
    return [" ".join(cluster.words[a:b]) for a, b in bounds]
