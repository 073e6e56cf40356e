"""Sampled answers of models of several kinds, with the truth of every question.

Text: spans of a chain (CRF) that was trained on 300 sentences, sampled whole. Words:
the set of letters of a written word, each letter sampled by itself. Rows of several
labels: a chain of logistic regressions, labels sampled one after the other; the label
set of a training row that shares a leaf of a random tree; those of near rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from search_parts import data

from argmetric.sequence import LinearChainCRF, read_chunks, standard_features
from argmetric.sequence._crf import build_batch
from sets_parts import label_sets

TRAINED_ON = 300  # sentences
POOL = 4_400  # questions: a reference of 4,000, and a batch
TRAINED_ROWS = 1_000
NEIGHBOURS = 30
LEAF = 5  # rows or more in a leaf of the forest


@dataclass(frozen=True, eq=False)
class Pool:
    """Questions with their sampled answers and the truth.

    `samples` are sets for each question, or 0/1 draws (draws, rows, labels).
    """

    samples: Any
    truth: Any

    @property
    def n(self) -> int:
        return len(self.truth)

    def sets(self) -> tuple[list[list[frozenset[Any]]], list[frozenset[Any]]]:
        """Samples and truth as sets of items."""
        if not isinstance(self.samples, np.ndarray):
            return self.samples, self.truth
        draws = self.samples.swapaxes(0, 1)
        return [[_members(d) for d in row] for row in draws], [
            _members(row) for row in self.truth
        ]

    def first(self, n: int, k: int | None = None) -> Pool:
        """The first questions, with the first k of their answers."""
        if isinstance(self.samples, np.ndarray):
            return Pool(self.samples[:k, :n], self.truth[:n])
        return Pool([one[:k] for one in self.samples[:n]], self.truth[:n])


def _members(row: np.ndarray) -> frozenset[int]:
    return frozenset(np.flatnonzero(row).tolist())


def sampled_chains(batch: Any, k: int, rng: np.random.Generator) -> list[np.ndarray]:
    """k label sequences of every sentence: forward, given the messages from behind."""
    _, _, backward = batch.messages
    starts, lengths = batch.indptr[:-1], np.diff(batch.indptr)
    out = np.zeros((k, batch.indptr[-1]), dtype=np.int64)
    for t in range(int(lengths.max())):
        at = starts[lengths > t] + t
        scores = np.repeat((batch.unary + backward)[at][None], k, axis=0)
        if t > 0:
            scores += batch.pairs[batch.pair_of[at], out[:, at - 1]]
        noise = rng.gumbel(size=scores.shape)
        out[:, at] = (scores + noise).argmax(axis=2)
    return np.split(out, batch.indptr[1:-1], axis=1)


def _text(sentences: list[Any], k: int, seed: int) -> Pool:
    import pycrfsuite

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(sentences))
    train = [sentences[i] for i in order[:TRAINED_ON]]
    rest = [sentences[i] for i in order[TRAINED_ON : TRAINED_ON + POOL]]
    trainer = pycrfsuite.Trainer(verbose=False)
    for one in train:
        trainer.append(standard_features(one.columns), one.labels)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        trainer.train(str(path))
        model: Any = LinearChainCRF.from_crfsuite(path)
    chains = model.sentences([standard_features(one.columns) for one in rest])
    labels = np.array(model.labels)
    drawn = sampled_chains(build_batch(chains), k, rng)
    samples = [
        [frozenset(read_chunks(labels[row].tolist())) for row in one] for one in drawn
    ]
    return Pool(samples, [frozenset(read_chunks(one.labels)) for one in rest])


def _chunks(k: int) -> Pool:
    return _text(list(data.chunks().train), k, 0)


def _entities(k: int) -> Pool:
    return _text(list(data.spanish().train), k, 1)


def _words(k: int) -> Pool:
    """Letters of written words, a logistic regression of the first fold's pixels."""
    from sklearn.linear_model import LogisticRegression

    letters = data.letters()
    rng = np.random.default_rng(2)
    word = np.repeat(np.arange(letters.lengths.size), letters.lengths)
    mine = letters.folds == 0
    model = LogisticRegression(max_iter=50)
    model.fit(letters.pixels[mine[word]], letters.labels[mine[word]])
    rest = rng.permutation(np.flatnonzero(~mine))[:POOL]
    ends = np.append(0, np.cumsum(letters.lengths))
    samples, truth = [], []
    rows = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in rest])
    scores = model.predict_log_proba(letters.pixels[rows])
    drawn = (scores + rng.gumbel(size=(k, *scores.shape))).argmax(axis=2)
    parts = np.split(model.classes_[drawn], np.cumsum(letters.lengths[rest])[:-1], 1)
    for i, part in zip(rest, parts, strict=True):
        samples.append([frozenset(row.tolist()) for row in part])
        truth.append(frozenset(letters.labels[ends[i] : ends[i + 1]].tolist()))
    return Pool(samples, truth)


@cache
def _rows(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and others, with their labels."""
    if name == "scene":
        split = label_sets.scene(label_sets.FIRST_SEED)
    else:
        split = label_sets.chain(label_sets.FIRST_SEED, 12, n=2 * (TRAINED_ROWS + POOL))
    X, Y = np.vstack([split.X, split.unseen]), np.vstack([split.Y, split.truth])
    n = TRAINED_ROWS
    return X[:n], Y[:n], X[n : n + POOL], Y[n : n + POOL]


def _chained(name: str, k: int) -> Pool:
    from sklearn.linear_model import LogisticRegression

    X, Y, unseen, truth = _rows(name)
    rng = np.random.default_rng(3)
    draws = np.zeros((k, *truth.shape), dtype=np.int64)
    for j in range(Y.shape[1]):
        model = LogisticRegression(C=0.1, max_iter=200)
        model.fit(np.hstack([X, Y[:, :j]]), Y[:, j])
        for one in draws:
            p = model.predict_proba(np.hstack([unseen, one[:, :j]]))[:, 1]
            one[:, j] = rng.random(p.size) < p
    return Pool(draws, truth)


def _forest(name: str, k: int) -> Pool:
    from sklearn.ensemble import RandomForestClassifier

    X, Y, unseen, truth = _rows(name)
    rng = np.random.default_rng(4)
    forest = RandomForestClassifier(k, min_samples_leaf=LEAF, random_state=0)
    known, leaves = forest.fit(X, Y).apply(X), forest.apply(unseen)
    draws = np.zeros((k, *truth.shape), dtype=np.int64)
    for tree in range(k):  # a training row of the same leaf, from each tree
        order = np.argsort(known[:, tree], kind="stable")
        ends = np.searchsorted(known[order, tree], leaves[:, tree], side="right")
        starts = np.searchsorted(known[order, tree], leaves[:, tree], side="left")
        draws[tree] = Y[order[rng.integers(starts, ends)]]
    return Pool(draws, truth)


def _neighbours(name: str, k: int) -> Pool:
    from sklearn.neighbors import NearestNeighbors

    X, Y, unseen, truth = _rows(name)
    near = NearestNeighbors(n_neighbors=max(k, NEIGHBOURS)).fit(X)
    found = near.kneighbors(unseen, return_distance=False)
    order = np.random.default_rng(5).permuted(found, axis=1)[:, :k]
    return Pool(Y[order].swapaxes(0, 1), truth)


KINDS: dict[str, Callable[[int], Pool]] = {
    "chunks, CRF": _chunks,
    "entities, CRF": _entities,
    "words, logistic regression": _words,
    "scene, chain": lambda k: _chained("scene", k),
    "scene, forest": lambda k: _forest("scene", k),
    "scene, neighbours": lambda k: _neighbours("scene", k),
    "drawn labels, chain": lambda k: _chained("drawn", k),
    "drawn labels, forest": lambda k: _forest("drawn", k),
    "drawn labels, neighbours": lambda k: _neighbours("drawn", k),
}
# What the calibrator of the forecast was looked at on; the others were looked at once
CHOSEN_ON = ("chunks, CRF", "drawn labels, forest")


@cache
def pool(kind: str, k: int) -> Pool:
    return KINDS[kind](k)
