"""Measure `compare` and `review_rows` on real models and on a judge that is a model.

    python benchmarks/compare.py -o compare.jsonl --minutes 6   # stops, and goes on
    python benchmarks/compare.py -o compare.jsonl --only review # one section
    python benchmarks/compare.py -o compare.jsonl --table       # what was measured
    python benchmarks/compare.py -o compare.jsonl --only labelled  # docs/comparing.rst
    python benchmarks/compare.py -o kinds.jsonl --only kinds    # docs/judging.rst
    python benchmarks/compare.py -o sweep.jsonl --only sweep    # generated systems
    python benchmarks/compare.py -o smoke.jsonl --quick         # a smoke run

A pool is what five models, trained on the same rows, say of others. REFERENCE of these
are labelled; the models decide about up to NEW others, each by the cut that is best on
the labelled rows or on as many rows apart. The labels of all new rows say what the true
difference is, in points of the metric. Nothing was chosen on these runs for models with
scores of their own: constants of the model were fixed before, on seven sets whose names
were not kept. CHOSEN_ON are seven that may be those, SHOWN are others. The section
`labelled` (compare_parts/labelled.py) measures the mixture priors: they were chosen on
splits 0 and 1 of CHOSEN_ON alone; earlier versions were looked at on SHOWN, one on
FRESH. The section `kinds` has the accuracy of systems by every kind of judge; the slope
and the effects of a judge were chosen on its cases of CHOSEN_ON, then looked at on
FRESH. In the section `sweep` systems of all accuracies are generated, alone and in
pairs; the prior where a judge does not tell their predictions apart, and when PPI++ is
taken, were chosen on others of the kind (parts from 1000 on) and on CHOSEN_ON.
Cases are lines of the file, which is added to: a case that is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Iterator
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
from compare_parts import labelled
from harness import emit_machine, emit_mean, emit_summary, judge
from tabular import MEMORY, dense, load, new_model, positive

import argmetric as am

CHOSEN_ON = ("celeba", "elec2", "ijcnn1", "letter", "magic", "shuttle", "w8a")
SHOWN = ("a9a", "annthyroid", "bio_kdd04", "covtype", "mammography", "spambase")
FRESH = ("cover_odds", "optdigits", "pendigits_odds", "reuters_tick", "spamassassin")
HALVES = {"fresh": FRESH, "chosen on": CHOSEN_ON, "looked at before": SHOWN}
MODELS = ("logistic", "forest", "boosting", "bayes", "tree")
PAIRS = tuple(combinations(MODELS[:3], 2))
METRICS = ("f1", "mcc", "jaccard", "balanced_accuracy", "gmean")
SETTINGS: dict[str, dict[str, Any]] = {
    "logistic": {"max_iter": 300},
    "forest": {},
    "boosting": {"max_iter": 60},
    "bayes": {"var_smoothing": 1e-3},
    "neighbours": {},
    "tree": {"min_samples_leaf": 20},
}
TRAINED, REFERENCE, NEW = 3000, 500, 3900
BATCH = 25
SHARES = (0.01, 0.02, 0.05, 0.1)
TABLES = ("labelled", "kinds", "sweep")
SECTIONS = ("metrics", "several", "plans", "review", *TABLES)
PER_SET = 3  # pairs of models with their own scores, and as many with a judge
COVERED = ("within", 0.87, 0.97)


@MEMORY.cache
def models_of(name: str, split: int) -> dict[str, np.ndarray]:
    """Labels and scores of rows that the models were not trained on."""
    table = load(name)
    X, y = dense(table.X, 200), positive(table.y)
    order = np.random.default_rng(split).permutation(y.size)
    train = order[: min(TRAINED, y.size // 3)]
    rest = order[train.size :][: 2 * REFERENCE + NEW]
    found = {"y": y[rest]}
    for kind, settings in SETTINGS.items():
        model = new_model(kind, **settings).fit(X[train], y[train])
        found[kind] = model.predict_proba(X[rest])[:, 1]
    return found


class Case:
    """Models on new rows, labelled rows, and the truth."""

    def __init__(
        self,
        pool: dict[str, np.ndarray],
        models: tuple[str, ...],
        cut: str,
        metric: str,
    ) -> None:
        self.y, self.metric, self.models = pool["y"], metric, models
        old, other = slice(0, REFERENCE), slice(REFERENCE, 2 * REFERENCE)
        new = slice(2 * REFERENCE, None)
        self.p = [pool[name][new] for name in models]
        self.old = [pool[name][old] for name in models]
        self.y_old, self.y = pool["y"][old], pool["y"][new]
        tuned = old if cut == "reference" else other
        how: dict[str, Any] = {"n_bootstrap": 0, "cv": None}
        self.cuts = [
            float(am.tune(pool["y"][tuned], pool[name][tuned], metric, **how).threshold)
            for name in models
        ]
        pairs = zip(self.p, self.cuts, strict=True)
        self.labels = np.array([p >= cut for p, cut in pairs])
        self.scores = self.true_scores(self.y, self.labels)

    @property
    def gap(self) -> float:
        return float(self.scores[0] - self.scores[1])

    def true_scores(self, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
        metric = am.get_metric(self.metric)
        tp, k = (labels & y).sum(axis=-1), labels.sum(axis=-1)
        return np.asarray(metric.value(tp, k, y.sum(axis=-1), y.shape[-1]))

    def compare(self) -> am.Comparison:
        reference = self.y_old, self.old
        return am.compare(self.p, list(self.labels), self.metric, reference=reference)


def seed_of(*parts: Any) -> int:
    return zlib.crc32(repr(parts).encode())


def run_metric(case: Case, key: tuple[Any, ...]) -> dict[str, Any]:
    """Whether the interval with 50 chosen labels holds."""
    found, rng = case.compare(), np.random.default_rng(seed_of(*key))
    rows = found.next_rows(50, random_state=int(rng.integers(1 << 30)))
    low, high = found.add(rows, case.y[rows]).difference().interval
    return {"held": bool(low - 1e-9 <= case.gap <= high + 1e-9)}


def run_several(case: Case, key: tuple[Any, ...]) -> dict[str, Any]:
    """How far the model that is named is below the best of five, in points."""
    found, rng = case.compare(), np.random.default_rng(seed_of(*key))
    best = case.scores.max()
    for _ in range(2):
        rows = found.next_rows(BATCH, random_state=int(rng.integers(1 << 30)))
        found = found.add(rows, case.y[rows])
    chosen = case.scores[found.names.index(found.best().model)]
    rows = rng.permutation(case.y.size)[:100]
    random = case.true_scores(case.y[rows], case.labels[:, rows])
    picked = {"chosen 50": chosen, "random 100": case.scores[int(np.argmax(random))]}
    return {name: 100 * float(best - score) for name, score in picked.items()}


def run_plan(case: Case, key: tuple[Any, ...]) -> dict[str, Any]:
    """Whether as many labels as were foretold show the true gap."""
    found, rng = case.compare(), np.random.default_rng(seed_of(*key))
    needed = found.labels_needed(abs(case.gap))
    result: dict[str, Any] = {"needed": needed, "gap": 100 * abs(case.gap)}
    if needed <= 400:
        rows = found.next_rows(needed, random_state=int(rng.integers(1 << 30)))
        low, high = found.add(rows, case.y[rows]).difference().interval
        result["shown"] = bool(low > 0 if case.gap > 0 else high < 0)
    return result


def run_review(case: Case) -> dict[str, Any]:
    """Points that each choice of rows gains over the labels without a look."""
    p, y, reference = case.p[0], case.y, (case.y_old, case.old[0])
    c = am.calibrate(*reference).apply(p)
    result: dict[str, Any] = {}
    plain = am.decide(p, case.metric, reference=reference).labels.astype(bool)
    before = float(case.true_scores(y, plain))
    cut = float(c[plain].min()) if plain.any() else 1.0
    for share in SHARES:
        count = round(share * y.size)
        found = am.review_rows(p, None, case.metric, count, reference=reference)
        rows = {
            "review_rows": found.rows,
            "near the cut": np.argsort(np.abs(c - cut), kind="stable")[:count],
            "near one half": np.argsort(np.abs(c - 0.5), kind="stable")[:count],
        }
        left = am.review_rows(
            p, None, case.metric, count, reference=reference, leave_out=True
        )
        gains = {}
        for name, some in rows.items():
            labels = (
                found.labels.astype(bool) if name == "review_rows" else plain.copy()
            )
            labels[some] = y[some]
            gains[name] = 100 * (float(case.true_scores(y, labels)) - before)
        for name, some in {**rows, "review_rows": left.rows}.items():
            rest = np.ones(y.size, dtype=bool)
            rest[some] = False
            labels = left.labels.astype(bool) if name == "review_rows" else plain
            score = float(case.true_scores(y[rest], labels[rest]))
            gains[f"left out, {name}"] = 100 * (score - before)
        result[f"{share:g}"] = gains
    return result


def cases(splits: int, quick: bool) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """All cases, section by section inside of a split: a part is a fair sample."""
    halves = {"fresh": FRESH[1:2]} if quick else HALVES
    for key in labelled.cases(halves, 1 if quick else PER_SET):
        yield "labelled", key
    for half, names, split in (
        ("fresh", FRESH, 0),
        *(("dev", CHOSEN_ON, i) for i in (0, 1)),
    ):
        for name in names[: 0 if quick else None]:
            for pair in permutations(labelled.KINDS, 2):
                yield "kinds", (half, name, split, *pair)
    for seed in range(1 if quick else labelled.PARTS):
        for judge_ in labelled.JUDGES:
            for right in labelled.RIGHT[-1:] if quick else labelled.RIGHT:
                yield "sweep", (seed, judge_, *right)
    sets = (*SHOWN, *CHOSEN_ON)[: 1 if quick else None]
    for split in range(splits):
        for name in sets:
            pair = PAIRS[split % len(PAIRS)]
            for metric in METRICS[1:]:
                yield "metrics", (name, split, metric, *pair)
            yield "several", (name, split)
            yield "plans", (name, split, *pair)
            if split % 2 == 0:
                yield "review", (name, split, MODELS[split % 3])


def run(section: str, key: tuple[Any, ...]) -> dict[str, Any]:
    if section == "sweep":
        return {"half": "generated", "lines": labelled.run_sweep(*key)}
    if section == "labelled":
        how = labelled.run_own if key[0] == "own" else labelled.run_judged
        return {"half": key[1], "lines": how(models_of(key[2], 0), key)}
    if section == "kinds":
        pool = models_of(key[1], key[2])
        return {"half": key[0], "lines": labelled.run_kinds(pool, key)}
    pool = models_of(key[0], key[1])
    if section == "metrics":
        return run_metric(Case(pool, key[3:], "reference", key[2]), key)
    if section == "several":
        return run_several(Case(pool, MODELS, "apart", "f1"), key)
    if section == "plans":
        return run_plan(Case(pool, key[2:], "apart", "f1"), key)
    return run_review(Case(pool, (key[2],), "apart", "f1"))


def emit_tables(lines: list[dict[str, Any]]) -> None:
    by = {name: [x for x in lines if x["section"] == name] for name in SECTIONS}
    for metric in METRICS[1:]:
        held = [x["held"] for x in by["metrics"] if x["key"][2] == metric]
        what = f"{metric}, 50 chosen labels: interval of 90 % holds"
        emit_found("metrics", what, held, "share", COVERED)
    for name in ("chosen 50", "random 100"):
        lost = [x[name] for x in by["several"]]
        emit_found("several", f"{name}: below the best of five", lost, "points")
    shown = [x["shown"] for x in by["plans"] if x["gap"] > 1.0 and "shown" in x]
    what = "gap shown by the labels foretold"
    emit_found("plans", what, shown, "share", (">=", 0.8))
    for share, how in product(SHARES, ("", "left out, ")):
        rows = [x[f"{share:g}"] for x in by["review"]]
        own, cut, half = (
            np.array([one[f"{how}{name}"] for one in rows])
            for name in ("review_rows", "near the cut", "near one half")
        )
        what = f"{how}{share:.0%} of the rows"
        emit_found("review", f"{what}: gain", own, "points")
        emit_found("review", f"{what}: more than near the cut", own - cut, "points")
        emit_found("review", f"{what}: more than near one half", own - half, "points")


def emit_found(section: str, what: str, values: Any, unit: str, *goal: Any) -> None:
    if len(values):
        emit_mean(section, what, values, unit, *goal)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--out", type=Path, required=True, help="lines of JSON")
    parser.add_argument("--minutes", type=float, default=1e9, help="then stop")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--table", action="store_true", help="judge what is there")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    asked = parser.parse_args()
    begin = time.monotonic()
    lines = []
    if asked.out.exists():
        lines = [json.loads(line) for line in asked.out.read_text().splitlines()]
    done = {(line["section"], *line["key"]) for line in lines}
    if not asked.table:
        splits = 1 if asked.quick else asked.splits
        for section, key in cases(splits, asked.quick):
            if (asked.only and section not in asked.only) or (section, *key) in done:
                continue
            if time.monotonic() - begin > 60 * asked.minutes:
                break
            line = {"section": section, "key": key, **run(section, key)}
            with asked.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            lines.append(json.loads(json.dumps(line)))
    judge(not asked.quick)
    emit_machine()
    emit_tables([line for line in lines if line["section"] not in TABLES])
    emit_summary()
    for name in TABLES:
        if some := [line for line in lines if line["section"] == name]:
            print(labelled.table(some))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
