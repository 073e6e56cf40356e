"""Scores of models and of judged systems with 0 to 400 labels, chosen and at random.

Own scores: two models of five kinds, 500 labelled rows of before, F1 of each and their
difference. Judged systems: the predictions of one model, the scores of another as they
are, and no reference; accuracy and F1. Beside them stand people's labels alone with a
bootstrap, and for judges PPI++ (Angelopoulos, Duchi and Zrnic 2023), for F1 on its
influence function.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.stats import hypergeom, rankdata

import argmetric as am

KINDS = ("logistic", "forest", "boosting", "bayes", "neighbours")
STEPS = (0, 25, 50, 100, 400)
BATCH = 25
RESAMPLES = 400
Z = 1.6448536269514722  # of a 90 % interval
PAIRS = (0.9, 0.7), (0.8, 0.75), (0.95, 0.9), (0.6, 0.5)
# Slopes and noises of generated judges, and how often their systems are right
JUDGES = {"weak": (0.6, 1.5), "middle": (1.0, 0.7), "strong": (2.0, 0.5)}
RIGHT = *((0.5,), (0.7,), (0.9,), (0.95,), (0.98,), (0.995,)), *PAIRS
PARTS, SWEPT = 8, (25, 100, 400)
APART, NEW = slice(500, 1000), slice(1000, None)
Pool = dict[str, np.ndarray]
Line = dict[str, Any]


def cases(sets: dict[str, tuple[str, ...]], per_set: int) -> Iterator[tuple[str, ...]]:
    """Section, half, set and two models: other pairs of models in every set."""
    pairs, judges = list(combinations(KINDS, 2)), list(permutations(KINDS, 2))
    for j in range(per_set):
        for half, names in sets.items():
            for i, name in enumerate(names):
                yield "judged", half, name, *judges[(7 * j + 3 * i) % len(judges)]
                yield "own", half, name, *pairs[(3 * j + 7 * i) % len(pairs)]


def measured(way: str, labels: int, what: str, truth: float, found: Any) -> Line:
    """A line of what was estimated: mean and interval beside the truth, in points."""
    mean, (low, high) = found[0], found[1]
    return {
        "way": way,
        "labels": labels,
        "what": what,
        "error": 100 * float(mean - truth),
        "below": bool(truth < low - 1e-9),
        "above": bool(truth > high + 1e-9),
        "width": 100 * float(high - low),
    }


def predictions(pool: Pool, model: str) -> np.ndarray:
    """Labels by the threshold of the best F1 on rows apart."""
    how: Any = {"n_bootstrap": 0, "cv": None}
    y, p = pool["y"][APART], pool[model][APART]
    return np.asarray(pool[model][NEW] >= am.tune(y, p, "f1", **how).threshold)


def with_labels(
    start: am.Comparison, y: np.ndarray, rng: np.random.Generator, chosen: bool = True
) -> Iterator[tuple[str, int, am.Comparison, np.ndarray]]:
    """The comparison with more and more labels, chosen and then at random."""
    found = start
    yield "none", 0, found, np.zeros(0, dtype=np.int64)
    for m in STEPS[1:] if chosen else ():
        while found.n_labels < m:
            step = BATCH if m <= 100 else m - found.n_labels
            seed = int(rng.integers(1 << 30))
            rows = found.next_rows(step, random_state=seed)
            found = found.add(rows, y[rows])
        yield "chosen", m, found, np.flatnonzero(found.table.is_labelled)
    order = rng.permutation(y.size)
    for m in STEPS[1:]:
        yield "random", m, start.add(order[:m], y[order[:m]]), order[:m]


def values(metric: str, d: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores of predictions, along the last axis."""
    tp, k, t = (d & y).sum(axis=-1), d.sum(axis=-1), y.sum(axis=-1)
    return np.asarray(am.get_metric(metric).value(tp, k, t, y.shape[-1]))


def auc(y: np.ndarray, p: np.ndarray) -> float:
    """Probability that a positive has the higher score, ties half."""
    rank, t = rankdata(p), int(y.sum())
    return float((rank[y].mean() - (t + 1) / 2) / (y.size - t))


def bootstrap(metric: str, d: np.ndarray, y: np.ndarray, contrast: Any) -> Any:
    """A contrast of scores on labelled rows alone; `d`: (systems, rows)."""
    rows = np.random.default_rng(0).integers(0, y.size, (RESAMPLES, y.size))
    drawn = contrast @ np.stack([values(metric, one[rows], y[rows]) for one in d])
    mean = contrast @ np.stack([values(metric, one, y) for one in d])
    return mean, np.nanquantile(drawn, (0.05, 0.95))


def ppi(metric: str, d: np.ndarray, y: np.ndarray, p: np.ndarray, rows: Any) -> Any:
    """PPI++: λ·E_all[f̂] + E_labelled[f - λ·f̂] with the λ of the least variance."""
    if metric == "accuracy":
        base, f, judged = 0.0, (d == y)[rows] * 1.0, np.where(d, p, 1.0 - p)
    else:
        below = max(d.mean() + y[rows].mean(), 1.0 / rows.size)
        base = 2.0 * (d & y)[rows].mean() / below
        f = (2.0 * (d & y) - base * (d * 1.0 + y))[rows] / below
        judged = (2.0 * d * p - base * (d + p)) / below
    n, variance = rows.size, judged.var()
    power = np.cov(f, judged[rows])[0, 1] / max((1.0 + n / d.size) * variance, 1e-12)
    power = float(np.clip(power, 0.0, 1.0))
    rest = f - power * judged[rows]
    mean = base + power * judged.mean() + rest.mean()
    sd = np.sqrt(power**2 * variance / d.size + rest.var(ddof=1) / n)
    return mean, (mean - Z * sd, mean + Z * sd)


def run_own(pool: Pool, key: tuple[str, ...]) -> list[Line]:
    """F1 of two models and their difference, with a reference."""
    models, y = key[-2:], pool["y"][NEW]
    d = np.stack([predictions(pool, one) for one in models])
    old = pool["y"][:500], [pool[one][:500] for one in models]
    start = am.compare([pool[one][NEW] for one in models], list(d), reference=old)
    truth = values("f1", d, y)
    rng = np.random.default_rng(zlib.crc32(repr(key).encode()))
    lines = []
    for way, m, found, rows in with_labels(start, y, rng):
        for value, one in zip(truth, found.scores().values(), strict=True):
            lines.append(measured(way, m, "F1 of a model", value, one))
        gap = found.difference()
        summary = gap.mean, gap.interval
        line = measured(way, m, "difference of F1", truth[0] - truth[1], summary)
        line["sure"] = max(gap.probability, 1.0 - gap.probability) >= 0.99
        line["right"] = bool((gap.probability > 0.5) == (truth[0] > truth[1]))
        lines.append({**line, "tie": bool(truth[0] == truth[1])})
        if way == "random":
            given = "f1", d[:, rows], y[rows]
            for i, contrast in enumerate(np.eye(2)):
                alone = bootstrap(*given, contrast)
                args = "people, bootstrap", m, "F1 of a model", truth[i], alone
                lines.append(measured(*args))
            alone = bootstrap(*given, np.array([1.0, -1.0]))
            args = "people, bootstrap", m, "difference of F1", truth[0] - truth[1]
            lines.append(measured(*args, alone))
    return lines


def judged(pool: Pool, key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Labels, scores of the judge, predictions, a seeded rng, and what lines say."""
    system, judge = key[-2:]
    y, p, d = pool["y"][NEW], pool[judge][NEW], predictions(pool, system)
    gap = auc(y, p) - auc(y, pool[system][NEW])
    strength = "weaker" if gap < -0.01 else "stronger" if gap > 0.01 else "equal"
    rng = np.random.default_rng(zlib.crc32(repr(key).encode()))
    return y, p, d, rng, {"judge": judge, "strength": strength}


def run_kinds(pool: Pool, key: tuple[Any, ...]) -> list[Line]:
    """Accuracy and F1 of a system by the scores of a judge, with random labels."""
    y, p, d, rng, about = judged(pool, key)
    order, lines = rng.permutation(y.size), []
    for metric in ("accuracy", "f1"):
        start, truth = am.compare(p, [d], metric), float(values(metric, d, y))
        for m in STEPS[1:]:
            rows = order[:m]
            found = start.add(rows, y[rows])
            ways = {"random": (found.mean, found.interval)}
            ways["PPI++"] = ppi(metric, d, y, p, rows)
            for name, one in ways.items():
                what = name, m, f"{metric} of a judged system"
                lines.append({**measured(*what, truth, one), **about})
    return lines


def run_sweep(part: int, judge: str, *right: float) -> list[Line]:
    """Scores of generated systems whose errors no score foretells.

    One system: its accuracy. Labels are random but for the number of rows among them
    where the system is right: it is a quantile of its distribution, another one in each
    of PARTS. Two systems: their F1 and the difference, with random labels.
    """
    seed = zlib.crc32(repr((part, judge, *right)).encode())
    rng, n = np.random.default_rng(seed), 2500
    slope, noise = JUDGES[judge]
    x = rng.normal(-1.0, 2.0, n)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-x))
    d = np.stack([np.where(rng.random(n) < one, y, ~y) for one in right])
    p = 1.0 / (1.0 + np.exp(-slope * x - rng.normal(0.0, noise, n)))
    hit, miss = (rng.permutation(np.flatnonzero(one)) for one in (d[0] == y, d[0] != y))
    both, metric = " and ".join(map(str, right)), ("accuracy", "f1")[len(right) - 1]
    start, truth, lines = am.compare(p, list(d), metric), values(metric, d, y), []
    for m in SWEPT:
        k = int(hypergeom(n, hit.size, m).ppf((part + 0.5) / PARTS))
        rows = np.concatenate([hit[:k], miss[: m - k]])
        if len(right) > 1:
            rows = rng.permutation(n)[:m]
        found = start.add(rows, y[rows])
        each = np.eye(len(right)), found.scores().values()
        for contrast, one, name in zip(*each, right, strict=True):
            ways = {"random": one, "PPI++": ppi(metric, contrast @ d > 0, y, p, rows)}
            ways["people, bootstrap"] = bootstrap(metric, d[:, rows], y[rows], contrast)
            what = f"right {both}: {metric} of {name}", contrast @ truth
            lines += [measured(way, m, *what, two) for way, two in ways.items()]
        if len(right) > 1:
            contrast, gap = np.array([1.0, -1.0]), (found.mean, found.interval)
            alone = bootstrap(metric, d[:, rows], y[rows], contrast)
            ways = {"random": gap, "people, bootstrap": alone}
            what = f"right {both}: difference of f1", contrast @ truth
            lines += [measured(way, m, *what, two) for way, two in ways.items()]
    return lines


def run_judged(pool: Pool, key: tuple[str, ...]) -> list[Line]:
    """Accuracy and F1 of a system by the scores of a judge, without a reference.

    Rows are chosen for F1 alone.
    """
    y, p, d, rng, about = judged(pool, key)
    lines = []
    for metric in ("accuracy", "f1"):
        start = am.compare(p, [d], metric)
        truth = float(values(metric, d, y))
        steps = with_labels(start, y, rng, chosen=metric == "f1")
        for way, m, found, rows in steps:
            what = f"{metric} of a judged system"
            ways = {way: (found.mean, found.interval)}
            if way == "random":
                ways["PPI++"] = ppi(metric, d, y, p, rows)
                alone = bootstrap(metric, d[None, rows], y[rows], np.ones(1))
                ways["people, bootstrap"] = alone
            for name, one in ways.items():
                line = measured(name, m, what, truth, one)
                lines.append({**line, **about})
    return lines


def table(lines: list[Line]) -> str:
    """RMSE, misses at both ends and width, by half, quantity, way and labels."""
    found: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        for one in line["lines"]:
            key = line["half"], one["what"], one["way"], one["labels"]
            found.setdefault(key, []).append(one)
            if one["way"] in ("random", "PPI++") and "judge" in one:
                for part in ("judge", "strength"):
                    name = f"{one['what']}, {one[part]}{' judge' * (part != 'judge')}"
                    key = line["half"], name, one["way"], one["labels"]
                    found.setdefault(key, []).append(one)
    text = ["half,what,labels are,labels,n,RMSE,held,truth below,truth above,width"]
    for key, some in sorted(found.items()):
        errors = np.array([one["error"] for one in some])
        below, above = (np.mean([x[end] for x in some]) for end in ("below", "above"))
        figures = np.sqrt(np.mean(errors**2)), np.mean([one["width"] for one in some])
        ends = f"{1 - below - above:.2f},{below:.2f},{above:.2f}"
        head = ",".join(f'"{x}"' if "," in str(x) else str(x) for x in key)
        text.append(f"{head},{len(some)},{figures[0]:.2f},{ends},{figures[1]:.1f}")
    for half in sorted({line["half"] for line in lines}):
        every = [x for line in lines if line["half"] == half for x in line["lines"]]
        some = [one for one in every if one.get("sure") and not one["tie"]]
        wrong = sum(not one["right"] for one in some)
        text.append(f'{half},"sure at .99: wrong",,,{len(some)},{wrong}')
    return "\n".join(text)
