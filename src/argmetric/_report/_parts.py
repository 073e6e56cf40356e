"""Parts of a summary: what would change it, its groups, its truth, its calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.prior import adjust_prior
from argmetric._calibration_check import (
    CalibrationCheck,
    calibration_check,
    marked,
    reworded,
)
from argmetric._decide import Decision, decide, evaluate
from argmetric._forecast.forecast import forecast
from argmetric._forecast.result import Forecast
from argmetric._input.labels import read_together
from argmetric._input.odds import from_log_odds, log_odds
from argmetric._input.types import Floats
from argmetric._input.validation import Probabilities
from argmetric._report._asked import Asked
from argmetric._report._numbers import number
from argmetric._report._summary import (
    Calibration,
    Change,
    GroupRow,
    GroupSummary,
    Mass,
    RankedCurves,
    Truth,
)
from argmetric._results.pictures import adaptive_edges

BINS = 40
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # ends of a histogram of p
RANKED_POINTS = 200  # of a ROC or precision–recall curve
MOSTLY = 0.95  # share of positives that cannot be doubled
LEAST_CERTAIN = 10
MANY_POSITIVES = 6  # of a group, from which they are counted together
LONGEST_NAME = 80
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def changes_of(asked: Asked, labels: npt.NDArray[Any]) -> tuple[Change, ...]:
    """What these labels score, and what would be best, were p other than it is."""
    p, found = asked.probabilities, []
    judged: dict[str, Any] = {"metric": asked.metric, **asked.grouping}
    for what, change in _cases(p).items():
        changed = Probabilities(asked.shaped(change(p)))
        try:
            best = decide(changed, **judged, **asked.limits)
        except ValueError:  # floors that cannot be met any more
            continue
        here = forecast(changed, labels, **judged).mean
        found.append(Change(what, here, best.expected, best.n_positives))
    return tuple(found)


def _cases(p: Floats) -> dict[str, Callable[[Floats], Floats]]:
    """Ways in which p may be wrong, and what it would have to be."""
    share = float(p.mean())

    def common(times: float) -> Callable[[Floats], Floats]:
        new = times * share
        given = Probabilities(p)
        shift = adjust_prior(given, prevalence=new, reference_prevalence=share)
        return lambda p: shift.apply(Probabilities(p))

    def bold(times: float) -> Callable[[Floats], Floats]:
        return lambda p: from_log_odds(times * log_odds(p, 1.0 - p))[0]

    cases = {"positives are half as common": common(0.5)}
    if 2.0 * share < MOSTLY:
        cases["positives are twice as common"] = common(2.0)
    cases["the scores are overconfident (log-odds 25 % too large)"] = bold(0.8)
    cases["the scores are underconfident (log-odds 20 % too small)"] = bold(1.25)
    return cases


def mass_of(asked: Asked, labels: npt.NDArray[Any]) -> Mass:
    """Rows and expected positives by probability."""
    p, chosen = asked.probabilities, asked.layout.select(labels) == 1
    top = next(end for end in TOPS if end >= p.max())
    rows, positives, held = (
        np.histogram(values, BINS, (0.0, top), weights=weights)[0].tolist()
        for values, weights in ((p, None), (p, p), (p[chosen], p[chosen]))
    )
    return Mass(tuple(rows), tuple(positives), tuple(held), top)


def groups_of(
    asked: Asked, decision: Decision, labels: npt.NDArray[Any]
) -> GroupSummary:
    """Sizes, cuts and scores of the groups, and the ten least certain."""
    layout = asked.layout
    assert layout.ids is not None
    chosen, lowest = layout.select(labels) == 1, layout.scores
    if layout.rows is not None:
        chosen, lowest = chosen[layout.rows], lowest[layout.rows]
    lowest = np.where(chosen, lowest, np.inf)
    cuts = np.minimum.reduceat(lowest, layout.indptr[:-1])
    positives = np.add.reduceat(chosen.astype(np.int64), layout.indptr[:-1])
    scores = decision.group_expected
    assert scores is not None
    sign = 1.0 if decision.metric.greater_is_better else -1.0
    worst = np.argsort(np.nan_to_num(sign * scores, nan=np.inf), kind="stable")
    names = layout.ids if asked.ids is None else asked.ids
    finite = cuts[np.isfinite(cuts)]
    counts = np.bincount(np.minimum(positives, MANY_POSITIVES))
    defined = scores[~np.isnan(scores)]
    edges = adaptive_edges(defined)
    return GroupSummary(
        count=layout.sizes.size,
        empty=int((positives == 0).sum()),
        of_one=int((layout.sizes == 1).sum()),
        sizes=_quartiles(layout.sizes.astype(np.float64)),
        cuts=_quartiles(finite) if finite.size else None,
        scores=_quartiles(defined),
        score_edges=tuple(edges.tolist()),
        score_bins=tuple(np.histogram(defined, edges)[0].tolist()),
        by_positives=tuple(
            (str(i) if i < MANY_POSITIVES else f"{i} or more", count)
            for i, count in enumerate(counts.tolist())
        ),
        least_certain=tuple(
            GroupRow(
                name=_short(names[g]),
                rows=int(layout.sizes[g]),
                positives=int(positives[g]),
                threshold=float(cuts[g]) if positives[g] else None,
                expected=float(scores[g]),
            )
            for g in worst[:LEAST_CERTAIN].tolist()
        ),
    )


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _quartiles(values: Floats) -> tuple[float, ...]:
    if not values.size:
        return ()
    return tuple(np.quantile(values, QUARTILES).tolist())


def truth_of(
    asked: Asked,
    cuts: tuple[float, float],
    labels: npt.NDArray[Any],
    forecast_: Forecast,
) -> Truth | None:
    """What came true of the decision, and of the cut at one half and the best one."""
    if asked.y is None:
        return None
    layout = asked.layout
    (y,) = read_together(asked.pos_label, shape=layout.shape, y=asked.y)
    true, chosen = layout.select(y) == 1.0, layout.select(labels) == 1
    p = asked.probabilities

    def real(called: npt.NDArray[Any]) -> float:
        judged = {"metric": asked.metric, **asked.grouping}
        return evaluate(asked.shaped(true), asked.shaped(called), **judged)

    score = real(chosen)
    cells = {
        "tp": (True, True),
        "fp": (False, True),
        "fn": (True, False),
        "tn": (False, False),
    }
    return Truth(
        score=score,
        surprise=forecast_.surprise(score),
        counts={
            name: int(((true == actual) & (chosen == called)).sum())
            for name, (actual, called) in cells.items()
        },
        expected_counts={
            name: float((p if actual else 1.0 - p)[chosen == called].sum())
            for name, (actual, called) in cells.items()
        },
        half=real(asked.given.scores >= cuts[0]),
        best_cut=real(layout.scores >= cuts[1]),
        ranked=ranked_curves(layout.scores, true),
    )


def ranked_curves(scores: Floats, true: npt.NDArray[Any]) -> RankedCurves | None:
    """ROC and precision–recall curves: one point for each distinct score, thinned."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    hits, k = np.cumsum(true[order])[last].astype(np.float64), last + 1.0
    n_positives, n_negatives = hits[-1], true.size - hits[-1]
    if not n_positives or not n_negatives:
        return None
    recall, precision = hits / n_positives, hits / k
    x = np.concatenate([[0.0], (k - hits) / n_negatives])
    y = np.concatenate([[0.0], recall])
    roc, pr = _spread(x, y), _spread(recall, precision)
    return RankedCurves(
        false_positive_rate=tuple(x[roc].tolist()),
        true_positive_rate=tuple(y[roc].tolist()),
        roc_auc=float(np.diff(x) @ (y[1:] + y[:-1]) / 2.0),
        recall=tuple(recall[pr].tolist()),
        precision=tuple(precision[pr].tolist()),
        average_precision=float(np.diff(y) @ precision),
    )


def _spread(x: Floats, y: Floats) -> npt.NDArray[np.int64]:
    """Places of points at about equal distances along a line."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    wanted = np.linspace(0.0, along[-1], RANKED_POINTS)
    return np.unique([0, *np.searchsorted(along, wanted), along.size - 1])


def calibration_of(asked: Asked) -> tuple[Calibration | None, tuple[str, ...]]:
    """What the errors of p cost on labelled rows; a note where that is not known."""
    given: dict[str, Any] = {"metric": asked.metric, "logits": asked.logits}
    if asked.reference is not None:
        y, p = asked.reference
        on = "the labelled reference"
    elif asked.y is not None:
        y, p = asked.y, asked.scores
        on = "these rows"
        given |= {**asked.grouping, "pos_label": asked.pos_label}
    else:
        return None, ()
    try:
        found = described(calibration_check(y, p, **given), on)
    except ValueError as error:
        return None, (f"calibration was not checked on {on}: {error}",)
    if asked.calibrator is not None:
        how = "recalibrate it, as is done here"
    elif asked.reference is not None:
        how = f"recalibrate it on {on}"
    else:
        return found, ()
    tune = f"tune a cut on {on}"
    return replace(found, advice=reworded(found.advice, how, tune)), ()


ROUTES = {
    "recalibrate": "decide, p recalibrated",
    "decide": "decide, p as given",
    "tune": "one tuned threshold",
    "half": "0.5 cut-off on p as given",
}


def described(check: CalibrationCheck, on: str) -> Calibration:
    """A check as plain values."""
    forecasts = {"decide": check.expected, "recalibrate": check.expected_recalibrated}
    low, high = check.error_interval
    figures = {
        **{name: float(getattr(check, name)) for name in FIGURES},
        "error_low": low,
        "error_high": high,
        "certain_and_wrong": check.as_is.n_certain_and_wrong,
    }
    return Calibration(
        on=on,
        fit_to_decide=check.fit_to_decide,
        fit_to_forecast=check.fit_to_forecast,
        route=check.route,
        advice=check.advice,
        facts=tuple(_facts(check)),
        routes=tuple(
            (
                ROUTES[one.name],
                number(forecasts[one.name]) if one.name in forecasts else "",
                number(one.score),
                ""
                if one.name == "decide"
                else f"{one.gain:+.3f} ± {one.gain_standard_error:.3f}",
                marked(check, one),
            )
            for one in check.routes
        ),
        bins=check.positive_bins.to_dict(),
        threshold=check.threshold,
        histogram=tuple(check.histogram.tolist()),
        figures=figures,
    )


FIGURES = (
    *("n", "n_positives", "loss", "loss_standard_error", "p_value"),
    *("expected", "score_as_is", "score_standard_error"),
    *("expected_recalibrated", "score_recalibrated"),
)


def _facts(check: CalibrationCheck) -> Iterator[tuple[str, str]]:
    line, before, after = check.line, check.as_is, check.recalibrated
    low, high = check.error_interval
    if check.forecast is not None:
        yield (
            "forecast error",
            f"{number(check.expected_error)} on average on as many new rows, after "
            f"recalibration; in 90 % from {low:+.3f} to {high:+.3f}",
        )
    yield (
        "log-odds",
        f"slope {line.slope:.3f} ± {line.slope_error:.3f}, intercept "
        f"{line.intercept:.3f} ± {line.intercept_error:.3f} (1 and 0 are ideal)",
    )
    for name, field in (
        ("log-loss", "log_loss"),
        ("Brier score", "brier"),
        ("calibration error (ECE)", "ece"),
    ):
        first, second = getattr(before, field), getattr(after, field)
        yield name, f"{number(first)} as given, {number(second)} recalibrated"
    share = check.n_positives / check.n
    yield "rows", f"{check.n:,}, {check.n_positives:,} positive ({share:.1%})"
