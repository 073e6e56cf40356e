"""Periods of real scores, forecast by `monitor` and by CBPE: a row for each."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from harness import Target, emit

import argmetric as am
from monitor_parts.cases import HALVES, Pool, pools
from monitor_parts.peers import BANDS, Cbpe, from_nannyml
from monitor_parts.shifts import QUIET, SHARES, SIDES, Draw, drawn_reference, kind_of

REFERENCES, PERIODS = (200, 1000, 4000), (200, 1000, 5000)
FEWEST = 5  # positives of a reference; `small` tries fewer
FEW, MANY = 20, 100  # positives of a reference
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


def known_positives(count: int) -> str:
    """Which kind of reference it is by its positives."""
    if count < FEW:
        return f"below {FEW}"
    return f"below {MANY}" if count < MANY else f"{MANY} or more"


def concatenated(
    rng: np.random.Generator,
    pool: Pool,
    half: np.ndarray,
    n: int,
    draws: dict[str, Draw],
) -> tuple[list[str], list[np.ndarray]]:
    """One period for every kind of shift of which there are enough rows."""
    found = {name: draw(rng, pool, half, n) for name, draw in draws.items()}
    kept = {name: rows for name, rows in found.items() if rows is not None}
    return list(kept), list(kept.values())


@cache
def measured(quick: bool, half: str | None, seed: int) -> list[Row]:
    """All rows; kept, so that several sections cost one run."""
    return [row for pool in pools(quick, half) for row in _of_pool(pool, quick, seed)]


def _of_pool(pool: Pool, quick: bool, seed: int) -> Iterator[Row]:
    rng = seeded(seed, pool.name, pool.model)
    for_reference, for_periods = pool.halved(rng)
    for m in REFERENCES[1:2] if quick else REFERENCES:
        chosen = drawn_reference(rng, pool.y, for_reference, m)
        if chosen is None or pool.y[chosen].sum() < FEWEST:
            continue
        reference = pool.y[chosen], pool.p[chosen]
        for n in PERIODS[:1] if quick else PERIODS:
            names, periods = concatenated(
                rng, pool, for_periods, n, {**SHARES, **SIDES}
            )
            if not periods:
                continue
            known = known_positives(int(pool.y[chosen].sum()))
            about = {**pool.about, "m": m, "n": n, "known": known}
            for row in _forecasts(rng, pool, reference, names, periods, n):
                yield about | row


def _forecasts(
    rng: np.random.Generator,
    pool: Pool,
    reference: tuple[np.ndarray, np.ndarray],
    names: list[str],
    periods: list[np.ndarray],
    n: int,
) -> Iterator[Row]:
    rule = tuned(*reference)
    p = np.concatenate([pool.p[rows] for rows in periods])
    auto, none = (
        am.monitor(p, rule, reference=reference, every=n, shift=shift).periods
        for shift in ("auto", "none")
    )
    cbpe = Cbpe.fit(*reference, rule.apply(reference[1]) == 1)
    theirs = from_nannyml(*reference, p, rule.threshold, n)
    for i, (name, rows) in enumerate(zip(names, periods, strict=True)):
        y, labels = pool.y[rows], rule.apply(pool.p[rows]) == 1
        score, error = cbpe.estimate(pool.p[rows], labels)
        row: Row = {
            "shift": name,
            "kind": kind_of(name),
            "actual": float(am.evaluate(y, labels)),
            "verdict": auto[i].verdict,
            "auto": (*auto[i].interval, auto[i].mean),
            # where only the prevalence changed: shift="prior"
            "prior": (
                *auto[i].if_prevalence_shift_interval,
                auto[i].if_prevalence_shift,
            ),
            "none": (*none[i].interval, none[i].mean),
        }
        for band, width in BANDS.items():
            low, high = score - width * error, score + width * error
            row[band] = (max(low, 0.0), min(high, 1.0), score)
        if theirs is not None:
            value, *bounds = theirs[i]
            row["NannyML"] = (*bounds, value)
        yield row
        if name == QUIET:
            moved = changed_labels(rng, y, pool.sides[0][rows])
            actual = float(am.evaluate(moved, labels))
            yield row | {"shift": CHANGED, "kind": CHANGED, "actual": actual}


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
    target: Callable[[str], Target] = lambda method: None,
    **about: Any,
) -> None:
    """A line for every method that all rows have."""
    for method in methods:
        kept = [row for row in rows if method in row]
        if kept:
            found = ends(kept, method)
            cover = found.pop("cover")
            told = {"method": method, **about, "periods": len(kept), **found}
            emit(section, "in the interval", cover, "share", target(method), **told)


def by_half(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows of the show half first."""
    for half in reversed(list(HALVES)):
        kept = [row for row in rows if row["half"] == half]
        if kept:
            yield half, kept
