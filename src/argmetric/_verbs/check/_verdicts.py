"""Verdicts of a check, and the ways to decide that it compares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.discrete import dot
from argmetric._ground.display import (
    CheckVerdict,
    Field,
    ForecastVerdict,
    Headline,
    Result,
    metric_title,
    number,
    only_shown,
)
from argmetric._ground.types import Interval
from argmetric._verbs.check._routes import IN_WORDS, Route, RouteName

CLEAR_ERRORS = 2.0  # standard errors from which a loss is not noise
SMALL_LOSS = 0.005  # share of the score up to which a loss is not named
LARGE_LOSS = 0.05  # share of the score from which a loss matters
FEW_ROWS_OF_A_CLASS = 20  # rows of a class below which only a clear loss is believed
SMALL_GAP = 0.015  # of forecast and actual score, error counted, that is no fault
MIN_P_VALUE = 0.05  # of the log-odds' line, below which p is not calibrated
OUTSIDE = 0.01  # probability of a score outside of a forecast that it refutes
LOSSES = (  # attributes that only JSON has
    *("loss", "loss_standard_error", "gap", "score_as_is", "score_recalibrated"),
    *("score_standard_error", "expected", "expected_recalibrated"),
)
QUALITIES = {"ece": "ECE", "brier": "Brier score", "log_loss": "log-loss"}
HOW = {
    "recalibrate": "pass reference=(y, p) to decide, or reference=calibrate(y, p)",
    "tune": "take the cut of tune(y, p)",
    "half": "cut at 0.5",
    "weights": "take the weights of classes.tune(y, p)",
    "most_probable": "take the most probable class",
}
FOR: dict[RouteName, str] = {  # why a way is advised that scored no better here
    "recalibrate": "for its lower log-loss",
    "tune": "as it does better than recalibrating",
    "weights": "as it does better than recalibrating",
}
AGAINST: dict[RouteName, str] = {  # why a way is not that scored better here
    "recalibrate": "the log-loss is higher",
    "decide": "the log-loss is higher",
    "tune": "no advantage on new rows",
    "half": "no advantage on new rows",
    "weights": "not clearly better",
    "most_probable": "it does not aim at the metric",
}


def reword(advice: tuple[str, ...], recalibrate: str, tune: str) -> tuple[str, ...]:
    """Return the advice with other phrases for the names of functions."""
    how = HOW["recalibrate"]
    words = {
        how: recalibrate,
        how.replace("decide", "forecast"): recalibrate,
        HOW["tune"]: tune,
        HOW["weights"]: tune,
    }
    for phrase, own in words.items():
        advice = tuple(line.replace(phrase, own) for line in advice)
    return advice


def judge_decisions(check: CheckedRoutes) -> tuple[CheckVerdict, str]:
    """Return whether the raw `p` is fit for decisions, and advice.

    A loss of more than two standard errors and 0.5 % of the score speaks for itself. A
    sample that could hide a loss of 5 % of the score is too small to acquit.
    """
    loss, error, name = check.loss, check.loss_standard_error, check.metric.name
    size = abs(check.score_as_is + loss)
    figures = f"{number(loss)} ± {number(error)} of {name}"
    if loss > max(CLEAR_ERRORS * error, SMALL_LOSS * size):
        advice = f"deciding with p as it stands loses {figures}: {HOW[check.route]}"
        return "no", advice
    hidden = loss + CLEAR_ERRORS * error
    if check._n_rarer < FEW_ROWS_OF_A_CLASS or not hidden <= LARGE_LOSS * size:
        least = f"{number(max(hidden, 0.0))} {name}"
        return (
            "too few rows to say",
            f"{check._rows} cannot detect a loss below {least}",
        )
    if check.route == "decide":
        return "yes", f"deciding with p as it stands is the advised way in {name}"
    if loss <= 0.0:
        return "yes", (
            f"{IN_WORDS[check.route]}, gains nothing here ({loss:+.3f} ± {error:.3f} "
            f"of {name}) and is advised {FOR[check.route]} only"
        )
    return "yes", f"another way would gain {figures}: {HOW[check.route]}"


def verdict_on(check: CheckedRoutes, route: Route) -> str:
    """Return the verdict on a way to decide: advised, or why not if it is better."""
    if route.name == check.route:
        return "advised"
    if not route.gain > check.loss:
        return ""
    if route.name == "decide" and check.fit_to_decide == "yes":
        return f"as good here; {AGAINST['decide']}"
    return f"not advised: {AGAINST[route.name]}"


def judge_forecasts(check: CheckedRoutes) -> tuple[ForecastVerdict, str]:
    """Return whether forecasts hold, raw or recalibrated, and their errors.

    As it stands `p` counts as fit where nothing speaks against it and the gap between
    forecast and actual score, its error included, is below 1.5 points: the interval of
    a forecast knows nothing of errors of p, and on real models even small ones break
    it. Recalibrated, the interval includes the uncertainty of the calibrator: it is a
    "no" only where the score of rows that the calibrator has not seen leaves the 99 %
    interval.
    """
    how = HOW["recalibrate"].replace("decide", "forecast")
    error = check.score_standard_error
    said = (
        f"as p stands, forecast {number(check.expected)}, actual "
        f"{number(check.score_as_is)} (± {number(error)})"
    )
    score_forecast = check.forecast
    if score_forecast is None:
        return "too few rows to say", "forecasts do not support weights of rows"
    scale = max(1.0, abs(check.score_as_is))  # of metrics that exceed 1
    consistent = check.p_value >= MIN_P_VALUE and not check.as_is.n_certain_and_wrong
    if consistent and abs(check.gap) + error <= SMALL_GAP * scale:
        return "yes", said
    low, high = check.forecast_error_interval
    again = (
        f"recalibrated, forecast {number(score_forecast.mean)}, actual "
        f"{number(check.score_recalibrated)}; on as many new rows the score should be "
        f"{number(abs(low))} below to {number(high)} above the forecast"
    )
    held = (
        score_forecast.quantile(OUTSIDE / 2),
        score_forecast.quantile(1.0 - OUTSIDE / 2),
    )
    slack = 1e-9 * scale
    if held[0] - slack <= check.score_recalibrated <= held[1] + slack:
        return "recalibrated", f"{said}; {again}: {how}"
    return "no", f"{said}; {again}, but it is further off on these rows already"


@dataclass(frozen=True)
class Quality:
    """Scores of probabilities that know of no decision; lower is better."""

    ece: float  # expected calibration error over bins of equal mass
    brier: float  # mean of (p - y)²
    # mean of -log of the probability of the true label; infinite where a row was
    # certain and wrong
    log_loss: float
    # rows with p = 0 that were positive, or p = 1 that were not
    n_certain_and_wrong: int


class CheckedRoutes(Result):
    """Ways to decide, their scores, and the verdicts that follow from them."""

    route: RouteName
    routes: tuple[Route, ...]
    expected: float
    expected_recalibrated: float
    as_is: Quality
    recalibrated: Quality
    method: str
    metric: Any
    n: int
    forecast: Any

    @property
    def p_value(self) -> float:
        """Return the probability of labels at least as unusual if p were calibrated."""
        raise NotImplementedError

    @property
    def _n_rarer(self) -> int:
        raise NotImplementedError

    @property
    def _rows(self) -> str:
        raise NotImplementedError

    def _metric_fields(self) -> list[Field]:
        raise NotImplementedError

    def _line_fields(self) -> list[Field]:
        return []

    def _row_fields(self) -> list[Field]:
        raise NotImplementedError

    @property
    def forecast_error(self) -> float:
        """Mean error to expect of a forecast for as many new rows, recalibrated."""
        if self.forecast is None:
            return math.nan
        values, probabilities = self.forecast.values, self.forecast.probabilities
        return dot(probabilities, np.abs(values - self.forecast.mean))

    @property
    def forecast_error_interval(self) -> Interval:
        """Return the 90 % interval of the score minus the forecast with p."""
        if self.forecast is None:
            return Interval(math.nan, math.nan)
        low, high = self.forecast.interval
        return Interval(low - self.forecast.mean, high - self.forecast.mean)

    @property
    def fit_to_decide(self) -> CheckVerdict:
        """Whether `decide` loses little by believing `p`."""
        return judge_decisions(self)[0]

    @property
    def fit_to_forecast(self) -> ForecastVerdict:
        """Return whether forecasts hold: as p stands, recalibrated, or not at all."""
        return judge_forecasts(self)[0]

    @property
    def advice(self) -> tuple[str, str]:
        """Both verdicts in a sentence each, with what to do."""
        return judge_decisions(self)[1], judge_forecasts(self)[1]

    def _route(self, name: RouteName) -> Route:
        return next(one for one in self.routes if one.name == name)

    @property
    def loss(self) -> float:
        """Gain of the advised route over `decide` with `p` unchanged."""
        return self._route(self.route).gain

    @property
    def loss_standard_error(self) -> float:
        """Standard error of the loss."""
        return self._route(self.route).gain_standard_error

    @property
    def gap(self) -> float:
        """Expected minus actual score of the decision with `p` unchanged."""
        return self.expected - self.score_as_is

    @property
    def score_as_is(self) -> float:
        """Actual score of `decide` with `p` unchanged."""
        return self._route("decide").score

    @property
    def score_standard_error(self) -> float:
        """Standard error of `score_as_is`."""
        return self._route("decide").standard_error

    @property
    def recalibrated_standard_error(self) -> float:
        """Standard error of `score_recalibrated`."""
        return self._route("recalibrate").standard_error

    @property
    def score_recalibrated(self) -> float:
        """Score of `decide` with `p` recalibrated out of fold."""
        return self._route("recalibrate").score

    @property
    def ece(self) -> float:
        """Expected calibration error of `p` as it stands."""
        return self.as_is.ece

    @property
    def brier(self) -> float:
        """Brier score of `p` as it stands."""
        return self.as_is.brier

    @property
    def log_loss(self) -> float:
        """Log-loss of `p` as it stands."""
        return self.as_is.log_loss

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind the verdicts."""
        return (
            "new rows come from where these rows came from",
            "rows, or groups where there are some, are independent",
        )

    def _columns(self) -> dict[str, object]:
        names = Route.__dataclass_fields__
        return {x: [getattr(one, x) for one in self.routes] for x in names}

    def _headline(self) -> Headline:
        score = f"actual {metric_title(self.metric.name)} {number(self.score_as_is)}"
        more = (
            f"forecast with p? {self.fit_to_forecast}, {score}, "
            f"{number(self.score_recalibrated)} recalibrated"
        )
        return Headline("decide with p?", self.fit_to_decide, more)

    def fields(self) -> list[Field]:
        verdicts = self.fit_to_decide, self.fit_to_forecast
        decide, forecast = map("{}: {}".format, verdicts, self.advice)
        routes = {one.name: vars(one).copy() for one in self.routes}
        for one in routes.values():
            del one["name"]
        error = None
        if self.forecast is not None:
            reach = "from {:+.3f} to {:+.3f}".format(*self.forecast_error_interval)
            error = f"{number(self.forecast_error)}, in 90 % {reach}"
        return [
            Field("fit_to_decide", verdicts[0], "decide with p?", decide),
            Field("fit_to_forecast", verdicts[1], "forecast with p?", forecast),
            *self._keys("advice", "route"),
            Field("routes", routes),
            *self._metric_fields(),
            *only_shown((one.words, self._route_line(one)) for one in self.routes),
            Field("forecast_error", self.forecast_error, "forecast error", error),
            *self._keys("forecast_error_interval", *LOSSES),
            *self._line_fields(),
            *self._keys("p_value", "ece", "brier", "log_loss"),
            *(self._quality(name, words) for name, words in QUALITIES.items()),
            self._field("method", "recalibrated by", "{}, out of fold"),
            *self._row_fields(),
            Field("notes", self._notes()),
        ]

    def _quality(self, name: str, words: str) -> Field:
        before, after = getattr(self.as_is, name), getattr(self.recalibrated, name)
        text = f"{number(before)}, recalibrated {number(after)}"
        return Field(f"{name}_recalibrated", after, words, text)

    def _route_line(self, route: Route) -> str:
        """Return the score of a way to decide, its gain and verdict, as text."""
        means = {"decide": self.expected, "recalibrate": self.expected_recalibrated}
        text, mark = number(route.score), verdict_on(self, route)
        if route.name in means:
            text += f", expected {number(means[route.name])}"
        if route.name != "decide":
            text += f" ({route.gain:+.3f} ± {route.gain_standard_error:.3f})"
        return f"{text}, {mark}" if mark else text
