"""Reliability diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._display import drawing

if TYPE_CHECKING:
    from argmetric._reliability._result import CalibrationCheck


def plot_check(check: CalibrationCheck, ax: Any) -> Any:
    """Share of positives against probability, bin by bin; a histogram below."""
    bins = check.bins
    edges = np.linspace(0.0, 1.0, check.histogram.size + 1)
    top = check.histogram.max()
    with drawing(
        ax,
        xlabel="p",
        ylabel="share of positives",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        title=f"fit to decide with: {check.fit_to_decide}; to forecast with: "
        f"{check.fit_to_forecast}",
    ) as ax:
        ax.bar(
            edges[:-1],
            0.25 * check.histogram / top,  # a quarter of the height, whatever the rows
            width=edges[1] - edges[0],
            align="edge",
            color="C7",
            alpha=0.35,
            label=f"rows by p (highest bar: {top:,.0f})",
        )
        ax.plot([0, 1], [0, 1], color="C7", linestyle=":", label="calibrated")
        below = np.maximum(bins.rate - bins.rate_low, 0.0)
        above = np.maximum(bins.rate_high - bins.rate, 0.0)
        ax.errorbar(
            bins.mean,
            bins.rate,
            yerr=[below, above],
            fmt="o-",
            color="C0",
            capsize=2,
            label=f"p as it stands (ECE {check.ece:.3f})",
        )
    return ax
