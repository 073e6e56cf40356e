"""Verdicts: the words that results, commands and pages say, and what each means.

There are no others. A surface that says one says this word, and this reason beside it.
"""

from __future__ import annotations

from typing import Literal

CheckVerdict = Literal["yes", "no", "too few rows to say"]
ForecastVerdict = Literal["yes", "recalibrated", "no", "too few rows to say"]
PeriodVerdict = Literal[
    "fine",
    "all labels known",
    "share moved",
    "cannot say without labels",
    "below the floor",
]
Alarm = Literal["moved for the worse", "moved for the better", "below the floor"]

CHECK: dict[ForecastVerdict, str] = {
    "yes": "nothing on these rows speaks against the probabilities",
    "recalibrated": "not with the probabilities as given, but after recalibration",
    "no": "the probabilities cost score, or their forecasts miss it",
    "too few rows to say": "a loss that matters could go unnoticed on these rows",
}
# From good to bad
PERIOD: dict[PeriodVerdict, str] = {
    "fine": "as far as scores tell; a changed label definition they cannot reveal",
    "all labels known": "the score is known, and there is no floor to compare it with",
    "share moved": "each class still looks the same; the forecast is adjusted",
    "cannot say without labels": "the scores moved in another way: label some rows",
    "below the floor": "the score of rows with known labels is below the floor",
}
ALARM: dict[Alarm, str] = {
    "moved for the worse": "the forecast moved for the worse against the past",
    "moved for the better": "the forecast improves: without a cause that is suspect",
    "below the floor": "the score is below the floor, by forecast or by labels",
}
