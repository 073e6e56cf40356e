"""The page of the docs, made from the results and from nothing else."""

from __future__ import annotations

import statistics
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from peers_parts.rows import counted, winner

WIDTH = 88
WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def page(lines: list[dict[str, Any]]) -> str:
    parts = [WORDS["head"], summary(lines)]
    for line in lines:
        parts.append(section(line))
    return "\n".join(parts)


def summary(lines: list[dict[str, Any]]) -> str:
    """Where a peer wins, first; then how many measures each side wins."""
    lost, counts, left_out = [], [], []
    for line in lines:
        peer = line["peer"]
        if line["why_not"]:
            left_out.append(f"- {peer}: {line['why_not']}")
            continue
        won = [(row, winner(row, peer)) for row in line["rows"]]
        lost += [
            f"- {peer}: {row['what']} ({value(row, 'theirs')} against "
            f"{value(row, 'ours')}; ``{row['ours_is']}``)."
            for row, who in won
            if who == peer
        ]
        names = [who for _, who in won]
        ours, theirs = names.count("argmetric"), names.count(peer)
        counts.append([peer, str(theirs), str(ours), str(len(names) - ours - theirs)])
    parts = ["Where a peer wins\n-----------------\n"]
    parts.append("\n".join(map(wrapped, lost or ["In no measure of this run."])) + "\n")
    parts.append(table(["Measures won by", "the peer", "argmetric", "neither"], counts))
    if left_out:
        parts.append("Not run\n-------\n")
        parts.append("\n".join(map(wrapped, left_out)) + "\n")
    return "\n".join(parts)


def section(line: dict[str, Any]) -> str:
    peer, machine = line["peer"], line["machine"]
    parts = [f"{peer}\n{'-' * len(peer)}\n", wrapped(WORDS["tasks"][peer]) + "\n"]
    if line["why_not"]:
        parts.append(wrapped(f"Not run: {line['why_not']}") + "\n")
    else:
        ways = dict.fromkeys((r["theirs_is"], r["ours_is"]) for r in line["rows"])
        for theirs, ours in ways:
            rows = [
                cells(row, peer)
                for row in line["rows"]
                if (row["theirs_is"], row["ours_is"]) == (theirs, ours)
            ]
            parts.append(wrapped(f"``{theirs}`` against ``{ours}``:") + "\n")
            head = ["Measure", peer, "argmetric", "Better in", "Who wins"]
            parts.append(table(head, rows, widths="30 21 21 16 12"))
        parts.append(wrapped(f"Cases: {told_cases(line['rows'])}.") + "\n")
    made = ", ".join(f"{name} {number}" for name, number in line["versions"].items())
    also = [
        f"{x} {machine[x]}" for x in ("numpy", "numba", "scikit-learn") if x in machine
    ]
    parts.append(
        wrapped(
            f"{made or 'Not installed'}; argmetric {line['ours']}; {line['date']}; "
            f"{machine['cores']} cores, {machine['processor']}, {machine['system']}, "
            f"Python {machine['python']}, {', '.join(also)}; "
            f"{line['cpu_seconds']:.0f} CPU seconds."
        )
        + "\n"
    )
    return "\n".join(parts)


def cells(row: dict[str, Any], peer: str) -> list[str]:
    good = f"{row['better']} is better"
    if row["better"] == "at most":
        good = f"at most {row['allowed']:g} allowed"
    what = f"{row['what']} ({row['unit']}; {good})"
    who, n = winner(row, peer), len(row["cases"])
    theirs, ours = counted(row)
    if who == peer:
        who = f"**{peer}**"
    return [
        what,
        value(row, "theirs"),
        value(row, "ours"),
        f"{theirs} and {ours} of {n}",
        who,
    ]


def value(row: dict[str, Any], side: str) -> str:
    """Mean [least, largest] of a side; of ratios the geometric mean."""
    values = row[side]
    mean = statistics.fmean(values)
    if row["ratio"]:
        mean = statistics.geometric_mean(values)
    if len(values) == 1:
        return short(mean)
    return f"{short(mean)} [{short(min(values))}, {short(max(values))}]"


def short(x: float) -> str:
    if x >= 1000:
        return f"{float(f'{x:.3g}'):,.0f}"
    if x >= 10:
        return f"{x:.1f}"
    return f"{x:.2f}" if x >= 0.1 or x == 0 else f"{x:.2g}"


def told_cases(rows: list[dict[str, Any]]) -> str:
    """What the cases are made of: each part of their names once."""
    names = dict.fromkeys(case for row in rows for case in row["cases"])
    places: list[dict[str, None]] = []
    for name in names:
        for i, part in enumerate(name.split(", ")):
            if i == len(places):
                places.append({})
            places[i][part] = None
    return "; ".join(", ".join(place) for place in places)


def table(head: list[str], rows: list[list[str]], widths: str | None = None) -> str:
    lines = [".. csv-table::", "   :header-rows: 1", "   :class: compact"]
    if widths:
        lines.append(f"   :widths: {widths}")
    lines.append("")
    for row in [head, *rows]:
        quoted = (cell.replace('"', '""') for cell in row)
        lines.append("   " + ",".join(f'"{cell}"' for cell in quoted))
    return "\n".join(lines) + "\n"


def wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
