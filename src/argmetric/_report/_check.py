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
from argmetric._report._figures import Figure, Layer, axis, count, number, share
from argmetric._report._report import Card, PageTable, Report, Section
from argmetric._verbs.check import CalibrationCheck, marked, reworded
from argmetric._verbs.tune import Rule

QUESTIONS = "Reliable for decisions?", "Reliable for forecasts?"
QUALITY = ("forecast error", "log-odds", "log-loss", "Brier score", "ECE", "rows")
RULE_VALUES: tuple[str, ...] = ("threshold", "operator", "plateau", "optimism", "n")
RULE_VALUES += ("threshold_interval", "score", "interval", "coverage", "choice")
RULE_VALUES += ("mean", "prevalence", "positive_rate", "constraints")
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

    def advice(self) -> tuple[str, ...]:
        """What the check advises for decisions and for forecasts."""
        assert self.check is not None
        return reworded(self.check.advice, self.how(), self.how("tune"))

    def section(self, title: str, text: tuple[str, ...] = ()) -> Section:
        """The reliability diagram, the ways to decide and the quality of p."""
        check = self.check
        assert check is not None
        metric, routes = metric_title(check.metric.name), []
        forecasts = {"decide": check.expected}
        forecasts["recalibrate"] = check.expected_recalibrated
        for one in check.routes:
            gain = f"{one.gain:+.3f} ± {one.gain_standard_error:.3f}"
            forecast = number(forecasts[one.name]) if one.name in forecasts else ""
            cells = (number(one.score), "" if one.name == "decide" else gain)
            routes.append((one.words, forecast, *cells, marked(check, one)))
        header = ("way to decide", f"forecast {metric}", f"actual {metric}", "gain", "")
        ways = f"Ways to decide, compared on {self.on}"
        quality = tuple(row for row in check.lines() if row[0] in QUALITY)
        words = "Quality of p, as given → recalibrated; slope 1, intercept 0 are ideal"
        compared = PageTable(ways, header, routes)
        tables = compared, PageTable(words, ("", ""), quality)
        return Section("calibration", title, text, tables, (self.diagram(check),))

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


def verdict_cards(check: Any, advice: tuple[str, ...]) -> tuple[Card, ...]:
    """The two verdicts of a check, and what it advises."""
    verdicts = check.fit_to_decide, check.fit_to_forecast
    return tuple(
        Card(QUESTIONS[i], one, advice[i], accent=i == 0)
        for i, one in enumerate(verdicts)
    )


def verdict_text(check: Any, advice: tuple[str, ...]) -> tuple[str, ...]:
    """The same in sentences."""
    cards = verdict_cards(check, advice)
    return tuple(f"{one.name} {one.value.capitalize()}: {one.below}." for one in cards)


def report_check(check: CalibrationCheck) -> Report:
    """A report of what the errors of probabilities cost."""
    return Report(
        kind="check",
        title="Are these probabilities reliable?",
        subtitle=f"{count(check.n, 'row')}; metric: {metric_title(check.metric.name)}",
        cards=verdict_cards(check, check.advice),
        sections=(Checked(check).section("Reliability diagram"),),
        notes=check.notes,
        values={"check": check.to_dict()},
    )


def report_rule(rule: Rule) -> Report:
    """A report of a rule that was tuned."""
    name, new = metric_title(rule.metric.name), ""
    sign = {">=": "≥", "<": "<"}[rule.operator]
    cut = f"{rule._scale} {sign} {rule.threshold:.6g}"
    called = f"{share(rule.positive_rate)} of the rows are predicted positive"
    cards = [("Threshold", cut, called)]
    if rule.n:
        tuned = "on the rows that the threshold was tuned on"
        cards.append((f"Actual {name} on these rows", number(rule.score), tuned))
    if rule.interval is not None:
        wide = f"{draw.percent(rule.coverage)} interval for as many new rows"
        new = f"; {wide}: {draw.scores(*rule.interval)}"
    if not math.isnan(rule.mean):
        text = f"each fold by a threshold tuned on others{new}"
        score = number(rule.mean)
        cards.append((f"Cross-validated {name}", score, text))
    table = PageTable("The rule", ("", ""), tuple(rule.lines()))
    told = ("Every possible threshold, on the rows that it was tuned on.",)
    sections = tuple(
        Section("thresholds", f"{name} by threshold", told, (table,), (figure,))
        for figure in _thresholds(rule, name)
    )
    return Report(
        kind="rule",
        title=f"A threshold for {name}",
        subtitle=f"{count(rule.n, 'row')}; metric: {name}",
        cards=tuple(Card(*one, accent=i == 1) for i, one in enumerate(cards)),
        sections=sections,
        notes=rule.notes,
        values={"rule": {key: getattr(rule, key) for key in RULE_VALUES}},
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
