"""Engine: the expected metric for every number of predicted positives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._expected._curves import error_of as error_of
    from argmetric._expected._curves import expected_curves as expected_curves
    from argmetric._expected._long import FIRST_BINS as FIRST_BINS
    from argmetric._expected._long import MOST_COUNTS as MOST_COUNTS
    from argmetric._expected._long import Array as Array
    from argmetric._expected._long import BestCount as BestCount
    from argmetric._expected._long import Items as Items
    from argmetric._expected._long import RankedItems as RankedItems
    from argmetric._expected._long import carry as carry
    from argmetric._expected._long import choose_in_long as choose_in_long
    from argmetric._expected._long import sums_in_bins as sums_in_bins
    from argmetric._expected._powers import PlacedSums as PlacedSums
    from argmetric._expected._quadrature import (
        bernoulli_cumulants as bernoulli_cumulants,
    )
    from argmetric._expected._search import Choice as Choice
    from argmetric._expected._search import CountRange as CountRange
    from argmetric._expected._search import choose_counts as choose_counts
    from argmetric._expected._search import choose_on_curves as choose_on_curves
    from argmetric._expected._search import choose_plan as choose_plan
    from argmetric._expected._search import has_search as has_search
    from argmetric._expected._sums import Pairs as Pairs
    from argmetric._expected._sums import SegmentSums as SegmentSums
    from argmetric._expected._tables import Tables as Tables
    from argmetric._expected._tables import by_size as by_size
    from argmetric._expected._tables import refuse_infinite as refuse_infinite
    from argmetric._expected._tables import regular_at_edges as regular_at_edges
    from argmetric._expected._tables import short_curve as short_curve
    from argmetric._expected.kernels.tolerances import TIE as TIE
    from argmetric._expected.kernels.tolerances import TOLERANCE as TOLERANCE
    from argmetric._expected.plan import Plan as Plan
    from argmetric._expected.plan import is_long as is_long
    from argmetric._expected.plan import is_short as is_short

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_curves": "error_of expected_curves",
        "_tables": "Tables by_size refuse_infinite regular_at_edges short_curve",
        "_long": "Array BestCount FIRST_BINS Items MOST_COUNTS RankedItems carry "
        "choose_in_long sums_in_bins",
        "_powers": "PlacedSums",
        "_quadrature": "bernoulli_cumulants",
        "_search": "Choice CountRange choose_counts choose_on_curves choose_plan "
        "has_search",
        "_sums": "Pairs SegmentSums",
        "kernels.tolerances": "TIE TOLERANCE",
        "plan": "Plan is_long is_short",
    },
)
