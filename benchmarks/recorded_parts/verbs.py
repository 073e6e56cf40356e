"""Calls of the verbs on arrays: decide, forecast, evaluate, tune, calibrate, check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

import argmetric as am
from argmetric._report import report_decision
from argmetric._verbs.decide import decide_by
from recorded_parts.data import (
    FEW,
    MAIN,
    METRICS,
    groups_of,
    matrix,
    of_variance,
    scores,
    truth,
)

Calls = Iterator[tuple[str, Callable[[], Any]]]

# Both sides of the limits at which other routes are taken
SIZES = (1, 2, 5, 10, 32, 33, 40, 64, 65, 80, 81, 128, 129, 200, 201, 1000)
LONG = (257, 4096, 4097, 16384, 16385, 49_999, 50_000, 131_073)
GROUP_SIZES = (3, 32, 33, 64, 65, 80, 81, 128, 129, 200, 201, 600)
VARIANCES = (40.0, 60.0, 100.0, 400.0, 1500.0, 2000.0, 8000.0)
READ = ("cdf", "probability_below", "quantile", "surprise")
KINDS = ("rare", "half", "frequent", "tied", "certain", "equal")


def named(**options: Any) -> str:
    return "".join(f"/{name}={value}" for name, value in options.items())


@cache
def reference(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores that are too sure of themselves."""
    p = scores(n, seed=9)
    odds = np.log(p / (1 - p))
    return truth(p, seed=9), 1 / (1 + np.exp(-1.6 * odds))


@cache
def calibrator(method: str = "platt") -> Any:
    return am.calibrate(*reference(), method=method)


# ----------------------------------------------------------------------- decide

LIMITS: tuple[dict[str, Any], ...] = (
    {"max_positives": 5},
    {"min_positives": 3},
    {"min_positives": 2, "max_positives": 4},
    {"min_precision": 0.6},
    {"min_recall": 0.5},
    {"zero_division": 0.0},
    {"zero_division": 1.0},
    {"check": False},
)


def decide_calls() -> Calls:
    for name, metric in METRICS.items():
        for n in SIZES:
            yield f"decide/{name}/n={n}", partial(am.decide, scores(n), metric)
    for name in MAIN:
        metric = METRICS[name]
        for kind in KINDS:
            for n in (20, 500):
                p = scores(n, kind)
                key = f"decide/{name}/n={n}/{kind}"
                yield key, partial(am.decide, p, metric)
        for options in LIMITS:
            for n in (12, 300):
                key = f"decide/{name}/n={n}{named(**options)}"
                yield key, partial(am.decide, scores(n), metric, **options)
        for n in LONG if name != "own" else LONG[:6]:
            key = f"decide/{name}/n={n}"
            yield key, partial(decide_by, scores(n), metric, check=False)
    for name in FEW:
        for variance in VARIANCES:
            for side in (0.96, 1.04):
                n = of_variance(variance, side)
                key = f"decide/{name}/variance={side:g}*{variance:g}"
                p = scores(n, seed=2)
                yield key, partial(decide_by, p, METRICS[name], check=False)
        for mean in (43, 47):
            p = scores(200_000, "rare")
            p = p * (mean / p.sum())
            key = f"decide/{name}/n=200000/positives={mean}"
            yield key, partial(without_curve, p, METRICS[name])
    yield from decide_with_a_reference()
    yield from decide_groups()
    yield from decide_matrices()


def without_curve(p: np.ndarray, metric: Any) -> dict[str, Any]:
    """What `decide` finds before anybody asks for the whole curve."""
    found = decide_by(p, metric, check=False)
    names = ("labels", "n_positives", "threshold", "expected", "cut_half", "notes")
    return {name: getattr(found, name) for name in names}


def decide_with_a_reference() -> Calls:
    p = scores(150, seed=4)
    given: dict[str, dict[str, Any]] = {
        "reference": {"reference": reference()},
        "reference,prior=estimate": {"reference": reference(), "prior": "estimate"},
        "reference,prior=.3": {"reference": reference(), "prior": 0.3},
        "method=windows": {"method": "windows"},
        "method=reference": {"method": "published"},
        "isotonic": {"reference": calibrator("isotonic")},
        "calibrator": {"reference": calibrator()},
        "calibrator,prior=.1": {"reference": calibrator(), "prior": 0.1},
        "prior": {"prior": 0.1},
    }
    for name in FEW:
        for word, options in given.items():
            call = partial(decide_by, p, METRICS[name], **options)
            yield f"decide/{name}/{word}", call
        odds = np.log(p / (1 - p))
        call = partial(am.decide, odds, METRICS[name], logits=True)
        yield f"decide/{name}/logits", call


def decide_groups() -> Calls:
    def asked(sizes: list[int], kind: str = "sorted", **options: Any) -> Any:
        ids = groups_of(sizes, kind)
        p = scores(len(ids), seed=5)
        return partial(am.decide, p, groups=ids, **options)

    for name, metric in METRICS.items():
        sizes = GROUP_SIZES if name in MAIN else (3, 33, 100)
        for size in sizes:
            key = f"decide/{name}/groups={6}x{size}"
            yield key, asked([size] * 6, metric=metric, average="groups")
        key = f"decide/{name}/groups=mixed"
        call = asked([1, 2, 40, 5, 70, 33, 1, 7] * 3, metric=metric, average="groups")
        yield key, call
    for name in MAIN:
        metric = METRICS[name]
        for count, size in ((200, 10), (200, 33), (60, 70), (3, 5000)):
            if name in ("own", "smooth") and size > 1000:
                continue
            key = f"decide/{name}/groups={count}x{size}"
            yield key, asked([size] * count, metric=metric, average="groups")
        key = f"decide/{name}/groups=pooled"
        yield key, asked([30] * 5, metric=metric, average="pooled")
        for options in LIMITS[:7]:
            key = f"decide/{name}/groups=20x12{named(**options)}"
            yield key, asked([12] * 20, metric=metric, average="groups", **options)
    for kind in ("shuffled", "text", "wide"):
        for count in (50, 4096, 4097, 16_383, 16_384):
            key = f"decide/f1/groups={count}x3/{kind}"
            yield key, asked([3] * count, kind, metric="f1", average="groups")
    for rows in (300, 600):  # of blocks
        key = f"decide/f1/groups={rows * 1000 // 12}x12"
        yield key, asked([12] * (rows * 1000 // 12), metric="f1", average="groups")


def decide_matrices() -> Calls:
    for name in (*MAIN, "f2", "precision", "recall"):
        for average in ("samples", "macro", "micro"):
            for rows, columns in ((12, 7), (40, 3), (5, 90)):
                p = matrix(rows, columns)
                thin = sparse.csr_array(np.where(p > 0.1, p, 0.0))
                call = partial(am.decide, metric=METRICS[name])
                key = f"decide/{name}/{average}/{rows}x{columns}"
                yield key, partial(call, p, average=average)
                if columns == 7:
                    yield f"{key}/sparse", partial(call, thin, average=average)


# --------------------------------------------------------------------- forecast


def forecast_calls() -> Calls:
    def asked(n: int, name: str, kind: str = "usual", **options: Any) -> Any:
        p = scores(n, kind, seed=6)
        labels = (p > 0.3).astype(int)
        return partial(am.forecast, p, labels, METRICS[name], **options)

    for name in METRICS:
        for n in (1, 6, 32, 33, 64, 65, 257):
            yield f"forecast/{name}/n={n}", asked(n, name)
    for name in ("f1", "jaccard", "mcc", "kappa", "gmean", "own"):
        for n in (256, 512, 513, 1000, 4096, 4097, 20_000):
            if name != "own" or n <= 1000:
                yield f"forecast/{name}/n={n}", asked(n, name)
        for kind in KINDS:
            yield f"forecast/{name}/n=90/{kind}", asked(90, name, kind)
        known = [1, None, 0, *[None] * 77]
        for word, options in {
            "coverage=.5": {"coverage": 0.5},
            "coverage=.99": {"coverage": 0.99},
            "known": {"known": known},
            "prior=.1": {"prior": 0.1},
            "prior=estimate": {"prior": "estimate", "reference": reference()},
            "overdispersion=.1": {"overdispersion": 0.1},
            "overdispersion=.5": {"overdispersion": 0.5},
            "known,overdispersion": {"known": known, "overdispersion": 0.3},
            "zero_division=1": {"zero_division": 1.0},
            "calibrator": {"reference": calibrator()},
            "calibrator,prior": {"reference": calibrator(), "prior": 0.2},
            "isotonic": {"reference": calibrator("isotonic")},
            "reference": {"reference": reference()},
            "groups": {"groups": groups_of([4] * 20), "average": "groups"},
            "groups,reference": {
                **{"groups": groups_of([4] * 20), "average": "groups"},
                "reference": reference(),
            },
            "groups,overdispersion": {
                **{"groups": groups_of([8] * 10), "average": "groups"},
                "overdispersion": 0.4,
            },
            "groups,known": {
                **{"groups": groups_of([16] * 5), "average": "groups"},
                "known": known,
            },
            "pooled": {"groups": groups_of([4] * 20), "average": "pooled"},
        }.items():
            yield f"forecast/{name}/n=80/{word}", asked(80, name, **options)
        for count, size in ((16, 10), (17, 10), (3, 64), (3, 65), (40, 33), (300, 7)):
            ids = groups_of([size] * count)
            given = {"groups": ids, "average": "groups"}
            key = f"forecast/{name}/groups={count}x{size}"
            yield key, asked(size * count, name, **given)
        for average in ("samples", "macro", "micro"):
            p = matrix(15, 6)
            call = partial(am.forecast, p, (p > 0.3).astype(int))
            key = f"forecast/{name}/{average}"
            yield key, partial(call, METRICS[name], average=average)
    for n in (512, 513, 4096, 4097):
        for name in ("f1", "gmean"):
            key = f"forecast/{name}/n={n}/overdispersion"
            yield key, asked(n, name, "half", overdispersion=0.5)
    for name in FEW:

        def asked_of_it(name: str = name) -> Any:
            found = am.forecast(scores(70), truth(scores(70)), METRICS[name])
            at = [0.1, 0.35, 0.6]
            return [[getattr(found, name)(x) for name in READ] for x in at]

        yield f"forecast/{name}/read", asked_of_it
        key = f"forecast/{name}/of a decision"
        yield key, lambda name=name: am.decide(scores(75), METRICS[name]).forecast(0.8)


# --------------------------------------------------------------- evaluate, tune


def evaluate_calls() -> Calls:
    for name, metric in METRICS.items():
        for n in (1, 9, 500):
            p = scores(n, seed=7)
            call = partial(am.evaluate, truth(p), p > 0.3, metric)
            yield f"evaluate/{name}/n={n}", partial(call, zero_division=n % 2)
        p = scores(90, seed=7)
        call = partial(am.evaluate, truth(p), p > 0.3, metric)
        for average in ("groups", "pooled"):
            given = {"groups": groups_of([9] * 10, "text"), "average": average}
            yield f"evaluate/{name}/{average}", partial(call, **given)
        p = p.reshape(15, 6)
        call = partial(am.evaluate, truth(p), (p > 0.3).astype(int), metric)
        for average in ("samples", "macro", "micro"):
            key = f"evaluate/{name}/{average}"
            yield key, partial(call, average=average)


def tune_calls() -> Calls:
    def tuned(y: Any, p: Any, metric: Any, **options: Any) -> Callable[[], Any]:
        def call() -> Any:
            classes = y is not None and y.ndim < p.ndim
            verb = am.classes.tune if classes else am.tune
            rule = verb(y, p, metric, **{"n_bootstrap": 20, "cv": 3} | options)
            found = {"rule": rule, "dict": rule.to_dict(), "applied": rule.apply(p)}
            return found | {"text": str(rule)}

        return call

    for name, metric in METRICS.items():
        for n in (12, 60, 400):
            p = scores(n, seed=8)
            yield f"tune/{name}/n={n}", tuned(truth(p), p, metric)
    for name in ("f1", "jaccard", "mcc", "gmean", "own"):
        metric = METRICS[name]
        p = scores(200, seed=8)
        y = truth(p)
        for word, options in {
            "max_positives=20": {"max_positives": 20},
            "max_positives=.1": {"max_positives": "10%"},
            "min_precision": {"min_precision": 0.5},
            "min_recall": {"min_recall": 0.7},
            "zero_division": {"zero_division": 1.0},
            "weights": {"sample_weight": 1.0 + np.arange(200) % 3},
            "calibrator": {"reference": calibrator()},
            "coverage=.5": {"coverage": 0.5, "random_state": 3},
            "plain": {"n_bootstrap": 0, "cv": None},
            "groups": {"groups": groups_of([10] * 20), "average": "groups"},
            "groups=513": {"groups": np.arange(200) // 2, "average": "groups"},
            "pooled": {"groups": groups_of([10] * 20), "average": "pooled"},
        }.items():
            yield f"tune/{name}/{word}", tuned(y, p, metric, **options)
        for n in (4096, 4097, 16_001):
            p = scores(n, seed=8)
            yield f"tune/{name}/n={n}", tuned(truth(p), p, metric)
        for kind in KINDS:
            p = scores(120, kind, seed=8)
            yield f"tune/{name}/{kind}", tuned(truth(p), p, metric)
        p = scores(300)
        yield f"tune/{name}/no labels", tuned(None, p, metric)
        for average in ("macro", "micro", "samples"):
            p = matrix(40, 3)
            options = {"average": average}
            yield f"tune/{name}/labels,{average}", tuned(truth(p), p, metric, **options)
        for rows in (60, 300, 301):
            p = matrix(rows, 4)
            p /= p.sum(axis=1, keepdims=True)
            y = np.random.default_rng(rows).integers(0, 4, rows)
            yield f"tune/{name}/classes,n={rows}", tuned(y, p, metric)
        for n in (600, 1200):
            p = scores(2 * n, seed=8)
            given = {"groups": groups_of([2] * n), "average": "groups"}
            yield f"tune/{name}/groups={n}x2", tuned(truth(p), p, metric, **given)
    p = scores(200, seed=8)
    for cost in ((1, 2), (5, 1)):
        metric = am.Utility(0.0, *(0.0 - x for x in cost))
        yield f"tune/cost={cost}", tuned(truth(p), p, metric)
    several = partial(am.tune, truth(p), p, ["f1", "mcc"], n_bootstrap=5)
    yield "tune/several metrics", several


# ------------------------------------------------- calibrate, check, prior, report


def calibrate_calls() -> Calls:
    grid = np.linspace(0.0, 1.0, 41)

    def fitted(n: int, kind: str = "usual", **options: Any) -> Callable[[], Any]:
        def call() -> Any:
            p = scores(n, kind, seed=10)
            weights = options.pop("weights", None)
            found = am.calibrate(truth(p), p, sample_weight=weights, **options)
            result = {"dict": found.to_dict(), "map": found.apply(grid)}
            result["logits"] = found.apply_logits(np.linspace(-9, 9, 31))
            return result | {"text": str(found), "formula": found.formula}

        return call

    for method in (None, "platt", "beta", "isotonic", "spline", "auto"):
        for n in (30, 300, 4097):
            yield f"calibrate/{method}/n={n}", fitted(n, method=method)
        for kind in ("tied", "rare", "certain", "half"):
            yield f"calibrate/{method}/{kind}", fitted(400, kind, method=method)
        weights = 1.0 + np.arange(400) % 4
        key = f"calibrate/{method}/weights"
        yield key, fitted(400, method=method, weights=weights)
    for method in ("platt", "beta"):
        yield (
            f"calibrate/{method}/then",
            lambda method=method: (
                calibrator(method).then(calibrator("isotonic")).apply(grid)
            ),
        )


def check_calls() -> Calls:
    y, p = reference()
    quick = {"n_bootstrap": 30}
    for name in METRICS:
        call = partial(am.calibration_check, y, p, METRICS[name], **quick)
        yield f"calibration_check/{name}", call
    for name in ("f1", "mcc", "gmean"):
        call = partial(am.calibration_check, y, p, METRICS[name], **quick)
        for word, options in {
            "groups": {"groups": groups_of([6] * 100), "average": "groups"},
            "weights": {"sample_weight": 1.0 + np.arange(600) % 3},
            "bins": {"n_bins": 4, "random_state": 5},
            "platt": {"method": "platt"},
            "isotonic": {"method": "isotonic"},
            "zero_division": {"zero_division": 1.0},
        }.items():
            yield f"calibration_check/{name}/{word}", partial(call, **options)
        for n in (20, 3000, 20_001):
            q = scores(n, seed=11)
            call = partial(am.calibration_check, truth(q), q, METRICS[name])
            yield f"calibration_check/{name}/n={n}", partial(call, **quick)
    for share in (None, 0.05, 0.4):
        for n in (10, 1000):
            options = {"prevalence": share, "reference_prevalence": 0.2}
            call = partial(am.adjust_prior, scores(n), **options)
            yield f"adjust_prior/n={n}/{share}", call


def report_calls() -> Calls:
    p = scores(180, seed=12)

    def values(name: str, decided: dict[str, Any], known: dict[str, Any]) -> Any:
        decision = am.decide(p, METRICS[name], **decided)
        return report_decision(decision, **known).to_dict()

    grouped = {"groups": groups_of([9] * 20), "average": "groups"}
    for name in ("f1", "mcc", "gmean", "own", "precision"):
        for word, decided, known in (
            ("plain", {}, {}),
            ("labels", {}, {"labels": p > 0.4}),
            ("truth", {}, {"y": truth(p)}),
            ("truth,groups", grouped, {"y": truth(p)}),
            ("limits", {"max_positives": 9}, {"coverage": 0.5}),
            ("reference", {"reference": reference()}, {"y": truth(p)}),
        ):
            call = partial(values, name, decided, known)
            yield f"report/{name}/{word}", call
        for kind in ("md", "html"):
            yield (
                f"report/{name}/{kind}",
                lambda name=name, kind=kind: am.report(
                    am.decide(p, METRICS[name]), truth(p)
                ).render(format=kind),
            )
    for name in METRICS:
        call = partial(am.check_metric, METRICS[name], n=9)
        yield f"check_metric/{name}", call


def all_calls() -> Calls:
    yield from decide_calls()
    yield from forecast_calls()
    yield from evaluate_calls()
    yield from tune_calls()
    yield from calibrate_calls()
    yield from check_calls()
    yield from report_calls()
