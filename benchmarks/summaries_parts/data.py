"""Clusters of documents with references, and which of them are judged.

fewsum: eight reviews of a product or place, three references, 60 words. Choices are
made on the clusters of its published validation files (42 of 160); the figures are of
the other 118. opinosis: what reviews say on a topic, a sentence a line, each line a
document of its own; three to five references, 25 words. Choices are made on every
fourth topic by name (13 of 51); the figures are of the other 38.

Ten folds of the judged clusters by a seed: nine are learned from, together with
the clusters that choices were made on, which are never judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from search_parts.data import FOLDS, data_file

Document = str | list[str]  # text, or its sentences
WORDS = {"fewsum": 60, "opinosis": 25}


@dataclass(frozen=True)
class Clusters:
    """Documents and references of every cluster, and the budget of a summary."""

    name: str
    words: int
    documents: list[list[Document]]
    references: list[list[str]]
    chosen_on: np.ndarray

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def judged(self) -> np.ndarray:
        """Numbers of the clusters that the figures are of."""
        return np.flatnonzero(~self.chosen_on)

    def folds(
        self, n: int = FOLDS, seed: int = 0
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Numbers of the clusters to learn from and of those to judge, n times."""
        order = np.random.default_rng(seed).permutation(self.judged)
        tests = [np.sort(part) for part in np.array_split(order, n)]
        return [(np.setdiff1d(np.arange(len(self)), test), test) for test in tests]

    def take(self, numbers: np.ndarray) -> Clusters:
        return Clusters(
            self.name,
            self.words,
            [self.documents[i] for i in numbers],
            [self.references[i] for i in numbers],
            self.chosen_on[numbers],
        )


@cache
def clusters(name: str, *, quick: bool = False) -> Clusters:
    """One of the two sets; the first and the last six clusters for a smoke run."""
    found = {"fewsum": _fewsum, "opinosis": _opinosis}[name]()
    if not quick:
        return found
    return found.take(np.r_[:6, len(found) - 6 : len(found)])


def _fewsum() -> Clusters:
    documents, references, chosen_on = [], [], []
    for path in sorted(data_file("summ/fewsum").glob("*.csv")):
        head, *rows = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        names = head.split("\t")
        for row in rows:
            # Quotation marks are a reviewer's own: the format has none
            cell = dict(zip(names, row.split("\t"), strict=True))
            documents.append([cell[f"rev{i}"] for i in range(1, 9)])
            references.append([cell[f"summ{i}"] for i in range(1, 4)])
            chosen_on.append(path.stem.endswith("_val"))
    marked = np.array(chosen_on)
    return Clusters("fewsum", WORDS["fewsum"], documents, references, marked)


def _opinosis() -> Clusters:
    folder = data_file("summ/opinosis")
    documents, references = [], []
    for path in sorted((folder / "topics").iterdir()):
        lines = path.read_text(encoding="latin-1").split("\n")
        documents.append([[line.strip()] for line in lines if line.strip()])
        gold = folder / "summaries-gold" / path.name.removesuffix(".txt.data")
        own = [p.read_text(encoding="latin-1") for p in sorted(gold.glob("*.gold"))]
        references.append([" ".join(text.split()) for text in own])
    marked = np.arange(len(documents)) % 4 == 0
    return Clusters("opinosis", WORDS["opinosis"], documents, references, marked)
