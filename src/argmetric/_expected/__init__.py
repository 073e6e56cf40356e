"""The engine: the expected metric for every number of predicted positives."""

from argmetric._expected._curves import (
    SMALL,
    compiled,
    error_of,
    expected_curves,
    is_short,
    numpy_twins,
)
from argmetric._expected._general import TOLERANCE, window_width
from argmetric._expected._hermite import bernoulli_cumulants
from argmetric._expected._items import Array, Items, Ranked, carry, sums_in_bins
from argmetric._expected._long import (
    FIRST_BINS,
    LONG,
    MOST_COUNTS,
    BestCount,
    choose_in_long,
)
from argmetric._expected._placed import PlacedSums
from argmetric._expected._search import (
    Choice,
    choose_counts,
    choose_on_curves,
    has_search,
)
from argmetric._expected._tables import Tables, by_size, short_curve

__all__ = [
    "FIRST_BINS",
    "LONG",
    "MOST_COUNTS",
    "SMALL",
    "TOLERANCE",
    "Array",
    "BestCount",
    "Choice",
    "Items",
    "PlacedSums",
    "Ranked",
    "Tables",
    "bernoulli_cumulants",
    "by_size",
    "carry",
    "choose_counts",
    "choose_in_long",
    "choose_on_curves",
    "compiled",
    "error_of",
    "expected_curves",
    "has_search",
    "is_short",
    "numpy_twins",
    "short_curve",
    "sums_in_bins",
    "window_width",
]
