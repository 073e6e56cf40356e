"""A report of periods whose rows have one of several classes."""

from __future__ import annotations

import numpy as np

from argmetric._ground.display import metric_title
from argmetric._report._figures import count, percent
from argmetric._report._figures import share as in_percent
from argmetric._report._monitor import (
    ASK_WHY,
    LOOK_FIRST,
    MOST_ROWS,
    _cards,
    _over_time,
    _table,
)
from argmetric._report._report import Card, PageTable, Report, Section
from argmetric.classes import ClassMonitoring


def report_class_monitoring(found: ClassMonitoring) -> Report:
    """A report of periods of class probabilities.

    The share that is drawn is that of the class that moved most in the last period.
    """
    watch, (*_, last) = found.watch, found.periods
    title = metric_title(found.metric.name)
    c = int(np.argmax(np.abs(np.array(last.shares) - watch.shares)))
    name, old = str(watch.classes[c]), float(watch.shares[c])
    keys = {"share": "shares", "share_low": "shares_low", "share_high": "shares_high"}
    periods = [
        {key: getattr(one, many)[c] for key, many in keys.items()}
        | one.values()
        | one.answer._asdict()
        for one in found.periods
    ]
    caption = f"Forecast of {title}, {percent(watch.coverage)} interval"
    shown = [(one["start"], one) for one in reversed(periods[-MOST_ROWS:])]
    by_period = _table(caption, "period", title, shown)
    columns = ("expected", "low", "high")
    score = _over_time(periods, title, LOOK_FIRST, columns, (None, ""))
    of_class = f"share of {name}"
    columns = ("share", "share_low", "share_high")
    share = _over_time(periods, of_class, ASK_WHY, columns, (old, "reference"))
    classes = PageTable(
        f"Classes in the last period, {percent(watch.coverage)} interval",
        ("class", "reference", "share", "from", "to", "rows given it"),
        tuple(
            (str(one), *map(in_percent, shares), f"{given:,}")
            for one, *shares, given in zip(
                watch.classes,
                watch.shares.tolist(),
                last.shares,
                last.shares_low,
                last.shares_high,
                last.counts,
                strict=True,
            )
        ),
    )
    in_reference = f"{in_percent(old)} in the reference of {watch.code.size:,} rows"
    now = Card(f"Share of {name}", in_percent(last.shares[c]), in_reference)
    n_rows = count(sum(one.n for one in found.periods), "row")
    return Report(
        kind="monitor",
        title=f"Is the model still good? {title} by period",
        subtitle=f"{n_rows}; metric: {title}; {len(watch.classes)} classes",
        cards=(*_cards(title, periods, {}, watch.coverage), now),
        sections=(
            Section("by-period", f"{title} by period", (), (by_period,), (score,)),
            Section("share", f"Share of {name}", figures=(share,)),
            Section("classes", "Shares of the classes", tables=(classes,)),
        ),
        notes=found._notes(),
        values={
            "coverage": watch.coverage,
            "classes": [str(one) for one in watch.classes],
            "reference_shares": watch.shares.tolist(),
            "periods": periods,
        },
    )
