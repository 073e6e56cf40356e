"""Verbs over files in one call: open the files, and call the verb."""

import inspect

from argmetric import scale

OPENING = tuple(inspect.signature(scale.open).parameters)[1:]


def opened(verb):
    """A function of files and of all words for `open` and for the verb."""

    def call(files, *values, **words):
        how = {name: words.pop(name) for name in OPENING if name in words}
        return getattr(scale.open(files, **how), verb)(*values, **words)

    return call


decide, evaluate, forecast, tune, calibrate, calibration_check = map(
    opened,
    ("decide", "evaluate", "forecast", "tune", "calibrate", "calibration_check"),
)
decide_classes, evaluate_classes = map(opened, ("decide_classes", "evaluate_classes"))
