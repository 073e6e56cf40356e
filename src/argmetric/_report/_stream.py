"""A report of a stream: score, threshold and positives over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from argmetric._ground.display import metric_title
from argmetric._report import _figures as draw
from argmetric._report._figures import Figure, Layer, count, number, share
from argmetric._report._report import Card, PageTable, Report, Row, Section
from argmetric.metrics import Metric
from argmetric.stream import Look, alarms_in, recent_counts

PICTURES: tuple[tuple[dict[str, str], ...], tuple[str, ...]] = (  # lines, captions
    (
        {"score": "so far", "recent": "recent"},
        {"threshold": ""},
        {"predicted": "predicted", "actual": "actual"},
    ),
    (
        "If the recent score falls below the score so far, the data may have changed: "
        "check the input, then train again.",
        "A threshold that settles has learned; one that drifts follows the data.",
        "If the two lines part, the threshold lags behind the share of positives.",
    ),
)


def report_stream(
    looks: Sequence[Look],
    *,
    metric: Metric,
    rows: int,
    file: str,
    cards: Sequence[tuple[str, str, str]],
    notes: Sequence[str] = (),
) -> Report:
    """A report of how a stream of so many `rows` went, by what was known in between.

    `recent` is the score of the rows of late (a fortieth of all), `predicted` and
    `actual` are shares of positives among these.
    """
    seen = [(one.hits, one.predicted, one.actual, one.rows) for one in looks]
    late = recent_counts(np.array(seen, dtype=np.float64).reshape(-1, 4).T)
    over: dict[str, list[Any]] = {
        "rows": [look.rows for look in looks],
        "score": [look.score for look in looks],
        "recent": np.atleast_1d(metric.value(*late)).tolist(),
        "threshold": [look.threshold for look in looks],
        "predicted": (late[1] / late[3]).tolist(),
        "actual": (late[2] / late[3]).tolist(),
        "alarms": [alarm._asdict() for alarm in alarms_in(looks)],
    }
    title = metric_title(metric.name)
    return Report(
        kind="stream",
        title=f"{title} of a stream, row by row",
        subtitle=f"{file}: {count(rows, 'row')}; metric: {title}",
        cards=tuple(Card(*one, accent=i == 0) for i, one in enumerate(cards)),
        sections=(_section(title, over),) if looks else (),
        notes=tuple(notes),
        names={"file": file},
        values={"over": over},
    )


def _section(metric: str, over: dict[str, list[Any]]) -> Section:
    last = len(over["rows"]) - 1
    first = "Every row was predicted before its label was seen. Recent means the last "
    texts = [f"{first}fortieth of all rows."]
    texts += [
        f"Alarm at row {alarm['rows']:,}: {share(alarm['now'])} of the recent "
        f"predictions were wrong, {share(alarm['before'])} before; this is more than "
        "chance."
        for alarm in over["alarms"]
    ]
    shares = ("recent predicted positives", "recent actual positives")
    header = ("rows", f"{metric} so far", f"recent {metric}", "threshold", *shares)
    rows: list[Row] = []
    for i in sorted({round(last * i / 9) for i in range(10)}):
        values = (number(over[name][i]) for name in ("score", "recent", "threshold"))
        parts = (share(over[name][i]) for name in ("predicted", "actual"))
        rows.append((f"{over['rows'][i]:,}", *values, *parts))
    names = (metric, "threshold", "recent share of positives")
    figures = [_figure(over, *one) for one in zip(names, *PICTURES, strict=True)]
    table = PageTable("Ten points in time", header, rows)
    return Section("over", "Over time", tuple(texts), (table,), tuple(figures))


def _figure(
    over: dict[str, list[Any]], name: str, lines: dict[str, str], caption: str
) -> Figure:
    """Values against the number of rows; the first line lies on top."""
    rows, alarms = over["rows"], [one["rows"] for one in over["alarms"]]
    finite = [x for key in lines for x in over[key] if math.isfinite(x)]
    layers: list[Layer] = [draw.upright(alarms, "cut", "alarm")] if alarms else []
    for i, (key, word) in reversed([*enumerate(lines.items())]):
        look = ("line", "line second")[i]
        layers.append(draw.line(rows, over[key], look, word))
    text = draw.count_text
    x = draw.axis("rows", 0.0, float(rows[-1]), text=text, whole=True, exact=True)
    y = draw.axis(name, min(0.0, 0.0, *finite), max(finite, default=0.0), 4)
    return Figure(caption, x, y, tuple(layers))
