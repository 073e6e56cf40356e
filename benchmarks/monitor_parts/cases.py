"""Real sets, kinds of models, and periods that are drawn from them.

A set is shuffled: 4,000 rows train the models, or a third of a set of fewer than
10,000, and at most 40,000 others are the pool.
The pool is halved. A reference is drawn from one half and periods from the other. Of
several classes the one of median frequency is positive, of two the rarer. Sparse sets
keep their 300 most frequent columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tabular import MEMORY, dense, load, new_model, positive

# The recipe was chosen on the first half. The second had no part in it.
HALVES = {
    "choose": ("a9a", "celeba", "ijcnn1", "magic"),
    "show": ("elec2", "bio_kdd04", "covtype", "w8a", "letter", "reuters_tick"),
}
# Sets of the section kinds: nothing of `monitor` was chosen on the second half.
HALVES_OF_KINDS = {
    "choose": HALVES["choose"],
    "show": (
        "shuttle", "cover_odds", "spamassassin", "mammography", "annthyroid", "spambase"
    ),
}  # fmt: skip
MODELS = ("logistic", "forest", "boosting", "neighbours")
ALL_MODELS = (*MODELS, "bayes", "over-fitted boosting")
TRAIN, POOL = 4000, 40_000
FEATURES = ("score feature", "error feature", "any feature", "score")


@dataclass(frozen=True)
class Pool:
    """The scores of one model on rows of one set that it has not seen.

    Attributes
    ----------
    sides : ndarray
        A row for every name in FEATURES: the feature most correlated with the score,
        the one most correlated with what the calibrated score leaves over, any
        feature, and the score itself.
    """

    name: str
    model: str
    y: np.ndarray
    p: np.ndarray
    sides: np.ndarray

    @property
    def about(self) -> dict[str, Any]:
        return {"set": self.name, "model": self.model}

    @property
    def share(self) -> float:
        return float(self.y.mean())

    def halved(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows for references and rows for periods, at random."""
        first, second = np.array_split(rng.permutation(self.y.size), 2)
        return first, second


def pools(
    quick: bool,
    half: str,
    halves: dict[str, tuple[str, ...]] = HALVES,
    models: tuple[str, ...] = MODELS,
) -> Iterator[Pool]:
    """Yield every model on every set of a half; models are fitted once."""
    for name in halves[half][: 1 if quick else None]:
        yield from _scored(name, models)


@MEMORY.cache
def _scored(name: str, models: tuple[str, ...]) -> list[Pool]:
    table = load(name)
    X, y = dense(table.X), positive(table.y)
    rng = np.random.default_rng(0)
    order = rng.permutation(y.size)
    first = TRAIN if y.size >= 2.5 * TRAIN else y.size // 3
    train, rows = order[:first], np.sort(order[first : first + POOL])
    found = []
    for model in models:
        p = new_model(model).fit(X[train], y[train]).predict_proba(X[rows])[:, 1]
        found.append(Pool(name, model, y[rows], p, _sides(rng, X[rows], y[rows], p)))
    return found


def _sides(
    rng: np.random.Generator, X: np.ndarray, y: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Values by which rows are drawn, in the order of FEATURES."""
    centred = X - X.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    used = np.flatnonzero(length > 0)

    def strongest(v: np.ndarray) -> int:
        v = v - v.mean()
        return int(used[np.abs(v @ centred[:, used] / length[used]).argmax()])

    of_error = strongest(y - isotonic(y, p)(p))
    chosen = (strongest(p), of_error, int(rng.choice(used)))
    return np.vstack([*(X[:, j] for j in chosen), p])


def isotonic(y: np.ndarray, p: np.ndarray) -> Any:
    """The isotonic map of scikit-learn, fitted to a reference."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(p, y).predict
