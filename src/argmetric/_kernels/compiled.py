"""The compiled kernels under one name, beside their numpy twins in `reference`."""

from argmetric._kernels.affine import affine_curves, miss_curves, smooth_curves
from argmetric._kernels.affine_search import best_of_affine
from argmetric._kernels.atoms import bin_atoms, merge_atoms
from argmetric._kernels.cells import (
    add_cells,
    cell_moments,
    fill_counts,
    law_boxes,
    multiply_spectrum,
    place_cells,
    trim_boxes,
)
from argmetric._kernels.exponential import hit_curves, ratio_curves
from argmetric._kernels.harmonic import harmonic_curves
from argmetric._kernels.ids import count_codes, number_close_ids, number_ids
from argmetric._kernels.laws import both_laws
from argmetric._kernels.margins import solve_margins
from argmetric._kernels.miss_search import best_of_misses
from argmetric._kernels.rates import best_of_rates
from argmetric._kernels.screen import (
    laws_at,
    power_sums_at,
    rough_cells,
    rough_laws,
    rough_sums,
)
from argmetric._kernels.segments import (
    bin_rows,
    bounded_counts,
    chance_of_none,
    choose,
    count_at_least,
    edge_logs,
    group_binned_rows,
    group_rows,
    mark,
    prefix_means,
    segment_moments,
    sort_segments,
)
from argmetric._kernels.sums import fill_cells, sum_cells, widest_key
from argmetric._kernels.tables import (
    table_curves,
    table_laws,
    table_moments,
)
from argmetric._kernels.windows import prefix_laws

__all__ = [
    "add_cells",
    "affine_curves",
    "best_of_affine",
    "best_of_misses",
    "best_of_rates",
    "bin_atoms",
    "bin_rows",
    "both_laws",
    "bounded_counts",
    "cell_moments",
    "chance_of_none",
    "choose",
    "count_at_least",
    "count_codes",
    "edge_logs",
    "fill_cells",
    "fill_counts",
    "group_binned_rows",
    "group_rows",
    "harmonic_curves",
    "hit_curves",
    "law_boxes",
    "laws_at",
    "mark",
    "merge_atoms",
    "miss_curves",
    "multiply_spectrum",
    "number_close_ids",
    "number_ids",
    "place_cells",
    "power_sums_at",
    "prefix_laws",
    "prefix_means",
    "ratio_curves",
    "rough_cells",
    "rough_laws",
    "rough_sums",
    "segment_moments",
    "smooth_curves",
    "solve_margins",
    "sort_segments",
    "sum_cells",
    "table_curves",
    "table_laws",
    "table_moments",
    "trim_boxes",
    "widest_key",
]
