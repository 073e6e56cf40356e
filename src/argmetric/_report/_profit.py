"""A report of a decision where the worth of a label differs by row.

A row gains g_i by being chosen. With the rows in the order of g the expected profit of
the first k is the profit of choosing none plus Σ g_i over them: its top is where gains
become negative. Rules that cut the score choose other rows, and lie below the curve.
With labelled rows g_i is a mean over all calibrators that they allow, for the profit is
linear in p; the order is that of the fitted one, by which rows are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from argmetric._ground.display import counted
from argmetric._ground.pictures import reach
from argmetric._ground.types import Booleans, Floats
from argmetric._report import _figures as draw
from argmetric._report._curves import Family, candidates, choose_knots
from argmetric._report._decision import DecisionPage
from argmetric._report._figures import Figure, amount, number, share
from argmetric._report._report import Card, PageTable, Row, Section
from argmetric._verbs.decide import Cut
from argmetric.metrics import Utility

LARGEST = 10  # rows of the largest gain that are listed
NEARLY = 0.01  # of the largest profit over choosing none, that may be lost
WORTHS = {
    "tp": "a true positive",
    "fp": "a false positive",
    "fn": "a false negative",
    "tn": "a true negative",
}


class _Scores(Family):
    """Scores in descending order, to write thresholds with few digits."""

    def __init__(self, scores: Floats) -> None:
        self.key, self.size = np.sort(scores)[::-1], scores.size


class ProfitPage(DecisionPage):
    """Data for the sections of a page on amounts."""

    cut_name = "Choice"

    def compare(self) -> None:
        """Compute the curve of the profit, and the profit of simpler rules."""
        asked, decision, n = self.asked, self.decision, self.decision.n
        utility = asked.metric
        assert isinstance(utility, Utility)
        self.metric = "profit"
        tp, fp, fn, tn = utility._by_row(n)
        p, draws = asked.probabilities, self.forecasts.draws
        self.fitted_gain = p * (tp - fn) + (1.0 - p) * (fp - tn)
        self.order = np.argsort(-self.fitted_gain, kind="stable")
        mean = p if draws is None else p + draws.moves
        self.gain = mean * (tp - fn) + (1.0 - mean) * (fp - tn)
        chosen = self.forecasts.chosen
        self.none = self.forecast.mean - float(self.gain @ chosen)
        self.curve_ = self.none + np.append(0.0, np.cumsum(self.gain[self.order]))
        own = Cut(math.nan, self.forecast.n_positives, self.forecast.mean)
        self.cut = "as given" if self.given else "largest gains"
        half, best = decision.cut_half, decision.best_cut
        text = _Scores(asked.layout.scores).cut_text(best.threshold)
        by_score = "no row is positive" if text is None else f"{self.scale} ≥ {text}"
        self.masks = {
            "chosen": chosen,
            "cut": asked.layout.scores >= best.threshold,
            "half": asked.given.scores >= half.threshold,
        }
        ends = {"cut": best, "half": half}
        cuts = [self._cut(one, self.masks[look]) for look, one in ends.items()]
        at_half = f"{self.raw} ≥ {half.threshold:g}"
        self.rivals = [
            (self.own, "chosen", self.cut, own, None),
            (self.said["best_cut"][0], "cut", by_score, cuts[0], None),
            (self.said["cut_half"][0], "half", at_half, cuts[1], None),
        ]
        self.curves = {"sign": 1}

    def _cut(self, cut: Cut, chosen: Booleans) -> Cut:
        profit = self.none + float(self.gain @ chosen)
        return Cut(cut.threshold, cut.n_positives, profit)

    @property
    def actual(self) -> Floats | None:
        """Actual profit of the first k rows by gain; None without labels."""
        if self.truth is None:
            return None
        utility, true = self.asked.metric, self.truth.true
        assert isinstance(utility, Utility)
        tp, fp, fn, tn = utility._by_row(true.size)
        none = float(np.where(true, fn, tn).sum())
        worth = np.where(true, tp - fn, fp - tn)[self.order]
        return none + np.append(0.0, np.cumsum(worth))

    @property
    def everything(self) -> float:
        """Return the expected profit of choosing every row."""
        return float(self.curve_[-1])

    def subtitle(self, over: str) -> str:
        """Return the file, and what labels are worth."""
        known = ((name, getattr(self.asked.metric, name)) for name in WORTHS)
        worths = [
            f"{WORTHS[name]} {amount(np.min(x))}"
            + f" to {amount(np.max(x))}" * bool(np.ptp(x))
            for name, x in known
            if np.any(x)
        ]
        file = f"{self.asked.names['file']}: worth of " if self.shell else "Worth of "
        return f"{file}{', '.join(worths) or 'nothing'}"

    def cards(self) -> Iterator[Card]:
        """Yield the cards at the top of the page."""
        yield from super().cards()
        below = counted(self.decision.n, "positive")
        yield Card("Every row", number(self.everything), below)

    def alternatives(self) -> Iterator[Section]:
        """Yield the rows of the largest gain."""
        gains = np.maximum(self.gain[self.order], 0.0)
        total, size = float(gains.sum()), min(LARGEST, gains.size)
        if not total > 0.0:
            return
        half = int(np.searchsorted(np.cumsum(gains), total / 2.0)) + 1
        part = f"{counted(half, 'row')} ({share(half, gains.size)})"
        text = f"Half of all positive gains are those of {part}."
        utility, rows = self.asked.metric, []
        assert isinstance(utility, Utility)
        tp, fp, fn, tn = utility._by_row(gains.size)
        for i in self.order[:size].tolist():
            right, wrong = amount(tp[i] - fn[i]), amount(fp[i] - tn[i])
            p = number(self.asked.probabilities[i])
            rows.append((f"{i + 1:,}", p, right, wrong, number(self.gain[i])))
        header: Row = ("row", "probability", "if positive", "if negative", "gain")
        table = PageTable("Largest gains by being chosen, rows from 1", header, rows)
        yield Section("gains", "Where the profit is", (text,), (table,))

    def near(self) -> str:
        """Return which numbers of rows are nearly as good, as a sentence."""
        curve = self.curve_
        best = int(curve.argmax())
        lost = NEARLY * (curve[best] - curve[0])
        good = np.flatnonzero(curve >= curve[best] - lost)
        text = f"Any number of largest gains from {good[0]:,} to {good[-1]:,} rows "
        return f"{text}loses at most {number(lost)} of the profit."

    def curve(self) -> Section:
        """Return the section with the expected profit by number of rows."""
        total, rows = self.asked.probabilities, []
        cuts = [
            (name, text, cut, self.masks[look])
            for name, look, text, cut, _ in self.rivals
        ]
        every = Cut(-math.inf, self.decision.n, self.everything)
        cuts.append(("every row", "", every, np.ones(total.size, dtype=bool)))
        for name, text, cut, mask in cuts:
            k = f"{cut.n_positives:,}"
            rows.append((name, number(cut.expected), k, text, f"{total @ mask:,.1f}"))
        header: Row = ("", "profit", "positives", "rule", "true positives")
        table = PageTable("Decisions compared, all values expected", header, rows)
        after = []
        left = self.fitted_gain.max(initial=-math.inf, where=~self.forecasts.chosen)
        if not self.given and left > 0.0:
            after = [f"One row that limits leave out would add {number(left)}."]
        title = "Expected profit by number of rows"
        return Section("profit", title, (), (table,), (self.picture(),), tuple(after))

    def picture(self) -> Figure:
        """Return the expected profit against the number of rows, marked."""
        found, n, values = self.forecast, self.decision.n, self._knots()
        best = float(self.curve_.argmax())
        ks = [cut.n_positives for *_, cut, _ in self.rivals]
        most = min(float(n), reach(best, *ks))
        k, (low, high) = [x for x in values["k"] if x <= most], found.interval
        heights = [low, high, *(cut.expected for *_, cut, _ in self.rivals)]
        layers = []
        for name, look in (("actual", "line second"), ("expected", "line")):
            if values[name] is not None:
                some = values[name][: len(k)]
                called = "actual profit" if name == "actual" else ""
                layers.append(draw.line(k, some, look, called))
                heights += some
        y = draw.axis("Expected profit", min(heights), max(heights), text=amount)
        if n <= most:
            layers.append(draw.points([n], [self.everything], "unsure", "every row"))
        for called, look, _, cut, _ in reversed(self.rivals[1:]):
            layers.append(draw.points([cut.n_positives], [cut.expected], look, called))
        wide = f"{draw.percent(found.coverage)} interval"
        more: dict[str, Any] = {"low": [low], "high": [high]}
        more["titles"] = [f"{wide} {draw.scores(low, high)}"]
        name, at = f"{self.own}, {wide}", [found.n_positives]
        layers.append(draw.points(at, [found.mean], "chosen", name, **more))
        text = (
            "The curve adds rows by expected gain, the largest first: its top is where "
            "the next row would lose. Cuts of the score choose other rows."
        )
        how: Any = {"text": draw.count_text, "whole": True, "exact": True}
        x = draw.axis("rows chosen", 0.0, most, **how)
        return Figure(text, x, y, tuple(layers))

    def _knots(self) -> dict[str, Any]:
        """Return the curves at numbers of rows between which lines are straight."""
        places = candidates(self.curve_.size - 1)
        curves = [one for one in (self.curve_, self.actual) if one is not None]
        drawn = np.stack([one[places] for one in curves])
        height = max(float(np.ptp(drawn)), 1e-300)
        marked = np.array([int(self.curve_.argmax()), self.forecast.n_positives])
        must = np.searchsorted(places, marked)
        k = places[choose_knots(places, drawn / height, must.clip(max=places.size - 1))]
        actual = None if self.actual is None else self.actual[k].tolist()
        return {"k": k.tolist(), "expected": self.curve_[k].tolist(), "actual": actual}

    def curve_values(self) -> dict[str, Any]:
        """Return numbers of the curve, for JSON."""
        return {"profit": self._knots() | {"every_row": self.everything}}
