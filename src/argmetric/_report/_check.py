"""Reports of labelled rows and rules, and of one label per row among classes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from argmetric import classes as verbs
from argmetric._calibrate.resolve import check_pair
from argmetric._ground.display import counted, metric_title
from argmetric._ground.types import ArrayLike, Floats, ReferenceLike
from argmetric._report import _figures as draw
from argmetric._report._curves import candidates, choose_knots
from argmetric._report._figures import Figure, Layer, axis, by_name, number, short
from argmetric._report._report import Card, PageTable, Report, Row, Section, make_cards
from argmetric._verbs.check import CalibrationCheck, reword
from argmetric._verbs.tune import RATES, ParityRule, ReviewRule, Rule
from argmetric.classes import (
    ClassCalibrationCheck,
    ClassDecision,
    ClassReviewRule,
    codes_of,
)
from argmetric.metrics import ClassMetric

AnyCheck = CalibrationCheck | ClassCalibrationCheck
RELIABLE = "Are the probabilities reliable?"
RULE_LINES = 3  # of a rule, which its page has as cards
VERDICTS = 2  # lines of a check that say them, with advice
_ARGUMENTS = re.compile(
    r"\b(zero_division|average|prior|(?:min|max)_(?:positives|precision|recall))"
    r"=(['\"]?)([\w.]+)\2"
)


def in_options(text: str, shell: bool) -> str:
    """Return a text with Python arguments written as command-line options.

    Only if the command line was used (`shell`).
    """
    if not shell:
        return text
    return _ARGUMENTS.sub(lambda x: f"--{x[1].replace('_', '-')} {x[3]}", text)


@dataclass(frozen=True)
class CheckPage:
    """Page of a check, with advice in the syntax of Python or of the shell."""

    check: CalibrationCheck | None
    on: str = "these rows"  # which were labelled
    shell: bool = False
    calibrated: bool = False  # whether the page has recalibrated scores

    def advice(self, route: str = "recalibrate") -> str:
        """Return advice on p, by the recommended way to decide."""
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
        """Return the reliability diagram, the ways to decide and the quality of p."""
        check = self.check
        assert check is not None
        table = PageTable(f"The check on {self.on}", ("", ""), check.lines()[VERDICTS:])
        text = verdict_text(check, self.advice(), self.advice("tune")) if told else ()
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
        how = " (done here)." if self.calibrated else f": {self.advice()}."
        diagram = Figure(
            "Points on the dotted line: the probabilities are right. Below it they are "
            "too high, above it too low. If the bars miss the line, recalibrate" + how,
            x,
            axis("actual prevalence", 0.0, most),
            tuple(layers),
        )
        return Section("calibration", title, text, (table,), (diagram,))


def verdict_text(check: AnyCheck, *how: str) -> tuple[str, ...]:
    """Return the verdicts of a check in sentences."""
    lines = [f"{name[0].upper()}{name[1:]} {text}." for name, text in check.lines()]
    told = tuple(lines[:VERDICTS])
    return reword(told, *how) if how else told


def report_check(check: AnyCheck) -> Report:
    """Return a report of what the errors of probabilities cost."""
    if isinstance(check, CalibrationCheck):
        metric = metric_title(check.metric.name)
        section = CheckPage(check).section("Reliability diagram")
    else:
        metric = _in_words(check.metric, check.n_groups)
        section = _check_section(check)
    return Report(
        kind="check",
        title="Are these probabilities reliable?",
        subtitle=f"{counted(check.n, 'row')}; metric: {metric}",
        cards=tuple(make_cards(check.lines()[:VERDICTS])),
        sections=(section,),
        notes=check.notes,
        values={"check": check.to_dict()},
    )


def _page(
    rule: Rule | ReviewRule | ClassReviewRule | ParityRule,
    about: str,
    cards: Iterable[Card],
    section: Section,
    **known: Any,
) -> Report:
    """Return the page of a rule: cards and a section."""
    return Report(
        subtitle=f"{counted(rule.n, 'row')}; {about}",
        cards=tuple(cards),
        sections=(section,),
        notes=rule.notes,
        values={"rule": rule.to_dict()},
        **known,
    )


def report_rule(rule: Rule) -> Report:
    """Return a report of a tuned rule."""
    name = metric_title(rule.metric.name)
    if getattr(rule.metric, "_by_rows", False):
        name = "profit"
    sign = {">=": "≥", "<": "<"}[rule.operator]
    cut = f"{rule._scale} {sign} {rule.threshold:.6g}"
    cards = [Card("Threshold", cut, ""), *make_cards(rule.lines()[:RULE_LINES])]
    table = PageTable("The rule", ("", ""), tuple(rule.lines()))
    figures = tuple(_thresholds(rule, name))
    section = Section("thresholds", f"{name} by threshold", (), (table,), figures)
    title = f"A threshold for {name}"
    return _page(rule, f"metric: {name}", cards, section, kind="rule", title=title)


def report_review(rule: ReviewRule) -> Report:
    """Return a report of two cuts: what is decided, and the rows that a person sees."""
    lines = dict(rule.lines())
    wanted = ("automated", "accepted", "rejected", "for a person")
    cards = make_cards((name, lines[name]) for name in wanted if name in lines)
    table = PageTable("The rule", ("", ""), tuple(rule.lines()))
    figures = tuple(_review_bands(rule))
    section = Section("bands", "Rows by score", (), (table,), figures)
    known = {"title": "Accept, ask or reject", "assumptions": rule.assumptions}
    return _page(rule, rule._bands, cards, section, kind="review", **known)


def report_class_review(rule: ClassReviewRule) -> Report:
    """Return a report of a threshold for each class: rows given it, and asked about."""
    lines, names = dict(rule.lines()), [str(name) for name in rule.classes]
    wanted = [name for name in ("automated", "for a person") if name in lines]
    cards = [*make_cards((name, lines[name]) for name in wanted)]
    some = f"{np.isfinite(rule.thresholds).sum():,}"
    cards.append(Card("Thresholds", some, f"of {len(names):,} classes"))
    table = PageTable("The rule", ("", ""), tuple(rule.lines()))
    tables = [table]
    after: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    if rule.counts is not None:
        header = ("class", "threshold", "right", "wrong", "for a person")
        cuts = [f"{x:.4g}" if math.isfinite(x) else "none" for x in rule.thresholds]
        each = zip(names, cuts, rule.counts, strict=True)
        rows = [(*pair, *(f"{n:,}" for n in counts)) for *pair, counts in each]
        tables.append(PageTable("The classes", header, rows[:SHOWN]))
        if len(rows) > SHOWN:
            after = (f"{len(rows) - SHOWN:,} more classes are not shown.",)
        known = np.array(rule.counts, dtype=np.float64)
        parts = {"most probable": known.sum(axis=1), "given": known[:, :2].sum(axis=1)}
        caption = "Rows whose most probable class it is, and those that are given it. "
        caption += "Few are: label more rows, or lower the promise."
        figures = (by_name(caption, "labelled rows", names, parts),)
    section = Section("classes", "Classes", (), tuple(tables), figures, after)
    said = {"title": "A class, or a person", "assumptions": rule.assumptions}
    return _page(rule, rule._bands, cards, section, kind="class review", **said)


def report_parity(rule: ParityRule) -> Report:
    """Return a report of a threshold for each group: rates, their gap and intervals."""
    title, lines = metric_title(rule.metric.name), dict(rule.lines())
    rate, names = RATES[rule.rate], [str(name) for name in rule.names]
    cards = [Card(rate.capitalize(), rule._headline().number, "of the groups")]
    wanted = [name for name in ("gap", "probability") if name in lines]
    cards += make_cards((name, lines[name]) for name in wanted)
    cards.append(Card(title, number(rule.score), "on these rows"))
    each = zip(names, rule.rules, rule.rates, rule._rate_intervals, strict=True)
    rows = [
        (
            *(name, f"{one.threshold:.4g}", f"{one.n:,}"),
            *(
                draw.share(x) if one.n else ""
                for x in (one.prevalence, one.positive_rate)
            ),
            *(number(own), draw.scores(*ends)),
        )
        for name, one, own, ends in each
    ]
    header = ("group", "threshold", "rows", "positive", "predicted positive", rate)
    table = PageTable("The groups", (*header, "90 % interval"), rows[:SHOWN])
    left = len(rows) - SHOWN
    after = (f"{left:,} more groups are not shown.",) if left > 0 else ()
    figures = tuple(_parity_figures(rule, names))
    text = (f"{rule.sentence[0].upper()}{rule.sentence[1:]}.",)
    section = Section("groups", "Groups", text, (table,), figures, after)
    known = {"title": f"The same {rate} for {len(names):,} groups"}
    return _page(rule, f"metric: {title}", cards, section, kind="parity", **known)


def _parity_figures(rule: ParityRule, names: list[str]) -> Iterator[Figure]:
    """Rates of the groups within the gap, and their thresholds."""
    rate, ends = RATES[rule.rate], rule._rate_intervals
    places, n = [i + 0.5 for i in range(len(names))], len(names)
    step = -(-n // 6)
    ticks = tuple((i + 0.5, short(names[i], 9)) for i in range(0, n, step))
    by_group = draw.FigureAxis("group", 0.0, float(n), ticks)
    lowest = min(rule.rates)
    if math.isfinite(lowest):
        low, high = zip(*ends, strict=True)
        each = zip(names, rule.rates, ends, strict=True)
        titles = [f"{x}: {number(own)}, {draw.scores(*two)}" for x, own, two in each]
        more: Any = {"low": low, "high": high, "titles": titles}
        top = min(lowest + rule.gap, 1.0)
        yield Figure(
            "All points lie between the lines. A long bar: few rows say what the rate "
            "of this group is.",
            by_group,
            draw.axis(rate, min(*low, lowest), max(*high, top)),
            (
                draw.level(lowest, "same", f"a gap of {rule.gap:g}"),
                draw.level(top, "same", ""),
                draw.points(places, rule.rates, name=f"{rate}, 90 % interval", **more),
            ),
        )
    pairs = [(x, one.threshold) for x, one in zip(places, rule.rules, strict=True)]
    pairs = [pair for pair in pairs if math.isfinite(pair[1])]
    if pairs:
        x, cuts = zip(*pairs, strict=True)
        layer = draw.points(x, cuts, name=f"{rule.rules[0]._scale} from here: positive")
        yield Figure(
            "Far apart: prevalences of the groups differ, or scores are wrong in one.",
            by_group,
            draw.axis("threshold", min(cuts), max(cuts)),
            (layer,),
        )


def _review_bands(rule: ReviewRule) -> Iterator[Figure]:
    """Labelled rows by score, and the band of those that a person sees."""
    if not rule.histogram:
        return
    edges, negative, positive = (list(map(float, one)) for one in rule.histogram)
    total = [a + b for a, b in zip(negative, positive, strict=True)]
    titles = [f"{rule._scale} {a:.3g} to {b:.3g}" for a, b in pairwise(edges)]
    series = (
        ("bar", "negative", positive, total),
        ("bar taken", "positive", [0.0] * len(total), positive),
    )
    layers = [draw.bars(edges, titles, *series)]
    ends = [min(max(end, edges[0]), edges[-1]) for end in (rule.low, rule.high)]
    if ends[0] < ends[1]:
        words = "for a person"
        layers.append({"draw": "band", "look": "band", "name": words, "x": ends})
    yield Figure(
        "Rows above the band are accepted, rows below it rejected. Many rows in the "
        "band: label more rows, or lower a promise.",
        axis(rule._scale, edges[0], edges[-1], exact=True),
        axis("labelled rows", 0.0, max(total), 4, text=draw.count_text),
        tuple(layers),
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


SHOWN = 30  # classes in a table
WHOLE = 6  # classes up to which a confusion matrix is shown whole
PAIRS = 12  # most frequent confusions of more classes
LONGEST = 18  # letters of the name of a class


def report_class_decision(
    decision: ClassDecision,
    y: ArrayLike | None = None,
    *,
    coverage: float = 0.9,
    reference: ReferenceLike | None = None,
    names: dict[str, str] | None = None,
) -> Report:
    """Return a report of a decision among several classes, and of true labels."""
    batch = decision._batch
    if batch is None:
        raise ValueError("a decision that was pickled has no report: it needs p")
    forecast = decision.forecast(coverage)
    metric: Any = decision.metric
    title = metric_title(metric.name)
    # A forecast as well: the expected score of `decision` would be of another kind
    usual = decision._forecast(batch.p.argmax(axis=1), coverage)
    cards = [Card.of_forecast(title, forecast)]
    cards.append(Card("Most probable", number(usual.mean), ""))
    given: dict[str, Any] = {"classes": decision.classes, "groups": batch.groups}
    actual: Any = None
    checked: Any = reference
    on, notes, classes = "the reference", list(decision.notes), decision.classes
    if y is not None:
        codes_of(y, classes, len(decision.labels), "y")  # names y where wrong
        actual = verbs.evaluate(y, decision.labels, metric, **given)
        plain = np.array(classes)[batch.p.argmax(axis=1)]
        of_plain = number(float(verbs.evaluate(y, plain, metric, **given)))
        side = "outside" if forecast.surprise(float(actual)) else "inside"
        below = f"{side} the interval of the forecast; the most probable class has "
        cards.append(Card(f"Actual {title}", number(float(actual)), below + of_plain))
        checked, on = (y, batch.p), "these rows"
    sections = [_per_class(decision, actual)]
    sections.append(_confusion("Expected", decision.expected_confusion, classes))
    if actual is not None:
        sections.append(_confusion("Actual", actual.confusion, classes))
    if checked is not None:
        given["groups"] = batch.groups if y is not None else None
        try:
            truth, p = check_pair(checked)
            check = verbs.check(truth, p, metric, **given)
            again = batch.calibrator is not None and y is not None
            how = ("recalibrate on newer labelled rows", "tune weights") * again
            sections.append(_check_section(check, on, verdict_text(check, *how)))
        except ValueError as error:
            notes.append(f"the probabilities were not checked: {error}")
    names, rows = names or {}, counted(decision.n, "row")
    if "file" in names:
        rows = f"{names['file']}: {rows}"
    n_groups = None if batch.groups is None else batch.groups.count
    return Report(
        kind="classes",
        title=f"One class for each of {decision.n:,} rows",
        subtitle=f"{rows}; metric: {_in_words(metric, n_groups)}",
        cards=tuple(cards),
        sections=tuple(sections),
        notes=tuple(notes),
        assumptions=forecast.assumptions,
        names=names,
        values={
            "decision": decision.to_dict(),
            "forecast": forecast.to_dict(),
            "actual": None if actual is None else actual.to_dict(),
        },
    )


def _in_words(metric: ClassMetric, n_groups: int | None) -> str:
    """Return the text of the metric, the groups, and the value of absent classes."""
    over = "" if n_groups is None else f", mean over {n_groups:,} groups"
    convention = f"; {metric.convention}" if metric.convention else ""
    return f"{metric_title(metric.name)}{over}{convention}"


def _per_class(
    decision: ClassDecision, actual: verbs.ActualClassScore | None
) -> Section:
    """Return rows and scores of each class, the largest gain first."""
    own = metric_title(decision.metric.name.rpartition(" ")[2])
    values, usual = decision.per_class, decision.per_class_most_probable
    order = np.argsort(-decision.expected_counts, kind="stable")
    header = ["class", "rows given", "rows expected"]
    if values is not None and usual is not None:
        order = np.argsort(usual - values, kind="stable")
        header += [f"expected {own}", "gain"]
    scored = None if actual is None else actual.per_class
    header += [] if scored is None else [f"actual {own}"]
    rows = []
    for c in order[:SHOWN].tolist():
        row = [short(decision.classes[c], LONGEST), f"{decision.counts[c]:,}"]
        row.append(f"{decision.expected_counts[c]:,.1f}")
        if values is not None and usual is not None:
            row += [number(values[c]), f"{values[c] - usual[c]:+.3f}"]
        if scored is not None:
            row.append("left out" if np.isnan(scored[c]) else number(scored[c]))
        rows.append(tuple(row))
    caption = f"Classes: {len(rows)} of {len(decision.classes)}"
    table = PageTable(caption, tuple(header), rows)
    some = order[:SHOWN]
    names = [str(decision.classes[c]) for c in some]
    if values is None or usual is None:
        rows_of = {"expected": decision.expected_counts, "given": decision.counts}
        series = {word: counts[some] for word, counts in rows_of.items()}
        caption = "Rows that are expected in a class, and rows that are given it."
        picture = by_name(caption, "rows", names, series)
        return Section("classes", "Rows of each class", (), (table,), (picture,))
    series = {"most probable class": usual[some], "this decision": values[some]}
    caption = "The gain of a class is in expected score, over the most probable class."
    picture = by_name(caption, f"expected {own}", names, series)
    return Section("classes", "Gain of each class", (), (table,), (picture,))


def _confusion(kind: str, counts: Floats, classes: tuple[Any, ...]) -> Section:
    """Return the confusion matrix of few classes, else the most frequent errors."""
    digits = ",.1f" if kind == "Expected" else ",.0f"
    key, names = f"confusion-{kind.lower()}", [short(one, LONGEST) for one in classes]
    rows: list[Row]
    if len(classes) <= WHOLE:
        rows = [
            (name, *(f"{cell:{digits}}" for cell in row))
            for name, row in zip(names, counts, strict=True)
        ]
        table = PageTable(f"{kind} rows", ("", *names), rows)
        text = "Rows are actual classes, columns are predicted ones."
        return Section(key, f"{kind} confusion matrix", (text,), (table,))
    wrong, rows = counts - np.diag(np.diagonal(counts)), []
    for cell in np.argsort(-wrong.ravel(), kind="stable")[:PAIRS].tolist():
        a, b = divmod(cell, len(classes))
        if wrong[a, b] <= 0.0:
            break
        own = counts[a].sum()
        share = f"{wrong[a, b] / own:.0%}" if own > 0.0 else ""
        rows.append((names[a], names[b], f"{wrong[a, b]:{digits}}", share))
    right = np.trace(counts) / max(counts.sum(), 1e-300)
    text = f"{right:.0%} of the rows get their own class. The most frequent errors:"
    header = ("actual", "predicted", "rows", "of the class")
    table = PageTable(f"{kind} errors", header, rows)
    return Section(key, f"{kind} confusions", (text,), (table,))


def _check_section(
    check: ClassCalibrationCheck, on: str = "these rows", text: tuple[str, ...] = ()
) -> Section:
    """Return prevalences of every class, forecast and actual, and the check."""
    some = check.worst[:SHOWN]
    prevalences = {
        "forecast": [one.forecast_prevalence for one in some],
        "actual": [one.prevalence for one in some],
    }
    names, lines = [str(one.name) for one in some], check.lines()[VERDICTS:]
    table = PageTable(f"The check on {on}", ("", ""), lines)
    caption = "A class whose bars differ is forecast too often or too seldom."
    picture = by_name(caption, "prevalence", names, prevalences)
    return Section("class-check", RELIABLE, text, (table,), (picture,))
