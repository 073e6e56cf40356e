"""Where the package changes its route, and its slow routes by name.

Tests of both sides of a switch take its place from here, and no other file of the
tests knows where the package keeps it.
"""

from argmetric._expected import _sums, plan
from argmetric._verbs.decide import decide_by

QUADRATURES = _sums.N_NODES  # variances from which on so many points will do

__all__ = ["QUADRATURES", "decide_by", "plan"]
