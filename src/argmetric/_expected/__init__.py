"""The engine: the expected metric for every number of predicted positives."""

from argmetric._expected._curves import SMALL, compiled, expected_curves, numpy_twins
from argmetric._expected._general import TOLERANCE, window_width
from argmetric._expected._hermite import bernoulli_cumulants
from argmetric._expected._long import choose_in_long
from argmetric._expected._search import (
    Choice,
    choose_counts,
    choose_on_curves,
    has_search,
)
from argmetric._expected._tables import Tables, by_size

__all__ = [
    "SMALL",
    "TOLERANCE",
    "Choice",
    "Tables",
    "bernoulli_cumulants",
    "by_size",
    "choose_counts",
    "choose_in_long",
    "choose_on_curves",
    "compiled",
    "expected_curves",
    "has_search",
    "numpy_twins",
    "window_width",
]
