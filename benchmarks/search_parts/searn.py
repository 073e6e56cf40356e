"""SEARN as published, and what stands beside it, on the paper's tasks at full size.

Everything is `Searn` with tables of weights, which runs compiled. A label is decided
word by word from features of the word and the last labels; the joint task decides the
tag of a word and then its chunk. Features seen once in training are left out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from argmetric.search import (
    AllPairs,
    Costing,
    LinearLearner,
    Searn,
    SequenceLabelling,
    Tagger,
    WordChunking,
    default_templates,
)
from argmetric.search._searn._beams import Decoder
from argmetric.search._searn._learners import TableScorer
from argmetric.search._searn._policy import LearnedPolicy, Mixture
from argmetric.search._searn._sequences import PreparedInputs
from argmetric.search._searn._spans import prepare_spans
from search_parts import peers
from search_parts.data import (
    Labels,
    accuracy,
    chunks,
    gold_of,
    letters,
    spanish,
    strict_f1,
    timed,
)
from search_parts.handwriting import Images, learn, words_of

BEAM = 10  # the paper's
BETA = 0.3
STACK_FOLDS = 5
DRAWS = 3  # samples of costing
PENALTIES = 0.3, 1.0, 3.0  # C of quadratic SVMs that are tried


def own_row(x: Any, i: int) -> Any:
    """The features of token i, as they are given."""
    return x[i]


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs and labels to learn from and to be judged by, and how to judge.

    `seen` and `unseen` are the inputs of training and test with their features read.
    """

    name: str
    unit: str
    task: Callable[..., Any]  # of the labels looked back at, and of `whole`
    history: int
    seen: Any
    Y: Labels
    unseen: Any
    gold: Labels
    judge: Callable[[Labels, Labels], float]
    epochs: int
    step: float
    iterations: dict[float, int]
    peer: Callable[[str], peers.Run] | None = None
    tagger: Callable[[int], Labels] | None = None

    def score(self, found: Labels) -> float:
        """F1 or accuracy on the test inputs, in percent."""
        return self.judge(self.gold, found)

    def learner(self, kind: Any = "logistic") -> LinearLearner:
        step = self.step
        return LinearLearner(kind, epochs=self.epochs, step=step, hash_bits=None)


class Recorded(Searn):
    """Keeps what each iteration came to, without the initial policy, and its time."""

    def _iterate(self, *arguments: Any) -> Any:
        found, seconds = timed(lambda: Searn._iterate(self, *arguments))
        self.seconds_ = [*getattr(self, "seconds_", ()), seconds]
        self.mixtures_ = [*getattr(self, "mixtures_", ()), found[0].without_initial()]
        return found


def fitted(problem: Problem, seed: int = 0, **options: Any) -> Recorded:
    """SEARN with these options; `kind` names the learner, `history` the labels.

    `whole`: for the 0/1 loss of whole sequences.
    """
    history, whole = (
        options.pop("history", problem.history),
        options.pop("whole", False),
    )
    task = problem.task(history, whole)
    learner = problem.learner(options.pop("kind", "logistic"))
    searn = Recorded(task, learner, random_state=seed, **options)
    return searn.fit(problem.seen, problem.Y)


def decoded(
    searn: Recorded, problem: Problem, number: int = -1, beam: int = 1
) -> Labels:
    """Outputs for the test inputs after an iteration, by default the last."""
    return outputs(searn.task, searn.mixtures_[number], problem, beam)


def outputs(task: Any, mixture: Mixture, problem: Problem, beam: int) -> Labels:
    decoder = Decoder(task, beam, "log", "draw", 0)
    return decoder.outputs(mixture, prepare_spans(task, problem.unseen))


def averaged(policies: Sequence[LearnedPolicy], weights: Sequence[float]) -> Mixture:
    """One policy whose weights are the mean of those of several."""
    scorers = [policy.scorer for policy in policies]
    first = scorers[0]
    assert isinstance(first, TableScorer)
    mean = sum(w * s.weights for w, s in zip(weights, scorers, strict=True))
    scorer = TableScorer(np.asarray(mean), first.hashes, first.codes)
    return Mixture(None, (LearnedPolicy(policies[0].task, scorer),), (1.0,))


def stacked(problem: Problem, seed: int, places: Sequence[int] = (0, 1, 2)) -> Labels:
    """Stacked sequential learning: a second model sees the labels of a first.

    `places`: 0 is the label before a token, 1 its own and 2 the one after.

    The labels of training inputs come from models that did not see them.
    """
    task = problem.task(problem.history)
    learner = problem.learner()
    n = len(problem.seen)
    fold_of = np.random.default_rng(seed).permutation(n) % STACK_FOLDS
    first: list[Any] = [None] * n
    for fold in range(STACK_FOLDS):
        inside, outside = (
            np.flatnonzero(fold_of == fold),
            np.flatnonzero(fold_of != fold),
        )
        searn = Searn(task, learner, beta=1.0, iterations=1, random_state=seed)
        searn.fit([problem.seen[i] for i in outside], [problem.Y[i] for i in outside])
        found = searn.predict([problem.seen[i] for i in inside])
        for i, labels in zip(inside, found, strict=True):
            first[i] = labels
    searn = Searn(task, learner, beta=1.0, iterations=1, random_state=seed)
    test = searn.fit(problem.seen, problem.Y).predict(problem.unseen)
    last = Searn(problem.task(0), learner, beta=1.0, iterations=1, random_state=seed)
    last.fit(_with_labels(problem.seen, first, places), problem.Y)
    return last.predict(_with_labels(problem.unseen, test, places))


def _with_labels(X: Sequence[Any], found: Labels, places: Sequence[int]) -> list[Any]:
    """Features of tokens, and the labels found for them and their neighbours."""
    rows = []
    for x, labels in zip(X, found, strict=True):
        near = ["", *labels, ""]
        rows.append(
            [
                [*own, *((f"stacked {j} {near[i + j]}", 1.0) for j in places)]
                for i, own in enumerate(x)
            ]
        )
    return rows


def searched(problem: Problem, seed: int) -> Labels:
    """β of every iteration, and when to stop, by the loss on a tenth held out."""
    task = problem.task(problem.history)
    options: dict[str, Any] = {"beta": "search", "iterations": 8, "patience": 2}
    searn = Searn(task, problem.learner(), random_state=seed, beam=BEAM, **options)
    searn.fit(problem.seen, problem.Y, dev=0.1)
    return searn.predict(problem.unseen)


def all_pairs(problem: Problem, seed: int) -> Searn:
    """Weighted all pairs with costing, the paper's reduction; Python decides."""
    from sklearn.linear_model import SGDClassifier

    binary = SGDClassifier(
        "log_loss", alpha=1e-5, max_iter=8, tol=None, average=True, random_state=seed
    )
    learner = AllPairs(Costing(binary, n_draws=DRAWS, random_state=seed))
    task = problem.task(problem.history)
    searn = Searn(task, learner, beta=1.0, iterations=2, random_state=seed)
    return searn.fit(problem.seen.items, problem.Y)


def _half_row(x: Any, i: int) -> list[tuple[Any, float]]:
    """Half the pixels: beside labels before, of value 1, these count twice."""
    return [(name, value / 2) for name, value in x[i]]


def _half_task(history: int) -> SequenceLabelling:
    return SequenceLabelling(range(26), features=_half_row, history=history)


def _quadratic(C: float) -> Any:
    """(⟨x, x'⟩ / 32 + 1)² of pixels and twice the label before; x is halved here."""
    from sklearn.svm import SVC

    return SVC(kernel="poly", degree=2, gamma=4 / 32, coef0=1, C=C, cache_size=400)


def halved(problem: Problem) -> Problem:
    """Letters as a quadratic kernel takes them."""
    task = _half_task(1)
    seen, unseen = (
        PreparedInputs(task, part.items) for part in (problem.seen, problem.unseen)
    )
    return replace(problem, seen=seen, unseen=unseen, task=_half_task)


def best_penalty(problem: Problem, seed: int) -> float:
    """Return C of the first iteration that labels a quarter of the words best."""
    order = np.random.default_rng(seed).permutation(len(problem.Y))
    held, rest = np.split(order, [len(order) // 4])
    X, Y = problem.seen.items, problem.Y
    scores = {}
    for C in PENALTIES:
        one = Searn(_half_task(1), _quadratic(C), beta=1.0, iterations=1)
        one.fit([X[i] for i in rest], [Y[i] for i in rest])
        found = one.predict([X[i] for i in held])
        scores[C] = accuracy([Y[i] for i in held], found)
    return max(scores, key=lambda C: scores[C])


def kernel(problem: Problem, seed: int, C: float, **options: Any) -> Recorded:
    """SEARN with a quadratic SVM on letters that are `halved`."""
    task = _half_task(options.pop("history", 1))
    searn = Recorded(task, _quadratic(C), beta=1.0, random_state=seed, **options)
    return searn.fit(problem.seen, problem.Y)


def chunk_f1(gold: Labels, found: Labels) -> float:
    return strict_f1([list(y) for y in gold], [list(y) for y in found])


def _common(train: Labels, test: Labels) -> tuple[list[Any], list[Any]]:
    """Features as (name, 1) pairs, without those that training has once."""
    count = Counter(name for x in train for row in x for name in row)
    found = tuple(
        [[[(name, 1.0) for name in row if count[name] > 1] for row in x] for x in part]
        for part in (train, test)
    )
    return found[0], found[1]


def _letter_task(history: int, whole: bool = False) -> SequenceLabelling:
    options: dict[str, Any] = {"history": history, "whole": whole}
    return SequenceLabelling(range(26), features=own_row, **options)


def _pairs(row: Sequence[Any]) -> list[tuple[int, float]]:
    """Names of all pairs of pixels, which are numbers below 128."""
    on = [column for column, _ in row]
    return [(128 * (a + 1) + b, 1.0) for a, b in itertools.combinations(on, 2)]


@cache
def handwriting(
    size: str, fold: int, step: int = 1, history: int = 1, *, pairs: bool = False
) -> Problem:
    """Pixels of letters and, as in the paper, the pair of two letters (history 1).

    With `pairs`, all pairs of pixels that are on are features too: a quadratic kernel
    of the pixels, written out.
    """
    data = letters()
    data = data.choose(np.arange(len(data.lengths)) % step == 0)
    images = Images(csr_matrix(data.pixels, dtype=np.float32), data)
    parts = images.split(fold, size)
    X, Y = [], []
    for part in parts:
        rows, labels, lengths = images.part(part)
        names = [
            [(int(column), 1.0) for column in rows.indices[a:b]]
            for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)
        ]
        if pairs:
            names = [[*row, *_pairs(row)] for row in names]
        ends = np.cumsum(lengths).tolist()
        bounds = list(zip([0, *ends], ends, strict=False))
        X.append([names[a:b] for a, b in bounds])
        Y.append([tuple(labels[a:b].tolist()) for a, b in bounds])

    def peer(algorithm: str) -> peers.Run:
        learned, judged = (words_of(images.part(part)) for part in parts)
        run = peers.crfsuite(learned, judged, list, algorithm)
        found = [[int(label) for label in y] for y in run.labels]
        return peers.Run(found, run.train_seconds, run.tag_seconds)

    def tagger(seed: int) -> Labels:
        options: dict[str, Any] = {"templates": ["t[-1]"], "history_value": 2.0}
        model = learn(
            images.part(parts[0]), size, step=0.1, random_state=seed, **options
        )
        rows, _, lengths = images.part(parts[1])
        found = model.predict_matrix(rows, lengths)
        return np.split(found, np.cumsum(lengths)[:-1])

    task = _letter_task(history)
    return Problem(
        f"handwriting, {size}",
        "letters, %",
        _letter_task,
        history,
        PreparedInputs(task, X[0]),
        Y[0],
        PreparedInputs(task, X[1]),
        Y[1],
        accuracy,
        10,
        0.1 if pairs else 0.3,
        {1.0: 5, BETA: 10},
        peer,
        tagger,
    )


@cache
def text(
    name: str,
    n_train: int | None = None,
    n_test: int | None = None,
    *,
    mirrored: bool = False,
) -> Problem:
    """Chunks of CoNLL-2000 or Spanish entities; features of `default_templates`.

    Where sentences are `mirrored`, they are decided from the right; the gold labels
    stay those from the left.
    """
    corpus = chunks() if name == "chunk" else spanish()
    train, test = corpus.train[:n_train], corpus.test[:n_test]
    attributes = peers.TemplateAttributes(default_templates(name))
    X = _common(*([attributes(s.columns) for s in part] for part in (train, test)))
    Y = [tuple(s.labels) for s in train]
    labels = sorted({label for y in Y for label in y})
    types = sorted({label[2:] for label in labels if label != "O"})
    if mirrored:
        X = tuple([x[::-1] for x in part] for part in X)
        Y = list(map(WordChunking(types).mirrored, Y))

    def task(history: int, whole: bool = False) -> SequenceLabelling:
        options: dict[str, Any] = {"history": history, "whole": whole}
        if not history:  # alone: nothing but the label of the word itself
            return SequenceLabelling(labels, features=own_row, **options)
        return WordChunking(types, features=own_row, **options)

    def peer(algorithm: str) -> peers.Run:
        return peers.crfsuite(train, test, attributes, algorithm)

    def tagger(seed: int) -> Labels:
        options: dict[str, Any] = {"direction": "left", "memory": "none"}
        return Tagger(name, random_state=seed, **options).fit(train).predict(test)

    first = task(2)
    return Problem(
        "chunks" if name == "chunk" else "Spanish NER",
        "F1, %",
        task,
        2,
        PreparedInputs(first, X[0]),
        Y,
        PreparedInputs(first, X[1]),
        gold_of(test),
        chunk_f1,
        3,
        0.1,
        {1.0: 3, BETA: 5},
        peer,
        tagger,
    )


class InTurn(SequenceLabelling):
    """Tags and chunks in turn with the features of section 6.1.4, four labels back.

    The last label and the last two of the stream itself; the last two of the other. No
    kernel knows it: 66 labels have 20 million histories of four.
    """

    def features(self, x: Any, state: Any) -> Any:
        near = (*("before",) * 4, *state)[-4:]
        own = (("own", near[2]), 1.0), (("own", near[0], near[2]), 1.0)
        other = ((("other", i, near[i]), 1.0) for i in (1, 3))
        return [*x[len(state)], *own, *other]


def four_back(one: Problem) -> Problem:
    """The joint task with `InTurn`."""

    def task(history: int, whole: bool = False) -> SequenceLabelling:
        return InTurn(one.task(0).labels, features=own_row, whole=whole)

    return replace(one, task=task)


@cache
def joint(n_train: int | None = None, n_test: int | None = None) -> Problem:
    """Tags and chunks of words alone, in turn: the tag of a word, then its chunk."""
    corpus = chunks()
    train, test = corpus.train[:n_train], corpus.test[:n_test]
    attributes = peers.TemplateAttributes(default_templates("pos"))

    def doubled(sentences: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        X = [
            [[f"{what} {name}" for name in row] for row in rows for what in "tc"]
            for rows in (attributes(s.columns) for s in sentences)
        ]
        pairs = (zip(s.columns[1], s.labels, strict=True) for s in sentences)
        return X, [tuple(label for pair in one for label in pair) for one in pairs]

    (X, Y), (X_test, gold) = doubled(train), doubled(test)
    X, X_test = _common(X, X_test)
    labels = sorted({label for y in Y for label in y})

    def task(history: int, whole: bool = False) -> SequenceLabelling:
        options: dict[str, Any] = {"history": history, "whole": whole}
        return SequenceLabelling(labels, features=own_row, **options)

    first = task(2)
    return Problem(
        "tags + chunks",
        "labels, %",
        task,
        2,
        PreparedInputs(first, X),
        Y,
        PreparedInputs(first, X_test),
        gold,
        accuracy,
        3,
        0.1,
        {1.0: 2, BETA: 3},
    )
