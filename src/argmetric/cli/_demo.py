"""``argmetric demo``."""

from __future__ import annotations

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
_ORDERS = 20
_ITEMS_OF_AN_ORDER = 20
_REDRAWS = 500
_SHOWN_ITEMS = 6
_BINS = 40
_BARS = " ▁▂▃▄▅▆▇█"
_CONVENTIONS = (
    (0.0, "an empty answer counts 0 (0/0 = 0)"),
    (1.0, "a right empty answer counts 1 (0/0 = 1)"),
)


class Shop(NamedTuple):
    """Items of orders: how probably each is bought again, and whether it was.

    `redraws` holds what might have come true as well, one world in each row.
    """

    order: npt.NDArray[np.int64]
    p: npt.NDArray[np.float64]
    bought: npt.NDArray[np.int64]
    redraws: npt.NDArray[np.int64]


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
        _forecast_orders(shop, _by_order(shop, 0.0).labels)
    _show_one_cut_for_all(target, shop)
    for place, (zero_division, meaning) in enumerate(_CONVENTIONS, start=2):
        title = f"{place}. Mean F1 over orders, where {meaning}"
        _show_orders(target, shop, zero_division, title)
    _show_one_order(target, shop)
    _show_forecast(target, shop)
    yours = "argmetric decide scores.csv --metric f1 -o decided.csv"
    if report is not None:
        page = _by_order(shop, 1.0).report(shop.bought)
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
    worlds = (rng.random((1 + _REDRAWS, p.size)) < p).astype(np.int64)
    return Shop(order, p, worlds[0], worlds[1:])


def _show_one_cut_for_all(target: Console, shop: Shop) -> None:
    from argmetric import decide

    _report.print_facts(
        target,
        "1. All rows together, judged by F1",
        [
            ("data", f"{shop.p.size} items in {_ORDERS} orders, with p(bought again)"),
            ("best", "the k most probable items; the exact E[F1] says which k"),
            ("redraws", "the mean score over newly drawn labels"),
        ],
    )
    _print_rules(target, shop, decide(shop.p, "f1"))


def _show_orders(target: Console, shop: Shop, zero_division: float, title: str) -> None:
    decision = _by_order(shop, zero_division)
    sizes = np.bincount(shop.order, weights=np.asarray(decision.labels))
    facts = [
        ("decided", f"order by order: {int(sizes.min())} to {int(sizes.max())} items"),
        ("empty", f"{int((sizes == 0).sum())} of {_ORDERS} orders get no item"),
    ]
    target.print()
    _report.print_facts(target, title, facts)
    _print_rules(target, shop, decision, groups=shop.order, average="groups")


def _by_order(shop: Shop, zero_division: float) -> Decision:
    from argmetric import decide

    return decide(
        shop.p,
        "f1",
        groups=shop.order,
        average="groups",
        zero_division=zero_division,
    )


def _print_rules(
    target: Console, shop: Shop, decision: Decision, **grouping: Any
) -> None:
    """Print what the decision and single cuts are expected to score, and did score."""
    from argmetric import evaluate

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
    rows, came = [], {}
    for rule, chosen, expected in rules:
        labels = chosen.astype(np.int64)
        real, *others = (
            evaluate(world, labels, decision.metric, **grouping)
            for world in (shop.bought, *shop.redraws)
        )
        scores = (expected, float(np.mean(others)), real)
        came[rule] = real
        rows.append([rule, str(int(labels.sum())), *map(_report.number, scores)])
    header = ["rule", "positives", "expected", f"{_REDRAWS} redraws", "actual"]
    _report.print_table(target, header, rows)
    own, *cuts = came
    lucky = [rule for rule in cuts if came[rule] > came[own]]
    if lucky:
        luck = (
            f"{' and '.join(lucky)} scored higher on this one draw by luck; over the "
            "redraws argmetric decide scores higher"
        )
        _report.print_notes(target, "note", [luck])


def _show_one_order(target: Console, shop: Shop) -> None:
    """Show the order on which the two conventions differ most."""
    counted = [np.asarray(_by_order(shop, zd).labels) for zd, _ in _CONVENTIONS]
    chosen = [np.bincount(shop.order, weights=labels) for labels in counted]
    order = int(np.argmax(chosen[0] - chosen[1]))
    rows = np.flatnonzero(shop.order == order)
    rows = rows[np.argsort(-shop.p[rows], kind="stable")]
    nobody = np.prod(1 - shop.p[rows])
    title = f"4. The likeliest items of one order; none is bought with p = {nobody:.2f}"
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


def _forecast_orders(shop: Shop, labels: npt.NDArray[Any]) -> Forecast:
    from argmetric import forecast

    return forecast(
        shop.p,
        labels,
        "f1",
        groups=shop.order,
        average="groups",
        zero_division=1.0,
    )


def _show_forecast(target: Console, shop: Shop) -> None:
    from argmetric import evaluate

    decision = _by_order(shop, 1.0)
    expected = _forecast_orders(shop, decision.labels)
    real = evaluate(
        shop.bought,
        decision.labels,
        decision.metric,
        groups=shop.order,
        average="groups",
    )
    low, high = expected.interval
    inside = "inside" if low <= real <= high else "outside"
    target.print()
    _report.print_facts(
        target,
        "5. The score to expect, before any label is known",
        [
            ("forecast", f"{expected.mean:.4f}, 90 % interval {low:.4f} to {high:.4f}"),
            ("", _histogram(expected)),
            ("actual", f"{real:.4f}, {inside} the interval"),
        ],
    )
    _report.print_notes(target, "assumes", expected.assumptions)


def _histogram(forecast: Forecast) -> str:
    """Draw the distribution of the score as a line of bars."""
    low, high = forecast.quantile(0.001), forecast.quantile(0.999)
    edges = np.linspace(low, high, _BINS + 1)
    mass = np.diff([float(forecast.cdf(edge)) for edge in edges])
    heights = np.ceil(mass / mass.max() * (len(_BARS) - 1)).astype(int)
    bars = "".join(_BARS[height] for height in heights)
    return f"{low:.2f} {bars} {high:.2f}"
