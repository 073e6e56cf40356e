"""Draw the first picture of each page of results, from the tables of the page.

python docs/draw_results.py
python docs/draw_results.py peers    # one of them
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from draw_pictures import picture

DOCS = Path(__file__).parent
Row = dict[str, str]


def tables(page: str, first: str) -> list[list[Row]]:
    """Return rows by heads of the csv-tables of a page whose first line begins so."""
    lines = (DOCS / f"{page}.rst").read_text(encoding="utf-8").splitlines()
    starts = [i for i, x in enumerate(lines) if x.strip().startswith(f'"{first}')]
    cut = [lines[start : lines.index("", start)] for start in starts]
    return [list(csv.DictReader(map(str.strip, rows))) for rows in cut]


def table(page: str, first: str) -> list[Row]:
    return tables(page, f'{first}"')[0]


def number(text: str) -> float:
    """The first number of a cell: 0.90 of "0.90 (0.06, 0.04)"."""
    return float(text.replace(",", " ").replace("−", "-").split()[0])


def dots(
    ax: Any, rows: list[str], series: dict[str, list[float]], **words: str
) -> None:
    """A line for each row, with a dot for each series."""
    places = range(len(rows))[::-1]
    for mark, (name, values) in zip("oDsv^", series.items(), strict=False):
        ax.plot(values, places, mark, label=name, markersize=6, alpha=0.9)
    ax.set_yticks(places, rows)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="y", color="#dddddd")
    ax.set_axisbelow(True)
    ax.set(**words)


def monitoring() -> None:
    found = {
        row["what happened"]: row
        for row in table("monitoring_results", "what happened")
    }
    rows = {
        "nothing": "nothing happened",
        "prevalence × ¼ to × 4, all": "prevalence shift",
        "covariate shift, all": "covariate shift",
        "labels changed": "labels changed meaning",
    }
    series = {
        "monitor": '``"auto"``',
        "adjusts nothing": '``"none"``',
        "CBPE ± 1.645 se": "CBPE ± 1.645 se, width",
    }
    values = {k: [number(found[r][v]) for r in rows] for k, v in series.items()}
    with picture("results_monitoring", 8.4) as ax:
        ax.axvline(0.9, color="C7", linestyle="--")
        title = "How often the 90 % interval contained the actual F1"
        dots(ax, list(rows.values()), values, title=title)
        ax.set_xlim(0, 1.02)
        ax.legend(loc="center left", bbox_to_anchor=(0.3, 0.3))


def tuning() -> None:
    found = table("tuning_results", "here (paper)")
    series = {"threshold 0.5": "0.5 F1", "tuned": "EUM F1", "decide": "DTA F1"}
    values = {k: [number(row[v]) for row in found] for k, v in series.items()}
    with picture("results_tuning", 8.4) as ax:
        names = [row["here (paper)"] for row in found]
        dots(ax, names, values, title="F1 on test rows")
        ax.legend(loc="lower left")


def calibration() -> None:
    found = table("calibration_results", "sets")
    models = ("logistic", "forest", "boosting", "neighbours", "bayes")
    heads = ("F1 gained", "contain score")
    with picture("results_calibration", 8.4, columns=2) as axes:
        for ax, head in zip(axes, heads, strict=True):
            values = {
                f"{half} sets": [
                    number(row[head])
                    for model in models
                    for row in found
                    if (row["sets"], row["cases"]) == (half, model)
                ]
                for half in ("design", "other")
            }
            dots(ax, list(models), values)
        axes[0].set_title("Points of F1 gained by recalibration")
        axes[1].set(title="90 % interval contains the score", yticklabels=[])
        axes[0].axvline(0, color="C7", linestyle="--")
        axes[1].axvline(0.9, color="C7", linestyle="--")
        axes[0].legend(loc="center right")


def streaming() -> None:
    found = table("streaming_results", "online F1")
    ways = [name for name in found[0] if name != "online F1"]
    with picture("results_streaming", 8.4, columns=2) as axes:
        for ax, row in zip(axes, found, strict=True):
            dots(ax, ways, {"F1": [number(row[way]) for way in ways]})
            ax.set_title(f"Online F1, {row['online F1']}")
        axes[1].set_yticklabels([])


def searching() -> None:
    found = [row for row in table("searching_results", "system") if row["chunk F1"]]
    with picture("results_searching", 8.4, columns=2) as axes:
        for ax, head in zip(axes, ("chunk F1", "entity F1"), strict=True):
            names = [row["system"] for row in found]
            dots(ax, names, {"F1": [number(row[head]) for row in found]}, title=head)
        axes[1].set_yticklabels([])


def tensors() -> None:
    found = [
        row
        for row in table("tensors_results", "set")
        if (row["loss"], row["calibrated"]) == ("BCE", "no")
    ]
    series = {"threshold 0.5": "0.5", "tuned": "one threshold", "decide": "decide"}
    values = {k: [number(row[v]) for row in found] for k, v in series.items()}
    with picture("results_tensors", 8.4) as ax:
        title = "F1 of a row's labels, in per cent; BCE"
        dots(ax, [row["set"] for row in found], values, title=title)
        ax.legend(loc="lower right")


def peers() -> None:
    """A dot for each measure of each peer, to the right where argmetric is better."""
    rows = [row for found in tables("peers", 'Measure"') for row in found]
    rows = [
        one for one in rows if one["Difference"] and "allowed" not in one["Measure"]
    ]
    names = list(dict.fromkeys(list(row)[1] for row in rows))[::-1]
    kinds = {
        "argmetric wins": {"color": "C0"},
        "argmetric, compiled or tuned": {"color": "C0", "fillstyle": "none"},
        "the peer wins": {"color": "C3"},
        "tie": {"color": "#9aa5b1"},
    }
    with picture("results_peers", 8.4, 3.6, columns=2) as axes:
        for row in rows:
            value = number(row["Difference"].replace("× ", "").replace(",", ""))
            speed = "×" in row["Difference"]
            if "lower is better" in row["Measure"]:
                value = 1 / value if speed else -value
            who, peer = row["Who wins"], list(row)[1]
            kind = "tie" if who == "tie" else "the peer wins"
            if who.startswith("argmetric"):
                kind = list(kinds)[", " in who]
            axes[int(speed)].plot(
                value, names.index(peer), "o", markersize=6, **kinds[kind]
            )
        for ax, middle in zip(axes, (0.0, 1.0), strict=True):
            ax.axvline(middle, color="C7", linestyle="--", zorder=0)
            ax.set_yticks(range(len(names)), names)
            ax.grid(axis="y", color="#dddddd")
            ax.set_axisbelow(True)
        axes[0].set_title("Scores: points more than the peer")
        axes[0].set_xscale("symlog", linthresh=1.0)
        axes[0].set_xticks([-1, 0, 1, 10], ["−1", "0", "1", "10"])
        axes[0].set_xlim(-2, 80)
        axes[1].set_title("Speed: times as fast as the peer")
        axes[1].set_xscale("log")
        axes[1].set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        axes[1].set_yticklabels([])
        for name, style in kinds.items():
            axes[1].plot([], [], "o", markersize=6, label=name, **style)
        axes[1].figure.legend(loc="outside lower center", ncols=4)


def accuracy() -> None:
    """Nanoseconds of a row, by call."""
    found = table("accuracy", 'Call","Nanoseconds of CPU time per row')
    names = [row["Call"].replace("``", "") for row in found]
    cells = [row["Nanoseconds of CPU time per row"] for row in found]
    values = [number(cell.replace(",", "")) for cell in cells]
    with picture("results_accuracy", 8.4) as ax:
        title = "Nanoseconds of CPU time per row"
        dots(ax, names, {title: values}, title=title)
        for place, value in enumerate(values[::-1]):
            ax.text(value * 1.12, place, f"{value:,.0f}", va="center")
        ax.set_xscale("log")
        ax.set_xticks([10, 100, 1_000, 10_000], ["10", "100", "1,000", "10,000"])


PAGES = (
    monitoring,
    tuning,
    calibration,
    streaming,
    searching,
    tensors,
    peers,
    accuracy,
)

if __name__ == "__main__":
    for draw in PAGES:
        if draw.__name__ in (sys.argv[1:] or [draw.__name__]):
            draw()
