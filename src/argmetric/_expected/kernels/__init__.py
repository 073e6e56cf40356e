"""Kernels of the engine: each module, and numba with it, is loaded at first use."""

from __future__ import annotations

from typing import Any

from argmetric._ground.lazy import lazy_names

_load, __dir__, __all__ = lazy_names(
    __name__,
    {
        "affine": ("affine_curves", "smooth_curves"),
        "cells": (
            "add_cells",
            "cell_moments",
            "fill_counts",
            "fill_pmfs",
            "place_cells",
            "trim_boxes",
        ),
        "exponential": ("hit_curves", "ratio_curves"),
        "rates": ("best_of_rates",),
        "screen": (
            "fill_cells",
            "pmfs_at",
            "power_sums_at",
            "rough_outcomes",
            "rough_pmfs",
            "rough_sums",
            "sum_cells",
            "widest_key",
        ),
        "segments": (
            "bin_sums",
            "bounded_counts",
            "choose",
            "count_and_p_none",
            "edge_logs",
            "mark",
            "prefix_means",
            "segment_moments",
            "sort_long",
            "sort_short",
            "take_range",
        ),
        "tables": ("both_pmfs", "harmonic_curves", "table_curves", "table_moments"),
    },
)


def __getattr__(name: str) -> Any:
    found = globals()[name] = _load(name)
    return found
