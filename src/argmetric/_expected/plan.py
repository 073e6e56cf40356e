"""Route table: which algorithm computes an expectation, and why.

All routes give the same values up to rounding; a limit decides about time alone, or
says from where on an approximation is exact to rounding. Every limit of the engine
stands here with what was measured on both sides of it (one core, a warm cache);
drivers ask the functions below and never compare sizes themselves.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

from argmetric._ground.types import Booleans, Integers
from argmetric.metrics import (
    AffineForm,
    Form,
    ItemForm,
    MeanForm,
    Metric,
    RatesForm,
    RatioForm,
)

# -- by rows ------------------------------------------------------------------------
# One vector of so few rows is summed over a remembered table of the metric's values;
# so are groups of a metric of which nothing but its values is known. At 64 rows F1
# takes 0.49 ms a call by its table and 1.6 ms by exponential sums in numpy, MCC 0.49
# and 2.6 ms. At 96 rows the table would still win, but takes 1.5 MB of each size.
# Numba, which takes 0.35 s to load, is not needed for it.
SHORT_ROWS = 64
# Groups of so few rows share the table of their size, if the metric has a form; ratios
# up to SHORT_ROWS. Jaccard takes 143 ns a row by tables and 526 without at 33 rows, 285
# and 444 at 64; MCC 147 and 215 at 33, 229 and 233 at 48, 288 and 194 at 64.
TABLE_ROWS = 32
# Many groups of one size share a larger table of a function. At 80 rows: 0.7 µs a row
# by the table, 2.8 µs by sums over PMFs; at 100 rows 1.0 and 2.8 µs, but 8 MB.
SHARED_TABLE_ROWS = 80
SHARING = 40  # such a table pays for as many groups as its squared size over this
# Groups of so few rows are summed in quadratic time, exponential sums come above. F1:
# 200 ns a row and 480 at 100 rows, 320 and 460 at 200, 480 and 450 at 300. Balanced
# accuracy, by the PMF of T without one item: 380 and 670 at 128 rows, 410 and 650 at
# 200.
QUADRATIC_ROWS = 200
# A vector or group of as many rows is decided from a histogram. F1: 7.5 ms by it and
# 12 sorted at 50,000 rows, 6.2 and 5.8 at 20,000. MCC: 10 and 12; 8.4 and 6.8.
HISTOGRAM_ROWS = 50_000
# A function on which quadratures disagree is summed again over whole PMFs: 0.04 s by
# quadrature and 1 s by whole PMFs at 5,000 rows. Longer vectors keep their error.
WHOLE_PMF_ROWS = 5000
# -- by the variance of the number of positives -------------------------------------
# Functions of the counts: from here on eight points err by less than 1e-10. At a
# variance of 60: 5 µs a row by quadrature, 11 by whole PMFs; 4 and 42 at 200.
QUADRATURE_VARIANCE = 60.0
# Metrics affine in tp: from here on 16 points err by less than 1e-14. MCC at a variance
# of 100: 310 ns a row by quadrature, 410 by the PMF; 310 and 490 at 200.
AFFINE_QUADRATURE_VARIANCE = 100.0
# Those whose denominator mixes k and T, as that of kappa: from 50 on they err as little
# by the points as by the PMF (MCC, with few negatives, by 6e-10 at 63). At a variance
# of 63 kappa takes 250 ns a row by quadrature, 480 by the pmf.
MIXED_QUADRATURE_VARIANCE = 60.0
# -- by expected positives ----------------------------------------------------------
# The histogram leaves out P(no row is positive): at most e^-45 from here
# on, which rounds away. With fewer the rows are sorted.
HISTOGRAM_POSITIVES = 45.0

# -- one of several classes ---------------------------------------------------------
# The labels of a group of so few rows are improved by exact expectations, from two
# starts; above, by the ratio of sums from one. At 1,000 rows of 10 classes 5 ms and
# 1 ms, and 0.0002 points of expected macro-F1 apart; of 100 classes 57 and 6 ms, 0.02
# points. At 200 rows 0.06 points where absent classes are left out; at 100,000 rows
# of 10 classes 0.7 s and at most 0.17 s.
EXACT_CLASS_ROWS = 1000
# So many labels in every row: exact expectations pay for few rows. Beyond the ascent at
# points of T they won 0.005 of expected F1 at 10 x 5 and at 30 x 10, 0.0002 at 60 x 20
# and nothing to 0.0004 at 100 x 20, in 10, 22, 50 and 115 ms; 5 to 15 ms without.
EXACT_PER_ROW_ROWS, EXACT_PER_ROW_STEPS = 100, 250_000
SINGLE_POINT_POSITIVES = 10.0  # expected in a column: one point of T is enough
# A batch of so few rows times classes is searched from further starts. It wins 0.08
# points at 50 rows of 10 classes and 0.05 at 100 (0.4 at most), for 140 ms in place of
# 6 at most; nothing at 200. At 50 rows of 100 classes it would win 0.06 for 1 to 5 s.
SEARCHED_CELLS = 1000
# True classes of so few rows are drawn one by one, above as counts. At 40,000 rows
# 0.55 s and 0.03 s, and ends of intervals at most 0.002 apart; at 4,000 rows 0.06 s
# and 0.02 s, 0.003 apart.
DRAWN_ROWS = 40_000
# Products that exact expectations of means over classes may take, all groups together:
# 40 ms. That is about 5,000 rows of 10 classes; a quadrature with 8 nodes comes above.
CLASS_STEPS = float(1 << 26)
# Entries of tables of all true labels up to which a PMF of scores sums over them:
# 7 rows of 4 classes, 16 of 2; 30 ms. A function of one's own is called for each.
TRUTH_CELLS, FUNCTION_TRUTHS = 1 << 18, 1000
# Pairs of values of two PMFs up to which a mean over groups is summed: 5 ms.
GROUP_ATOMS = 1 << 16
# Draws of true classes: of few rows more, until they take 60 ms.
LEAST_DRAWS, MOST_DRAWS, DRAWN_CELLS = 1000, 4000, 1 << 21


class Plan(NamedTuple):
    """Name of the algorithm that computes an expectation, and the reason."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.why}: {self.name}"


def kernel_if_loaded(module: str, name: str) -> Any:
    """Return a kernel if its module is loaded, else None: numpy then does the same."""
    return getattr(sys.modules.get(f"argmetric._expected.kernels.{module}"), name, None)


def is_short(rows: int) -> bool:
    """Return whether a vector is summed over a cached table, for any metric."""
    return rows <= SHORT_ROWS


def is_long(rows: Any) -> Any:
    """Return whether a vector of so many rows is decided by a histogram, unsorted."""
    return rows >= HISTOGRAM_ROWS


def is_exact_per_row(n: int, width: int) -> bool:
    """Return whether exact expectations take no longer than some tenths of a second."""
    return n <= EXACT_PER_ROW_ROWS and n * n * width <= EXACT_PER_ROW_STEPS


def needs_one_point(expected: float) -> bool:
    """Return whether so many positives are computed at their mean alone."""
    return expected > SINGLE_POINT_POSITIVES


def is_smooth(metric: Metric) -> bool:
    """Return whether the metric is a function of the counts that is declared smooth.

    A rough curve of it shows which counts can be the best.
    """
    return bool(getattr(metric, "smooth", False))


def table_rows(form: Form | None, *, harmonic: bool = False) -> int:
    """Return the most rows of a group that is summed over a table of all counts."""
    if harmonic:
        return QUADRATIC_ROWS
    by_values = form is None or isinstance(form, RatioForm)
    return SHORT_ROWS if by_values else TABLE_ROWS


def by_item_pmf(rows: Integers) -> Booleans:
    """Return which groups take item weights from the PMF of T without one item."""
    return rows <= QUADRATIC_ROWS


def affine_quadrature_variance(form: AffineForm) -> float:
    """Return the variance from which a quadrature replaces the PMF of T."""
    mixed = form.factors is not None and form.factors.rate is not None
    return MIXED_QUADRATURE_VARIANCE if mixed else AFFINE_QUADRATURE_VARIANCE


def plan(
    metric: Metric,
    form: Form | None,
    rows: int,
    variance: float,
    *,
    groups: int = 1,
    harmonic: bool = False,
    method: str = "auto",
) -> Plan:
    """Return the route of one sorted vector, or of groups, of this form or None."""
    alone = groups == 1
    size = f"{rows:,} rows" if alone else f"{groups:,} groups of {rows:,} rows"
    why = f"kernels; {size}"
    routes = {"published": "the published algorithm", "windows": "sums over whole PMFs"}
    if method in routes:
        return Plan(routes[method], f"method={method!r}; {size}")
    if alone and is_short(rows):
        return Plan("table of all counts", f"{size}, {SHORT_ROWS} or fewer")
    if isinstance(form, MeanForm):
        return Plan("exact curve from means", why)
    few = TABLE_ROWS if harmonic or form is None else table_rows(form)
    if rows <= few and not alone:
        return Plan("table of all counts", why)
    if isinstance(metric.form, RatesForm):
        return Plan("bounds, and exact sums where the best can be", why)
    if form is None:
        if rows <= SHORT_ROWS:
            return Plan("table of all counts", why)
        if is_smooth(metric):
            return Plan("rough curve, and exact sums at its top", why)
        if variance < QUADRATURE_VARIANCE:
            return Plan("exact curve by sums over whole PMFs", why)
        return Plan("curve by quadrature over both PMFs, its error estimated", why)
    return Plan(_known_route(form, rows, variance, alone, harmonic), why)


def _known_route(
    form: Form, rows: int, variance: float, alone: bool, harmonic: bool
) -> str:
    """Return the algorithm of a form whose curve is computed without a table."""
    if isinstance(form, AffineForm):
        if variance >= affine_quadrature_variance(form):
            return "exact curve by quadrature over the positives"
        return "exact curve by the distribution of the positives without one item"
    if harmonic and not alone and rows <= QUADRATIC_ROWS:
        return "exact curve by quadratic sums"
    if isinstance(form, ItemForm) and not alone and rows <= QUADRATIC_ROWS:
        return "exact curve by the distribution of the positives without one item"
    return "exact curve by exponential sums"


def is_affordable(rows: Integers) -> Booleans:
    """Return whether vectors may be summed again where quadratures disagree."""
    return rows <= WHOLE_PMF_ROWS


def can_use_histogram(mean: float, n: int | float = math.inf) -> bool:
    """Return whether there are surely positives, and negatives if `n` is given."""
    return min(mean, n - mean) >= HISTOGRAM_POSITIVES


def climbs_exactly(rows: float) -> bool:
    """Return whether labels of a group are improved by exact expectations."""
    return rows <= EXACT_CLASS_ROWS


def searches_classes(cells: int) -> bool:
    """Return whether labels of a batch are searched from several starts."""
    return cells <= SEARCHED_CELLS


def class_steps(groups: int) -> float:
    """Return the most products that one group's exact expectation may take."""
    return CLASS_STEPS / groups


def sums_truths(truths: float, classes: int, function: bool) -> bool:
    """Return whether a score's PMF is summed over all true labels, not draws."""
    most = FUNCTION_TRUTHS if function else TRUTH_CELLS / classes**2
    return truths <= most


def sums_groups(pairs: int) -> bool:
    """Return whether the PMF of a mean over groups sums over all pairs of values."""
    return pairs <= GROUP_ATOMS


def class_draws(rows: int, classes: int, groups: int, function: bool) -> int:
    """Return the number of draws of the true classes for a PMF."""
    if function:
        return LEAST_DRAWS
    cells = rows + groups * classes**2
    return min(max(DRAWN_CELLS // cells, LEAST_DRAWS), MOST_DRAWS)


def draws_every_row(rows: int) -> bool:
    """Return whether true classes are drawn row by row, not as normal counts."""
    return rows <= DRAWN_ROWS
