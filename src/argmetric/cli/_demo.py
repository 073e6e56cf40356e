"""``argmetric demo``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric.cli import _report
from argmetric.cli._errors import DONE
from argmetric.cli._options import ReportTarget
from argmetric.cli._progress import progress
from argmetric.cli.scores._page import require

if TYPE_CHECKING:
    from rich.console import Console

    from argmetric import Decision, Forecast

_SEED = 7
# The smallest gain to expect is 0.015, and orders differ by 0.21 in it. With 10,000
# orders its standard error is 0.0021, so that luck cannot hide it; with 20, 0.05.
_ORDERS = 10_000
_ITEMS_OF_AN_ORDER = 20
_BATCHES = 100  # that are forecast one by one
_STANDARD_ERRORS = 1.645  # either way: a 90 % interval
_SHOWN_ITEMS = 5
_BINS = 40
_BARS = " ▁▂▃▄▅▆▇█"
_CONVENTIONS = (
    (0.0, "an empty answer scores 0 (0/0 = 0)"),
    (1.0, "a right empty answer scores 1 (0/0 = 1)"),
)


class Shop(NamedTuple):
    """Items of orders: how probably each is bought again, and whether it was."""

    order: npt.NDArray[np.int64]
    p: npt.NDArray[np.float64]
    bought: npt.NDArray[np.int64]


def demo(*, report: ReportTarget = None) -> int:
    """Decide and forecast on generated data, then compare with the actual score.

    The data are orders of a shop, with the probability that each item is bought again.
    Nothing is downloaded; a file is written only with --report.
    """
    if report is not None:
        require(report)
    target = _report.console(stderr=False)
    shop = _generated()
    with progress("compiling, the first time only"):
        _forecast(next(_batches(shop)))
    _show_all_items(target, shop)
    for place, (zero_division, meaning) in enumerate(_CONVENTIONS, start=2):
        title = f"{place}. Mean F1 of the orders, where {meaning}"
        _show_orders(target, shop, zero_division, title)
    _show_one_order(target, shop)
    _show_forecast(target, shop)
    yours = "argmetric decide scores.csv --metric f1 -o decided.csv"
    if report is not None:
        import argmetric as am

        page = am.report(_by_order(shop, 1.0), shop.bought)
        page.save(report)
        where = Path(report).resolve()
        _report.print_notes(target, "\nwritten", [f"{where} (open it in a browser)"])
    _report.print_notes(target, "\nnext", [yours])
    return DONE


def _generated() -> Shop:
    """Draw calibrated probabilities: some orders are lively, in some little happens."""
    rng = np.random.default_rng(_SEED)
    order = np.repeat(np.arange(_ORDERS), _ITEMS_OF_AN_ORDER)
    liveliness = rng.normal(-2.6, 1.3, _ORDERS)[order]
    logit = liveliness + rng.normal(0, 1.2, order.size)
    p = (1 / (1 + np.exp(-logit))).round(4)
    return Shop(order, p, (rng.random(p.size) < p).astype(np.int64))


def _show_all_items(target: Console, shop: Shop) -> None:
    from argmetric import decide

    items = f"{shop.p.size:,} items in {_ORDERS:,} orders, with p(bought again)"
    _report.print_facts(target, "1. F1 of all items together", [("data", items)])
    _print_rules(target, shop, decide(shop.p, "f1"))


def _show_orders(target: Console, shop: Shop, zero_division: float, title: str) -> None:
    decision = _by_order(shop, zero_division)
    sizes = np.bincount(shop.order, weights=np.asarray(decision.labels))
    none = f"{int((sizes == 0).sum()):,} of {_ORDERS:,} orders get no item"
    chosen = f"{int(sizes.min())} to {int(sizes.max())} items per order; {none}"
    target.print()
    _report.print_facts(target, title, [("decided", chosen)])
    _print_rules(target, shop, decision)


def _by_order(shop: Shop, zero_division: float) -> Decision:
    from argmetric import decide

    return decide(
        shop.p,
        "f1",
        groups=shop.order,
        average="groups",
        zero_division=zero_division,
    )


def _print_rules(target: Console, shop: Shop, decision: Decision) -> None:
    """Print what the decision and two cuts score, and how much the decision gains."""
    half, best = decision.cut_half, decision.best_cut
    rules = [
        ("argmetric decide", np.asarray(decision.labels), decision.expected),
        (
            f"best single cut {best.threshold:.3f}",
            shop.p >= best.threshold,
            best.expected,
        ),
        ("cut at 0.5", shop.p >= half.threshold, half.expected),
    ]
    own = _parts(shop, rules[0][1], decision)
    rows = []
    for rule, chosen, expected in rules:
        parts = _parts(shop, chosen, decision)
        row = [rule, f"{int(chosen.sum()):,}", f"{expected:.3f}", f"{parts.mean():.3f}"]
        rows.append([*row, "" if rule == rules[0][0] else _gain(own - parts)])
    gain = "decide gains (90 % interval)"
    _report.print_table(target, ["rule", "positives", "expected", "actual", gain], rows)


def _parts(
    shop: Shop, labels: npt.NDArray[Any], decision: Decision
) -> npt.NDArray[np.float64]:
    """Return one number per order; their mean is the actual score.

    A mean over orders has the scores of the orders. The score S of all items together
    has the pseudovalues of the jackknife, n S - (n - 1) S without the order; the mean
    of those is S up to 1 / n.
    """
    columns = (labels * shop.bought, labels, shop.bought, np.ones(shop.p.size))
    counts = np.array([np.bincount(shop.order, weights=column) for column in columns])
    if decision.group_ids is not None:
        return np.asarray(decision.metric.value(*counts))
    total = counts.sum(axis=1, keepdims=True)
    score, without = (decision.metric.value(*c) for c in (total, total - counts))
    return np.asarray(_ORDERS * score - (_ORDERS - 1) * without)


def _gain(differences: npt.NDArray[np.float64]) -> str:
    """Return the mean of paired differences, one per order, with its interval."""
    if not differences.any():
        return "0, the same labels"
    gain = differences.mean()
    error = differences.std(ddof=1) / np.sqrt(differences.size) * _STANDARD_ERRORS
    return f"{gain:+.3f} ({gain - error:+.3f} to {gain + error:+.3f})"


def _show_one_order(target: Console, shop: Shop) -> None:
    """Show the order on which the two conventions differ most."""
    counted = [np.asarray(_by_order(shop, zd).labels) for zd, _ in _CONVENTIONS]
    chosen = [np.bincount(shop.order, weights=labels) for labels in counted]
    order = int(np.argmax(chosen[0] - chosen[1]))
    rows = np.flatnonzero(shop.order == order)
    rows = rows[np.argsort(-shop.p[rows], kind="stable")]
    nobody = np.prod(1 - shop.p[rows])
    title = f"4. The likeliest items of one order; p(no item is bought) = {nobody:.2f}"
    table = [
        [
            f"{shop.p[row]:.4f}",
            *("take" if labels[row] else "–" for labels in counted),
            "bought" if shop.bought[row] else "–",
        ]
        for row in rows[:_SHOWN_ITEMS]
    ]
    target.print()
    _report.print_facts(target, title, [])
    header = ["p", *(f"0/0 = {zd:g}" for zd, _ in _CONVENTIONS), "actual"]
    _report.print_table(target, header, table)


def _batches(shop: Shop) -> Iterator[Shop]:
    """Return the orders in batches of equal size."""
    for order, p, bought in zip(*(np.split(c, _BATCHES) for c in shop), strict=True):
        yield Shop(order, p, bought)


def _forecast(shop: Shop) -> tuple[Forecast, float]:
    """Return the forecast of a decision and its actual score."""
    from argmetric import evaluate, forecast

    decision = _by_order(shop, 1.0)
    labels, metric = decision.labels, decision.metric
    expected = forecast(shop.p, labels, metric, groups=shop.order, average="groups")
    real = evaluate(shop.bought, labels, metric, groups=shop.order, average="groups")
    return expected, real


def _show_forecast(target: Console, shop: Shop) -> None:
    both = [_forecast(batch) for batch in _batches(shop)]
    hits = sum(f.interval[0] <= real <= f.interval[1] for f, real in both)
    first, real = both[0]
    low, high = first.interval
    orders = _ORDERS // _BATCHES
    target.print()
    _report.print_facts(
        target,
        f"5. The score to expect of {orders} orders, before any label is known",
        [
            ("forecast", f"{first.mean:.3f}, 90 % interval {low:.3f} to {high:.3f}"),
            ("", _histogram(first)),
            ("actual", f"{real:.3f}"),
            ("", f"{hits} of {_BATCHES} such intervals contain the actual score"),
        ],
    )
    _report.print_notes(target, "assumes", first.assumptions)


def _histogram(forecast: Forecast) -> str:
    """Draw the distribution of the score as a line of bars."""
    low, high = forecast.quantile(0.001), forecast.quantile(0.999)
    edges = np.linspace(low, high, _BINS + 1)
    mass = np.diff([float(forecast.cdf(edge)) for edge in edges])
    heights = np.ceil(mass / mass.max() * (len(_BARS) - 1)).astype(int)
    bars = "".join(_BARS[height] for height in heights)
    return f"{low:.2f} {bars} {high:.2f}"
