"""Measure limits with a confidence: how often they are broken, and what they leave.

    python benchmarks/guarantees.py                 # everything, some twenty minutes
    python benchmarks/guarantees.py floors          # precision, with a peer
    python benchmarks/guarantees.py climb           # precision, by kind of model
    python benchmarks/guarantees.py review          # accept, ask or reject, with a peer
    python benchmarks/guarantees.py review_a9a      # the same on one more set
    python benchmarks/guarantees.py classes         # a class or a person, with a peer
    python benchmarks/guarantees.py parity          # a gap between groups, with a peer
    python benchmarks/guarantees.py --quick         # a smoke run

A pool is what one model says of rows that it was not trained on; n of them are drawn,
a threshold is certified on them, and the whole pool says what it keeps. The oracle is
the lowest threshold that keeps the floor on the pool. A floor counts where the oracle
finds 5 % of the positives. MAPIE, where it is installed, gets the same draws. Every
line is one JSON object; the worst cell is the pool and floor that broke most often.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from classes_parts.cases import SETTINGS, loaded
from harness import emit, run_sections
from tabular import (
    class_probabilities,
    dense,
    load,
    new_model,
    positive,
    probability_classifier,
)

import argmetric as am
from argmetric._verbs import _binomial as tests

SETS = ("celeba", "elec2", "ijcnn1", "letter", "magic", "shuttle", "w8a")
MODELS: dict[str, dict[str, Any]] = {
    "logistic": {"max_iter": 500},
    "forest": {"n_estimators": 200},
    "boosting": {},
    "neighbours": {"n_neighbors": 25},
    "bayes": {},
}
FLOORS = (0.5, 0.8, 0.9, 0.95)
SIZES = (100, 300, 1000, 3000)
CLIMB_SIZES = (200, 300, 1000, 3000)
CONFIDENCE, DELTA = 0.9, 0.1
TRAINED, POOL = 4000, 30_000  # most rows
PEER_DRAWS = 4  # a cell, of the review section: MAPIE takes seconds for each
FEWEST = 0.05  # recall of the oracle below which a floor is out of reach
WITHOUT = {"n_bootstrap": 0, "cv": None}


@dataclass(frozen=True)
class Pool:
    name: str
    y: np.ndarray
    p: np.ndarray

    def counts(self, threshold: float) -> tuple[int, int]:
        """True and false positives of `p >= threshold`."""
        chosen = self.p >= threshold
        hits = int(self.y[chosen].sum())
        return hits, int(chosen.sum()) - hits

    def precision(self, threshold: float) -> float:
        tp, fp = self.counts(threshold)
        return tp / (tp + fp) if tp + fp else 1.0

    def recall(self, threshold: float) -> float:
        return self.counts(threshold)[0] / int(self.y.sum())

    def oracle(self, floor: float) -> float:
        """Recall of the lowest threshold that keeps the floor."""
        order = np.argsort(-self.p, kind="stable")
        hits = np.cumsum(self.y[order])
        ends = np.flatnonzero(np.append(np.diff(self.p[order]) != 0, True))
        kept = hits[ends] >= floor * (ends + 1)
        return float(hits[ends][kept].max(initial=0) / hits[-1])


def pools(quick: bool, sets: tuple[str, ...] = SETS) -> Iterator[Pool]:
    for name in sets[: 1 if quick else None]:
        table = load(name)
        X, y = dense(table.X), positive(table.y).astype(np.int64)
        order = np.random.default_rng(0).permutation(y.size)[: TRAINED + POOL]
        first, rest = order[:TRAINED], order[TRAINED:]
        for kind, settings in MODELS.items():
            model = new_model(kind, **settings).fit(X[first], y[first])
            p = model.predict_proba(X[rest])[:, 1]
            yield Pool(f"{name} {kind}", y[rest], p)


def draws(
    pool: Pool, n: int, count: int, *seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng([n, len(pool.name), *seed])
    for _ in range(count):
        rows = rng.choice(pool.y.size, n, replace=False)
        if 0 < pool.y[rows].sum() < n:
            yield pool.y[rows], pool.p[rows]


def threshold_of(y: Any, p: Any, metric: Any, **limits: Any) -> Any:
    """The certified threshold, and the promise; None where nothing is proven."""
    try:
        rule = am.tune(y, p, metric, **WITHOUT, **limits)
    except am.NotCertifiedError:
        return None
    return rule.threshold, rule.guarantee


def mapie_threshold(
    y: Any, p: Any, floor: float, confidence: float, **options: Any
) -> Any:
    """The threshold of MAPIE's default, Bonferroni-Holm, and no promise; None for none.

    Its split_fixed_sequence kept less recall and took a hundred times as long.
    """
    from mapie.risk_control import BinaryClassificationController

    controller = BinaryClassificationController(
        lambda X: np.c_[1 - X[:, 0], X[:, 0]],
        "precision",
        floor,
        confidence_level=confidence,
        best_predict_param_choice="recall",
        **options,
    )
    controller.calibrate(p[:, None], y)
    best = controller.best_predict_param
    return None if best is None else (float(best), None)


def mapie_screened(y: Any, p: Any, floor: float, confidence: float) -> Any:
    """The same, of its grid without thresholds that select no row.

    A threshold without rows has the p-value NaN, and Bonferroni-Holm (MAPIE 1.6.0)
    takes the NaN first and stops: then nothing is certified.
    """
    grid = np.linspace(0.0, 0.99, 100)
    grid = grid[grid <= p.max()]
    return mapie_threshold(y, p, floor, confidence, list_predict_params=grid)


class Tally:
    """Over draws of each cell: broken, share of the best that is kept, none found."""

    def __init__(self) -> None:
        self.cells: dict[str, list[tuple[bool, float, bool]]] = defaultdict(list)

    def add(self, cell: str, broken: bool, kept: float, found: bool) -> None:
        self.cells[cell].append((broken, kept, not found))

    def kept(self) -> dict[str, float]:
        """Mean share of each cell."""
        rows = self.cells.items()
        return {cell: float(np.mean([x for _, x, _ in one])) for cell, one in rows}

    def tell(self, section: str, what: str, delta: float | None, **more: Any) -> None:
        means = {name: np.mean(rows, axis=0) for name, rows in self.cells.items()}
        broken, kept, none = np.mean(list(means.values()), axis=0)
        worst = max(means, key=lambda name: means[name][0])
        n = len(self.cells[worst])
        target, error = None, math.nan
        if delta is not None:
            error = 2 * math.sqrt(delta * (1 - delta) / n)
            target = ("<=", delta + error)
        emit(
            section,
            f"{what}: broken in the worst cell",
            float(means[worst][0]),
            "share of draws",
            target,
            cell=worst,
            two_errors=error,
            broken=float(broken),
            kept=float(kept),
            none_found=float(none),
            cells=len(means),
            draws=n,
            **more,
        )


def floors(quick: bool) -> None:
    """Floors under precision: this, a peer, and a floor on the rows themselves."""
    found = list(pools(quick))
    count = 3 if quick else 100
    peers = importlib.util.find_spec("mapie") is not None
    for n in SIZES[: 1 if quick else None]:
        tallies: dict[str, Tally] = defaultdict(Tally)
        for pool in found:
            if n > pool.y.size / 3:
                continue
            for floor in FLOORS:
                best = pool.oracle(floor)
                if best < FEWEST:
                    continue
                cell = f"{pool.name} {floor:g}"
                for y, p in draws(pool, n, count):
                    limits = {"min_precision": floor, "confidence": CONFIDENCE}
                    ways = {"this": threshold_of(y, p, "recall", **limits)}
                    if peers:
                        ways["MAPIE"] = mapie_threshold(y, p, floor, CONFIDENCE)
                        ways["MAPIE, screened grid"] = mapie_screened(
                            y, p, floor, CONFIDENCE
                        )
                    rule = am.tune(y, p, "recall", min_precision=floor, **WITHOUT)
                    ways["on these rows"] = rule.threshold, None
                    for way, answer in ways.items():
                        cut = math.inf if answer is None else answer[0]
                        seen = pool.precision(cut) < floor, pool.recall(cut) / best
                        tallies[way].add(cell, *seen, answer is not None)
        for way, tally in tallies.items():
            delta = 1 - CONFIDENCE if way == "this" else None
            tally.tell("floors", f"precision, {way}, n = {n:,}", delta, n=n)


def certified(y: Any, p: Any, floor: float, delta: float) -> float:
    """Return the threshold that `tune` certifies for recall, infinite for none."""
    cuts = tests.rank_cuts(p, y > 0, floor, delta)
    start = tests.climbed_start(cuts, probabilities=True)
    passed = tests.passed_chain(cuts, start)
    if passed is None:
        return math.inf
    part = slice(passed[0], passed[1] + 1)
    return float(cuts.scores[part][np.argmax((cuts.k - cuts.errors)[part])])


def climb(quick: bool) -> None:
    """Recall kept and limits broken, by kind of model."""
    found = list(pools(quick))
    for n in CLIMB_SIZES[: 1 if quick else None]:
        count = 3 if quick else 100 if n < 3000 else 40
        tallies: dict[str, Tally] = defaultdict(Tally)
        for pool, floor in product(found, FLOORS):
            best, kind = pool.oracle(floor), pool.name.split(" ", 1)[1]
            if best < FEWEST or n > pool.y.size / 3:
                continue
            for number, (y, p) in enumerate(draws(pool, n, count)):
                cut = certified(y, p, floor, DELTA)
                if number == 0:
                    limits = {"min_precision": floor, "confidence": CONFIDENCE}
                    tuned = threshold_of(y, p, "recall", **limits)
                    assert cut == (math.inf if tuned is None else tuned[0])
                seen = pool.precision(cut) < floor, pool.recall(cut) / best
                for of in (kind, "all models"):
                    tallies[of].add(f"{pool.name} {floor:g}", *seen, cut < math.inf)
        for kind, tally in tallies.items():
            tally.tell("climb", f"{kind}, n = {n:,}", DELTA, n=n)
        draw_again(found, tallies["all models"], n)


def draw_again(found: list[Pool], tally: Tally, n: int) -> None:
    """Draw the cell that broke most often anew: the worst of many is partly luck."""
    if not tally.cells:
        return
    worst = max(tally.cells, key=lambda name: np.mean(tally.cells[name], axis=0)[0])
    name, floor = worst.rsplit(" ", 1)
    pool = next(one for one in found if one.name == name)
    broken = [
        pool.precision(certified(y, p, float(floor), DELTA)) < float(floor)
        for y, p in draws(pool, n, 800, 1)
    ]
    what = f"{worst} drawn again, n = {n:,}"
    emit("climb", what, float(np.mean(broken)), "share of draws", draws=len(broken))


def promises(quick: bool) -> None:
    """The other limits."""
    found = list(pools(quick))
    count = 3 if quick else 50
    for n in SIZES[: 1 if quick else None]:
        tallies: dict[str, Tally] = defaultdict(Tally)
        for pool in found:
            if n > pool.y.size / 3:
                continue
            n_pos, size = int(pool.y.sum()), pool.y.size
            f1_best = max(
                2 * tp / (tp + fp + n_pos)
                for tp, fp in map(
                    pool.counts, np.quantile(pool.p, np.arange(1, 400) / 400)
                )
            )
            limited: dict[str, dict[str, Any]] = {
                "recall": {"min_recall": 0.8},
                "specificity": {"min_specificity": 0.95},
                "budget": {"max_positives": "10%"},
                "f1": {},
            }
            for y, p in draws(pool, n, count):
                for name, limits in limited.items():
                    answer = threshold_of(y, p, "f1", confidence=CONFIDENCE, **limits)
                    if answer is None:
                        tallies[name].add(pool.name, False, 0.0, False)
                        continue
                    cut, promise = answer
                    tp, fp = pool.counts(cut)
                    f1 = 2 * tp / (tp + fp + n_pos)
                    broken = {
                        "recall": tp < 0.8 * n_pos,
                        "specificity": fp > 0.05 * (size - n_pos),
                        "budget": tp + fp > 0.1 * size,
                        "f1": f1 < promise.promises[0].bound,
                    }[name]
                    kept = (promise.promises[0].bound if name == "f1" else f1) / f1_best
                    tallies[name].add(pool.name, broken, kept, True)
        for name, tally in tallies.items():
            tally.tell("promises", f"{name}, n = {n:,}", DELTA, n=n)


REVIEWED = ("celeba", "elec2", "ijcnn1", "letter", "magic", "w8a")
REVIEW_SIZES = (300, 1000)
BARS = {300: 0.6, 1000: 0.7}  # rows decided, at the least
BAND = {"min_precision": 0.9, "min_npv": 0.9, "confidence": CONFIDENCE}


def mapie_band(y: Any, p: Any) -> tuple[float, float]:
    """Both cuts by Bonferroni-Holm over a grid; nobody is decided without one."""
    from mapie.risk_control import BinaryClassificationController

    def predict(X: Any, low: float, high: float) -> Any:
        score = X[:, 0]
        return np.where(score >= high, 1.0, np.where(score < low, 0.0, math.nan))

    ends = np.linspace(0.0, 1.0, 25)
    controller = BinaryClassificationController(
        predict,
        ["precision", "negative_predictive_value"],
        [BAND["min_precision"], BAND["min_npv"]],
        confidence_level=CONFIDENCE,
        best_predict_param_choice="abstention_rate",
        list_predict_params=np.array([(a, b) for a in ends for b in ends if a <= b]),
    )
    controller.calibrate(p[:, None], y)
    best = controller.best_predict_param
    return (-math.inf, math.inf) if best is None else (float(best[0]), float(best[1]))


def mapie_sides(y: Any, p: Any) -> tuple[float, float]:
    """Both cuts, each by a controller of its own with half of the risk."""
    sure = 1.0 - DELTA / 2
    above = mapie_threshold(y, p, BAND["min_precision"], sure)
    below = mapie_threshold(1 - y, 1.0 - p, BAND["min_npv"], sure)
    high = math.inf if above is None else above[0]
    low = -math.inf if below is None else float(np.nextafter(1.0 - below[0], 2.0))
    return low, high


def judged(pool: Pool, low: float, high: float) -> tuple[bool, float]:
    """Whether a promise of the band breaks, and the share of rows that are decided."""
    high = max(high, min(low, 1.1))  # where cuts cross
    accepted, rejected = pool.p >= high, pool.p < low
    broken = pool.y[accepted].sum() < BAND["min_precision"] * accepted.sum()
    broken |= (1 - pool.y[rejected]).sum() < BAND["min_npv"] * rejected.sum()
    return bool(broken), float((accepted | rejected).mean())


def review(quick: bool) -> None:
    """Rows decided with both promises, how often one breaks, and the interval."""
    found = [one for one in pools(quick) if one.name.split(" ")[0] in REVIEWED]
    peers = importlib.util.find_spec("mapie") is not None
    count = 3 if quick else 100
    for n in REVIEW_SIZES[: 1 if quick else None]:
        tallies: dict[str, Tally] = defaultdict(Tally)
        covered = []
        for pool in found:
            for number, (y, p) in enumerate(draws(pool, n, count)):
                ways = {}
                try:
                    rule = am.tune(y, p, review=True, **BAND)
                    ways["this"] = rule.low, rule.high
                except am.NotCertifiedError:
                    ways["this"] = -math.inf, math.inf
                    rule = None
                if peers and number < PEER_DRAWS:
                    ways["MAPIE, grid"] = mapie_band(y, p)
                    ways["MAPIE, a controller a side"] = mapie_sides(y, p)
                for way, (low, high) in ways.items():
                    broken, decided = judged(pool, low, high)
                    tallies[way].add(pool.name, broken, decided, decided > 0)
                    if way == "this" and rule is not None:
                        ends = rule.automated_interval
                        covered.append(ends.low <= decided <= ends.high)
        for way, tally in tallies.items():
            delta = DELTA if way == "this" else None
            tally.tell("review", f"{way}, n = {n:,}", delta, n=n)
            if way == "this":
                decided = tally.kept()
                of_set = {
                    name: np.mean([x for cell, x in decided.items() if name in cell])
                    for name in REVIEWED
                }
                what, mean = f"rows decided, n = {n:,}", np.mean([*decided.values()])
                bar = None if quick else (">=", BARS[n])
                emit("review", what, float(mean), "of all rows", bar, n=n, **of_set)
        what = f"interval of the rows decided, n = {n:,}"
        emit("review", what, float(np.mean(covered)), "covered", nominal=0.9, n=n)


def review_a9a(quick: bool) -> None:
    """How often the promises of both cuts break on a9a, with more draws."""
    count = 3 if quick else 400
    for pool in pools(quick, ("a9a",)):
        for n in REVIEW_SIZES[: 1 if quick else None]:
            broken = []
            for y, p in draws(pool, n, count, 2):
                try:
                    rule = am.tune(y, p, review=True, **BAND)
                except am.NotCertifiedError:
                    broken.append(False)
                else:
                    broken.append(judged(pool, rule.low, rule.high)[0])
            error = 2 * math.sqrt(DELTA * (1 - DELTA) / len(broken))
            what, value = f"{pool.name}, n = {n:,}: broken", float(np.mean(broken))
            target = None if quick else ("<=", DELTA + error)
            emit("review_a9a", what, value, "share of draws", target, draws=len(broken))


CLASS_SETS = ("covtype", "letter", "optdigits", "ocr")
CLASS_PROMISE = {"min_precision": 0.9, "confidence": CONFIDENCE}


def class_pools(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """A name, classes and probabilities of rows that a model was not trained on."""
    for name in CLASS_SETS[-2 if quick else 0 :][: 1 if quick else None]:
        X, labels = loaded(name)
        codes = np.unique(labels, return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(codes.size)
        trained = min(TRAINED, codes.size // 4)
        first, rest = order[:trained], order[trained : trained + POOL]
        for kind, settings in SETTINGS.items():
            model = new_model(kind, **settings).fit(X[first], codes[first])
            p = class_probabilities(model, X[rest], int(codes.max()) + 1)
            yield f"{name} {kind}", codes[rest], p


def mapie_classes(y: Any, p: Any) -> np.ndarray:
    """The lowest valid threshold, which is one for all classes; infinite for none.

    Its own choice among the valid ones favours the precision of the first class. Its
    grid is that of thresholds at which each class has rows: see `mapie_screened`.
    """
    from mapie.risk_control import MultiClassificationLTTController
    from mapie.risk_control.risks import build_precision_ovr

    classes, best = np.arange(p.shape[1]), p.argmax(axis=1)
    most = min(p[best == c, c].max(initial=0.0) for c in classes)
    grid = np.linspace(0.0, 0.99, 100)
    controller = MultiClassificationLTTController(
        lambda X: X,
        build_precision_ovr(classes),
        [CLASS_PROMISE["min_precision"]] * classes.size,
        confidence_level=CONFIDENCE,
        classes=classes,
        list_predict_params=grid[grid <= most],
    )
    valid = np.asarray(controller.calibrate(p, y).valid_predict_params)
    return np.full(classes.size, valid.min() if valid.size else math.inf)


def classes(quick: bool) -> None:
    """Rows given a class, and how often the promise of a class, or of any, breaks."""
    peers = importlib.util.find_spec("mapie") is not None
    count = 3 if quick else 100
    tallies: dict[tuple[int, str], Tally] = defaultdict(Tally)
    by_class: dict[tuple[int, str], Tally] = defaultdict(Tally)
    for name, y, p in class_pools(quick):
        best = p.argmax(axis=1)
        top, names = p[np.arange(y.size), best], range(p.shape[1])
        for n, number in product(REVIEW_SIZES[: 1 if quick else None], range(count)):
            rows = np.random.default_rng([n, number]).choice(y.size, n, replace=False)
            ways = {"this": np.full(len(names), math.inf)}
            with contextlib.suppress(am.NotCertifiedError):
                ways["this"] = am.classes.tune(
                    y[rows], p[rows], classes=names, review=True, **CLASS_PROMISE
                ).thresholds
            if peers and number < PEER_DRAWS:
                ways["MAPIE"] = mapie_classes(y[rows], p[rows])
            for way, cuts in ways.items():
                given = top >= cuts[best]
                taken = np.bincount(best[given], minlength=len(names))
                right = np.bincount(best[given & (y == best)], minlength=len(names))
                broken = right < CLASS_PROMISE["min_precision"] * taken
                seen = float(given.mean()), bool(given.any())
                tallies[n, way].add(name, bool(broken.any()), *seen)
                for c in np.flatnonzero(taken) if way == "this" else ():
                    by_class[n, way].add(f"{name} {c}", bool(broken[c]), *seen)
    for (n, way), tally in tallies.items():
        delta = DELTA if way == "this" else None
        tally.tell("classes", f"{way}, n = {n:,}", delta, n=n)
        for key in CLASS_SETS:
            some = [x for cell, x in tally.kept().items() if key in cell]
            if some:
                what = f"rows given a class, {way}, {key}, n = {n:,}"
                emit("classes", what, float(np.mean(some)), "of all rows", n=n)
    for (n, way), tally in by_class.items():
        worst = max(
            (np.mean([x for x, *_ in seen]) * len(seen) / count, cell)
            for cell, seen in tally.cells.items()
        )
        what = f"one class of {way}, n = {n:,}: broken in the worst"
        emit("classes", what, float(worst[0]), "share of draws", cell=worst[1], n=n)


FEMALE = 71  # column of a9a
GAPS = ((4000, 0.1), (16_000, 0.05))


def fairlearn_labels(y: Any, p: Any, at: Any, new: Any, of: Any, gap: float) -> Any:
    """Labels of new rows for two seeds, from a threshold optimiser."""
    from fairlearn.postprocessing import ThresholdOptimizer

    optimiser = ThresholdOptimizer(
        estimator=probability_classifier(y),
        constraints="true_positive_rate_parity",
        objective="balanced_accuracy_score",
        predict_method="predict_proba",
        prefit=True,
        tol=gap,
    ).fit(p[:, None], y, sensitive_features=at)
    how = {"sensitive_features": of}
    return [optimiser.predict(new[:, None], **how, random_state=i) for i in (0, 1)]


def parity(quick: bool) -> None:
    """Recall of women and men in a9a: F1 of the pool, gaps broken, labels by luck."""
    table = load("a9a")
    X, y = dense(table.X), positive(table.y).astype(np.int64)
    order = np.random.default_rng(0).permutation(y.size)
    first, rest = order[:TRAINED], order[TRAINED:]
    peers = importlib.util.find_spec("fairlearn") is not None
    sex = (X[rest, FEMALE] > 0).astype(np.int64)
    for kind, (n, gap) in product(("logistic", "boosting"), GAPS):
        model = new_model(kind, **MODELS[kind]).fit(X[first], y[first])
        labels, scores = y[rest], model.predict_proba(X[rest])[:, 1]
        scores = scores + np.random.default_rng(1).uniform(0, 1e-9, scores.size)
        scores = np.clip(scores, 0.0, 1.0)  # noise breaks the few ties
        tallies: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for number in range(3 if quick else 60):
            rows = np.random.default_rng([n, number]).permutation(labels.size)
            known, new = rows[:n], slice(None)  # the pool is the population
            given = labels[known], scores[known]
            asked = ("recall", sex[known], gap)
            ways: dict[str, Any] = {}
            for name, confidence in (("this", CONFIDENCE), ("these rows", None)):
                rule = am.tune(*given, "f1", parity=asked, confidence=confidence)
                ways[name] = [rule.apply(scores[new], sex[new])] * 2
            if peers and number < 10:
                ways["fairlearn"] = fairlearn_labels(
                    *given, sex[known], scores[new], sex[new], gap
                )
            for name, (one, other) in ways.items():
                hit = one[labels[new] == 1]
                of = sex[new][labels[new] == 1]
                between = abs(hit[of == 1].mean() - hit[of == 0].mean())
                f1 = am.evaluate(labels[new], one, "f1")
                tallies[name].append((float(f1), between > gap, (one != other).mean()))
        for name, seen in tallies.items():
            f1, broken, flipped = np.mean(seen, axis=0).tolist()
            what = f"{name}, {kind}, n = {n:,}, gap {gap:g}: gap broken"
            error = 2 * math.sqrt(DELTA * (1 - DELTA) / len(seen))
            target = ("<=", DELTA + error) if name == "this" and not quick else None
            more = {"f1": f1, "flipped": flipped, "draws": len(seen)}
            emit("parity", what, broken, "share of draws", target, **more)


if __name__ == "__main__":
    sections: Any = {"floors": floors, "climb": climb}
    sections |= {"review": review, "review_a9a": review_a9a, "classes": classes}
    sections |= {"parity": parity, "promises": promises}
    raise SystemExit(run_sections(__doc__, sections))
