"""Streams of several classes, and models that give their rows probabilities online."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import data_file
from search_parts.data import letters
from tabular import load

from argmetric.metrics import get_class_metric
from argmetric.stream import OnlineClassifier

MOST, WORDS, COLUMNS, BLOCK = 50_000, 20_000, 256, 500
CONLL = "https://www.cnts.ua.ac.be/conll2000/chunking/"
Rows = tuple[np.ndarray, np.ndarray]


def _standard(X: Any, y: Any, most: int, *, shuffled: bool = True) -> Rows:
    """The first rows, in their order or shuffled, and classes as numbers."""
    X, y = np.asarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1]
    order = np.arange(y.size)
    if shuffled:
        order = np.random.default_rng(0).permutation(y.size)
    X, y = X[order[:most]], y[order[:most]]
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), y


def _table(name: str, *, shuffled: bool) -> Rows:
    table = load(name)
    return _standard(table.X, table.y, MOST, shuffled=shuffled)


def _letters() -> Rows:
    return _standard(letters().pixels, letters().labels, WORDS)


def _words(name: str, column: int, encoding: str = "utf-8") -> Rows:
    """The first words of a corpus in their order, and the tag in a column.

    Features are hashed: the word, its neighbours, its endings and its kind.
    """
    lines = data_file(name, CONLL).read_text(encoding=encoding).splitlines()
    found = [line.split() for line in lines]
    X, tags = np.zeros((WORDS, COLUMNS)), []
    for i in range(len(found)):
        if not found[i]:
            continue
        before = found[i - 1][0] if i and found[i - 1] else ""
        after = found[i + 1][0] if i + 1 < len(found) and found[i + 1] else ""
        word = found[i][0]
        kind = f"{word[0].isupper()}{word.isdigit()}"
        for f in (f"w{word}", f"b{before}", f"a{after}", f"2{word[-2:]}", kind):
            X[len(tags), zlib.crc32(f.lower().encode()) % COLUMNS] += 1.0
        tags.append(found[i][column])
        if len(tags) == WORDS:
            break
    return _standard(X[: len(tags)], tags, WORDS, shuffled=False)


CHOSEN_ON: dict[str, Callable[[], Rows]] = {
    "handwriting": _letters,
    "chunks of words": lambda: _words("conll2000/train.txt", 2),
    "tags of words": lambda: _words("conll2000/test.txt", 1),
}
SHOWN: dict[str, Callable[[], Rows]] = {
    "letter": lambda: _table("letter", shuffled=True),
    "optdigits": lambda: _table("optdigits", shuffled=True),
    "covtype, shuffled": lambda: _table("covtype", shuffled=True),
    "covtype, in order": lambda: _table("covtype", shuffled=False),
    "Spanish entities": lambda: _words("conll2002/esp.train", 2, "latin-1"),
    "treebank tags": lambda: _words("deptb/train.dp", 1),
}


def models(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Probabilities of every row before its label was seen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    classes = np.unique(y)
    mixture = OnlineClassifier()
    _, learned = mixture.progressive(X, y, classes=classes, return_proba=True)
    bayes, p = GaussianNB(), np.full((y.size, classes.size), 1.0 / classes.size)
    with np.errstate(divide="ignore"):  # classes without a row so far
        for i in range(0, y.size, BLOCK):
            cut = slice(i, i + BLOCK)
            if i:
                p[cut] = bayes.predict_proba(X[cut])
            bayes.partial_fit(X[cut], y[cut], classes=classes)
    first = y.size // 10
    fixed = np.zeros_like(p)
    logistic = LogisticRegression(max_iter=300).fit(X[:first], y[:first])
    fixed[:, logistic.classes_] = logistic.predict_proba(X)
    return {"mixture": learned, "naive Bayes": p, "fixed logistic": fixed}


def recalibrated(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """softmax(a·log p + b), a and b by AdaGrad on the rows before each row."""
    z = np.log(np.clip(p, 1e-12, None))
    z -= z.mean(axis=1, keepdims=True)
    a, b, sum_a, sum_b = 1.0, np.zeros(z.shape[1]), 1e-8, np.full(z.shape[1], 1e-8)
    found = np.empty_like(z)
    for i, true in enumerate(y):
        q = a * z[i] + b
        q = np.exp(q - q.max())
        found[i] = q = q / q.sum()
        slope = q.copy()
        slope[true] -= 1.0
        by_a = slope @ z[i]
        sum_a, sum_b = sum_a + by_a**2, sum_b + slope**2
        a = max(a - 0.05 * by_a / np.sqrt(sum_a), 0.01)
        b = b - 0.1 * slope / np.sqrt(sum_b)
    return found


def drawn(seed: int, width: int, steep: float, uneven: float) -> Rows:
    """True probabilities of several classes, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    z = steep * rng.normal(size=(20_000, width))
    p = np.exp(z - uneven * 6.0 / width * np.arange(width))
    p /= p.sum(axis=1, keepdims=True)
    above = p.cumsum(axis=1) < rng.random(len(p))[:, None]
    return p, np.minimum(above.sum(axis=1), width - 1)


def score(metric: str, y: np.ndarray, labels: np.ndarray, width: int) -> float:
    """In points."""
    table = np.bincount(y * width + labels, minlength=width**2).reshape(width, width)
    return 100.0 * float(get_class_metric(metric, n_classes=width).score(table))


def standard_error(
    metric: str, y: np.ndarray, first: np.ndarray, second: np.ndarray, width: int
) -> float:
    """Of the difference of two scores, by 100 bootstraps of the rows."""
    rng, found = np.random.default_rng(0), []
    value = get_class_metric(metric, n_classes=width).score
    for _ in range(100):
        weight = rng.poisson(1.0, y.size)
        tables = (
            np.bincount(y * width + labels, weight, width**2).reshape(width, width)
            for labels in (first, second)
        )
        one, other = map(value, tables)
        found.append(100.0 * (one - other))
    return float(np.std(found))
