"""The first split in F1 alone: the figures of `maps` in a few minutes."""

from __future__ import annotations

from functools import partial

from trust_parts.cases import over_cases
from trust_parts.maps import measure, report


def run(*, quick: bool) -> str:
    measured = over_cases(partial(measure, metrics=("f1",)), quick=quick, splits=1)
    return report(measured)
