"""The page of the docs, made from the results and from nothing else."""

from __future__ import annotations

import math
import statistics
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from peers_parts.rows import counted, interval, winner

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
        won = [(row, verdict(row, peer)) for row in line["rows"]]
        lost += [
            f"- {peer}: {row['what']} ({value(row, 'theirs')} against "
            f"{value(row, 'ours')}; ``{row['ours_is']}``)."
            for row, who in won
            if who == peer
        ]
        counts.append([peer, WORDS["code"][peer]])
        for speed in (False, True):
            names = [who for row, who in won if row["ratio"] == speed]
            ours, theirs = names.count("argmetric"), names.count(peer)
            unlike = sum(who.startswith("argmetric, ") for who in names)
            ties = len(names) - ours - theirs - unlike
            counts[-1] += [f"{theirs}, {ours}, {ties}", str(unlike or "")]
    parts = ["Where a peer wins\n-----------------\n"]
    parts.append("\n".join(map(wrapped, lost or ["In no measure of this run."])) + "\n")
    parts.append(wrapped(WORDS["counts"]) + "\n")
    parts.append(table(WORDS["heads"], counts))
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
            head = ["Measure", peer, "argmetric", "Difference", "Better in", "Who wins"]
            parts.append(table(head, rows, widths="26 17 17 18 11 11"))
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
    who, n = verdict(row, peer), len(row["cases"])
    theirs, ours = counted(row)
    if who == peer:
        who = f"**{peer}**"
    return [
        what,
        value(row, "theirs"),
        value(row, "ours"),
        difference(row),
        f"{theirs} and {ours} of {n}",
        who,
    ]


def verdict(row: dict[str, Any], peer: str) -> str:
    """Return who wins, and what argmetric had that the peer had not, if it does."""
    who = winner(row, peer)
    if who == "argmetric" and row["ratio"]:
        return who if "compiled" in WORDS["code"][peer] else "argmetric, compiled"
    if who == "argmetric" and ", positive from " in row["theirs_is"]:
        return "argmetric, tuned"
    return who


def value(row: dict[str, Any], side: str) -> str:
    """Mean [least, largest] of a side; of ratios the geometric mean."""
    values = row[side]
    mean = statistics.fmean(values)
    if row["ratio"]:
        mean = statistics.geometric_mean(values)
    if len(values) == 1:
        return short(mean)
    return f"{short(mean)} [{short(min(values))}, {short(max(values))}]"


def difference(row: dict[str, Any]) -> str:
    """Return argmetric less the peer, or times the peer, with the interval."""
    found = interval(row)
    if found is None:
        return ""
    mean, *ends = found
    if row["better"] != "higher":
        mean, ends = -mean, [-end for end in ends]
    low, high = sorted(ends)
    if row["ratio"]:
        mean, low, high = map(math.exp, (mean, low, high))
        return f"× {short(mean)} [{short(low)}, {short(high)}]"
    mean, low, high = (
        f"{x + 0.0:+z.2f}".replace("+0.00", "0.00") for x in (mean, low, high)
    )
    return f"{mean} [{low}, {high}]".replace("-", "−")


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
            places[i][WORDS["names"].get(part, part)] = None
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
