"""Scores of real models on rows that they have not seen: the cases of every section.

A set is shuffled once and dealt into five parts. In split i part i is the test, and the
rest is dealt anew into a training part and a reference, 4,000 rows each at most: tests
never overlap, and where a set has 60,000 rows or more, nothing does. Of several classes
the one of median frequency is positive, of two the rarer. Sparse sets keep their 300
most frequent columns. A reference of 200, 1,000 or 4,000 rows is the first so many of
its rows. A case counts where the test has 20 rows or more of each class and the
reference 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tabular import MEMORY, dense, load, new_model, positive

# Two halves: every choice was made on the first, and the second was looked at last.
# Sets of the same origin are in one half.
CHOSEN_ON = (
    "a9a", "annthyroid", "bio_kdd04", "breastw", "cover_odds", "covtype",
    "mammography", "optdigits", "optdigits_odds", "spambase", "spambase_ad", "smtp",
)  # fmt: skip
SHOWN_ON = (
    "celeba", "elec2", "ijcnn1", "letter", "magic", "pendigits_odds",
    "reuters_tick", "scene", "shuttle", "spamassassin", "w8a", "wdbc",
)  # fmt: skip
MODELS = ("logistic", "forest", "boosting", "neighbours", "bayes")
SIZES = (200, 1000, 4000)
SPLITS = 5
MOST = 4000  # rows of each part
FEWEST_TESTED, FEWEST_KNOWN = 20, 5  # rows of a class


@dataclass(frozen=True)
class Case:
    """What one model says of a split: its reference of some size, and its test."""

    name: str
    split: int
    model: str
    size: int
    reference_y: np.ndarray
    reference_p: np.ndarray
    y: np.ndarray
    p: np.ndarray


def over_cases(
    measure: Callable[[Case], list[dict[str, Any]]],
    *,
    quick: bool,
    splits: int = SPLITS,
) -> list[dict[str, Any]]:
    """What `measure` gives for every case of some splits, two at a time."""
    names = ("mammography", "wdbc") if quick else CHOSEN_ON + SHOWN_ON
    numbers = range(1 if quick else splits)
    jobs = (delayed(_of_split)(measure, name, i) for name in names for i in numbers)
    return [row for rows in Parallel(n_jobs=2)(jobs) for row in rows]


def _of_split(
    measure: Callable[[Case], list[dict[str, Any]]], name: str, split: int
) -> list[dict[str, Any]]:
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds without a positive, and the like
        for scored in _scores(name, split):
            for case in _by_size(scored):
                about = {"set": name, "sets": half_of(name), "split": split}
                about |= {"model": case.model, "size": case.size}
                rows += [about | row for row in measure(case)]
    return rows


def half_of(name: str) -> str:
    return "chosen on" if name in CHOSEN_ON else "shown on"


def by_half(
    rows: list[dict[str, Any]], **about: Any
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows, of which these things hold, of each half of the sets and both."""
    rows = [row for row in rows if about.items() <= row.items()]
    for half in ("shown on", "chosen on", "both"):
        part = [row for row in rows if half in (row["sets"], "both")]
        if part:
            yield half, part


def _by_size(scored: Case) -> Iterator[Case]:
    """The first rows of a reference, in every size that it has."""
    before = 0
    for size in SIZES:
        y, p = scored.reference_y[:size], scored.reference_p[:size]
        fewest = min(_rarer(y), _rarer(scored.y) + FEWEST_KNOWN - FEWEST_TESTED)
        if y.size > before and fewest >= FEWEST_KNOWN:
            yield replace(scored, size=size, reference_y=y, reference_p=p)
        before = y.size


def _rarer(y: np.ndarray) -> int:
    return int(min(y.sum(), y.size - y.sum()))


def load_split(name: str, split: int) -> tuple[np.ndarray, ...]:
    """X and y of a set; the rows of its training part, its reference and its test."""
    table = load(name)
    X, y = dense(table.X), positive(table.y)
    return X, y, *_parts(y.size, split)


@MEMORY.cache
def _scores(name: str, split: int) -> list[Case]:
    """Scores of all models, which take most of the time."""
    X, y, train, reference, test = load_split(name, split)
    cases = []
    for model in MODELS if y[train].sum() >= FEWEST_KNOWN else ():
        fitted = new_model(model).fit(X[train], y[train])
        p = [fitted.predict_proba(X[rows])[:, 1] for rows in (reference, test)]
        about = (name, split, model, reference.size)
        cases.append(Case(*about, y[reference], p[0], y[test], p[1]))
    return cases


def _parts(n: int, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(n)
    part = np.array_split(order, SPLITS)[split]
    if part.size >= 3 * MOST:
        return part[:MOST], part[MOST : 2 * MOST], part[2 * MOST : 3 * MOST]
    rest = np.setdiff1d(order, part)
    rest = np.random.default_rng(1 + split).permutation(rest)
    half = min(MOST, rest.size // 2)
    return rest[:half], rest[half : 2 * half], part[:MOST]
