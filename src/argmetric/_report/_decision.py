"""A report of a decision, or of labels that were found in another way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._calibrate.prior import adjust_prior
from argmetric._forecast.forecast import forecast
from argmetric._forecast.rivals import AHEAD, ahead_of, shift_scores
from argmetric._ground.discrete import beside
from argmetric._ground.display import counted, metric_title, shortest_cut
from argmetric._ground.layout import UNITS
from argmetric._ground.odds import from_log_odds, log_odds
from argmetric._ground.types import ArrayLike, Floats
from argmetric._ground.validation import Probabilities
from argmetric._report import _figures as draw
from argmetric._report._check import RELIABLE, CheckPage, in_options
from argmetric._report._curves import METRICS, Family, PageForecasts, Request
from argmetric._report._figures import Figure, number, percent, share
from argmetric._report._outcome import ActualScores, groups_section
from argmetric._report._report import (
    Card,
    PageTable,
    Report,
    Row,
    Section,
    lines_by_key,
)
from argmetric._verbs.check import calibration_check
from argmetric._verbs.decide import Cut, decide
from argmetric.metrics import Utility, convention_in_words

BINS = 40
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # ends of a histogram of p
MOSTLY = 0.95  # prevalence that cannot be doubled
OF_ONE = (
    "every group has one row, so each is right or wrong by itself: one cut for all "
    "rows is asked for with average='pooled'"
)


class DecisionPage:
    """Data for the sections of the page, each made by a method."""

    cut_name = "Threshold"

    def __init__(
        self, asked: Request, labels: ArrayLike | None, coverage: float
    ) -> None:
        decision, metric = asked.decision, asked.metric
        self.asked, self.decision, self.given = asked, decision, labels is not None
        self.labels = np.asarray(labels if self.given else decision.labels)
        chosen = asked.layout.select(self.labels) == 1
        self.chosen = asked.probabilities[chosen]  # of rows that are predicted positive
        rows = asked.scores, self.labels, metric, coverage
        self.forecast = forecast(*rows, **asked.how | decision._asked["forecast"])
        self.calibrated = asked.calibrator is not None
        mean = self.forecast.mean
        expected = mean if self.given else decision.expected
        if self.given and self.calibrated:
            p = asked.restore_shape(asked.probabilities)
            expected = forecast(p, self.labels, metric, **asked.grouping).mean
        # Every score of the page is a forecast, from the same draws
        self.forecasts = PageForecasts(asked, self.labels, expected, mean)
        self.metric, self.said = metric_title(metric.name), lines_by_key(decision)
        self.scale = "calibrated " * self.calibrated + asked.score_name
        self.raw = "raw " * self.calibrated + asked.score_name
        self.shell, self.single = "file" in asked.names, decision.n_groups is None
        self.own = "these labels" if self.given else "this decision"
        self.units = UNITS.get(decision.average or "", "groups")
        self.compare()
        self.check, self.unchecked = self.run_check()
        self.truth = None
        if asked.y is not None:
            cuts = decision.cut_half.threshold, decision.best_cut.threshold
            self.truth = ActualScores(asked, cuts, self.labels, self.forecast)

    def compare(self) -> None:
        """Compute the curve, and the forecasts of simpler decisions beside this one."""
        asked, decision, forecasts = self.asked, self.decision, self.forecasts
        metric, mean = asked.metric, self.forecast.mean
        family = Family(asked)
        self.choices, self.curves = family.choices, family.curves(forecasts)
        half, best, curves = decision.cut_half, decision.best_cut, self.curves
        if self.given:  # which need be no cut, so that they have no place on the curve
            curves["chosen"] = None
        cut = family.cut_text(decision.threshold)
        scores = asked.given.scores, asked.layout.scores
        half, best = (
            replace(one, expected=forecasts.of(score >= one.threshold, one.expected))
            for one, score in zip((half, best), scores, strict=True)
        )
        own = Cut(math.nan, self.forecast.n_positives, mean)
        at_half = f"{self.raw} ≥ {half.threshold:g}"
        text = self.cut_text(best.n_positives, family.cut_text(best.threshold))
        self.cut = "as given" if self.given else self.cut_text(own.n_positives, cut)
        del family  # as long as the rows
        # Name, look, cut in words, and place on the curve
        self.rivals: list[tuple[str, str, str, Cut, int | None]] = [
            (self.own, "chosen", self.cut, own, curves["chosen"]),
            (self.said["best_cut"][0], "cut", text, best, curves["best_cut"]),
            (self.said["cut_half"][0], "half", at_half, half, curves["half"]),
        ]
        is_best_cut = curves["chosen"] == curves["best_cut"]
        if is_best_cut:
            del self.rivals[1]
        self.curves |= {
            "metric": metric.name,
            "scale": self.scale,
            "sign": 1 if metric.greater_is_better else -1,
            "positives": self.forecast.expected_positives,
            "cut": None if is_best_cut else curves["best_cut"],
            "level": mean,
        }

    def report(self) -> Report:
        """Return the whole page, section by section."""
        decision = self.decision
        which = "These labels predict" if self.given else "Predict"
        positives = f"{self.forecast.n_positives:,} of {decision.n:,} rows"
        over = ""
        assumed = self.forecast.assumptions  # that scores were recalibrated is one
        notes = [note for note in decision.notes if not note.startswith(assumed)]
        if decision.guarantee is not None:
            notes.insert(0, decision.guarantee.sentence)
        change, changes = self.change()
        sections = [self.curve(), change, *self.alternatives()]
        if self.check is not None:
            sections.append(self.check.section(RELIABLE, told=True))
        if not self.single:
            over = f", mean over {decision.n_groups:,} {self.units}"
            words = (self.units, self.scale, self.metric)
            sections.append(groups_section(self.asked, self.labels, *words))
            notes += [OF_ONE] * bool((self.asked.layout.sizes == 1).all())
        if self.truth is not None:
            expected = [(one[0], one[1], one[3].expected) for one in self.rivals]
            sections.append(self.truth.section(self.metric, self.forecast, expected))
        notes += self.unchecked
        if self.given:
            sign, best, own = self.curves["sign"], self.best, self.forecast.mean
            if sign * (own - best) > 0.0 and number(own) != number(best):
                ahead = AHEAD.format(number(own), "the best", number(best))
                notes.append(f"these labels are {ahead}")
        else:
            keys = {"cut": "best_cut", "half": "cut_half"}
            cuts = {keys[one[1]]: one[3].expected for one in self.rivals[1:]}
            notes += ahead_of(self.decision, self.forecast.mean, cuts, number)
        check = None if self.check is None else self.check.check
        return Report(
            kind="labels" if self.given else "decision",
            title=f"{which} {positives} positive",
            subtitle=self.subtitle(over),
            cards=tuple(self.cards()),
            sections=tuple(sections),
            notes=(*self.warnings(), *(in_options(x, self.shell) for x in notes)),
            assumptions=assumed,
            names=self.asked.names,
            values={
                "decision": decision.to_dict(),
                "forecast": self.forecast.to_dict(),
                "actual": None if self.truth is None else self.truth.score.to_dict(),
                "check": None if check is None else check.to_dict(),
                "changes": changes,
                **self.curve_values(),
            },
        )

    def subtitle(self, over: str) -> str:
        """Return the file and the metric in words; `over` what it is a mean of."""
        metric, names = self.asked.metric, self.asked.names
        file = f"{names['file']}: metric " if self.shell else "Metric "
        in_words = convention_in_words(metric.convention, metric.zero_division)
        return f"{file}{self.metric}{over}; {in_words}"

    def alternatives(self) -> Iterator[Section]:
        """Yield the sections of other rows and of other metrics."""
        yield self.mass()
        yield self.metrics()

    def curve_values(self) -> dict[str, Any]:
        """Return numbers of the curve, for the page and for JSON."""
        return {"metrics": self.choices, "curves": self.curves}

    def cut_text(self, positives: int, cut: str | None) -> str:
        """Return the cut of a decision in a few words."""
        if positives == 0:
            return "no row is positive"
        if cut is not None:
            return f"{self.scale} ≥ {cut}"
        if not self.single:
            return f"one per {self.units[:-1]}"
        return "splits rows of equal score"

    @property
    def best(self) -> float:
        """Return the mean score that is forecast for the best decision."""
        labels = self.asked.layout.select(self.decision.labels) == 1
        return self.forecasts.of(labels, self.decision.expected)

    @property
    def raw_cut(self) -> str:
        """Return a text with the same cut on raw scores; empty where there is none."""
        cut = self.decision.threshold_raw
        if self.given or not self.calibrated or cut is None or not math.isfinite(cut):
            return ""
        scores, chosen = self.asked.given.scores, self.forecasts.chosen
        low = float(scores.max(initial=-math.inf, where=~chosen))
        text = shortest_cut(cut, low, float(scores.min(where=chosen, initial=math.inf)))
        return f"{self.raw} ≥ {text} selects the same rows; "

    def cards(self) -> Iterator[Card]:
        """Yield the cards at the top of the page."""
        found, truth = self.forecast, self.truth
        below = f"{found.expected_positives:,.1f} actual positives are expected"
        yield Card(self.cut_name, self.cut, f"{self.raw_cut}{below}")
        actual = math.nan if truth is None else float(truth.score)
        yield Card.of_forecast(self.metric, found, actual)
        if self.given:
            yield Card("Best decision", number(self.best), "")
        name, _, text, half, _ = self.rivals[-1]
        below = f"{text}, " * self.calibrated + counted(half.n_positives, "positive")
        yield Card(name.capitalize(), number(half.expected), below)
        if truth is not None:
            side = "inside" if truth.outside is None else "outside"
            below = f"{side} the interval of the forecast"
            if truth.outside is not None and not truth.far:
                below += f", as {percent(1.0 - found.coverage)} of right forecasts are"
            shown, *_ = beside(actual, *found.interval, number)
            yield Card(f"Actual {self.metric}", shown, below)

    def warnings(self) -> Iterator[str]:
        """Return warnings to read before using the decision."""
        said = self.check or CheckPage(None, "", self.shell, self.calibrated)
        check = said.check
        if check is not None and check.fit_to_decide == "no" and not self.calibrated:
            yield (
                f"The probabilities are not reliable: on {said.on} this costs "
                f"{number(check.loss)} {self.metric}, and the expected scores on this "
                f"page do not hold: {said.advice(check.route)}."
            )
        elif self.truth is not None and self.truth.far:
            why = f"The probabilities may be off: {said.advice()}."
            if self.calibrated:
                why = "The data may have changed since the scores were calibrated."
            yield f"Actual {self.metric} lies far outside the forecast. {why}"

    def change(self) -> tuple[Section, list[dict[str, Any]]]:
        """Return how the labels and the best ones would score at other prevalences."""
        asked = self.asked
        judged: dict[str, Any] = {"metric": asked.metric, **asked.grouping}
        found, rows = [], []
        p = asked.probabilities
        positives, given = float(p.mean()), Probabilities(p)

        def common(times: float) -> Floats:
            new = times * positives
            shift = adjust_prior(given, prevalence=new, reference_prevalence=positives)
            return shift.apply(given)

        def bold(times: float) -> Floats:
            return from_log_odds(times * log_odds(p, 1.0 - p))[0]

        cases: list[tuple[str, Any, float]] = [
            ("positives are half as common", common, 0.5),
            ("positives are twice as common", common, 2.0),
            ("the scores are overconfident (log-odds 25 % too large)", bold, 0.8),
            ("the scores are underconfident (log-odds 20 % too small)", bold, 1.25),
        ]
        if 2.0 * positives >= MOSTLY:
            del cases[1]
        for what, changed, times in cases:
            other = Probabilities(asked.restore_shape(changed(times)))
            try:
                best = decide(other, **judged, **asked.limits, budget=asked.budget)
            except ValueError:  # floors that cannot be met any more
                continue
            # The calibrator is taken to be as uncertain as it is now
            shift, k = self.forecasts.shift(asked.metric), best.n_positives
            here = forecast(other, self.labels, **judged).mean
            here, top = (
                shift_scores(one, shift, asked.metric) for one in (here, best.expected)
            )
            found.append({"what": what, "here": here, "best": top, "positives": k})
            rows.append((what, number(here), number(top), f"{k:,}"))
        header = ("If …", "this decision", "best decision", "its positives")
        title = f"Expected {self.metric} if an assumption fails"
        tables = (PageTable(title, header, rows),)[: len(rows)]
        return Section("change", "What would change it", (self.near(),), tables), found

    def near(self) -> str:
        """Return which decisions are nearly as good, as a sentence."""
        curves = self.curves
        low, high = (curves["k"][at] for at in curves["near"])
        first, last = (curves["cuts"][at] for at in curves["near"])
        cuts = f" ({self.scale} from {last} to {first})" if first and last else ""
        which = "The" if self.single and not self.given else "The best single"
        between = f"{which} threshold can move between {low:,} and {high:,} positives"
        return f"{between}{cuts} with a loss below 0.01 {self.metric}."

    def curve(self) -> Section:
        """Return the section with the expected score by number of positives."""
        curves, rows = self.curves, []
        rates = [name for name in ("precision", "recall") if name != self.metric]
        if curves["recall"] is None:
            rates = [name for name in rates if name != "recall"]
        for name, _, text, cut, place in self.rivals:
            k = cut.n_positives
            hits = self.chosen.sum() if place is None else curves["hits"][place]
            known = {"precision": number(hits / k) if k else ""}
            if curves["recall"] is not None and place is not None:
                known["recall"] = number(curves["recall"][place])
            cells = (number(cut.expected), f"{k:,}", text, f"{hits:,.1f}")
            rows.append((name, *cells, *(known.get(one, "") for one in rates)))
        header: Row = ("", self.metric, "positives", "threshold", "true positives")
        exact = f"The values at {len(curves['k']):,} numbers of positives are exact; "
        if self.forecasts.draws is not None:
            exact = "True positives, precision and recall are those expected under the "
            exact += f"fitted calibrator. {self.metric} is computed at "
            exact += f"{len(curves['k']):,} numbers of positives; "
        exact += "straight lines join them."
        caption = "Decisions compared, all values expected"
        table = PageTable(caption, (*header, *rates), rows)
        title = f"Expected {self.metric} by number of positives"
        return Section("curve", title, (), (table,), (self.picture(),), (exact,))

    def picture(self) -> Figure:
        """Return the expected score against the number of positives, marked."""
        curves, own, k = self.curves, self.asked.metric.name, self.curves["k"]
        view, values = curves["views"][own], curves["scores"][own]
        inside, name = sum(x <= view["most"] for x in k), f"Expected {self.metric}"
        across = "rows predicted positive"
        layers = [draw.line(k[:inside], values[:inside])]
        for called, look, _, cut, place in reversed(self.rivals):
            y = cut.expected if look == "chosen" or place is None else values[place]
            if place is None:
                layers.append(draw.level(min(y, view["high"]), "level", called))
            elif cut.n_positives <= view["most"] and math.isfinite(y):
                layers.append(draw.points([cut.n_positives], [y], look, called))
        top = "top" if self.asked.metric.greater_is_better else "bottom"
        first = f"The {top} of the curve is the best number of positives."
        if self.forecasts.draws is not None:
            first = "The curve is the mean over all calibrators that labelled rows "
            first += "allow; this decision is the best under the fitted one."
        flat = "Where the curve is flat, choose the number that is cheapest to act on."
        if not self.single:
            flat = "The dashed line is this decision, with a threshold in each group."
        if self.given:
            flat = "The dashed line is the expected score of these labels."
        return Figure(
            f"{first} {flat}",
            draw.FigureAxis(across, 0.0, view["most"], view["x_ticks"]),
            draw.FigureAxis(name, view["low"], view["high"], view["y_ticks"]),
            tuple(layers),
            id="curve",
        )

    def mass(self) -> Section:
        """Return expected positives by probability, selected rows apart."""
        p, chosen, n = self.asked.probabilities, self.chosen, self.decision.n
        end = next(one for one in TOPS if one >= p.max())
        n_rows, positives, held = (
            np.histogram(values, BINS, (0.0, end), weights=weights)[0].tolist()
            for values, weights in ((p, None), (p, p), (chosen, chosen))
        )
        edges = [end * i / BINS for i in range(BINS + 1)]
        titles = [
            f"p {edges[i]:.3g} to {edges[i + 1]:.3g}: {n_rows[i]:,} rows, "
            f"{positives[i]:,.1f} positives expected"
            for i in range(BINS)
        ]
        total, found = sum(positives), sum(held)
        text = f"{total:,.1f} actual positives are expected among {n:,} rows "
        text += f"({share(total, n)})."
        if found > 0:
            caught = share(found, total)
            text += f" {caught} of them are among the rows predicted positive."
        floor, name = in_options("min_recall=0.8", self.shell), "probability"
        up = "expected positives"
        name = "calibrated " * self.calibrated + name
        missed = ("bar", "predicted negative", held, positives)
        taken = ("bar taken", "predicted positive", [0.0] * BINS, held)
        figure = Figure(
            "Positives in the light bars will be missed. To catch more of them, ask "
            f"for a minimum recall ({floor}) or choose a metric such as F2.",
            draw.axis(name, 0.0, end),
            draw.axis(up, 0.0, max(positives), 4, text=draw.count_text),
            (draw.bars(edges, titles, missed, taken),),
        )
        title = "Where the positives are"
        return Section("mass", title, (text,), figures=(figure,))

    def metrics(self) -> Section:
        """Return the best decision for each metric, and the score of this one."""
        own, at = self.asked.metric.name, self.curves["chosen"]
        names = [own, *(name for name in METRICS if name != own)]
        self.choices = {name: self.choices[name] for name in names}
        header: Row = ("metric", "positives", "threshold", "expected")
        if at is not None:
            header += ("this decision",)
        rows: list[Row] = []
        for name, one in self.choices.items():
            one["here"] = None if at is None else self.curves["scores"][name][at]
            here = [] if at is None else [number(one["here"])]
            cut = self.cut_text(one["positives"], one["cut"])
            cells = (f"{one['positives']:,}", cut, number(one["expected"]), *here)
            rows.append((metric_title(name), *cells))
        table = PageTable("Best decisions by metric", header, rows)
        return Section("metrics", "What other metrics would choose", (), (table,))

    def run_check(self) -> tuple[CheckPage | None, list[str]]:
        """Return the check on labelled rows, or a note if there is none."""
        asked, on = self.asked, "these rows"
        metric = asked.metric
        if isinstance(metric, Utility) and metric._by_rows:
            metric = metric._of_means()
        given: dict[str, Any] = {"metric": metric, "logits": asked.logits}
        if asked.reference is not None:
            (y, p), on = asked.reference, "the labelled reference"
        elif asked.y is not None:
            y, p = asked.y, asked.scores
            given |= {**asked.grouping, "pos_label": asked.pos_label}
        else:
            return None, []
        try:
            found = calibration_check(y, p, **given)
        except ValueError as error:
            return None, [f"calibration was not checked on {on}: {error}"]
        return CheckPage(found, on, self.shell, self.calibrated), []
