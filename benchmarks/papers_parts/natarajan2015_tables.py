"""Natarajan et al. (2015): Tables 2 and 3, on the sets at hand."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from tune_parts import tables

from papers_parts.claim import Estimate, Figures, declare

DTA, BASELINE, EUM = range(3)
WAYS = {DTA: "DTA", BASELINE: "baseline", EUM: "EUM"}
ROWS = tables.PAPER | tables.THINNED
TITLES = {"letter": "LETTERS", "scene": "SCENE", "spambase": "SPAMBASE"}
TITLES |= {"breastw": "BREAST CANCER", "reuters_tick": "REUTERS, T = 100"}
TITLES |= {f"reuters_{least}": f"REUTERS, T = {least}" for least in (1, 10, 50)}
TABLE_2, TABLE_3 = tables.METRICS[:2], tables.METRICS[2:]


@cache
def _scores(name: str, fast: bool) -> dict[str, np.ndarray]:
    n_tasks = 2 if fast and name == "letter" else None
    return tables.measure(name, 5 if fast else 10, n_tasks)


def _more_often(one: int, other: int) -> str:
    return f"rows of the table in which {WAYS[one]} is above {WAYS[other]}, %"


def _lead(one: int, other: int) -> str:
    return f"points between 50 % and the interval, {WAYS[one]} and {WAYS[other]}"


def lead(share: Estimate) -> float:
    """How far half of the cases is from an interval; 0: neither way leads."""
    return max(share.low - 50.0, 50.0 - share.high, 0.0)


def wins(gains: np.ndarray) -> np.ndarray:
    """Of every split (a column), the share of gains above 0, a tie counted half."""
    return np.asarray(100.0 * ((gains > 0) + 0.5 * (gains == 0)).mean(axis=0))


def _compared(
    metrics: tuple[str, ...], pairs: tuple[tuple[int, int], ...], fast: bool
) -> Figures:
    """How often one way is above another, and every row's gain."""
    shares: dict[str, float | Estimate] = {}
    details: dict[str, float | Estimate] = {}
    for one, other in pairs:
        gains = []
        for metric in metrics:
            for name, title in TITLES.items():
                scores = _scores(name, fast)[metric]
                gains.append(scores[:, one] - scores[:, other])
                details[_gain(metric, title, one, other)] = Estimate.of(gains[-1])
        share = Estimate.of(wins(np.array(gains)))
        shares[_more_often(one, other)] = share
        shares[_lead(one, other)] = lead(share)
    return shares | details


def _gain(metric: str, title: str, one: int, other: int) -> str:
    return f"{tables.TITLES[metric]}, {title}, {WAYS[one]} over {WAYS[other]}"


def _printed(
    metrics: tuple[str, ...], pairs: tuple[tuple[int, int], ...]
) -> dict[str, str]:
    gains = {
        _gain(metric, title, one, other): ROWS[name].scores[metric][one]
        - ROWS[name].scores[metric][other]
        for one, other in pairs
        for metric in metrics
        for name, title in TITLES.items()
    }
    shares = {
        _more_often(one, other): PRINTED_WINS[metrics, one, other]
        for one, other in pairs
    }
    return shares | {name: f"{gain:+.4f}" for name, gain in gains.items()}


# Of the 20 cells of either table, those in which the first way is above the second
PRINTED_WINS = {
    (TABLE_2, DTA, BASELINE): "85 (17 of 20)",
    (TABLE_2, DTA, EUM): "65 (13 of 20)",
    (TABLE_3, DTA, BASELINE): "80 (16 of 20)",
    (TABLE_3, EUM, BASELINE): "85 (17 of 20)",
    (TABLE_3, DTA, EUM): "40 (8 of 20)",
}


OVER_BASELINE, OVER_EUM = (DTA, BASELINE), (DTA, EUM)
for _name, _metrics, _pairs in (
    ("table-2-over-baseline", TABLE_2, (OVER_BASELINE,)),
    ("table-2-over-eum", TABLE_2, (OVER_EUM,)),
    ("table-3-over-baseline", TABLE_3, (OVER_BASELINE, (EUM, BASELINE))),
    ("table-3-no-winner", TABLE_3, (OVER_EUM,)),
):
    declare(f"natarajan2015-{_name}", printed=_printed(_metrics, _pairs))(
        partial(_compared, _metrics, _pairs)
    )
