"""A small treebank with relations, made by a grammar."""

import numpy as np

from argmetric.search import Tree

NOUNS, SEES, GIVES = ["cat", "dog", "man"], ["sees", "eats"], ["gives", "sends"]


class Grammar:
    """Sentences in which a noun's relation depends on verb, place and preposition."""

    def __init__(self, rng):
        self.rng = rng
        self.rows = []  # word, tag, head, relation

    def phrase(self, relation, head, preposition=None):
        rows = [(preposition, "P", "case")] if preposition else []
        rows += [("the", "D", "det")] * int(self.rng.integers(0, 2))
        rows += [("big", "J", "amod")] * int(self.rng.integers(0, 2))
        noun = len(self.rows) + len(rows) + 1
        self.rows += [(word, tag, noun, name) for word, tag, name in rows]
        self.rows.append((self.rng.choice(NOUNS), "N", head, relation))
        return noun

    def sentence(self):
        self.rows = []
        gives = self.rng.random() < 0.5
        self.phrase("nsubj", None)
        verb = len(self.rows) + 1
        self.rows.append((self.rng.choice(GIVES if gives else SEES), "V", 0, "root"))
        if gives:
            self.phrase("iobj", verb)
        item = self.phrase("obj", verb)
        if self.rng.random() < 0.5:
            self.phrase("nmod", item, "of")
        if self.rng.random() < 0.5:
            self.phrase("obl", verb, "in")
        self.rows.append((".", ".", verb, "punct"))
        words, tags, heads, relations = zip(*self.rows, strict=True)
        heads = [verb if head is None else head for head in heads]
        return Tree(list(map(str, words)), list(tags), heads, list(relations))


def treebank(n, seed=0):
    """So many sentences; the seed decides."""
    grammar = Grammar(np.random.default_rng(seed))
    return [grammar.sentence() for _ in range(n)]
