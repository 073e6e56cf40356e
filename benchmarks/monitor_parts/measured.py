"""Periods of real scores, forecast by `monitor` and by CBPE: a row for each."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from harness import Target, emit

import argmetric as am
from monitor_parts.cases import Pool, pools
from monitor_parts.peers import BANDS, Cbpe
from monitor_parts.shifts import (
    QUIET,
    SHARES,
    SIDES,
    Draw,
    Labelled,
    draw_reference,
    kind_of,
)

REFERENCES, PERIODS = (200, 1000, 4000), (200, 1000, 5000)
FEWEST, FEW = 5, 20  # positives of a reference
USUAL = 1000  # rows of a reference from which targets are judged
CHANGED = "labels changed"  # permuted where a feature is high; the scores stay
CHANGED_SHARE = 0.4  # of the rows
Row = dict[str, Any]


def seeded(*parts: Any) -> np.random.Generator:
    """A generator that depends on the case alone, whatever else is run."""
    return np.random.default_rng(zlib.crc32(repr(parts).encode()))


def tuned(y: np.ndarray, p: np.ndarray) -> Any:
    """The rule that is best for F1 on a reference."""
    return am.tune(y, p, "f1", n_bootstrap=0, cv=None)


def changed_labels(rng: np.random.Generator, y: np.ndarray, x: np.ndarray) -> Any:
    """Labels permuted among the rows where x is largest."""
    rows = np.argsort(x, kind="stable")[int((1 - CHANGED_SHARE) * x.size) :]
    y = y.copy()
    y[rows] = y[rng.permutation(rows)]
    return y


def concatenated(
    rng: np.random.Generator,
    pool: Pool,
    half: np.ndarray,
    n: int,
    draws: dict[str, Draw],
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rows of a period for every kind of shift that has enough; the scores of all."""
    found = {name: draw(rng, pool, half, n) for name, draw in draws.items()}
    kept = {name: rows for name, rows in found.items() if rows is not None}
    return kept, np.concatenate([np.empty(0), *(pool.p[x] for x in kept.values())])


@cache
def measured(quick: bool, half: str, seed: int) -> list[Row]:
    """All rows; kept, so that several sections cost one run."""
    return [row for pool in pools(quick, half) for row in _of_pool(pool, quick, seed)]


def _of_pool(pool: Pool, quick: bool, seed: int) -> Iterator[Row]:
    rng = seeded(seed, pool.name, pool.model)
    for_reference, for_periods = pool.halved(rng)
    for m in REFERENCES[1:2] if quick else REFERENCES:
        reference = draw_reference(rng, pool, for_reference, m, FEWEST)
        if reference is None:
            continue
        for n in PERIODS[:1] if quick else PERIODS:
            about = {"m": m, "n": n, "positives": int(reference[0].sum())}
            for row in _forecasts(rng, pool, reference, for_periods, n):
                yield about | row


def _forecasts(
    rng: np.random.Generator,
    pool: Pool,
    reference: Labelled,
    half: np.ndarray,
    n: int,
) -> Iterator[Row]:
    drawn, p = concatenated(rng, pool, half, n, {**SHARES, **SIDES})
    if not drawn:
        return
    rule = tuned(*reference)
    auto, none = (
        am.monitor(p, rule, reference=reference, every=n, shift=shift).periods
        for shift in ("auto", "none")
    )
    cbpe = Cbpe.fit(*reference, rule.apply(reference[1]) == 1)
    for (name, rows), one, other in zip(drawn.items(), auto, none, strict=True):
        y, labels = pool.y[rows], rule.apply(pool.p[rows]) == 1
        score, error = cbpe.estimate(pool.p[rows], labels)
        row: Row = {
            "shift": name,
            "kind": kind_of(name),
            "actual": float(am.evaluate(y, labels)),
            **forecasts_of(one),
            "none": (*other.interval, other.mean),
        }
        for band, width in BANDS.items():
            low, high = score - width * error, score + width * error
            row[band] = (max(low, 0.0), min(high, 1.0), score)
        yield row
        if name == QUIET:
            moved = changed_labels(rng, y, pool.sides[0][rows])
            actual = float(am.evaluate(moved, labels))
            yield row | {"shift": CHANGED, "kind": CHANGED, "actual": actual}


def forecasts_of(period: Any) -> Row:
    """The verdict, and forecasts: prior is that of shift="prior"."""
    prior = *period.if_prevalence_shift_interval, period.if_prevalence_shift
    auto = *period.interval, period.mean
    return {"verdict": period.verdict, "auto": auto, "prior": prior}


def share_of(rows: list[Row], **about: Any) -> float:
    """Share of the rows of which all these things hold."""
    return sum(about.items() <= row.items() for row in rows) / len(rows)


def ends(rows: list[Row], method: str) -> dict[str, float]:
    """How often the actual score is in, below and above the interval; its width."""
    low, high, mean = np.array([row[method] for row in rows]).T
    actual = np.array([row["actual"] for row in rows])
    slack = 1e-9
    below, above = actual < low - slack, actual > high + slack
    return {
        "cover": float(1 - (below | above).mean()),
        "below": float(below.mean()),
        "above": float(above.mean()),
        "width": float((high - low).mean()),
        "error": float(np.abs(mean - actual).mean()),
    }


def emit_ends(
    section: str,
    rows: list[Row],
    methods: tuple[str, ...],
    targets: Mapping[str, Target] | None = None,
    **about: Any,
) -> None:
    """A line for every method, of what rows there are."""
    for method in methods if rows else ():
        found = ends(rows, method)
        cover, goal = found.pop("cover"), (targets or {}).get(method)
        told = {"method": method, **about, "periods": len(rows), **found}
        emit(section, "in the interval", cover, "share", goal, **told)
