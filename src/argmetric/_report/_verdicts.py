"""Whether the probabilities are reliable, and what to do, as the user types it."""

from __future__ import annotations

import re

from argmetric._report._numbers import number
from argmetric._report._summary import Summary
from argmetric._results.display import metric_title

SURE = 2.0  # standard errors within which forecast and actual score agree
CHANCE = 0.05  # of the log-odds' line, below which p is not calibrated
VERDICTS = {"recalibrated": "after recalibration", "too few rows to say": "unknown"}
_ARGUMENTS = re.compile(
    r"\b(zero_division|average|prior|(?:min|max)_(?:positives|precision|recall))"
    r"=(['\"]?)([\w.]+)\2"
)


def in_options(said: Summary, text: str) -> str:
    """A text with arguments of Python as options, if the command line was used."""
    if "file" not in said.names:
        return text
    return _ARGUMENTS.sub(
        lambda found: f"--{found[1].replace('_', '-')} {found[3]}", text
    )


def recalibrate(said: Summary) -> str:
    """How to recalibrate, in the syntax of the surface that was used."""
    shell, part = "file" in said.names, said.calibration
    if part is not None and part.on == "the labelled reference":
        run = "run argmetric calibrate" if shell else "use calibrate(y, p)"
        return f"{run} on the labelled reference."
    if shell:
        return "pass a file of labelled rows as --reference."
    if said.kind == "check":
        return "pass reference=(y, p) to decide and forecast."
    return "pass labelled rows as reference=(y, p) to decide and forecast."


def _remedy(said: Summary, route: str) -> str:
    """What to do about p, by the advised way to decide."""
    if said.scale.startswith("calibrated "):
        return "This report uses recalibrated probabilities."
    if route == "tune":
        shell = "file" in said.names
        return f"Use the threshold of {'argmetric tune' if shell else 'tune(y, p)'}."
    if route == "half":
        return "Use a 0.5 cut-off."
    how = recalibrate(said)
    return f"To recalibrate, {how}"


def warnings(said: Summary) -> tuple[str, ...]:
    """What the reader must know before using the decision."""
    part, metric = said.calibration, metric_title(said.metric)
    recalibrated = said.scale.startswith("calibrated ")
    if part is not None and part.fit_to_decide == "no" and not recalibrated:
        lost = number(part.figures["loss"])
        return (
            f"The probabilities are not reliable: on {part.on} this costs {lost} "
            f"{metric}, and the expected scores on this page do not hold. "
            f"{_remedy(said, part.route)}",
        )
    if said.truth is not None and said.truth.surprise is not None:
        why = (
            "The data may have changed since the probabilities were calibrated."
            if recalibrated
            else f"The probabilities may be off. {_remedy(said, 'recalibrate')}"
        )
        return (f"Actual {metric} lies outside the forecast interval. {why}",)
    return ()


def verdicts(said: Summary) -> tuple[str, str]:
    """Whether p is reliable for decisions and for forecasts, and what to do."""
    return _of_decisions(said), _of_forecasts(said)


def _of_decisions(said: Summary) -> str:
    part, metric = said.calibration, metric_title(said.metric)
    assert part is not None
    one = part.figures
    gain = f"{number(one['loss'])} ± {number(one['loss_standard_error'])} {metric}"
    if part.fit_to_decide == "no":
        return f"Decisions with p as given lose {gain}. {_remedy(said, part.route)}"
    if part.fit_to_decide != "yes":
        hidden = max(one["loss"] + SURE * one["loss_standard_error"], 0.0)
        return (
            "There are too few labelled rows to judge the decisions: "
            f"{one['n']:,.0f} rows, {one['n_positives']:,.0f} of them positive, cannot "
            f"detect a loss below {number(hidden)} {metric}."
        )
    return f"Decisions are reliable with p as given: {part.advice[0]}."


def _of_forecasts(said: Summary) -> str:
    part = said.calibration
    assert part is not None
    one, verdict = part.figures, part.fit_to_forecast
    if verdict == "too few rows to say":
        return "Forecasts were not checked: they cannot use weights of rows."
    error = one["score_standard_error"]
    given = (
        f"forecast {number(one['expected'])}, actual {number(one['score_as_is'])} "
        f"(± {number(error)})"
    )
    if verdict == "yes":
        return f"Forecasts are reliable with p as given: {given}."
    again = (
        f"Recalibrated: forecast {number(one['expected_recalibrated'])}, actual "
        f"{number(one['score_recalibrated'])}; on as many new rows the actual score "
        f"should lie within {one['error_low']:+.3f} and {one['error_high']:+.3f} of "
        "the forecast."
    )
    if verdict == "no":
        return (
            f"Forecasts are not reliable, even after recalibration. As given: {given}. "
            f"{again} On these rows the error is larger already."
        )
    if abs(one["expected"] - one["score_as_is"]) > SURE * error:
        why = "a larger gap than chance explains"
    elif one["p_value"] < CHANCE or one["certain_and_wrong"]:
        why = "close, but the probabilities are measurably off"
    else:
        why = f"close, but {one['n']:,.0f} rows are too few to rely on it"
    text = (
        f"Forecasts are reliable after recalibration. As given: {given}, {why}. {again}"
    )
    if part.fit_to_decide == "no" and part.route == "recalibrate":
        return text  # what to do stands in the sentence before
    return f"{text} {_remedy(said, 'recalibrate')}"
