"""The compiled kernels under one name, beside their numpy twins in `reference`."""
# ruff: noqa: F401

from argmetric._expected.kernels.affine import affine_curves, smooth_curves
from argmetric._expected.kernels.cells import (
    add_cells,
    cell_moments,
    fill_counts,
    law_boxes,
    multiply_spectrum,
    place_cells,
    trim_boxes,
)
from argmetric._expected.kernels.exponential import hit_curves, ratio_curves
from argmetric._expected.kernels.rates import best_of_rates
from argmetric._expected.kernels.screen import (
    laws_at,
    power_sums_at,
    rough_cells,
    rough_laws,
    rough_sums,
)
from argmetric._expected.kernels.segments import (
    bounded_counts,
    choose,
    count_and_chance,
    edge_logs,
    mark,
    prefix_means,
    segment_moments,
    sort_long,
    sort_short,
)
from argmetric._expected.kernels.sums import fill_cells, sum_cells, widest_key
from argmetric._expected.kernels.tables import (
    both_laws,
    harmonic_curves,
    table_curves,
    table_laws,
    table_moments,
)
