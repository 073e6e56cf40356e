"""MAPIE: a floor under precision that holds for new rows with a confidence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, product

import numpy as np
from guarantees import Pool, mapie_screened, mapie_threshold, threshold_of
from search_parts.data import timed

from peers_parts.cases import models
from peers_parts.rows import Row

FLOOR, CONFIDENCE, ROWS = 0.8, 0.9, 500
ASKED = (
    'BinaryClassificationController(model.predict_proba, "precision", 0.8, '
    'confidence_level=0.9, best_predict_param_choice="recall"'
)
DEFAULT = ASKED + ")"
CUT = ASKED + ", list_predict_params=thresholds up to the largest score)"
OURS = 'tune(y, p, "recall", min_precision=0.8, confidence=0.9)'
POOL, TRAINED = 20_000, 2_000
DRAWS, SEEDS = 100, 5


def pools(fast: bool) -> Iterator[tuple[str, Pool]]:
    """Yield the data and the pool of each model where the floor can be kept."""
    from sklearn.datasets import make_classification

    settings = product((0.5, 0.2), range(SEEDS))
    for share, seed in islice(settings, 1 if fast else None):
        data = f"{share:.0%} positive, seed {seed}"
        X, y = make_classification(
            TRAINED + POOL,
            n_informative=6,
            n_clusters_per_class=3,
            weights=[1.0 - share],
            flip_y=0.05,
            random_state=seed,
        )
        for kind, model in list(models().items())[: 1 if fast else None]:
            model.fit(X[:TRAINED], y[:TRAINED])
            p = model.predict_proba(X[TRAINED:])[:, 1]
            pool = Pool(f"{share:.0%} positive, {kind}, seed {seed}", y[TRAINED:], p)
            if pool.oracle(FLOOR) >= 0.05:
                yield data, pool


def _cut(y: np.ndarray, p: np.ndarray) -> float:
    found = mapie_screened(y, p, FLOOR, CONFIDENCE)
    return np.inf if found is None else found[0]


def _mapie(y: np.ndarray, p: np.ndarray) -> float:
    found = mapie_threshold(y, p, FLOOR, CONFIDENCE)
    return np.inf if found is None else found[0]


def _ours(y: np.ndarray, p: np.ndarray) -> float:
    found = threshold_of(y, p, "recall", min_precision=FLOOR, confidence=CONFIDENCE)
    return np.inf if found is None else float(found[0])


class Table:
    """The rows of one way to ask MAPIE."""

    def __init__(self, theirs: str) -> None:
        ways = theirs, OURS
        self.rows = (
            Row(
                "draws that break a precision of 80 %",
                "%", "at most", *ways, allowed=100.0 - 100.0 * CONFIDENCE,
            ),
            Row("recall of new rows", "%", "higher", *ways),
            Row("draws without a threshold", "%", "lower", *ways),
            Row(f"certify {ROWS} rows", "CPU s", "lower", *ways, ratio=True),
        )  # fmt: skip

    def add(self, case: str, data: str, theirs: np.ndarray, ours: np.ndarray) -> None:
        for row, a, b in zip(self.rows, theirs, ours, strict=True):
            row.add(case, a, b, unit=data)


def run(fast: bool) -> list[Row]:
    """Draw 500 labelled rows of a pool, certify, and look at the whole pool."""
    cut, default = Table(CUT), Table(DEFAULT)
    for number, (data, pool) in enumerate(pools(fast)):
        rng = np.random.default_rng(number)
        told: list[list[tuple[float, ...]]] = [[], [], []]
        for _ in range(2 if fast else DRAWS):
            rows = rng.choice(pool.y.size, ROWS, replace=False)
            y, p = pool.y[rows], pool.p[rows]
            for way, results in zip((_cut, _mapie, _ours), told, strict=True):
                at, seconds = timed(partial(way, y, p))
                broken, none = pool.precision(at) < FLOOR, np.isinf(at)
                results.append(
                    (100.0 * broken, 100.0 * pool.recall(at), 100.0 * none, seconds)
                )
        screened, asked, ours = (np.mean(one, axis=0) for one in told)
        cut.add(f"generated, {pool.name}", data, screened, ours)
        default.add(f"generated, {pool.name}", data, asked, ours)
    return [*cut.rows, *default.rows]
