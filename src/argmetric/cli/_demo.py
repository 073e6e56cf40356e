"""``argmetric demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import argmetric as am
from argmetric._ground.discrete import beside
from argmetric.cli import _report
from argmetric.cli._command import Arguments, command
from argmetric.cli._errors import DONE

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
_CONVENTIONS = {
    0.0: "an empty answer scores 0 (0/0 = 0)",
    1.0: "a right empty answer scores 1 (0/0 = 1)",
}


class Shop(NamedTuple):
    """Items of orders: the probability that each is bought again, and if it was."""

    order: npt.NDArray[np.int64]
    p: npt.NDArray[np.float64]
    bought: npt.NDArray[np.int64]


@command("report", files={})
def demo(o: Arguments) -> int:
    """Decide and forecast on generated data, then compare with the actual score.

    The data are orders of a shop, with the probability that each item is bought again.
    Nothing is downloaded; a file is written only with --report.

    Examples
    --------
    argmetric demo
    argmetric demo --report demo.html
    """
    # Calibrated probabilities: some orders are lively, in some little happens
    rng = np.random.default_rng(_SEED)
    order = np.repeat(np.arange(_ORDERS), _ITEMS_OF_AN_ORDER)
    liveliness = rng.normal(-2.6, 1.3, _ORDERS)[order]
    logit = liveliness + rng.normal(0, 1.2, order.size)
    p = (1 / (1 + np.exp(-logit))).round(4)
    shop = Shop(order, p, (rng.random(p.size) < p).astype(np.int64))
    target = _report.console(stderr=False)
    columns = (np.split(column, _BATCHES) for column in shop)
    batches = [Shop(*parts) for parts in zip(*columns, strict=True)]
    with _report.progress("compiling, the first time only"):
        _forecast(batches[0])
    items = f"{shop.p.size:,} items in {_ORDERS:,} orders, with p(bought again)"
    title = "1. F1 of all items together"
    _print_rules(target, shop, am.decide(shop.p, "f1"), title, ("data", items))
    by_order = [_by_order(shop, zero_division) for zero_division in _CONVENTIONS]
    for place, (decision, meaning) in enumerate(
        zip(by_order, _CONVENTIONS.values(), strict=True), start=2
    ):
        sizes = np.bincount(shop.order, weights=np.asarray(decision.labels))
        none = f"{int((sizes == 0).sum()):,} of {_ORDERS:,} orders get no item"
        chosen = f"{int(sizes.min())} to {int(sizes.max())} items per order; {none}"
        title = f"{place}. Mean F1 of the orders, where {meaning}"
        target.print()
        _print_rules(target, shop, decision, title, ("decided", chosen))
    _show_one_order(target, shop, [np.asarray(one.labels) for one in by_order])
    _show_forecast(target, [_forecast(batch) for batch in batches])
    if o.report is not None:
        am.report(by_order[-1], shop.bought).save(o.report)
        where = Path(o.report).resolve()
        _report.print_notes(target, "\nwritten", [f"{where} (open it in a browser)"])
    yours = "argmetric decide scores.csv --metric f1 -o decided.csv"
    _report.print_notes(target, "\nnext", [yours])
    return DONE


def _by_order(shop: Shop, zero_division: float) -> Decision:
    how: Any = {"groups": shop.order, "average": "groups"}
    return am.decide(shop.p, "f1", zero_division=zero_division, **how)


def _print_rules(
    target: Console, shop: Shop, decision: Decision, title: str, fact: tuple[str, str]
) -> None:
    """Print what the decision and two cuts score, and how much the decision gains."""
    _report.print_facts(target, title, [fact])
    half, best = decision.cut_half, decision.best_cut
    own, first = np.asarray(decision.labels), "argmetric decide"
    rules = {
        first: (own, decision.expected),
        f"best single cut {best.threshold:.3f}": (
            shop.p >= best.threshold,
            best.expected,
        ),
        "cut at 0.5": (shop.p >= half.threshold, half.expected),
    }
    scored = _parts(shop, own, decision)
    rows = []
    for rule, (chosen, expected) in rules.items():
        parts = _parts(shop, chosen, decision)
        row = [rule, f"{int(chosen.sum()):,}", f"{expected:.3f}", f"{parts.mean():.3f}"]
        rows.append([*row, "" if rule == first else _gain(scored - parts)])
    gain = "decide gains (90 % interval)"
    _report.print_table(target, ["rule", "positives", "forecast", "actual", gain], rows)


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


def _show_one_order(target: Console, shop: Shop, counted: list[Any]) -> None:
    """Show the order on which the two conventions differ most."""
    chosen = [np.bincount(shop.order, weights=labels) for labels in counted]
    rows = np.flatnonzero(shop.order == np.argmax(chosen[0] - chosen[1]))
    rows = rows[np.argsort(-shop.p[rows], kind="stable")]
    nobody = np.prod(1 - shop.p[rows])
    title = f"4. The likeliest items of one order; p(no item is bought) = {nobody:.2f}"
    table = []
    for row in rows[:_SHOWN_ITEMS]:
        taken = ["take" if labels[row] else "–" for labels in counted]
        bought = "bought" if shop.bought[row] else "–"
        table.append([f"{shop.p[row]:.4f}", *taken, bought])
    target.print()
    _report.print_facts(target, title, [])
    header = ["p", *(f"0/0 = {zero:g}" for zero in _CONVENTIONS), "actual"]
    _report.print_table(target, header, table)


def _forecast(shop: Shop) -> tuple[Forecast, float]:
    """Return the forecast of a decision and its actual score."""
    decision = _by_order(shop, 1.0)
    how: Any = {"groups": shop.order, "average": "groups", "metric": decision.metric}
    actual = am.evaluate(shop.bought, decision.labels, **how)
    return am.forecast(shop.p, decision.labels, **how), actual


def _show_forecast(target: Console, both: list[tuple[Forecast, float]]) -> None:
    """Print the forecast of the first batch as bars, beside its actual score."""
    hits = sum(f.interval[0] <= real <= f.interval[1] for f, real in both)
    first, real = both[0]
    low_end, high_end = first.quantile(0.001), first.quantile(0.999)
    edges = np.linspace(low_end, high_end, _BINS + 1)
    mass = np.diff([float(first.cdf(edge)) for edge in edges])
    heights = np.ceil(mass / mass.max() * (len(_BARS) - 1)).astype(int)
    bars = "".join(_BARS[height] for height in heights)
    actual, low, high = beside(real, *first.interval)
    size = _ORDERS // _BATCHES
    title = f"5. The score to expect of {size} orders, before any label is known"
    facts = [
        ("forecast", f"{first.mean:.3f}, 90 % interval {low} to {high}"),
        ("", f"{low_end:.2f} {bars} {high_end:.2f}"),
        ("actual", actual),
        ("", f"{hits} of {_BATCHES} such intervals contain the actual score"),
    ]
    target.print()
    _report.print_facts(target, title, facts)
    _report.print_notes(target, "assumes", first.assumptions)
