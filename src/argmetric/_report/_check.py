"""Reports of labelled rows: are probabilities reliable, and which threshold is best?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.display import metric_title
from argmetric._report import _figures as draw
from argmetric._report._curves import candidates, choose_knots
from argmetric._report._figures import Figure, Layer, axis, count, number
from argmetric._report._report import Card, PageTable, Report, Section, cards_of
from argmetric._verbs.check import CalibrationCheck, reworded
from argmetric._verbs.tune import Rule

RELIABLE = "Are the probabilities reliable?"
RULE_LINES = 3  # of a rule, which its page has as cards
VERDICTS = 2  # lines of a check that say them, with advice
_ARGUMENTS = re.compile(
    r"\b(zero_division|average|prior|(?:min|max)_(?:positives|precision|recall))"
    r"=(['\"]?)([\w.]+)\2"
)


def in_options(text: str, shell: bool) -> str:
    """A text with arguments of Python as options, if the command line was used."""

    def option(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')} {found[3]}"

    return _ARGUMENTS.sub(option, text) if shell else text


@dataclass(frozen=True)
class Checked:
    """A check, and what to do in the syntax of the surface that was used."""

    check: CalibrationCheck | None
    on: str = "these rows"  # which were labelled
    shell: bool = False
    calibrated: bool = False  # whether the page has recalibrated scores

    def how(self, route: str = "recalibrate") -> str:
        """What to do about p, by the advised way to decide."""
        reference = self.on == "the labelled reference"
        if route == "tune" and (self.calibrated or reference):
            return f"tune a cut on {self.on}"
        if route != "recalibrate":
            tune = "argmetric tune" if self.shell else "tune(y, p)"
            return f"take the cut of {tune}" if route == "tune" else "cut at 0.5"
        if self.calibrated:
            return "recalibrate it, as is done here"
        if reference:
            run = "run argmetric calibrate" if self.shell else "use calibrate(y, p)"
            return f"{run} on {self.on}"
        if self.shell:
            return "pass a file of labelled rows as --reference"
        return "pass labelled rows as reference=(y, p) to decide and forecast"

    def section(self, title: str, *, told: bool = False) -> Section:
        """The reliability diagram, the ways to decide and the quality of p."""
        check = self.check
        assert check is not None
        table = check_table(check, self.on)
        text = verdict_text(check, self.how(), self.how("tune")) if told else ()
        return Section("calibration", title, text, (table,), (self.diagram(check),))

    def diagram(self, check: CalibrationCheck) -> Figure:
        """Share of positives against probability, with its intervals and the cut."""
        bins, cut = check.positive_bins.to_dict(), check.threshold
        cuts = [] if cut is None or not math.isfinite(cut) else [cut]
        means, rates, high = bins["mean"], bins["rate"], bins["rate_high"]
        most = max(*means, *high, *cuts)
        x = axis("probability as given", 0.0, most)
        titles = [
            f"probability {number(mean)}, actual share {number(rate)}"
            for mean, rate in zip(means, rates, strict=True)
        ]
        layers = [draw.line((0.0, x.high), (0.0, x.high), "same", "calibrated")]
        if cuts:
            words = f"threshold of decide: p ≥ {cut:.3g}, as given"
            layers.append(draw.upright(cuts, "cut", words))
        layers.append(draw.line(means, rates))
        ends: Any = {"low": bins["rate_low"], "high": high, "titles": titles}
        words = "actual share in a bin, 95 % interval"
        layers.append(draw.points(means, rates, name=words, **ends))
        how = " (done here)." if self.calibrated else f": {self.how()}."
        return Figure(
            "Points on the dotted line: the probabilities are right. Below it they are "
            "too high, above it too low. If the bars miss the line, recalibrate" + how,
            x,
            axis("actual share of positives", 0.0, most),
            tuple(layers),
        )


def check_table(check: Any, on: str) -> PageTable:
    """What a check says besides its verdicts: the ways to decide, and the quality."""
    return PageTable(f"The check on {on}", ("", ""), check.lines()[VERDICTS:])


def verdict_text(check: Any, *how: str) -> tuple[str, ...]:
    """The verdicts of a check in sentences; `how` words recalibrating and tuning."""
    lines = [f"{name[0].upper()}{name[1:]} {text}." for name, text in check.lines()]
    told = tuple(lines[:VERDICTS])
    return reworded(told, *how) if how else told


def report_check(check: CalibrationCheck) -> Report:
    """A report of what the errors of probabilities cost."""
    title = metric_title(check.metric.name)
    return check_page(check, Checked(check).section("Reliability diagram"), title)


def check_page(check: Any, section: Section, metric: str) -> Report:
    """The verdicts of a check, and a section with the rest."""
    return Report(
        kind="check",
        title="Are these probabilities reliable?",
        subtitle=f"{count(check.n, 'row')}; metric: {metric}",
        cards=tuple(cards_of(check.lines()[:VERDICTS])),
        sections=(section,),
        notes=check.notes,
        values={"check": check.to_dict()},
    )


def report_rule(rule: Rule) -> Report:
    """A report of a rule that was tuned."""
    name = metric_title(rule.metric.name)
    sign = {">=": "≥", "<": "<"}[rule.operator]
    cut = f"{rule._scale} {sign} {rule.threshold:.6g}"
    cards = [Card("Threshold", cut, ""), *cards_of(rule.lines()[:RULE_LINES])]
    table = PageTable("The rule", ("", ""), tuple(rule.lines()))
    figures = tuple(_thresholds(rule, name))
    section = Section("thresholds", f"{name} by threshold", (), (table,), figures)
    return Report(
        kind="rule",
        title=f"A threshold for {name}",
        subtitle=f"{count(rule.n, 'row')}; metric: {name}",
        cards=tuple(cards),
        sections=(section,),
        notes=rule.notes,
        values={"rule": rule.to_dict()},
    )


def _thresholds(rule: Rule, name: str) -> Iterator[Figure]:
    """Score against threshold, with the interval of the best one."""
    if rule.thresholds is None or rule.scores is None:
        return
    x, values = rule.thresholds[::-1], rule.scores[::-1]
    finite = np.isfinite(x) & np.isfinite(values)
    x, values = x[finite], values[finite]
    if x.size < 2:
        return
    places = candidates(values.size - 1)
    best = int(np.nanargmax(values[places]))
    height = max(float(np.ptp(values)), 1e-9)
    kept = choose_knots(x[places], values[None, places] / height, np.array([best]))
    x, y = x[places[kept]].tolist(), values[places[kept]].tolist()
    layers: list[Layer] = [draw.line(x, y)]
    if rule.threshold_interval is not None:
        ends = [min(max(end, x[0]), x[-1]) for end in rule.threshold_interval]
        words = "interval of the best threshold"
        layers.append({"draw": "band", "look": "band", "name": words, "x": ends})
    if x[0] <= rule.threshold <= x[-1]:
        layers.append(draw.points([rule.threshold], [rule.score], name="this rule"))
    yield Figure(
        "Use the marked threshold. A wide band means that these rows do not pin it "
        "down: label more rows to narrow it.",
        axis(f"threshold on {rule._scale}", x[0], x[-1], exact=True),
        axis(f"Actual {name}", min(y), max(y)),
        tuple(layers),
    )
