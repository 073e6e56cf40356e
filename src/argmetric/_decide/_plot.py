"""Pictures of a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._display import curve_drawing, drawing

if TYPE_CHECKING:
    from argmetric._decide._result import Decision


def plot_decision(decision: Decision, ax: Any) -> Any:
    """Expected metric against k; with segments, a histogram over them."""
    name = decision.metric.name
    if decision.curve is None:
        assert decision.group_expected is not None
        values = decision.group_expected[np.isfinite(decision.group_expected)]
        with drawing(ax, xlabel=f"expected {name} of a group", ylabel="groups") as ax:
            ax.hist(values, bins=40, color="C0", alpha=0.8)
            mean = decision.expected
            ax.axvline(mean, color="C3", label=f"mean {mean:.3f}")
        return ax
    with curve_drawing(ax, decision.curve, name, "the top k") as ax:
        for one, sign, color, what in (
            (decision, "o", "C3", "decision"),
            (decision.cut_half, "s", "C7", "cut at 0.5"),
        ):
            k, value = one.n_positives, one.expected
            label = f"{what}: k = {k:,}, {value:.3f}"
            ax.plot(k, value, sign, color=color, label=label)
    return ax
